"""A remote agent behind a voice, as the language model of a call, and in a room: live runs of what is shipped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from realtime.a2a import A2AAgent
from realtime.event import client as c
from realtime.event import server as s
from realtime.room.floor import addressed
from tests.a2a.servers import Turn, remote_agent
from tests.a2a.test_agent import booking, echo, endless, quiet
from tests.agent.fakes import call
from tests.agent.office import NAME, desk
from tests.agent.test_tools import ask_tools, results
from tests.agent.voice import COSTS, talk
from tests.room.rooms import TalkModel, agent, anna_in
from tests.room.thinking import salon
from tests.volumes import HANG_S


async def until(condition: Callable[[], object]) -> None:
    loop: Any = asyncio.get_running_loop()
    await loop.until(condition)


def asks(call_id: str, query: str) -> tuple[str, str, str]:
    return (call_id, NAME, f'{{"query": "{query}"}}')


async def test_behind_a_voice_its_question_goes_to_the_user_and_the_answer_to_the_same_task() -> None:
    async with remote_agent(booking) as remote:
        office = quiet(await remote.agent())
        async with call(toolkit=desk(office, background=False, context=False)) as made:
            ask_tools(made, asks("call_1", "A room, please."))
            await until(lambda: results(made))
            made.link.reply(200, "For which day?")
            ask_tools(made, asks("call_2", "Monday"))
            await until(lambda: len(results(made)) == 2)
            assert results(made) == [
                ("call_1", "success", "For which day?"),
                ("call_2", "success", "Booked for Monday."),
            ]
        assert remote.asked[0].get("taskId") != ""
        assert remote.asked[1]["contextId"] == remote.asked[0]["contextId"]
        assert remote.asked[1]["taskId"] == remote.asked[0]["taskId"]
        await office.aclose()


async def test_behind_a_voice_an_interruption_cancels_the_remote_task() -> None:
    async with remote_agent(endless) as remote:
        office = quiet(await remote.agent())
        async with call(toolkit=desk(office, background=False, context=False)) as made:
            ask_tools(made, asks("call_1", "A room, please."))
            await until(lambda: made.of(s.AgentToolProgressEvent))
            made.session.receive(c.ClientResponseCancelEvent())
            async with asyncio.timeout(HANG_S):
                assert await remote.cancelled.get()
        await office.aclose()


async def test_behind_a_voice_a_remote_that_fails_is_told_and_costs_its_own_turn() -> None:
    async def script(turn: Turn) -> None:
        if turn.words == "A room, please.":
            await turn.task()
            await turn.updater.failed(turn.said("No rooms."))
        else:
            await echo(turn)

    async with remote_agent(script) as remote:
        office = quiet(await remote.agent())
        async with call(toolkit=desk(office, background=False, context=False)) as made:
            ask_tools(made, asks("call_1", "A room, please."))
            await until(lambda: results(made))
            ask_tools(made, asks("call_2", "A bed."))
            await until(lambda: len(results(made)) == 2)
            assert results(made) == [
                ("call_1", "error", f"{NAME} cannot answer: Office failed: No rooms."),
                ("call_2", "success", "You said: A bed."),
            ]
        await office.aclose()


async def test_as_the_language_model_of_a_call_its_words_are_spoken_and_its_conversation_is_kept() -> None:
    async with remote_agent(booking) as remote:
        office = quiet(await remote.agent())
        async with talk(office) as made:
            await made.ask("A room, please.")
            await made.ask("Monday", 2)
            assert made.story == ["says For which day?", "completed", "says Booked for Monday.", "completed"]
        assert [[part["text"] for part in one["parts"]] for one in remote.asked] == [["A room, please."], ["Monday"]]
        assert remote.asked[1]["taskId"] == remote.asked[0]["taskId"]


async def test_as_the_language_model_of_a_call_an_interruption_cancels_the_remote_task() -> None:
    async with remote_agent(endless) as remote:
        office = quiet(await remote.agent())
        async with talk(office) as made:
            await made.type("A room, please.")
            await made.until(s.AgentResponseAudioDeltaEvent)
            await made.agent.handle_input(c.ClientResponseCancelEvent(session_id="s"))
            async with asyncio.timeout(HANG_S):
                assert await remote.cancelled.get()


@pytest.mark.parametrize("words", ["Office, find one.", "Office find us one", "what do you think Office"])
async def test_in_a_room_it_hears_everyone_by_name_and_answers_when_it_is_called(words: str) -> None:
    async with remote_agent(echo) as remote:
        office = quiet(await remote.agent())
        alice = agent("Alice", TalkModel("I see."))
        async with anna_in(salon(alice, office, floor=addressed)) as (home, anna):
            anna.write("Alice, we need a room.")
            await until(lambda: ("Alice", "I see.") in home.talk() and home.room.floor is None)
            anna.write(words)
            await until(lambda: "Office" in [name for name, _ in home.talk()])
        assert remote.words() == [["[Anna]: Alice, we need a room.", "[Alice]: I see.", f"[Anna]: {words}"]]


@asynccontextmanager
async def within(script: Callable[[dict[str, Any]], Awaitable[Any]]) -> AsyncIterator[A2AAgent]:
    """A remote agent in this process: its messages go without sockets, so that time can be virtual."""
    app = FastAPI()

    @app.post("/rpc")
    async def rpc(request: Request) -> JSONResponse:
        return JSONResponse({"jsonrpc": "2.0", "id": 1, "result": await script(await request.json())})

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), timeout=None) as client:
        yield quiet(
            A2AAgent({"name": "Office", "url": "http://office.example/rpc"}, SimpleNamespace(httpx_client=client))
        )


@pytest.mark.virtual_time(costs=COSTS, allow=["httpx._client"])
async def test_in_a_room_a_remote_that_hangs_loses_the_floor_and_the_others_go_on() -> None:
    async def hangs(_: dict[str, Any]) -> Any:
        await asyncio.Event().wait()

    async with within(hangs) as office:
        alice = agent("Alice", TalkModel("Fine."))
        async with anna_in(salon(office, alice, floor=addressed)) as (home, anna):
            anna.write("Office, are you there?")
            await asyncio.sleep(21)
            assert home.room.floor is None, "a silent agent has it for 20 s"
            assert anna.errors() == ["no_answer"]
            assert not office.is_replying
            anna.write("Alice, and you?")
            await home.quiet()
            assert home.talk()[-1] == ("Alice", "Fine.")


class Busy:
    """A remote agent whose task goes on until it is cancelled."""

    def __init__(self) -> None:
        self._asked: asyncio.Queue[tuple[str, float]] = asyncio.Queue()

    async def __call__(self, request: dict[str, Any]) -> Any:
        self._asked.put_nowait((request["method"], asyncio.get_running_loop().time()))
        state = "canceled" if request["method"] == "tasks/cancel" else "working"
        return {"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}}

    async def is_asked(self, method: str) -> float:
        """Wait until it is asked for this; returns when that was."""
        async with asyncio.timeout(HANG_S):
            while (asked := await self._asked.get())[0] != method:
                pass
        return asked[1]


Interrupt = Callable[[], None]


@asynccontextmanager
async def behind_a_voice(office: A2AAgent) -> AsyncIterator[Interrupt]:
    async with call(toolkit=desk(office, background=False, context=False)) as made:
        ask_tools(made, asks("call_1", "A room, please."))
        yield lambda: made.session.receive(c.ClientResponseCancelEvent())


@asynccontextmanager
async def as_language_model(office: A2AAgent) -> AsyncIterator[Interrupt]:
    async with talk(office) as made:
        await made.type("A room, please.")
        stops: set[asyncio.Task[None]] = set()
        yield lambda: stops.add(
            asyncio.create_task(made.agent.handle_input(c.ClientResponseCancelEvent(session_id="s")))
        )
        await asyncio.gather(*stops)


@asynccontextmanager
async def in_a_room(office: A2AAgent) -> AsyncIterator[Interrupt]:
    async with anna_in(salon(office, agent("Alice", TalkModel("Fine.")), floor=addressed)) as (_, anna):
        anna.write("Office, find a room.")
        yield lambda: anna.call.receive(c.ClientResponseCancelEvent())


@pytest.mark.virtual_time(costs=COSTS, allow=["httpx._client"])
@pytest.mark.parametrize("place", [behind_a_voice, as_language_model, in_a_room])
async def test_a_barge_in_reaches_the_remote_task_within_200_ms(place: Callable[[A2AAgent], Any]) -> None:
    """Also while the task is asked for only every two seconds."""
    remote = Busy()
    async with within(remote) as office, place(office) as interrupt:
        await remote.is_asked("tasks/get")
        await asyncio.sleep(7)
        began = asyncio.get_running_loop().time()
        interrupt()
        assert 0 <= await remote.is_asked("tasks/cancel") - began <= 0.2
        await office.aclose()
