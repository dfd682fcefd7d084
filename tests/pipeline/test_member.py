"""An agent in a room: which responses of its model count, what it is told, and what is left when its model is lost."""

import asyncio
from typing import Any

import pytest

from realtime.event import server as s
from realtime.floor import addressed, broadcast
from realtime.model.base import ItemCreate, ModelInput, ResponseCancel, ResponseCreate
from realtime.model.script import Step, Wait
from tests.pipeline.rooms import Mind, agent, house, spoken

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STORY = "Once upon a time there was a king who had three sons and one crown."


def two(alice: Mind | None = None, bob: Mind | None = None, **options: Any) -> Any:
    """A room with Alice and Bob."""
    options.setdefault("floor", addressed)
    return house(agent("Alice", alice or Mind("I am Alice.")), agent("Bob", bob or Mind("I am Bob.")), **options)


# -- which responses count ---------------------------------------------------------------------------------------------


def forgets_the_first_request() -> Mind:
    """A mind that was asked once without noticing, and answers with numbers from then on."""
    asked = 0

    def react(message: ModelInput) -> list[Step] | None:
        nonlocal asked
        if not isinstance(message, ResponseCreate):
            return None
        asked += 1
        return [spoken(f"Answer {asked}.")] if asked > 1 else []

    return Mind(react=react)


async def test_a_request_that_the_model_never_answers_costs_no_later_answer() -> None:
    async with two(forgets_the_first_request()) as home:
        anna = await home.come("Anna")
        for number in range(4):
            anna.write(f"Alice, question {number}?")
            await asyncio.sleep(25)
        assert [text for name, text in home.talk() if name == "Alice"] == ["Answer 2.", "Answer 3.", "Answer 4."]
        assert anna.errors() == ["no_answer"]


async def test_a_request_given_up_before_the_model_loses_it_costs_no_later_answer() -> None:
    async with two(forgets_the_first_request()) as home:
        anna = await home.come("Anna")
        anna.write("Alice, question 0?")
        await asyncio.sleep(1)
        for number in range(1, 5):
            anna.write(f"Alice, question {number}?")
            await asyncio.sleep(25)
        # The model names no request: its first response may be the one that nobody wants any more.
        assert [text for name, text in home.talk() if name == "Alice"] == ["Answer 3.", "Answer 4.", "Answer 5."]


async def test_a_slow_response_to_an_earlier_turn_is_not_taken_for_the_answer() -> None:
    alice = Mind([Wait(400), spoken("To one.")], [Wait(400), spoken("To two.")])
    async with two(alice) as home:
        anna = await home.come("Anna")
        anna.write("Alice, one.")
        await asyncio.sleep(0.2)
        anna.write("Alice, two.")
        await home.quiet()
        assert home.talk() == [("Anna", "Alice, one."), ("Anna", "Alice, two."), ("Alice", "To two.")]
        created = home.of(s.AgentResponseCreatedEvent)
        done = home.of(s.AgentResponseDoneEvent)
        assert len(created) == 1, "nobody is told of the response that does not count"
        assert [one.response_id for one in done] == [created[0].response_id]


async def test_what_a_model_says_by_itself_is_cancelled_and_leaves_what_was_said_alone() -> None:
    def answers_everything(message: ModelInput) -> list[Step] | None:
        return [spoken("Me too!")] if isinstance(message, ItemCreate) else None

    bob = Mind("I am Bob.", react=answers_everything)
    async with two(bob=bob) as home:
        anna = await home.come("Anna")
        anna.write("Alice, hello.")
        await home.quiet()
        assert len(bob.of(ResponseCancel)) == 2, "once he has read Anna's line, and once Alice's"
        assert [text for _, text in home.talk()] == ["Alice, hello.", "I am Alice."]
        assert not home.of(s.ServerAudioFlushEvent)
        assert not home.of(s.AgentItemDeletedEvent)


# -- its listeners -----------------------------------------------------------------------------------------------------


async def test_an_agent_does_not_cut_the_one_before_it_off_for_a_listener_that_lags() -> None:
    async with two(floor=broadcast, max_agent_turns=3) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        ben.seat.unheard_ms = lambda: 5_000
        anna.write("Hello all.")
        await asyncio.sleep(60)
        assert home.speakers() == ["Alice", "Bob", "Alice"]
        assert not home.of(s.ServerAudioFlushEvent), "what Ben has not heard yet is still to be heard"
