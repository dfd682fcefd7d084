"""Which request a response of the model answers, and that one which is never answered shifts none of the others."""

import asyncio

import pytest

from realtime.agent.requests import FORGOTTEN_S, GIVEN_UP_S, UNANSWERED_S, Requests
from realtime.agent.responses import RESPONSE_REFUSED
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model import base
from tests.agent.fakes import Call, call

BUTTON = SessionConfig(turn_detection=TurnDetection(authority="client"))


def test_responses_answer_requests_in_their_order() -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.renounce()
    requests.ask(0.2)
    assert requests.settle_unwanted(0.4), "the first is for what was given up"
    assert not requests.settle_unwanted(0.5)
    requests.settle_wanted()
    assert not requests.is_wanted


def test_a_request_that_is_never_answered_is_passed_over_once_the_model_was_asked_again() -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.renounce()
    requests.ask(UNANSWERED_S)
    assert not requests.settle_unwanted(UNANSWERED_S + 0.1)
    requests.settle_wanted()
    assert not requests.is_wanted
    requests.ask(UNANSWERED_S + 1)
    assert not requests.settle_unwanted(UNANSWERED_S + 2), "it shifts no later one either"


def test_a_model_that_is_only_slow_answers_in_order() -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.renounce()
    requests.ask(5.0)
    assert requests.settle_unwanted(UNANSWERED_S - 1), "this is for what was given up, and comes late"
    assert requests.is_wanted
    assert not requests.settle_unwanted(UNANSWERED_S + 4)


@pytest.mark.parametrize(("late_s", "counts"), [(UNANSWERED_S + 5.1, False), (FORGOTTEN_S, True)])
def test_an_answer_that_was_passed_over_and_comes_late_costs_one_and_not_all(late_s: float, counts: bool) -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.renounce()
    requests.ask(5.0)
    assert not requests.settle_unwanted(UNANSWERED_S + 0.1), "taken for the answer to the second"
    requests.settle_wanted()
    assert not requests.is_wanted
    assert (requests.settle_unwanted(late_s) is None) is counts, "the answer to the second, unless much later"
    requests.ask(FORGOTTEN_S + 1)
    assert not requests.settle_unwanted(FORGOTTEN_S + 2)


def test_what_a_room_gives_up_is_passed_over_at_once_unless_it_is_younger() -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.ask(10.0)
    requests.give_up(GIVEN_UP_S)
    requests.renounce()
    requests.ask(GIVEN_UP_S)
    assert requests.settle_unwanted(GIVEN_UP_S + 1), "the second is only slow"
    assert not requests.settle_unwanted(GIVEN_UP_S + 2)
    requests.settle_wanted()
    assert requests.settle_unwanted(GIVEN_UP_S + 3), "late, and nothing else is awaited"


def test_a_refusal_is_not_taken_for_that_of_a_request_that_was_lost() -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.renounce()
    requests.ask(UNANSWERED_S)
    assert not requests.settle_unwanted(UNANSWERED_S + 0.1)
    requests.settle_wanted()
    assert not requests.is_wanted


def test_a_late_response_that_nobody_wants_any_more_stays_unwanted() -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.renounce()
    assert requests.settle_unwanted(3 * UNANSWERED_S)


def test_a_late_response_counts_where_nothing_else_was_asked() -> None:
    requests = Requests()
    requests.ask(0.0)
    assert not requests.settle_unwanted(2 * UNANSWERED_S)


def test_only_what_seems_lost_is_renounced_when_it_is_asked_for_anew() -> None:
    requests = Requests()
    requests.ask(0.0)
    requests.renounce_unanswered(UNANSWERED_S - 0.1)
    assert requests.is_wanted
    requests.renounce_unanswered(UNANSWERED_S)
    assert not requests.is_wanted


def words(made: Call) -> list[str]:
    """What the user has got from the agent."""
    return [event.transcript for event in made.of(s.AgentResponseAudioTranscriptDoneEvent)]


@pytest.mark.virtual_time
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


@pytest.mark.virtual_time
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


@pytest.mark.virtual_time
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


@pytest.mark.virtual_time
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


@pytest.mark.virtual_time
async def test_a_slow_answer_that_was_stopped_stays_unsaid() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        await asyncio.sleep(UNANSWERED_S + 1)
        made.receive(c.ClientResponseCancelEvent())
        made.link.reply(500, "At last.")
        await asyncio.sleep(1)
        assert words(made) == []
