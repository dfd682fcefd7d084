"""A tool asks aloud in a room: the human whose turn led to the call answers by voice, and nobody else."""

from __future__ import annotations

import asyncio

import pytest

from realtime.agent import RealtimeAgent
from realtime.event import client as c
from realtime.model.local.engine import SpeechEngine
from realtime.room.floor import addressed, broadcast, round_robin
from tests.agent.consent_call import QUESTION, Table, Waiter
from tests.agent.consent_cases import (
    DONE,
    FOUR,
    Case,
    Scene,
    Step,
    agreed,
    asking,
    card,
    case,
    differences,
    do,
    heard,
    heard_again,
    ignored,
    in_room,
    is_so,
    not_booked,
    orders,
    pause,
    plays,
    receipt,
    said,
    says,
    state,
    types,
    until,
    withdrawn,
)
from tests.agent.thinking import call, react, say
from tests.room.asked_room import FINCH, ROBIN, WREN, asked_room, embedded, restaurant

pytestmark = pytest.mark.virtual_time

BY_VOICE = {"consent": "voice"}
AGREED = {"answer": "yes", "answered_by": "voice", "done": "success"}
HAS_LEFT = "Result: the user refused: the human who had to agree has left the room."
only_asked = is_so(lambda scene: (scene.told.states, scene.told.receipts) == (["asking", "heard"], []))


def away(is_away: bool) -> Step:
    """Anna's line is lost, or back."""
    return do(lambda scene: scene.anna.participant.set_away(is_away))


async def leaves(scene: Scene) -> None:
    await scene.anna.go("left")


async def orders_until_it_is_asked(scene: Scene) -> None:
    """Where anybody may have the floor, Robin gets it in the end."""
    while "asking" not in scene.told.states:
        await orders(scene)
        await asyncio.sleep(4)


