"""Fillers in a call: when one is due, said while a tool runs, taken back when it returns, never over the user."""

import asyncio
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.fillers import AGAIN_AFTER_S, FIRST_AFTER_S, MOST_FILLERS, Fillers, overrides_for
from realtime.agent.phrases import FAREWELLS, FILLERS, QUESTIONS, in_language
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
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
            ["Einen Moment.", "Ich schaue nach.", "Das dauert noch kurz."],
        ),
    ],
    ids=["the program's own", "a tool of the client", "the model's language"],
)
async def test_each_line_is_said_once_in_the_language_of_the_call(
    profile: base.Profile, options: dict[str, Any], use: tuple[str, str, str], lines: list[str]
) -> None:
    """None is said twice."""
    async with call(profile=profile, **options) as made:
        ask_tools(made, use)
        await asyncio.sleep(25)
        assert [one.say for one in fillers(made)] == lines


async def test_it_waits_for_the_end_of_what_the_agent_says() -> None:
    async with call(profile=GIVEN, toolkit=SLOW) as made:
        response_id = made.link.begin_speaking(3_000, "Let me see. ")
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


LINES = ("One moment.", "Just a second.", "Still looking.", "Almost there.")


def core(lines: tuple[str, ...] = LINES) -> Fillers:
    return Fillers(lines, Random(7))


def take_all(wait: Fillers) -> list[tuple[float, str]]:
    """Return when which filler comes while the tools run and both sides are silent."""
    said = []
    while (due_at := wait.due_at) is not None:
        said.append((due_at, wait.take(due_at)))
    return said


def test_a_slow_tool_gets_one_after_800_ms_then_one_every_6_to_8_s_at_most_three_and_never_the_same() -> None:
    wait = core()
    wait.tool_begins("call_1", 10.0)
    said = take_all(wait)
    assert len(said) == MOST_FILLERS
    times = [at for at, _ in said]
    assert times[0] == pytest.approx(10.8)
    least_s, most_s = AGAIN_AFTER_S
    assert all(least_s <= after - before <= most_s for before, after in pairwise(times))
    assert len({line for _, line in said}) == MOST_FILLERS


def test_the_next_wait_goes_on_with_other_lines() -> None:
    wait = core(("One.", "Two."))
    said = []
    for at in (0.0, 100.0, 200.0):
        wait.tool_begins("call", at)
        said.append(wait.take(at + FIRST_AFTER_S))
        wait.tool_ends("call")
    assert said == ["One.", "Two.", "One."]


def test_it_waits_for_800_ms_of_silence_and_for_the_last_of_several_tools() -> None:
    wait = core()
    wait.tool_begins("call_1", 0.0)
    wait.tool_begins("call_2", 0.5)
    wait.postpone(3.2)
    assert not wait.tool_ends("call_1")
    assert wait.due_at == pytest.approx(4.0)
    assert wait.tool_ends("call_2")
    assert not wait.tool_ends("call_2")
    wait.tool_begins("call_3", 5.0)
    wait.clear()
    assert wait.due_at is None, "what the user interrupted gets none"
    wait.tool_begins("call_4", 6.0)
    assert wait.due_at == pytest.approx(6.8)
    assert not wait.tool_ends("call_3"), "the tool of the interrupted reply does not end the wait for the other"


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=6),
    steps=st.lists(st.sampled_from(["begin", "end", "take", "postpone", "clear"]), max_size=60),
)
def test_whatever_happens_no_wait_has_more_than_three_or_one_twice(lines: list[str], steps: list[str]) -> None:
    wait, now = Fillers(lines, Random(1)), 0.0
    running: list[str] = []
    said: list[str] = []
    for number, step in enumerate(steps):
        now += 1.0
        match step:
            case "begin":
                said = said if running else []
                running.append(f"call_{number}")
                wait.tool_begins(running[-1], now)
            case "end" if running:
                wait.tool_ends(running.pop())
            case "take" if wait.due_at is not None:
                said.append(wait.take(now))
            case "postpone":
                wait.postpone(now)
            case "clear":
                running.clear()
                wait.clear()
        assert len(said) <= min(MOST_FILLERS, len(set(lines)))
        assert len(set(said)) == len(said)
        assert running or wait.due_at is None


def test_a_model_that_cannot_say_given_words_is_asked_for_them_in_the_language_of_the_user() -> None:
    words = Item(id="i1", role="user", content=(ContentPart(type="text", text="Wo ist mein Paket?"),))
    asked = overrides_for("One moment.", words, "filler_1", says_it=False)
    assert (asked.conversation, asked.tool_choice) == ("none", "none")
    assert asked.input == (words,)
    assert asked.instructions is not None
    assert '"One moment."' in asked.instructions
    assert asked.metadata == {"initiative": "filler_1"}
    assert overrides_for("One moment.", None, "filler_1", says_it=False).input == ()
    said = overrides_for("One moment.", words, "filler_1", says_it=True)
    assert (said.instructions, said.input, said.conversation) == (None, None, "none")


@pytest.mark.parametrize(
    ("languages", "first"),
    [(("de-CH",), "Einen Moment."), (("en",), "One moment."), (("xx",), "One moment."), ((), "One moment.")],
)
def test_phrases_are_in_the_language_of_the_call_where_it_is_known(languages: tuple[str, ...], first: str) -> None:
    assert in_language(FILLERS, languages)[0] == first
    assert in_language(FILLERS, ("de", "fr"))[0] == "One moment.", "two languages say nothing about this call"


def test_each_language_has_every_phrase() -> None:
    assert FILLERS.keys() == QUESTIONS.keys() == FAREWELLS.keys()
    assert all(len(set(lines)) >= MOST_FILLERS for lines in FILLERS.values())
