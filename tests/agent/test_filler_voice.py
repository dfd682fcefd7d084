"""Fillers in a call: said while a tool runs, taken back when it returns, never over the user."""

import asyncio
from typing import Any

import msgspec
import pytest

from realtime.agent.fillers import MOST_FILLERS
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.model import base
from realtime.tool import Toolkit
from tests.agent.fakes import PROFILE, Call, call, speech
from tests.agent.test_confirmation import Till
from tests.agent.test_tools import IN_CLIENT, TOOLS, ask_tools, use

pytestmark = pytest.mark.virtual_time

BESIDE = msgspec.structs.replace(PROFILE, responds_beside_tools=True)
GIVEN = msgspec.structs.replace(BESIDE, says_given_words=True)
FIRST = "One moment."


async def slow() -> str:
    """Take a while."""
    await asyncio.sleep(30)
    return "done"


SLOW = Toolkit([slow])
A_SLOW_CALL = ("call_1", "slow", "{}")


def fillers(made: Call) -> list[base.ResponseCreate]:
    """The fillers that the model was asked for."""
    return [one for one in made.link.got(base.ResponseCreate) if one.overrides and one.overrides.conversation == "none"]


def begin(made: Call, number: int) -> str:
    """The model begins the filler with this number, from 1 on."""
    response_id, overrides = f"beside_{number}", fillers(made)[number - 1].overrides
    assert overrides is not None
    made.link.say(
        m.ModelResponseCreatedEvent(response_id=response_id, conversation="none", metadata=overrides.metadata)
    )
    return response_id


def speak(made: Call, response_id: str, ms: int = 800, text: str = FIRST) -> None:
    where: dict[str, Any] = {"response_id": response_id, "item_id": f"item_of_{response_id}"}
    made.link.say(
        m.ModelResponseAudioTranscriptDeltaEvent(delta=text, **where),
        m.ModelResponseAudioDeltaEvent(delta=speech(ms, 24_000), format=AudioFormat.pcm16(24_000), **where),
    )


def finish(made: Call, response_id: str) -> None:
    where: dict[str, Any] = {"response_id": response_id, "item_id": f"item_of_{response_id}"}
    made.link.say(
        m.ModelResponseAudioDoneEvent(**where),
        m.ModelResponseAudioTranscriptDoneEvent(transcript=FIRST, **where),
        m.ModelResponseDoneEvent(response_id=response_id, conversation="none"),
    )


async def test_a_slow_tool_gets_fillers_and_the_reply_after_it_knows_nothing_of_them() -> None:
    async with call(profile=GIVEN, toolkit=SLOW) as made:
        made.receive(c.ClientTextAppendEvent(text="Look it up."))
        ask_tools(made, A_SLOW_CALL)
        await asyncio.sleep(0.7)
        assert fillers(made) == []
        await asyncio.sleep(0.2)
        assert [one.say for one in fillers(made)] == [FIRST]
        speak(made, response_id := begin(made, 1))
        finish(made, response_id)
        assert made.of(s.AgentResponseAudioDeltaEvent)
        await asyncio.sleep(28)
        assert [one.say for one in fillers(made)] == [FIRST, "Just a second.", "Still looking."]
        await asyncio.sleep(3)
        made.link.reply(1_000, "Here it is. ")
        assert len(fillers(made)) == MOST_FILLERS
        assert [who for who, _ in made.transcript()] == ["user", "tool_call", "tool_result", "assistant"]
        made.check_heard_truth()


async def test_a_model_without_given_words_is_asked_in_the_language_of_the_user() -> None:
    async with call(profile=BESIDE, toolkit=SLOW) as made:
        made.receive(c.ClientTextAppendEvent(text="Wo ist mein Paket?"))
        ask_tools(made, A_SLOW_CALL)
        await asyncio.sleep(1)
        (asked,) = fillers(made)
        assert asked.say == ""
        assert asked.overrides is not None
        assert f'Say only "{FIRST}"' in (asked.overrides.instructions or "")
        assert [item.text for item in asked.overrides.input or ()] == ["Wo ist mein Paket?"]
        assert asked.overrides.tool_choice == "none"


async def quick() -> str:
    """Be quick."""
    await asyncio.sleep(0.5)
    return "done"


@pytest.mark.parametrize(
    ("profile", "options", "use"),
    [
        (PROFILE, {"toolkit": SLOW}, A_SLOW_CALL),
        (GIVEN, {"toolkit": SLOW, "fillers": ()}, A_SLOW_CALL),
        (GIVEN, {"toolkit": SLOW, "config": SessionConfig(output_modalities=("text",))}, A_SLOW_CALL),
        (GIVEN, {"toolkit": Toolkit([quick])}, ("call_1", "quick", "{}")),
        (GIVEN, {"toolkit": Till().tools}, ("call_1", "pay", '{"amount": 5}')),
    ],
    ids=["a model that responds not beside open calls", "switched off", "a written call", "a quick tool", "a question"],
)
async def test_there_are_none_for(profile: base.Profile, options: dict[str, Any], use: tuple[str, str, str]) -> None:
    async with call(profile=profile, **options) as made:
        ask_tools(made, use)
        await asyncio.sleep(20)
        assert fillers(made) == []