CASES = {
    "the talk holds the answer and not the question": agreed(
        *(orders, heard, says("Yes."), said(DONE), pause(3)),
        is_so(lambda scene: scene.told.talk() == [("Anna", ROBIN), ("Anna", "Yes."), ("Robin", DONE)]),
        tool=BY_VOICE,
    ),
    "another human's yes consents to nothing and withdraws nothing": agreed(
        *(orders, heard, says("Yes.", who="Ben"), ignored(), pause(3), only_asked, not_booked, heard_again),
        *(says("Yes."), receipt(), is_so(lambda scene: ("Ben", "Yes.") in scene.told.talk())),
        ignored=["other_person"],
    ),
    "another human who speaks into the question cuts it and it is asked again": agreed(
        *(orders, asking, says(FINCH, 0.1, who="Ben"), heard),
        *(is_so(lambda scene: scene.told.said[1:] == [f"Finch: You said {FINCH}", QUESTION]), says("Yes.")),
        receipt(),
        states="asking repeated heard answered",
    ),
    "with consent by voice a yes on the card is refused and a no counts": case(
        *(orders, heard, card(), card(who="Ben"), pause(0.2), only_asked, not_booked),
        *(is_so(lambda scene: scene.people["Ben"].errors() == ["not_yours_to_answer"]), card(False)),
        said("Result: the user refused."),
        receipts=[{"answered_by": "card", "answer": "no"}],
        errors=["asked_by_voice"],
        tool=BY_VOICE,
    ),
    "a card that answers while another agent speaks is told of afterwards": agreed(
        *(orders, heard, says(FINCH, who="Ben")),
        *(until(lambda scene: scene.told.said[-1].startswith("Finch: ")), card(), said(DONE)),
        by="card",
    ),
    "a typed yes answers a question that was heard": agreed(
        *(orders, heard, types("Yes.", "Ben"), heard_again, not_booked, types("Yes."), said(DONE)),
        by="text",
        ignored=["other_person"],
    ),
    "when the asked human leaves the call is refused": case(
        *(orders, heard, leaves, said(HAS_LEFT), says("Yes.", who="Ben"), pause(3)), receipts=[{"done": "denied"}]
    ),
    "who is away is asked again when back and the others talk on": agreed(
        *(orders, heard, away(True), pause(20), only_asked, is_so(lambda scene: scene.told.room.floor is None)),
        *(says(FINCH, who="Ben"), said(f"Finch: You said {FINCH}"), pause(3), only_asked, away(False)),
        *(heard_again, says("Yes."), receipt()),
    ),
    "where anyone may consent the receipt names who did": case(
        *(orders, heard, says("Yes.", who="Ben"), receipt()),
        booked=[FOUR],
        receipts=[{**AGREED, "participant": "Ben", "words": "Yes."}],
        tool=BY_VOICE,
        options={"consent_by": "anyone"},
    ),
    "a voice over another human's, as a loudspeaker lets it be heard, is no consent": agreed(
        *(orders, heard, do(lambda scene: scene.people["Ben"].begins("Yes.")), says("Yes.", 0.2), ignored(2)),
        *(heard_again, not_booked, says("Yes."), receipt()),
        ignored=["other_person", "other_person"],
    ),
    "a far voice consents to nothing, right after an echo either": agreed(
        *(orders, heard, says("Table for four people on Friday."), ignored(), pause(1), only_asked),
        *(says("Yes.", far=True), ignored(2), not_booked, says("Yes."), receipt()),
        ignored=["echo", "far_voice"],
    ),
    "a yes counts only once the asked human's own client has played the end": agreed(
        *(orders, asking, pause(1.2), plays(750), is_so(lambda scene: scene.told.states == ["asking"])),
        *(says("Yes.", ms=600), plays(800), ignored(), not_booked, state("repeated"), pause(1.1), plays(1_000)),
        *(heard, says("Yes."), receipt()),
        ignored=["before_end"],
        tool=BY_VOICE,
        options={"reports": True},
    ),
    "anybody who stops the talk withdraws the question": withdrawn(
        *(orders, heard, do(lambda scene: scene.people["Ben"].receive(c.ClientResponseCancelEvent()))),
        *(receipt(), says("Yes."), pause(5)),
    ),
    **{
        f"it is asked and answered under {policy.__name__}": agreed(
            *(orders_until_it_is_asked, heard, says(FINCH, who="Ben"), heard_again, says("Yes."), receipt()),
            tool=BY_VOICE,
            options={"policy": policy, "max_agent_turns": 1},
        )
        for policy in (broadcast, round_robin)
    },
    "one who never comes back holds up nobody else's question": case(
        *(orders, heard, away(True), pause(1), leaves, said(HAS_LEFT), says(ROBIN, 2, who="Ben"), heard_again),
        *(says("Yes.", who="Ben"), receipt(2)),
        booked=[FOUR],
        receipts=[{"done": "denied"}, {**AGREED, "participant": "Ben"}],
    ),
    "two humans may have the same tool asked for, and neither call takes the place of the other": case(
        *(orders, heard, says(ROBIN, who="Ben"), heard_again, says("Yes."), receipt(), state("heard", 3)),
        *(says("No.", who="Ben"), receipt(2)),
        booked=[FOUR],
        receipts=[AGREED, {"participant": "Ben", "answer": "no"}],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_in_a_room_of_three_agents_and_four_people(case: Case) -> None:
    assert await differences(case, in_room) == {}


async def test_two_agents_ask_one_after_the_other() -> None:
    robins, wrens = Table(), Table()
    async with restaurant(robins, wrens) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(WREN)
        await home.until(lambda: len(home.said) == 2)
        assert home.said[1].startswith("Wren: ")
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        await asyncio.sleep(1.5)
        assert (robins.booked, wrens.booked) == ([], []), "Wren has asked since, and Ben"
        await home.until_said(home.said[1], 2)
        await home.until_state("heard", 3)
        await ben.says("Yes.")
        await home.until_receipt()
        assert (robins.booked, wrens.booked) == ([], [(2, "Monday")])
        await home.until_state("heard", 4)
        await anna.says("Yes.")
        await home.until_receipt(2)
        assert robins.booked == [FOUR]
        assert [one["participant"] for one in home.receipts] == ["Ben", "Anna"]


async def test_a_thinking_agent_asks_aloud_and_goes_on_with_its_reply() -> None:
    table = Table()
    robin = react([call("book_table", people=4, day="Friday")], say("It is booked."), toolkit=table.tools)
    robin.name = "Robin"
    async with asked_room(lambda engine: [robin, embedded(engine, "Finch", Waiter())]) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(FINCH)
        await home.until_state("heard", 2)
        await anna.says("How much is it?")
        await home.until_state("heard", 3)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("yes", "success", [FOUR])
        await home.until_said("It is booked.")
        await asyncio.sleep(3)
        assert home.talk()[-1] == ("Robin", "It is booked.")


async def test_the_embedded_model_that_asked_forgets_the_answer_and_the_others_read_it() -> None:
    table, robin, finch = Table(), Waiter(), Waiter()

    def make(engine: SpeechEngine) -> list[RealtimeAgent]:
        return [embedded(engine, "Robin", robin, table.tools), embedded(engine, "Finch", finch)]

    async with asked_room(make, floor=addressed) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await anna.says("Yes.")
        await home.until_said(DONE)
        kinds = [(item.type, item.text) for item in robin.prompts[-1].history]
        assert [kind for kind, _ in kinds[-2:]] == ["tool_call", "tool_result"]
        assert not [text for _, text in kinds if "Yes." in text]
        await asyncio.sleep(2)
        await ben.says(FINCH)
        await home.until(lambda: finch.prompts)
        assert "[Anna]: Yes." in [item.text for item in finch.prompts[-1].history]
