"""A server with rooms alone, agents that say their names, and clients that come in."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.model.base import AudioCommit, ModelInput, ResponseCreate
from realtime.model.script import Speak, Step, Transcribe
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel
from realtime.room import ChatRoom
from realtime.room.floor import addressed
from realtime.server.calls import Calls
from realtime.server.rooms import Rooms
from realtime.server.rooms_router import rooms_router
from realtime.server.settings import ServerSettings
from tests.server.harness import Client, Json, Place, create, serving_app
from tests.volumes import HANG_S


def agent(name: str, seconds: float = 0.1) -> RealtimeAgent:
    """Says its name, and takes whatever it hears for the same words."""

    def react(message: ModelInput) -> list[Step]:
        if isinstance(message, AudioCommit):
            return [Transcribe("Hello everyone.")]
        return [Speak(f"{name} here.", seconds)] if isinstance(message, ResponseCreate) else []

    return RealtimeAgent(name, f"You are {name}.", ScriptedModel(react, profile=MANUAL_PROFILE))


def two() -> ChatRoom:
    return ChatRoom([agent("Ada"), agent("Bob")], floor=addressed)


def rooms_of(**more: Any) -> Rooms:
    return Rooms({"pair": two}, **({"default": "pair"} | more))


@asynccontextmanager
async def hosting(rooms: Rooms, settings: ServerSettings | None = None) -> AsyncIterator[Place]:
    """A server with these rooms alone."""
    settings = settings or ServerSettings(drain_s=0, limits=Limits(grace_s=0))
    calls = Calls(max_per_address=settings.max_calls_per_address, max_total=settings.max_calls)
    app = FastAPI()
    app.state.calls, app.state.settings = calls, settings
    app.include_router(rooms_router(rooms, settings=settings, calls=calls, page_providers={"dashscope": "scripted"}))
    async with serving_app(app) as place:
        yield place


async def ask(place: Place, method: str, path: str, body: Json | bytes | None = None) -> tuple[int, Json]:
    """The status and the JSON of an answer."""

    def send() -> tuple[int, Json]:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(place.url + path, data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=HANG_S) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read())

    return await asyncio.to_thread(send)


async def come_in(client: Client, **config: Any) -> str:
    """Make the call of somebody in a room; their id there, which is told first."""
    await client.send(create(**config))
    joined = await client.until("server_room_joined")
    return str(joined["participant_id"])


@asynccontextmanager
async def in_room(
    rooms: Rooms | None = None, *, room: str = "tea", name: str = "Ann", **config: Any
) -> AsyncIterator[tuple[Place, Client]]:
    """A server with these rooms, and somebody who has come into one of them."""
    async with (
        hosting(rooms or rooms_of()) as place,
        place.client(f"/rooms/{room}/ws?name={name}") as client,
    ):
        await come_in(client, **config)
        yield place, client


async def refusal(place: Place, method: str, path: str, body: Json | bytes | None = None) -> tuple[int, str]:
    """The status and the code of an answer that refuses."""
    status, error = await ask(place, method, path, body)
    return status, error["code"]


def say(text: str) -> Json:
    return {"type": "client_text_append", "text": text}


async def until_said(client: Client, name: str, words: str) -> Json:
    """Until this client knows that somebody has said this."""
    while True:
        done = await client.until("agent_item_done")
        item = done["item"]
        said = " ".join(part.get("text") or part.get("transcript") or "" for part in item["content"])
        if (item.get("name") or done["agent_name"], said) == (name, words):
            return done


async def heard_next(client: Client) -> str:
    """Listen to the next answer to its end, and say so; who gave it."""
    done = await client.until("agent_response_done")
    item = next(event for event in reversed(client.events) if event["type"] == "agent_response_audio_done")
    await client.send({"type": "client_playback_ack", "item_id": item["item_id"], "played_ms": 60_000})
    return str(done["agent_name"])


def participants(told: Json) -> dict[str, str]:
    """Ids by name."""
    return {one["name"]: one["id"] for one in told["participants"]}