@pytest.mark.parametrize(
    ("profile", "options", "use", "lines"),
    [
        (
            GIVEN,
            {"toolkit": SLOW, "fillers": ["Let me check.", "Hang on."]},
            A_SLOW_CALL,
            ["Let me check.", "Hang on."],
        ),
        (GIVEN, {"config": IN_CLIENT}, ("call_1", "where", "{}"), [FIRST, "Just a second.", "Still looking."]),
        (
            msgspec.structs.replace(GIVEN, languages=("de",)),
            {"toolkit": SLOW},
            A_SLOW_CALL,
            ["Einen Moment.", "Ich schaue noch nach.", "Gleich habe ich es."],
        ),
    ],
    ids=["the program's own", "a tool of the client", "the model's language"],
)
async def test_the_lines_are(
    profile: base.Profile, options: dict[str, Any], use: tuple[str, str, str], lines: list[str]
) -> None:
    """None is said twice."""
    async with call(profile=profile, **options) as made:
        ask_tools(made, use)
        await asyncio.sleep(25)
        assert [one.say for one in fillers(made)] == lines


async def test_it_waits_for_the_end_of_what_the_agent_says() -> None:
    async with call(profile=GIVEN, toolkit=SLOW) as made:
        response_id = made.link.begin()
        made.link.speak(response_id, 3_000, "Let me see. ")
        use(made, response_id, A_SLOW_CALL)
        made.link.finish(response_id, "Let me see. ")
        await asyncio.sleep(3.7)
        assert fillers(made) == []
        await asyncio.sleep(0.3)
        assert len(fillers(made)) == 1


async def test_none_is_said_over_the_user() -> None:
    async with call(profile=GIVEN, toolkit=SLOW, config=SessionConfig(turn_detection=None)) as made:
        made.receive(c.ClientTextAppendEvent(text="Look it up."))
        ask_tools(made, A_SLOW_CALL)
        await asyncio.sleep(0.5)
        made.link.hear_start("in_1", 0)
        await asyncio.sleep(20)
        assert fillers(made) == []


async def test_one_that_has_not_begun_is_dropped_when_the_tool_returns() -> None:
    async with call(profile=GIVEN, toolkit=TOOLS) as made:
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(1.1)
        assert len(fillers(made)) == 1
        response_id = begin(made, 1)
        assert [one.response_id for one in made.link.got(base.ResponseCancel)] == [response_id]
        speak(made, response_id)
        finish(made, response_id)
        assert made.of(s.AgentResponseAudioDeltaEvent) == []
        made.link.reply(500, "It is noon. ")
        assert made.transcript()[-1] == ("assistant", "It is noon.")


async def test_one_that_is_heard_is_said_to_its_end() -> None:
    async with call(profile=GIVEN, toolkit=TOOLS) as made:
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(0.9)
        speak(made, response_id := begin(made, 1))
        await asyncio.sleep(0.2)
        assert made.link.got(base.ResponseCancel) == []
        finish(made, response_id)
        assert len(made.link.got(base.ResponseCreate)) == 2, "the filler, and the response after the result"


async def test_who_interrupts_silences_it_and_there_are_no_more() -> None:
    async with call(profile=GIVEN, toolkit=SLOW) as made:
        made.receive(c.ClientTextAppendEvent(text="Look it up."))
        ask_tools(made, A_SLOW_CALL)
        await asyncio.sleep(0.9)
        speak(made, response_id := begin(made, 1))
        made.receive(c.ClientTextAppendEvent(text="Never mind."))
        assert made.of(s.ServerAudioFlushEvent)
        assert response_id in [one.response_id for one in made.link.got(base.ResponseCancel)]
        heard = len(made.of(s.AgentResponseAudioDeltaEvent))
        speak(made, response_id)
        assert len(made.of(s.AgentResponseAudioDeltaEvent)) == heard
        made.link.reply(500)
        await asyncio.sleep(20)
        assert len(fillers(made)) == 1


async def test_a_second_call_in_the_same_wait_begins_no_new_count() -> None:
    async with call(profile=GIVEN, toolkit=SLOW) as made:
        ask_tools(made, A_SLOW_CALL, ("call_2", "slow", "{}"))
        await asyncio.sleep(29)
        assert len(fillers(made)) == MOST_FILLERS
