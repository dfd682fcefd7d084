"""The record of a call: filled in from what was heard, corrected, stored with the call, readable."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel, Field

from realtime import testing as kit
from realtime.agent import RealtimeAgent
from realtime.agent.call_record import LIMIT_S, SHUTDOWN_S
from realtime.call.session import Session
from realtime.errors import ProviderError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.message import TextBlock, ToolCallBlock
from realtime.model.base import ResponseCreate
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.script import Speak, Step
from realtime.model.scripted import ScriptedModel
from realtime.runtime import Runtime
from realtime.server.settings import ServerSettings
from realtime.testing.check.failing import CheckFailed
from tests.agent.fakes import ListSink, listener_into
from tests.agent.thinking import ScriptedChat
from tests.server.harness import serving

HELLO = c.ClientTextAppendEvent(text="I'm Ann. A table for six, please.")
GOOD = {"caller": "Ann", "people": 6}
BAD = {"caller": "Ann", "people": "half a dozen"}


class Booking(BaseModel):
    caller: str
    people: int = Field(ge=1)


def filled(value: object) -> list[ToolCallBlock]:
    return [ToolCallBlock(id="c1", name="generate_structured_output", input=json.dumps(value))]


def react(message: object) -> list[Step]:
    return [Speak("A table for six it is.", 1.0)] if isinstance(message, ResponseCreate) else []


def luigi(*answers: Any, chat: ChatModelBase | None = None, **more: Any) -> RealtimeAgent:
    chat = chat or ScriptedChat(*answers)
    return RealtimeAgent("Luigi", "", ScriptedModel(react), call_record=Booking, chat_model=chat, **more)


@asynccontextmanager
async def call(agent: RealtimeAgent, *texts: c.ClientEvent, end: str = "client_end") -> AsyncIterator[Session]:
    """A call that has ended."""
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    session = Session(participant=agent.run(), runtime=runtime, session_id="s1")
    session.attach(listener_into(ListSink(), runtime))
    await session.start(SessionConfig())
    for text in texts:
        session.receive(text)
        await asyncio.sleep(5)
    await session.end(end)
    yield session


def records(session: Session) -> list[dict[str, Any]]:
    return [
        event.value
        for event in session.log.read()
        if isinstance(event, s.ServerCustomEvent) and event.name == "call_record"
    ]


def ends(session: Session) -> tuple[str | None, str]:
    """How the call ended, and its last event."""
    return session.end_reason, [entry for entry in session.log.read() if isinstance(entry, s.ServerEvent)][-1].type


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("answers", "n_requests"),
    [
        ([filled(GOOD)], 1),
        ([filled(BAD), filled(GOOD)], 2),
        ([filled(BAD), [TextBlock(text="I am not sure.")], filled({}), filled(GOOD)], 4),
        ([[TextBlock(text=f"Here it is: {json.dumps(GOOD)}")]], 1),
    ],
    ids=["at once", "after a correction", "after three", "as text"],
)
async def test_the_record_is_filled_in_at_the_end_and_what_is_wrong_is_said_back(
    answers: Sequence[Any], n_requests: int
) -> None:
    chat = ScriptedChat(*answers)
    async with call(luigi(chat=chat), HELLO) as session:
        assert records(session) == [{"model": "Booking", "record": GOOD}]
        kinds = [entry.type for entry in session.log.read() if isinstance(entry, s.ServerEvent)][-3:]
        assert kinds == ["server_custom", "agent_ended", "server_session_ended"]
        assert session.end_reason == "client_end"
    assert len(chat.requests) == n_requests
    asked = [json.dumps(request.messages) for request in chat.requests]
    assert "I'm Ann. A table for six, please." in asked[0]
    assert "A table for six it is." in asked[0]
    if n_requests == 2:
        assert "people: Input should be a valid integer" in asked[1]


class Silent(ChatModelBase):
    async def __call__(self, *args: Any, **options: Any) -> ChatResponse:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("chat", "end", "why"),
    [
        (ScriptedChat(filled(BAD)), "client_end", "people: Input should be a valid integer"),
        (ScriptedChat([TextBlock(text="No.")]), "client_left", "there is no object in the answer"),
        (ScriptedChat(ProviderError("the key is refused", code="invalid_api_key")), "client_end", "the key is refused"),
        (ScriptedChat(ValueError("secret")), "client_end", "the chat model failed: ValueError"),
        (Silent("silent", False), "client_end", f"longer than {LIMIT_S:g} s"),
        (Silent("silent", False), "shutdown", f"longer than {SHUTDOWN_S:g} s"),
    ],
)
async def test_a_record_that_is_never_valid_is_an_event_with_the_reasons_and_the_call_ends_as_ever(
    chat: ChatModelBase, end: str, why: str
) -> None:
    async with call(luigi(chat=chat), HELLO, end=end) as session:
        (value,) = records(session)
        assert (value["model"], value["record"]) == ("Booking", None)
        assert why in "; ".join(value["reasons"])
        assert ends(session) == (end, "server_session_ended")
    if isinstance(chat, ScriptedChat):
        assert len(chat.requests) in (1, 4)


@pytest.mark.virtual_time
async def test_there_is_no_record_of_a_call_in_which_the_user_said_nothing_and_of_a_deleted_one() -> None:
    chat = ScriptedChat(filled(GOOD))
    async with call(luigi(chat=chat)) as session:
        assert records(session) == []
    async with call(luigi(chat=chat), HELLO, end="deleted") as session:
        assert records(session) == []
    assert chat.requests == []


@pytest.mark.virtual_time
async def test_what_was_said_in_earlier_calls_is_not_in_the_record() -> None:
    chat = ScriptedChat(filled(GOOD))
    agent = luigi(chat=chat)
    async with call(agent, c.ClientTextAppendEvent(text="A table for ninety.")) as session:
        agent.conversation = session.conversation.items()
    async with call(agent, HELLO):
        pass
    first, second = (json.dumps(request.messages) for request in chat.requests)
    assert "ninety" in first
    assert "ninety" not in second


@pytest.mark.virtual_time
async def test_after_a_hand_over_the_record_is_that_of_the_latest_agent_which_has_one() -> None:
    chat = ScriptedChat(filled(GOOD))
    mario = RealtimeAgent("Mario", "", ScriptedModel(react))

    async def enter(agent: RealtimeAgent) -> None:
        await agent.transfer_to("Mario")

    async with call(luigi(chat=chat, transfers=[mario], on_enter=enter), HELLO) as session:
        assert session.participant.name == "Mario"
        assert [value["record"] for value in records(session)] == [GOOD]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"call_record": Booking}, "call_record is filled in by a chat model: give chat_model="),
        ({"call_record": dict, "chat_model": ScriptedChat()}, "call_record"),
        ({"call_record": GOOD, "chat_model": ScriptedChat()}, "call_record"),
    ],
)
def test_a_record_that_cannot_be_is_refused_when_the_agent_is_made(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        RealtimeAgent("Luigi", "", ScriptedModel([]), **options)


async def test_the_record_is_read_over_http_once_the_call_is_over() -> None:
    def make() -> RealtimeAgent:
        return luigi(filled(GOOD))

    async with serving(make, ServerSettings(drain_s=0, store="memory:")) as place:
        async with place.client("/ws/ann/s1") as client:
            call_id = (await client.make_call())["call_id"]
            await client.send({"type": "client_text_append", "text": "A table for six."})
            await client.until("agent_response_done")
            path = f"/api/calls/{call_id}/record?user="
            assert (await place.get(path + "ann")).status == 409
            await client.send({"type": "client_session_end"})
            told = await client.until("server_custom")
            assert (told["name"], told["value"]["record"]) == ("call_record", GOOD)
            await client.until("server_session_ended")
        answer = await place.get(path + "ann")
        assert answer.json() == {"call_id": call_id, "model": "Booking", "record": GOOD}
        assert (await place.get(path + "ben")).status == 404
        async with place.client("/ws/ann/s2") as client:
            call_id = (await client.make_call())["call_id"]
            await client.send({"type": "client_session_end"})
            await client.until("server_session_ended")
        answer = await place.get(f"/api/calls/{call_id}/record?user=ann")
        assert (answer.status, answer.json()["code"]) == (404, "no_record")


def played(agent: RealtimeAgent) -> kit.Run:
    steps = (kit.Type("I'm Ann. A table for six, please."), kit.WaitUntilHeard())
    case = kit.Case(users=(kit.Person(steps),), name="booking", models={})
    with asyncio.Runner(loop_factory=kit.VirtualLoop) as runner:
        return runner.run(kit.voice_call(case, agent=lambda: agent))


def test_the_test_kit_has_the_record() -> None:
    run = played(luigi(filled(GOOD)))
    assert run.call_record(Booking) == Booking(caller="Ann", people=6)

    class Order(BaseModel):
        title: str

    with pytest.raises(CheckFailed, match="a Booking, is no Order: title: Field required"):
        run.call_record(Order)
    with pytest.raises(CheckFailed, match="could not be filled in: people: Input should be"):
        played(luigi(filled(BAD))).call_record(Booking)
    with pytest.raises(CheckFailed, match="has no record"):
        played(RealtimeAgent("Luigi", "", ScriptedModel(react))).call_record(Booking)
