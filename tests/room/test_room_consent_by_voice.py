"""A tool asks aloud in a room: the human whose turn led to the call answers by voice, and nobody else."""

from __future__ import annotations

import asyncio

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback
from realtime.event import client as c
from realtime.event import server as s
from realtime.model.local.engine import SpeechEngine
from realtime.room.floor import Policy, addressed, broadcast, round_robin
from tests.agent.consent_call import Table
from tests.agent.thinking import call, react, say
from tests.room.asked_room import QUESTION, ROBIN, WREN, Waiter, asked_room, embedded, restaurant

pytestmark = pytest.mark.virtual_time


async def test_the_asked_human_agrees_in_a_room_of_three_agents_and_four_people() -> None:
    table = Table(consent="voice")
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        assert (table.booked, home.said) == ([], [("Robin", QUESTION)])
        await asyncio.sleep(1)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert table.booked == [(4, "Friday")]
        assert home.states == ["asking", "heard", "answered"]
        assert (receipt["answer"], receipt["answered_by"], receipt["words"]) == ("yes", "voice", "Yes.")
        assert (receipt["participant"], receipt["heard_whole"], receipt["done"]) == ("Anna", True, "success")
        await home.until_said("Robin", "Result: booked for 4 on Friday.")
        await asyncio.sleep(3)
        assert home.talk() == [("Anna", ROBIN), ("Anna", "Yes."), ("Robin", "Result: booked for 4 on Friday.")]


async def test_a_no_is_a_refusal_with_the_words_of_who_was_asked() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await anna.says("No.")
        receipt = await home.until_receipt()
        assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("no", "voice", "denied")
        await home.until_said("Robin", "Result: the user refused: No..")
        assert table.booked == []


async def test_a_change_is_asked_again_and_runs_with_the_changed_input() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await asyncio.sleep(1)
        await anna.says("Yes, but only three.")
        await home.until_state("heard", 2)
        assert home.said[-1] == ("Robin", "Shall I book a table for three people on Friday?")
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert table.booked == [(3, "Friday")]
        assert home.states == ["asking", "heard", "changed", "heard", "answered"]
        assert (receipt["answer"], receipt["participant"]) == ("yes", "Anna")


async def test_something_else_is_answered_and_the_question_is_asked_again() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await asyncio.sleep(1)
        await anna.says("How much is it?")
        await home.until_state("heard", 2)
        assert home.said == [("Robin", QUESTION), ("Robin", "You said How much is it?"), ("Robin", QUESTION)]
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]
        await home.until_said("Robin", "Result: booked for 4 on Friday.")


async def test_silence_is_asked_once_more_and_then_refused() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        receipt = await home.until_receipt()
        assert home.states == ["asking", "heard", "repeated", "heard", "answered"]
        assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("silence", "timeout", "denied")
        assert (receipt["participant"], table.booked) == ("Anna", [])


async def test_another_humans_yes_consents_to_nothing_and_withdraws_nothing() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says("Yes.")
        await home.until(lambda: home.ignored)
        assert home.ignored == [("other_person", "Yes.")]
        await asyncio.sleep(3)
        assert (table.booked, home.receipts) == ([], [])
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert (table.booked, receipt["participant"]) == ([(4, "Friday")], "Anna")
        assert ("Ben", "Yes.") in home.talk()


async def test_another_human_who_speaks_into_the_question_cuts_it_and_it_is_asked_again() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(0.1)
        await ben.says("Finch, what time is it?")
        await home.until_state("heard")
        assert home.said[1:] == [("Finch", "You said Finch, what time is it?"), ("Robin", QUESTION)]
        assert home.states == ["asking", "repeated", "heard"]
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_yes_before_the_end_of_the_question_does_not_count() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(0.1)
        await anna.says("Yes.", 600)
        await home.until_state("repeated")
        assert (home.ignored, table.booked) == ([("before_end", "Yes.")], [])
        await home.until_state("heard")
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_two_agents_ask_one_after_the_other() -> None:
    robins, wrens = Table(), Table()
    async with restaurant(robins, wrens) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(WREN)
        await home.until(lambda: len(home.said) == 2)
        assert home.said[1][0] == "Wren"
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        await asyncio.sleep(1.5)
        assert (robins.booked, wrens.booked) == ([], []), "Wren has asked since, and Ben"
        await home.until_said("Wren", home.said[1][1], 2)
        await home.until_state("heard", 3)
        await ben.says("Yes.")
        await home.until_receipt()
        assert (robins.booked, wrens.booked) == ([], [(2, "Monday")])
        await home.until_state("heard", 4)
        await anna.says("Yes.")
        await home.until_receipt(2)
        assert robins.booked == [(4, "Friday")]
        assert [one["participant"] for one in home.receipts] == ["Ben", "Anna"]


