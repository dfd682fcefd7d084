"""An agent that has the floor and says nothing: it holds up nobody, and what was asked stays open."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, ToolDeclaration
from realtime.event.model import (
    ModelResponseAudioDeltaEvent,
    ModelResponseAudioTranscriptDoneEvent,
    ModelResponseCreatedEvent,
)
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import CallTools, Emit, Step
from realtime.room import ChatRoom
from realtime.room.floor import FloorState, addressed, broadcast
from realtime.server.agentscope_compat import in_turns
from realtime.tool import Toolkit
from realtime.turn.responses import ANSWER_S
from tests.room.rooms import Human, TalkModel, agent, anna_in, house, two

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STALLED: list[Step] = [Emit(ModelResponseCreatedEvent(response_id="r1"))]
"""A response that begins and never goes on."""
STORY = "Once upon a time there was a king who had three sons and one crown, and nobody to give it to."


def dying_when_asked(model: TalkModel, *, times: int, refusals: int = 0) -> None:
    """Its model is lost so many times when it is to answer."""
    left = times

    def react(message: ModelInput) -> Iterable[Step] | None:
        nonlocal left
        if not isinstance(message, ResponseCreate) or not left:
            return None
        left -= 1
        asyncio.get_running_loop().call_soon(lambda: model.die(refusals=refusals))
        return []

    model._react = react


async def test_a_model_that_stalls_loses_the_floor_and_another_is_asked() -> None:
    stalling: tuple[list[Step], ...] = ([], STALLED)
    for stalls in stalling:
        async with anna_in(two(TalkModel(stalls), floor=addressed)) as (home, anna):
            anna.write("Alice, are you there?")
            await asyncio.sleep(ANSWER_S - 1)
            assert home.room.floor == "alice"
            await home.quiet()
            assert home.talk() == [("Anna", "Alice, are you there?"), ("Bob", "I am Bob.")]
            assert anna.errors() == ["no_answer"]


async def test_nobody_is_asked_for_ever_where_all_models_stall() -> None:
    async with anna_in(two(TalkModel([]), TalkModel([]), floor=broadcast)) as (home, anna):
        anna.write("Is anybody there?")
        await asyncio.sleep(10 * ANSWER_S)
        assert anna.errors() == ["no_answer"] * 2
        assert home.room.floor is None
        anna.write("Hello?")
        await asyncio.sleep(0.1)
        assert home.room.floor == "alice", "who could not answer one question may answer the next"


async def test_a_model_that_stalls_in_the_middle_is_heard_to_where_it_came() -> None:
    """Its words come in a moment, and are heard for longer than anybody waits for more of them."""
    said_s = ANSWER_S + 10
    part: dict[str, Any] = {"response_id": "r1", "item_id": "i1"}
    sound = ModelResponseAudioDeltaEvent(
        delta=bytes(round(said_s * 24_000) * 2), format=AudioFormat.pcm16(24_000), **part
    )
    words = ModelResponseAudioTranscriptDoneEvent(transcript=STORY, **part)
    async with anna_in(two(TalkModel([*STALLED, Emit(sound), Emit(words)]), floor=addressed)) as (home, anna):
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(said_s - 1)
        assert home.room.floor == "alice"
        await home.quiet()
        assert home.talk() == [("Anna", "Alice, tell me a story."), ("Alice", STORY)], "Bob need not answer instead"
        assert anna.errors() == ["no_answer"]


async def test_a_tool_that_takes_long_is_waited_for_and_a_model_that_says_nothing_after_it_loses_the_floor() -> None:
    async def look() -> str:
        """Looks."""
        await asyncio.sleep(1.4 * ANSWER_S)
        return "It rains."

    call = [CallTools((("look", {}),))]
    alice = agent("Alice", TalkModel(call, "It rains.", call, []), toolkit=Toolkit([look]))
    async with anna_in(house(alice, agent("Bob", TalkModel("I am Bob.")), floor=addressed)) as (home, anna):
        anna.write("Alice, how is the weather?")
        await asyncio.sleep(1.4 * ANSWER_S - 1)
        assert home.room.floor == "alice"
        await home.quiet()
        assert home.talk()[-1] == ("Alice", "It rains.")
        assert anna.errors() == []
        anna.write("Alice, and now?")
        await asyncio.sleep(2.4 * ANSWER_S + 1)
        assert anna.errors() == ["no_answer"]
        await home.quiet()
        assert home.speakers() == ["Alice", "Alice", "Bob"]


async def test_two_who_talk_among_themselves_go_on_where_the_first_stalls() -> None:
    async with anna_in(two(TalkModel(STALLED), "I begin.", floor=in_turns(), max_agent_turns=3)) as (home, anna):
        anna.call.receive(c.ClientResponseCreateEvent())
        await asyncio.sleep(ANSWER_S + 1)
        await home.quiet()
        assert home.talk()[0] == ("Bob", "I begin.")


async def test_a_client_lets_its_agent_speak_on_after_its_tool() -> None:
    door = ToolDeclaration(name="open_door", description="Opens it.", parameters={"type": "object"})
    call = [CallTools((("open_door", {}),))]
    room = ChatRoom(
        [agent("Alice", TalkModel(call, "It is open.")), agent("Bob", TalkModel("I am Bob."))], floor=addressed
    )
    told: list[s.ServerEvent] = []
    await room.start(told.append, config=SessionConfig(tools=(door,), tool_auto_response=False))
    await room.handle_input(c.ClientTextAppendEvent(text="Alice, open it."))
    await asyncio.sleep(1)
    (asked,) = [one.tool_use for one in told if isinstance(one, s.AgentResponseToolUseDoneEvent)]
    await room.handle_input(c.ClientToolResultEvent(id=asked.id, name="open_door", output="done"))
    await asyncio.sleep(1)
    assert room.floor == "alice"
    await room.handle_input(c.ClientResponseCreateEvent())
    await asyncio.sleep(3)
    said = [item.text for item in room.conversation.items() if item.type == "message"]
    assert said == ["Alice, open it.", "It is open."]
    assert [one.participant_id for one in told if isinstance(one, s.ServerRoomFloorEvent)][-2:] == ["alice", None]
    await room.stop()


async def test_what_was_asked_of_an_agent_whose_model_is_lost_is_asked_of_another() -> None:
    alice = TalkModel("I am Alice.")
    dying_when_asked(alice, times=1, refusals=99)
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        await anna.writes("Alice, what time is it?")
        assert home.talk() == [("Anna", "Alice, what time is it?"), ("Bob", "I am Bob.")]
        assert [one.name for one in home.room.turns.floor.state.said] == ["Anna", "Bob"], "who said nothing had no turn"


async def test_an_agent_that_is_alone_answers_when_its_model_is_back() -> None:
    alice = TalkModel("It is seven.")
    dying_when_asked(alice, times=1)
    async with anna_in(house(agent("Alice", alice), floor=addressed)) as (home, anna):
        anna.write("Alice, what time is it?")
        await asyncio.sleep(5)
        await home.quiet()
        assert home.talk() == [("Anna", "Alice, what time is it?"), ("Alice", "It is seven.")]


async def test_a_question_that_no_model_survives_is_not_asked_for_ever() -> None:
    asked = 0

    def policy(state: FloorState) -> str | None:
        nonlocal asked
        asked += 1
        return state.agents[0].id

    alice = TalkModel()
    dying_when_asked(alice, times=99)
    async with anna_in(house(agent("Alice", alice), floor=policy)) as (home, anna):
        anna.write("Divide by zero.")
        await asyncio.sleep(120)
        assert asked == 2
        assert home.room.floor is None
        assert anna.errors() == []


async def test_what_an_agent_has_said_when_its_model_is_lost_is_its_turn() -> None:
    alice = TalkModel(STORY)
    async with two(alice, floor=addressed) as home:
        anna: Human = await home.come("Anna")
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(1.5)
        alice.die(refusals=99)
        await home.quiet()
        assert [one.name for one in home.room.turns.floor.state.said] == ["Anna", "Alice"]
        assert home.speakers() == ["Alice"]
