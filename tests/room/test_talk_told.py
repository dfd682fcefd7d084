"""What a talk tells whom, and how much of it is kept."""

import asyncio
from typing import Any

import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model.base import Connection
from realtime.model.script import CallTools
from realtime.room import record
from realtime.room.floor import addressed, broadcast
from realtime.tool import Toolkit
from tests.room.rooms import TalkModel, agent, anna_and_ben_in, anna_in, house, spoken, two, utterance

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

BUTTON = SessionConfig(turn_detection=TurnDetection(authority="client"))


async def test_a_wrong_answer_to_a_tool_call_is_told_to_whoever_gave_it_and_to_nobody_else() -> None:
    async with anna_and_ben_in(two(TalkModel(), TalkModel(), floor=addressed)) as (home, anna, ben):
        for number, call_id in enumerate(("alice.nonsense", "nobody.nonsense")):
            ben.call.receive(c.ClientToolResultEvent(id=call_id, name="pay", output="", event_id=f"mine {number}"))
        told = [(one.code, one.client_event_id) for one in ben.of(s.AgentErrorEvent)]
        assert told == [("unknown_tool_call", "mine 0"), ("unknown_tool_call", "mine 1")]
        assert anna.errors() == []
        assert home.of(s.AgentErrorEvent) == []


async def test_an_answer_goes_to_the_agent_whose_whole_id_the_call_begins_with() -> None:
    asked = 0

    def pay() -> str:
        """Pays."""
        nonlocal asked
        asked += 1
        return "paid"

    first, second = (
        agent("Al", TalkModel()),
        agent("Alice", TalkModel([CallTools((("pay", {}),))], [spoken("It is paid.")]), toolkit=Toolkit(confirm=[pay])),
    )
    first.agent_id, second.agent_id = "al", "al.ice"
    async with anna_in(house(first, second, floor=addressed)) as (home, anna):
        anna.write("Alice, pay.")
        await asyncio.sleep(1)
        (call,) = [one.tool_use for one in anna.of(s.AgentResponseToolUseDoneEvent)]
        anna.call.receive(c.ClientToolResultEvent(id=call.id, name="pay", output="", confirmed=True))
        await home.quiet()
        assert asked == 1
        assert home.talk()[-1] == ("Alice", "It is paid.")
        assert anna.errors() == []


async def test_a_turn_that_is_none_after_all_is_told_by_its_name() -> None:
    async with house(agent("Alice", TalkModel())) as home:
        anna, ben = await home.come("Anna", BUTTON), await home.come("Ben")
        anna.begin("This is a mistake.")
        anna.call.receive(c.ClientAudioClearEvent())
        (began,), (cleared,) = ben.of(s.AgentInputStartedEvent), ben.of(s.AgentInputClearedEvent)
        assert cleared.item_id == began.item_id
        assert cleared.agent_id == anna.id


async def test_what_is_said_while_an_agent_s_model_is_being_connected_is_read_afterwards() -> None:
    class Slow(TalkModel):
        async def connect(self, **options: Any) -> Connection:
            if self.settings:
                await asyncio.sleep(5)
            return await super().connect(**options)

    bob = Slow("I am Bob.")
    async with anna_in(two("This is what I think.", bob, floor=broadcast)) as (_, anna):
        bob.die()
        await asyncio.sleep(1.5)
        anna.write("Hello.")
        await asyncio.sleep(3)
        assert bob.read == []
        await asyncio.sleep(3)
        assert bob.read[:2] == ["[Anna]: Hello.", "[Alice]: This is what I think."]


async def test_the_conversation_of_a_room_keeps_what_was_said_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "MAX_ITEMS", 10)
    async with anna_in(house(agent("Alice", TalkModel("Yes.")), floor=addressed)) as (home, anna):
        for number in range(12):
            await anna.writes(f"Line {number}.")
        assert len(home.room.conversation) == 10
        assert home.talk() == [
            line for number in range(7, 12) for line in (("Anna", f"Line {number}."), ("Alice", "Yes."))
        ]


async def test_what_is_dropped_from_a_conversation_while_it_is_said_harms_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "MAX_ITEMS", 2)
    async with anna_and_ben_in(house(agent("Alice", TalkModel("This is what I think of it.")), floor=addressed)) as (
        home,
        anna,
        ben,
    ):
        anna.hear(utterance("Alice, what do you think?"))
        ben.say("Tell us.")
        anna.end()
        await asyncio.sleep(0.3)
        for number in range(3):
            await ben.writes(f"Line {number}.")
        assert len(home.room.conversation) == 2
        assert home.talk()[-1] == ("Alice", "This is what I think of it.")
        assert anna.errors() == []
