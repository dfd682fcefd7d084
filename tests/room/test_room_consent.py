"""Who may agree to a tool in a room: the human whose turn led to its call."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.message import ToolResultBlock
from realtime.model.script import CallTools
from realtime.permission import Consent
from realtime.room import ChatRoom
from realtime.room.floor import addressed
from realtime.tool import Toolkit
from tests.room.rooms import House, Human, TalkModel, agent, house, spoken

pytestmark = pytest.mark.virtual_time


class Till:
    """An agent that pays as soon as it is spoken to, if it may."""

    def __init__(self, name: str = "Alice", *, first: Any = (), consent: Consent = "either") -> None:
        self.paid = 0
        calls = [CallTools((("pay", {}),))]
        toolkit = Toolkit()
        toolkit.register(self.pay, consent=consent)
        self.agent = agent(name, TalkModel(*first, calls, [spoken("All right.")]), toolkit=toolkit)

    def pay(self) -> str:
        """Pay."""
        self.paid += 1
        return "paid"


@asynccontextmanager
async def asked(till: Till, **options: Any) -> AsyncIterator[tuple[House, Human, Human, str]]:
    """Anna has said what leads to the call, and Ben is there: both are told the question, with its id."""
    async with house(till.agent, floor=addressed, **options) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        anna.write("Alice, pay.")
        await asyncio.sleep(1)
        (question,) = ben.of(s.AgentResponseToolUseDoneEvent)
        assert question.tool_use.state == "asking"
        yield home, anna, ben, question.tool_use.id


def answer(human: Human, call_id: str, confirmed: bool = True) -> None:
    result = c.ClientToolResultEvent(id=call_id, name="pay", output="", confirmed=confirmed, event_id="evt_1")
    human.call.receive(result)


def results(human: Human) -> list[ToolResultBlock]:
    return [event.tool_result for event in human.of(s.AgentResponseToolResultEvent)]


@pytest.mark.parametrize("confirmed", [True, False])
async def test_another_human_cannot_answer_for_the_one_whose_turn_led_to_the_call(confirmed: bool) -> None:
    till = Till()
    async with asked(till) as (home, anna, ben, call_id):
        answer(ben, call_id, confirmed)
        await asyncio.sleep(1)
        (refusal,) = ben.of(s.AgentErrorEvent)
        assert (refusal.code, refusal.client_event_id) == ("not_yours_to_answer", "evt_1")
        assert "Anna is asked whether pay may run" in refusal.message
        assert "the question stays open" in refusal.message
        assert (till.paid, results(anna), anna.errors()) == (0, [], [])
        answer(anna, call_id)
        await home.quiet()
        assert till.paid == 1
        assert home.talk()[-1] == ("Alice", "All right.")


async def test_a_tool_that_asks_by_voice_asks_by_its_card_where_nobody_sends_sound() -> None:
    till = Till(consent="voice")
    async with asked(till) as (home, anna, ben, call_id):
        answer(ben, call_id)
        answer(anna, call_id)
        await home.quiet()
        assert (till.paid, anna.errors()) == (1, [])
        assert [event.code for event in ben.of(s.AgentErrorEvent)] == ["not_yours_to_answer"]


async def test_the_one_who_asked_may_refuse() -> None:
    till = Till()
    async with asked(till) as (home, anna, _, call_id):
        answer(anna, call_id, confirmed=False)
        await home.quiet()
        assert till.paid == 0
        assert [result.state for result in results(anna)] == ["denied"]


async def test_a_room_may_let_anyone_answer() -> None:
    till = Till()
    async with asked(till, consent_by="anyone") as (home, _, ben, call_id):
        answer(ben, call_id)
        await home.quiet()
        assert (till.paid, ben.errors()) == (1, [])


async def test_what_an_agent_passes_on_is_answered_by_the_human_it_came_from() -> None:
    till = Till("Bob")
    clerk = agent("Alice", TalkModel("Good morning.", "Bob, pay for Anna."))
    async with house(clerk, till.agent, floor=addressed) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        ben.write("Good morning.")
        await home.quiet()
        anna.write("Alice, let Bob pay.")
        await asyncio.sleep(5)
        questions = [one.tool_use for one in anna.of(s.AgentResponseToolUseDoneEvent)]
        call_id = questions[-1].id
        answer(ben, call_id)
        assert ben.errors() == ["not_yours_to_answer"]
        answer(anna, call_id)
        await home.quiet()
        assert till.paid == 1


async def test_a_call_is_refused_when_the_human_who_has_to_agree_leaves() -> None:
    till = Till()
    async with asked(till) as (home, anna, ben, call_id):
        await anna.go()
        await asyncio.sleep(1)
        (result,) = results(ben)
        assert (result.id, result.state, till.paid) == (call_id, "denied", 0)
        assert "has left the room" in result.output_text()
        answer(ben, call_id)
        await home.quiet()
        assert ben.errors() == ["unknown_tool_call"]
        assert till.paid == 0


async def test_a_call_of_one_who_has_left_before_it_is_refused_at_once() -> None:
    till = Till()
    async with house(till.agent, floor=addressed) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        anna.write("Alice, pay.")
        await anna.go()
        await home.quiet()
        assert [result.state for result in results(ben)] == ["denied"]
        assert till.paid == 0


async def test_the_question_waits_for_a_human_whose_socket_is_lost() -> None:
    till = Till()
    async with asked(till) as (home, anna, ben, call_id):
        anna.participant.set_away(True)
        await asyncio.sleep(5)
        answer(ben, call_id)
        assert (results(ben), ben.errors()) == ([], ["not_yours_to_answer"])
        anna.participant.set_away(False)
        answer(anna, call_id)
        await home.quiet()
        assert till.paid == 1


async def test_where_no_human_has_said_anything_whoever_is_there_answers() -> None:
    till = Till()
    async with house(till.agent, floor=lambda state: "Alice") as home:
        _, ben = await home.come("Anna"), await home.come("Ben")
        ben.call.receive(c.ClientResponseCreateEvent())
        await asyncio.sleep(1)
        (question,) = ben.of(s.AgentResponseToolUseDoneEvent)
        answer(ben, question.tool_use.id)
        await home.quiet()
        assert (till.paid, ben.errors()) == (1, [])


def test_who_may_agree_is_one_of_two() -> None:
    with pytest.raises(UsageError, match="consent_by is one of 'asked', 'anyone'"):
        ChatRoom([RealtimeAgent("Alice", "", TalkModel())], consent_by="nobody")  # type: ignore[arg-type]


async def test_who_sends_no_sound_is_asked_by_a_card_and_all_learn_why_and_what_came_of_it() -> None:
    till = Till()
    async with asked(till) as (home, anna, ben, call_id):
        (question,) = [event.value for event in ben.of(s.ServerCustomEvent)]
        assert (question["by"], question["state"], question["why"]) == (
            "card",
            "asking",
            "this client has sent no sound",
        )
        assert question["tool_call_id"] == call_id
        answer(anna, call_id)
        await home.quiet()
        receipt = [event.value for event in ben.of(s.ServerCustomEvent) if event.name == "consent_receipt"][-1]
        assert (receipt["tool_call_id"], receipt["answered_by"], receipt["answer"]) == (call_id, "card", "yes")
        assert receipt["done"] == "success"
