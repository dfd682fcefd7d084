"""A tool asks aloud: the embedded voice speaks the question, and what the user says is first an answer to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from unittest.mock import AsyncMock, Mock

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.endpoint import Endpoint, EndpointConfig
from realtime.audio.playback import AcknowledgedPlayback
from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import InterruptionMode, SessionConfig, TurnDetection
from realtime.event.reply import CustomEvent, ToolCallStartEvent
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, Reply, ReplyToolCall
from realtime.state.replies import messages
from realtime.state.transcript import as_text, lines_of
from realtime.tool import ToolContext
from tests.agent.consent_call import Table, Waiter, asked_call
from tests.message.reply_grammar import check_replies
from tests.model.local.stand_ins import LoudnessVad, stand_in_parts
from tests.state.test_replies import project, states

pytestmark = pytest.mark.virtual_time

BOOK = "Book a table for four on Friday."
QUESTION = "Shall I book a table for four people on Friday?"


async def test_a_yes_after_the_question_runs_the_call() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        assert (table.booked, made.said) == ([], [QUESTION])
        await asyncio.sleep(1)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert table.booked == [(4, "Friday")]
        assert made.states == ["asking", "heard", "answered"]
        assert (receipt["answer"], receipt["answered_by"], receipt["words"]) == ("yes", "voice", "Yes.")
        assert (receipt["heard_whole"], receipt["done"], receipt["question"]) == (True, "success", QUESTION)
        await made.until(lambda: len(made.said) == 2)
        assert made.said[1] == "Result: booked for 4 on Friday."


async def test_a_no_is_a_refusal_with_the_users_words() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(1)
        await made.says("No.")
        receipt = await made.until_receipt()
        assert table.booked == []
        assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("no", "voice", "denied")
        await made.until(lambda: len(made.said) == 2)
        assert made.said[1] == "Result: the user refused: No.."


async def test_a_change_is_asked_again_and_runs_with_the_changed_input() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(1)
        await made.says("Yes, but only three.")
        await made.until_state("heard", 2)
        assert (table.booked, made.said[1]) == ([], "Shall I book a table for three people on Friday?")
        await asyncio.sleep(1)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert table.booked == [(3, "Friday")]
        assert made.states == ["asking", "heard", "changed", "heard", "answered"]
        assert receipt["question"] == "Shall I book a table for three people on Friday?"
        assert (receipt["answer"], receipt["heard_whole"]) == ("yes", True)


async def test_a_change_that_only_the_model_can_apply_is_a_refusal_that_says_so() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(1)
        await made.says("No, for another evening instead.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("change", "denied", [])
        await made.until(lambda: len(made.said) == 2)
        assert "the user wants a change: No, for another evening instead." in made.said[1]


@pytest.mark.parametrize("words", ["How much is it?", "Tell me about the weather."])
async def test_anything_else_is_answered_and_the_question_is_asked_again(words: str) -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(1)
        await made.says(words)
        await made.until_state("heard", 2)
        assert made.said == [QUESTION, f"You said {words}", QUESTION]
        assert made.states == ["asking", "heard", "repeated", "heard"]
        await asyncio.sleep(1)
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]
        await made.until(lambda: len(made.said) == 4)
        assert made.said[3] == "Result: booked for 4 on Friday."


async def test_silence_is_asked_once_more_and_then_refused() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await made.until_state("heard", 2)
        receipt = await made.until_receipt()
        assert made.states == ["asking", "heard", "repeated", "heard", "answered"]
        assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("silence", "timeout", "denied")
        assert table.booked == []


async def test_a_yes_before_the_end_of_the_question_does_not_count() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)
        await made.says("Yes please.", 700)
        await made.until(lambda: made.custom("consent_ignored"))
        assert [one["reason"] for one in made.custom("consent_ignored")] == ["before_end"]
        await made.until_state("heard")
        assert table.booked == []
        await asyncio.sleep(1)
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_backchannel_over_the_question_changes_nothing() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)
        await made.says("Mm-hm.", 400)
        await made.until_state("heard")
        assert made.states == ["asking", "heard"]
        assert table.booked == []


async def test_a_no_over_the_question_counts_at_once() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)
        await made.says("No.", 500)
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["heard_whole"], table.booked) == ("no", False, [])
        assert made.states == ["asking", "answered"]


async def test_a_yes_that_goes_on_as_a_change_books_nothing_before() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(1)
        await made.says("Yes.", 500)
        await asyncio.sleep(0.75)
        await made.says("Yes, but only three.")
        await made.until_state("heard", 2)
        assert table.booked == []
        await asyncio.sleep(0.3)
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [(3, "Friday")]


async def test_several_questions_are_asked_one_after_the_other() -> None:
    table = Table()
    calls = tuple(("book_table", f'{{"people": 4, "day": "{day}"}}') for day in ("Friday", "Saturday"))
    async with asked_call(table.tools, Waiter(calls)) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.3)
        await made.says("Yes.")
        await made.until_state("heard", 2)
        assert table.booked == [(4, "Friday")]
        await asyncio.sleep(0.3)
        await made.says("No.")
        await made.until_receipt(2)
        assert [one["answer"] for one in made.receipts] == ["yes", "no"]
        assert table.booked == [(4, "Friday")]


async def test_a_typed_answer_is_an_answer() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        made.receive(c.ClientTextAppendEvent(text="Yes"))
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["answered_by"], table.booked) == ("yes", "text", [(4, "Friday")])


async def test_the_card_may_answer_at_any_time_and_the_question_falls_silent() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.2)
        (call_id,) = {one["tool_call_id"] for one in made.custom("consent_question")}
        made.receive(c.ClientToolResultEvent(id=call_id, name="book_table", output="", confirmed=True))
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["heard_whole"]) == ("card", "yes", False)
        assert 0 < receipt["question_played_ms"] < 1_000
        assert [event.reason for event in made.of(s.ServerAudioFlushEvent)] == ["answered"]
        assert table.booked == [(4, "Friday")]
        await made.until(lambda: "Result: booked for 4 on Friday." in made.said)


async def test_a_tool_that_asks_on_a_card_says_nothing() -> None:
    table = Table(consent="card")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(10)
        assert (made.said, made.states) == ([], ["asking"])
        await made.says("Tell me about the weather.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["done"], table.booked) == ("interrupted", "interrupted", [])


async def test_hanging_up_closes_the_question_and_leaves_a_receipt() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await made.session.end("client_end")
        (receipt,) = made.receipts
        assert (receipt["answered_by"], receipt["done"], receipt["heard_whole"]) == ("interrupted", "interrupted", True)
        assert made.states[-1] == "answered"
        assert table.booked == []


async def test_cancelling_the_reply_closes_the_question() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        made.receive(c.ClientResponseCancelEvent())
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["done"], table.booked) == ("interrupted", "interrupted", [])
        await asyncio.sleep(1)
        await made.says("Tell me about the weather.")
        await made.until(lambda: "You said Tell me about the weather." in made.said)


async def test_the_time_for_clients_bounds_the_question_as_well() -> None:
    table = Table()
    async with asked_call(table.tools, client_timeout_s=3) as made:
        await made.says(BOOK)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["done"]) == ("timeout", "silence", "denied")


async def test_audio_flows_on_while_a_question_is_open() -> None:
    """HITL-24: the user's voice reaches the call, and the agent's reaches the user."""
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        before = made.session.participant.received_samples
        await made.says("How much is it?")
        await made.until(lambda: len(made.said) > 1)
        assert made.session.participant.received_samples - before > 8_000
        assert made.said[1] == "You said How much is it?"


async def test_a_refused_change_of_the_question_is_bounded() -> None:
    table = Table()
    async with asked_call(table.tools, client_timeout_s=200) as made:
        await made.says(BOOK)
        for count in range(1, 7):
            await made.until_state("heard", count)
            await asyncio.sleep(0.5)
            await made.says("How much is it?")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("silence", "denied", [])


# -- who else speaks ---------------------------------------------------------------------------------------------------


async def test_a_voice_across_the_room_consents_to_nothing() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.", far=True)
        await asyncio.sleep(4)
        assert (table.booked, made.states) == ([], ["asking", "heard"])
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]


@pytest.mark.parametrize("words", ["Yes please.", "No."])
async def test_nor_does_one_over_the_question(words: str) -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)
        await made.says(words, 700, far=True)
        await made.until_state("heard")
        assert (table.booked, made.states) == ([], ["asking", "heard"])
        assert [one["reason"] for one in made.custom("consent_ignored")] in ([], ["far_voice"])


async def test_the_echo_of_the_question_is_no_answer() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await made.says("Table for four people on Friday.")
        await made.until(lambda: made.custom("consent_ignored"))
        assert [one["reason"] for one in made.custom("consent_ignored")] == ["echo"]
        assert (table.booked, made.states) == ([], ["asking", "heard"])


# -- calls that come back ----------------------------------------------------------------------------------------------


async def test_a_call_that_comes_back_keeps_its_question_and_asks_again() -> None:
    table = Table()
    async with asked_call(table.tools, grace_s=30, listener={"resumes_with": NativeDialect()}) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        made.session.detach(made.listener)
        await asyncio.sleep(12)
        assert (made.states, table.booked) == (["asking", "heard"], [])
        made.come_back()
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], table.booked) == ("yes", [(4, "Friday")])
        assert made.states == ["asking", "heard", "repeated", "heard", "answered"]


async def test_a_call_that_does_not_come_back_leaves_a_receipt() -> None:
    table = Table()
    async with asked_call(table.tools, grace_s=10, listener={"resumes_with": NativeDialect()}) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        made.session.detach(made.listener)
        await asyncio.sleep(30)
        (receipt,) = made.receipts
        assert (receipt["answered_by"], table.booked) == ("interrupted", [])


async def test_the_transcript_of_the_call_holds_the_receipt() -> None:
    table = Table()
    recorder = Mock(close=AsyncMock())
    config = SessionConfig(recording=True)
    async with asked_call(table.tools, config=config, record=lambda session: recorder) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        (line,) = [line for line in lines_of(made.log) if line.kind == "tool"]
        assert line.receipt == receipt
        assert receipt["recording"] == f"/api/calls/{made.session.call_id}/sound"
        assert receipt["answer_start_ms"] >= 2_800
        assert receipt["question_played_ms"] == 1_000
        assert f"Asked: {QUESTION} Answer: yes, by voice (Yes.)" in as_text([line])


async def test_the_transcript_of_the_call_is_in_the_order_of_the_conversation() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("How much is it?")
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until(lambda: "Result: booked for 4 on Friday." in made.said)
        lines = lines_of(made.log)
        assert [line.text for line in lines] == [
            BOOK,
            "book_table",
            "How much is it?",
            "You said How much is it?",
            "Yes.",
            "Result: booked for 4 on Friday.",
        ]
        assert [line.from_ms for line in lines] == sorted(line.from_ms for line in lines)


async def test_a_client_that_reports_no_playback_has_heard_nothing() -> None:
    table = Table()
    async with asked_call(table.tools, clock=AcknowledgedPlayback(24_000)) as made:
        await made.says(BOOK)
        await made.until_state("asking", 2)
        told = made.custom("consent_question")[-1]
        assert (told["by"], told["why"]) == ("card", "the client does not report what it plays")
        assert made.states == ["asking", "asking"]


async def test_only_what_the_client_reports_is_heard() -> None:
    table = Table()
    async with asked_call(table.tools, clock=AcknowledgedPlayback(24_000)) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await made.until(lambda: made.of(s.AgentResponseAudioDeltaEvent))
        item_id = made.of(s.AgentResponseAudioDeltaEvent)[0].item_id
        made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=500))
        await asyncio.sleep(0.3)
        assert made.states == ["asking"]
        made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=1_000))
        assert made.states == ["asking", "heard"]
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["question_played_ms"], receipt["heard_whole"]) == (1_000, True)


async def test_nothing_else_is_said_while_an_answer_is_awaited() -> None:
    """Neither fillers of a tool that runs meanwhile nor words of the program come between question and answer."""
    table = Table()

    async def look_up(context: ToolContext) -> str:
        """Look something up."""
        context.say("I am still looking.")
        await asyncio.sleep(20)
        return "found"

    table.tools.register(look_up)
    calls = (("look_up", "{}"), ("book_table", '{"people": 4, "day": "Friday"}'))
    async with asked_call(table.tools, Waiter(calls), fillers=("One moment.",), client_timeout_s=100) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        said = len(made.said)
        await asyncio.sleep(7)
        assert len(made.said) == said
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]


# -- who finds the turns -----------------------------------------------------------------------------------------------


def loudness_detector(wanted: TurnDetection) -> Endpoint:
    return Endpoint(LoudnessVad(), EndpointConfig(keep_audio=False))


@pytest.mark.parametrize("interruption", ["selective", "immediate"])
async def test_where_this_server_finds_the_turns(interruption: InterruptionMode) -> None:
    table = Table()
    config = SessionConfig(turn_detection=TurnDetection(authority="server", interruption=interruption))
    async with asked_call(table.tools, config=config, make_detector=loudness_detector) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes, but only three.")
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["heard_whole"], table.booked) == ("yes", True, [(3, "Friday")])


class UnsureVad(LoudnessVad):
    """Is never sure of a voice, as over a telephone."""

    def probability(self, frame: bytes) -> float:
        return min(0.6, super().probability(frame))


async def test_a_short_answer_that_is_no_sure_voice_is_heard() -> None:
    table = Table()
    config = SessionConfig(turn_detection=TurnDetection(authority="server"))
    unsure = Endpoint(UnsureVad(), EndpointConfig(keep_audio=False))
    async with asked_call(table.tools, config=config, make_detector=lambda wanted: unsure) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.", 250)
        receipt = await made.until_receipt()
        assert (receipt["answer"], table.booked) == ("yes", [(4, "Friday")])


async def test_in_push_to_talk_the_answer_is_what_was_sent_since_the_question() -> None:
    table = Table()
    config = SessionConfig(turn_detection=TurnDetection(authority="client"))
    async with asked_call(table.tools, config=config, microphone=False) as made:
        made.sends(BOOK)
        made.receive(c.ClientAudioCommitEvent())
        await made.until_state("asking")
        made.sends("Yes.")
        made.receive(c.ClientAudioCommitEvent())
        await made.until(lambda: made.custom("consent_ignored"))
        assert (made.custom("consent_ignored")[0]["reason"], table.booked) == ("before_end", [])
        await made.until_state("heard")
        made.sends("Yes.")
        made.receive(c.ClientAudioCommitEvent())
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["heard_whole"], table.booked) == ("yes", True, [(4, "Friday")])


async def test_a_hand_over_closes_the_question() -> None:
    table = Table()
    engine = SpeechEngine(lambda progress: stand_in_parts())
    other = RealtimeAgent("Ben", "You answer.", LocalRealtimeModel(language_model=Waiter(), engine=engine), fillers=())
    async with asked_call(table.tools, transfers=[other]) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await made.session.participant.transfer_to("Ben", greets=False)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["done"], table.booked) == ("interrupted", "interrupted", [])
        await made.until(lambda: len(made.said) == 2)
        speakers = [event.agent_name for event in made.of(s.AgentResponseAudioTranscriptDoneEvent)]
        assert speakers == ["Robin", "Ben"], "the other agent answers what the user has said"
    engine.close()


async def test_a_new_call_of_the_model_takes_the_place_of_the_question() -> None:
    """The model applies what the user says by calling again: only the new call is asked about."""

    class Waitress(Waiter):
        async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
            if prompt.history[-1].text == "Tell me about the weather.":
                yield ReplyToolCall("book_table", '{"people": 4, "day": "Sunday"}')
                return
            async for reply in super().respond(prompt):
                yield reply

    table = Table()
    async with asked_call(table.tools, Waitress()) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Tell me about the weather.")
        await made.until_state("heard", 2)
        assert made.said == [QUESTION, "Shall I book a table for four people on Sunday?"]
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until_receipt(2)
        assert [(one["answered_by"], one["done"]) for one in made.receipts] == [
            ("interrupted", "denied"),
            ("voice", "success"),
        ]
        assert table.booked == [(4, "Sunday")]
        await made.until(lambda: len(made.said) == 3)
        assert made.said[2] == "Result: booked for 4 on Sunday."


async def test_a_spoken_consent_walks_the_states_of_any_other() -> None:
    """HITL-10: pending, asking, allowed with the changed input, finished; in the reply's events."""
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes, but only three.")
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        await made.until(lambda: len(made.said) == 3)
        await asyncio.sleep(3)
    events = project(made.log)
    check_replies(events, complete=False)
    begun = next(event.reply_id for event in events if isinstance(event, ToolCallStartEvent))
    walk = [state for state, _ in states(events, begun, receipt["tool_call_id"])]
    assert [*dict.fromkeys(walk)] == ["pending", "asking", "allowed", "finished"]
    (allowed,) = [event.item.tool_call for event in made.of(s.AgentItemDoneEvent) if event.item.tool_call is not None]
    assert allowed is not None
    assert allowed.arguments == {"people": 3, "day": "Friday"}


@pytest.mark.parametrize(("early", "answer", "done"), [("Yes please.", "Yes.", "success"), ("No.", "", "denied")])
async def test_a_voice_that_stops_the_question_leaves_the_result_as_it_was(early: str, answer: str, done: str) -> None:
    """The messages tell what the receipt tells."""
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)
        await made.says(early, 700)
        if answer:
            await made.until_state("heard")
            await asyncio.sleep(0.5)
            await made.says(answer)
        receipt = await made.until_receipt()
        await made.until(lambda: any(said.startswith("Result:") for said in made.said))
        await asyncio.sleep(3)
    assert made.of(s.ServerAudioFlushEvent)
    events = project(made.log)
    (kept,) = [block for one in messages(events) for block in one.get_content_blocks("tool_result")]
    assert (kept.state, receipt["done"]) == (done, done)
    assert [one.name for one in events if isinstance(one, CustomEvent) and one.name == "late_tool_result"] == []
