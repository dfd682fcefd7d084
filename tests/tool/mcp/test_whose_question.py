"""By stdio, before the protocol of 2026, no message of a server says for which call it asks: no wrong user is asked."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime.message import ToolCallBlock
from realtime.tool import Toolkit
from realtime.tool.context import ToolScope
from realtime.tool.mcp.running_calls import HOLD_S, LATE_S
from tests.tool.mcp.scripted import Json, ScriptedClient, ScriptedServer, text, tool, toolkit_of

pytestmark = pytest.mark.virtual_time()

THINKS_S = 10.0
"""Seconds that a user takes to answer."""


class Shop(ScriptedServer):
    """`book` asks for the seats; `look` takes as long as it is told to."""

    def __init__(self) -> None:
        super().__init__([tool("book"), tool("look")], self.serve)
        self.asks_after_s = 1.0

    async def serve(self, server: ScriptedServer, request: Json) -> Json:
        given = request["params"]["arguments"]
        if request["params"]["name"] == "look":
            await asyncio.sleep(given["seconds"])
            return text("looked")
        await asyncio.sleep(self.asks_after_s)
        told = await self.elicit(f"How many seats for {given['who']}?", {"seats": {"type": "integer"}})
        return text(json.dumps(told))


class Hall:
    """Users in conversations of their own, who share one server."""

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self.asked: list[tuple[str, str]] = []
        """Who was asked what."""
        self.notes: list[tuple[str, str]] = []

    async def run(self, user: str, name: str, **arguments: Any) -> str:
        async def elicit(server: str, message: str, schema: Any) -> Json:
            self.asked.append((user, message))
            await asyncio.sleep(THINKS_S)
            return {"seats": 2}

        def progress(note: str, kind: str) -> None:
            self.notes.append((user, note))

        with ToolScope(call_id=user, elicit=elicit, progress=progress).in_force():
            result = await self._toolkit.run(ToolCallBlock(id="1", name=name, input=json.dumps(arguments)))
        return result.output_text()

    async def book(self, user: str) -> str:
        """What the server is told."""
        return str(json.loads(await self.run(user, "book", who=user))["action"])


@asynccontextmanager
async def hall() -> AsyncIterator[tuple[Shop, Hall]]:
    server = Shop()
    async with ScriptedClient(server) as client:
        toolkit = await toolkit_of(client)
        yield server, Hall(toolkit)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_question_waits_until_the_calls_that_have_not_asked_are_done() -> None:
    async with hall() as (_, users):
        booking, looking = users.book("ann"), users.run("bob", "look", seconds=6)
        assert await asyncio.gather(booking, looking) == ["accept", "looked"]
        assert users.asked == [("ann", "How many seats for ann?")]
        assert now() == pytest.approx(6 + THINKS_S, abs=0.1)


async def test_calls_that_begin_after_a_question_do_not_make_it_wait() -> None:
    async with hall() as (_, users), asyncio.TaskGroup() as group:
        group.create_task(users.book("ann"))
        await asyncio.sleep(1.5)
        group.create_task(users.run("bob", "look", seconds=60))
        await asyncio.sleep(0.1)
        assert users.asked == [("ann", "How many seats for ann?")]


async def test_functions_that_have_asked_take_turns_and_each_user_is_asked_for_his_own() -> None:
    async with hall() as (_, users):
        assert await users.book("ann") == "accept"
        assert await asyncio.gather(*(users.book(name) for name in ("ann", "bob", "cem"))) == ["accept"] * 3
        assert users.asked[1:] == [(name, f"How many seats for {name}?") for name in ("ann", "bob", "cem")]
        assert {note for _, note in users.notes} == {"the MCP server 'scripted' asks one after the other: it waits"}
        # Others need no turn.
        _, looked = await asyncio.gather(users.book("ann"), _timed(users.run("bob", "look", seconds=1)))
        assert looked == pytest.approx(1, abs=0.1)


async def _timed(work: Any) -> float:
    began = now()
    await work
    return now() - began


async def test_two_that_ask_at_once_for_the_first_time_are_declined_and_told_so_without_the_question() -> None:
    async with hall() as (_, users):
        assert await asyncio.gather(users.book("ann"), users.book("bob")) == ["decline", "decline"]
        assert now() == pytest.approx(1 + HOLD_S, abs=0.1)
        assert users.asked == []
        assert {user for user, _ in users.notes} == {"ann", "bob"}
        said = "the MCP server 'scripted' has asked something, not saying for whom: no one was asked"
        assert {note for _, note in users.notes} == {said}
        assert await asyncio.gather(users.book("ann"), users.book("bob")) == ["accept", "accept"]
        assert users.asked == [("ann", "How many seats for ann?"), ("bob", "How many seats for bob?")]


async def test_a_question_of_a_call_that_was_given_up_is_put_to_no_one_else() -> None:
    async with hall() as (server, users):
        server.asks_after_s = 2
        given_up = asyncio.create_task(users.book("ann"))
        async with asyncio.TaskGroup() as group:
            group.create_task(users.run("bob", "look", seconds=10))
            await asyncio.sleep(1)
            given_up.cancel()
            # The server asks all the same, a second later.
            await asyncio.sleep(2)
        assert users.asked == []
        await asyncio.sleep(LATE_S)
        assert await users.book("bob") == "accept"


async def test_a_question_is_put_to_no_one_if_a_call_is_given_up_while_it_waits() -> None:
    async with hall() as (_, users), asyncio.TaskGroup() as group:
        booking = asyncio.create_task(users.book("ann"))
        group.create_task(users.run("bob", "look", seconds=10))
        await asyncio.sleep(3)
        booking.cancel()
        await asyncio.sleep(8)
        assert users.asked == []