async def test_a_no_counts_while_the_question_is_spoken_and_stops_it() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(0.1)
        await anna.says("No.", 600)
        receipt = await home.until_receipt()
        assert (receipt["answer"], receipt["heard_whole"], receipt["done"]) == ("no", False, "denied")
        assert len(home.of(s.ServerAudioFlushEvent)) == 1


async def test_with_consent_by_voice_a_yes_on_the_card_is_refused_and_a_no_counts() -> None:
    table = Table(consent="voice")
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        (question,) = home.of(s.AgentResponseToolUseDoneEvent)
        anna.answers(question.tool_use.id)
        ben.answers(question.tool_use.id)
        await asyncio.sleep(0.2)
        assert (anna.errors(), ben.errors()) == (["asked_by_voice"], ["not_yours_to_answer"])
        assert (table.booked, home.receipts) == ([], [])
        anna.answers(question.tool_use.id, confirmed=False)
        receipt = await home.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["participant"]) == ("card", "no", "Anna")
        await home.until_said("Robin", "Result: the user refused.")


async def test_a_card_answers_a_spoken_question_too() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        (question,) = home.of(s.AgentResponseToolUseDoneEvent)
        anna.answers(question.tool_use.id)
        receipt = await home.until_receipt()
        assert (receipt["answered_by"], table.booked) == ("card", [(4, "Friday")])
        await home.until_said("Robin", "Result: booked for 4 on Friday.")


async def test_a_card_that_answers_while_another_agent_speaks_is_told_of_afterwards() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        (question,) = home.of(s.AgentResponseToolUseDoneEvent)
        await ben.says("Finch, what time is it?")
        await home.until(lambda: home.said[-1][0] == "Finch")
        anna.answers(question.tool_use.id)
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]
        await home.until_said("Robin", "Result: booked for 4 on Friday.")


async def test_a_typed_yes_answers_a_question_that_was_heard() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        ben.receive(c.ClientTextAppendEvent(text="Yes."))
        await home.until_state("heard", 2)
        assert (home.ignored, table.booked) == ([("other_person", "Yes.")], [])
        anna.receive(c.ClientTextAppendEvent(text="Yes."))
        receipt = await home.until_receipt()
        assert (table.booked, receipt["participant"]) == ([(4, "Friday")], "Anna")
        await home.until_said("Robin", "Result: booked for 4 on Friday.")


async def test_when_the_asked_human_leaves_the_call_is_refused() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await anna.go()
        receipt = await home.until_receipt()
        assert (receipt["done"], receipt["participant"], table.booked) == ("denied", "Anna", [])
        await ben.says("Yes.")
        await asyncio.sleep(3)
        assert table.booked == []
        assert ("Robin", "Result: the user refused: the human who had to agree has left the room.") in home.said


async def test_who_is_away_is_asked_again_when_back_and_the_others_talk_on() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        anna.participant.set_away(True)
        await asyncio.sleep(20)
        assert (home.states, home.room.floor) == (["asking", "heard"], None)
        await ben.says("Finch, what time is it?")
        await home.until_said("Finch", "You said Finch, what time is it?")
        await asyncio.sleep(3)
        assert home.states == ["asking", "heard"]
        anna.participant.set_away(False)
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["answer"], table.booked) == ("yes", [(4, "Friday")])


async def test_where_anyone_may_consent_the_receipt_names_who_did() -> None:
    table = Table(consent="voice")
    async with restaurant(table, consent_by="anyone") as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["participant"], receipt["words"], table.booked) == ("Ben", "Yes.", [(4, "Friday")])
        assert home.ignored == []


async def test_a_voice_over_another_humans_is_no_consent() -> None:
    """A loudspeaker lets Anna's microphone hear Ben's yes."""
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        ben.begins("Yes.")
        await asyncio.sleep(0.2)
        await anna.says("Yes.")
        await home.until(lambda: len(home.ignored) == 2)
        assert home.ignored == [("other_person", "Yes."), ("other_person", "Yes.")]
        await home.until_state("heard", 2)
        assert table.booked == []
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_an_echo_and_a_far_voice_consent_to_nothing() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await anna.says("Table for four people on Friday.")
        await home.until(lambda: home.ignored)
        await asyncio.sleep(1)
        assert home.states == ["asking", "heard"]
        await anna.says("Yes.", far=True)
        await home.until(lambda: len(home.ignored) == 2)
        assert home.ignored == [("echo", "Table for four people on Friday."), ("far_voice", "Yes.")]
        assert (table.booked, home.receipts) == ([], [])
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_client_that_reports_no_playback_is_asked_by_a_card() -> None:
    table = Table(consent="voice")
    clocks = {"Anna": AcknowledgedPlayback(24_000)}
    async with restaurant(table, clocks=clocks) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until(lambda: [one for one in home.custom("consent_question") if one["by"] == "card"])
        (card,) = [one for one in home.custom("consent_question") if one["by"] == "card"]
        assert card["why"] == "the client does not report what it plays"
        anna.answers(card["tool_call_id"])
        receipt = await home.until_receipt()
        assert (receipt["answered_by"], table.booked) == ("card", [(4, "Friday")])


