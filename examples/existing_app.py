"""Voice inside an existing FastAPI application: its lifespan and its login apply to calls too.

uvicorn existing_app:app --app-dir examples

Calls are made at ws://127.0.0.1:8000/voice/ws/ann/{session_id} with the header `X-Key: open sesame`, and listed with it
at http://127.0.0.1:8000/voice/api/calls?user=ann.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, HTTPException, WebSocketException
from fastapi.requests import HTTPConnection

from realtime import RealtimeAgent, ScriptedModel, voice_router
from realtime.model.scripted import echo_bot

KEYS = {"ann": "open sesame"}
shop: dict[str, list[str]] = {}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The application's own start and stop."""
    shop["books"] = ["Middlemarch", "Emma"]
    yield
    shop.clear()


async def logged_in(connection: HTTPConnection) -> None:
    """The application's own check, before a socket is accepted and before calls are listed over HTTP."""
    user = connection.path_params.get("user_id") or connection.query_params.get("user")
    if user in KEYS and connection.headers.get("x-key") == KEYS[user]:
        return
    if connection.scope["type"] == "websocket":
        raise WebSocketException(1008, "please log in")
    raise HTTPException(401, "please log in")


async def make_agent(user: str) -> RealtimeAgent:
    """An agent that knows what the application knows."""
    await asyncio.sleep(0)  # such as a query
    instructions = f"You talk with {user} about these books: {', '.join(shop['books'])}."
    return RealtimeAgent("Robin", instructions, ScriptedModel(echo_bot("We have two books.")))


app = FastAPI(lifespan=lifespan)
app.include_router(voice_router(make_agent, prefix="/voice", dependencies=[Depends(logged_in)]))


@app.get("/books")
async def books() -> list[str]:
    """A route of the existing application."""
    return shop["books"]
