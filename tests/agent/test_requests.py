"""A request that the model never answers shifts none of the others, in a whole call."""

import asyncio

import pytest

from realtime.agent.responses import RESPONSE_REFUSED
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model import base
from realtime.turn.responses import UNANSWERED_S
from tests.agent.fakes import Call, call

pytestmark = pytest.mark.virtual_time

BUTTON = SessionConfig(turn_detection=TurnDetection(authority="client"))


def words(made: Call) -> list[str]:
    """What the user has got from the agent."""
    return [event.transcript for event in made.of(s.AgentResponseAudioTranscriptDoneEvent)]


@pytest.mark.parametrize("interrupted_after_s", [1.0, UNANSWERED_S + 1])
async def test_a_call_goes_on_after_a_request_that_the_model_never_answers(interrupted_after_s: float) -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        await asyncio.sleep(interrupted_after_s)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(UNANSWERED_S)
        for number in (1, 2, 3):
            made.receive(c.ClientTextAppendEvent(text="Are you there?"))
            made.link.reply(500, f"Answer {number}.")
            await asyncio.sleep(1)
        assert words(made) == ["Answer 1.", "Answer 2.", "Answer 3."]


async def test_an_answer_can_be_asked_for_again_when_the_model_has_lost_the_request() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientResponseCreateEvent())
        made.receive(c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 1, "it is on its way"
        await asyncio.sleep(UNANSWERED_S)
        made.receive(c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.link.reply(500, "Here I am.")
        await asyncio.sleep(1)
        assert words(made) == ["Here I am."]


async def test_the_answer_of_a_slow_model_to_a_question_that_was_taken_back_is_not_heard() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Question 1?"))
        await asyncio.sleep(5)
        made.receive(c.ClientTextAppendEvent(text="No: question 2?"))
        await asyncio.sleep(11)
        for answer in ("Answer 1.", "Answer 2."):
            made.link.reply(500, answer)
            await asyncio.sleep(5)
        assert words(made) == ["Answer 2."]


async def test_a_call_that_is_refused_after_a_lost_request_awaits_no_answer() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        await asyncio.sleep(1)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(UNANSWERED_S)
        made.receive(c.ClientTextAppendEvent(text="Are you there?"))
        code = sorted(RESPONSE_REFUSED)[0]
        made.link.say(m.ModelErrorEvent(error_type="provider_error", code=code, message="Not now."))
        made.receive(c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 3, "nothing is on its way any more"


async def test_a_slow_answer_that_was_stopped_stays_unsaid() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        await asyncio.sleep(UNANSWERED_S + 1)
        made.receive(c.ClientResponseCancelEvent())
        made.link.reply(500, "At last.")
        await asyncio.sleep(1)
        assert words(made) == []