async def test_a_yes_counts_only_once_the_asked_humans_own_client_has_played_the_end() -> None:
    """Everybody else's client has played it; Anna's reports three quarters of it, and then the rest."""
    table = Table(consent="voice")
    clocks = {"Anna": AcknowledgedPlayback(24_000)}
    async with restaurant(table, clocks=clocks) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(1.2)
        (item_id,) = {one.item_id for one in home.of(s.AgentResponseAudioDeltaEvent)}
        anna.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=750))
        assert home.states == ["asking"]
        await anna.says("Yes.", 600)
        anna.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=800))
        await home.until(lambda: home.ignored)
        assert (home.ignored, table.booked) == ([("before_end", "Yes.")], [])
        await home.until_state("repeated")
        await asyncio.sleep(0.1)
        again = [one.item_id for one in home.of(s.AgentResponseAudioDeltaEvent)][-1]
        await asyncio.sleep(1)
        anna.receive(c.ClientPlaybackAckEvent(item_id=again, played_ms=1_000))
        await home.until_state("heard")
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_stopped_talk_withdraws_the_question() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        ben.receive(c.ClientResponseCancelEvent())
        receipt = await home.until_receipt()
        assert (receipt["answered_by"], receipt["done"]) == ("interrupted", "interrupted")
        await anna.says("Yes.")
        await asyncio.sleep(5)
        assert table.booked == []


async def test_a_thinking_agent_asks_aloud_and_goes_on_with_its_reply() -> None:
    table = Table()
    robin = react([call("book_table", people=4, day="Friday")], say("It is booked."), toolkit=table.tools)
    robin.name = "Robin"
    async with asked_room(lambda engine: [robin, embedded(engine, "Finch", Waiter())]) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says("Finch, what time is it?")
        await home.until_state("heard", 2)
        await anna.says("How much is it?")
        await home.until_state("heard", 3)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("yes", "success", [(4, "Friday")])
        await home.until_said("Robin", "It is booked.")
        await asyncio.sleep(3)
        assert home.talk()[-1] == ("Robin", "It is booked.")


@pytest.mark.parametrize("policy", [broadcast, round_robin])
async def test_it_is_asked_and_answered_under_any_policy(policy: Policy) -> None:
    table = Table(consent="voice")
    async with restaurant(table, policy=policy, max_agent_turns=1) as (home, (anna, ben, *_)):
        while "asking" not in home.states:
            await anna.says(ROBIN)
            await asyncio.sleep(4)
        await home.until_state("heard")
        await ben.says("Finch, what time is it?")
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["participant"], receipt["answer"], table.booked) == ("Anna", "yes", [(4, "Friday")])


async def test_the_embedded_model_that_asked_forgets_the_answer_and_the_others_read_it() -> None:
    table, robin, finch = Table(), Waiter(), Waiter()

    def make(engine: SpeechEngine) -> list[RealtimeAgent]:
        return [embedded(engine, "Robin", robin, table.tools), embedded(engine, "Finch", finch)]

    async with asked_room(make, floor=addressed) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await anna.says("Yes.")
        await home.until_said("Robin", "Result: booked for 4 on Friday.")
        kinds = [(item.type, item.text) for item in robin.prompts[-1].history]
        assert [kind for kind, _ in kinds[-2:]] == ["tool_call", "tool_result"]
        assert not [text for _, text in kinds if "Yes." in text]
        await asyncio.sleep(2)
        await ben.says("Finch, what time is it?")
        await home.until(lambda: finch.prompts)
        assert "[Anna]: Yes." in [item.text for item in finch.prompts[-1].history]


async def test_one_who_never_comes_back_holds_up_nobody_elses_question() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        anna.participant.set_away(True)
        await asyncio.sleep(1)
        await anna.go()
        await home.until_said("Robin", "Result: the user refused: the human who had to agree has left the room.")
        await asyncio.sleep(2)
        await ben.says(ROBIN)
        await home.until_state("heard", 2)
        await ben.says("Yes.")
        receipt = await home.until_receipt(2)
        assert (receipt["participant"], table.booked) == ("Ben", [(4, "Friday")])


async def test_two_humans_may_have_the_same_tool_asked_for() -> None:
    """The second call takes no place of the first: it is of another human."""
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(ROBIN)
        await home.until_state("heard", 2)
        assert {one["participant"] for one in home.custom("consent_question")} == {"Anna", "Ben"}
        await anna.says("Yes.")
        await home.until_receipt()
        await home.until_state("heard", 3)
        await ben.says("No.")
        await home.until_receipt(2)
        told = [(one["participant"], one["answer"]) for one in home.receipts]
        assert (told, table.booked) == ([("Anna", "yes"), ("Ben", "no")], [(4, "Friday")])
