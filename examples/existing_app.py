"""Voice inside an existing FastAPI application: its lifespan and its login apply to calls too.

uvicorn existing_app:app --app-dir examples

Ann logs in at http://127.0.0.1:8000/login?user=ann&key=open+sesame and talks from the page. Programs call at
ws://127.0.0.1:8000/voice/ws/ann/{session_id} with the header `X-Key: open sesame`, and list calls with it at
http://127.0.0.1:8000/voice/api/calls?user=ann.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Cookie, Depends, FastAPI, HTTPException, WebSocketException
from fastapi.requests import HTTPConnection
from fastapi.responses import HTMLResponse, RedirectResponse

from realtime import RealtimeAgent, ScriptedModel, voice_router
from realtime.model.scripted import echo_bot

KEYS = {"ann": "open sesame"}
PAGE = """<!doctype html><title>Books</title><button>Talk</button> <span role="status"></span><ol></ol>
<script type="module">
  import { RealtimeClient } from "/voice/client/realtime.js";
  const [button, status, list] = document.querySelectorAll("button, span, ol");
  const line = ({ from, text }) => Object.assign(document.createElement("li"), { textContent: `${from}: ${text}` });
  const client = new RealtimeClient({ user: "ann" });
  client.on("state", (state) => (status.textContent = state));
  client.on("error", ({ message }) => (status.textContent = message));
  client.messages.on("change", (messages) => list.replaceChildren(...messages.map(line)));
  button.onclick = () => (client.isActive ? client.stop() : client.start());
</script>"""
shop: dict[str, list[str]] = {}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The application's own start and stop."""
    shop["books"] = ["Middlemarch", "Emma"]
    yield
    shop.clear()


async def logged_in(connection: HTTPConnection) -> None:
    """The application's own check, before a socket is accepted and before calls are listed over HTTP.

    The socket of a page has the cookies of its site and no header of its own.
    """
    user = connection.path_params.get("user_id") or connection.query_params.get("user")
    if user in KEYS and KEYS[user] in (connection.headers.get("x-key"), connection.cookies.get("key")):
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


@app.get("/login")
async def login(user: str, key: str) -> RedirectResponse:
    """The application's own login."""
    if KEYS.get(user) != key:
        raise HTTPException(401, "please log in")
    response = RedirectResponse("/")
    response.set_cookie("key", key, httponly=True, samesite="strict")
    return response


@app.get("/")
async def page(key: str = Cookie("")) -> HTMLResponse:
    """A page of the application, which talks."""
    return HTMLResponse(PAGE if key == KEYS["ann"] else "Please log in.")


@app.get("/books")
async def books() -> list[str]:
    """A route of the existing application."""
    return shop["books"]
