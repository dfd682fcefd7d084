"""What the checks of interruptions accept: cuts, flushes, what was heard and kept, and who stopped the agent."""

from typing import Any

import pytest

from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.testing.record import Mark, Played
from tests.testing.hand_made import FORMAT, Hand, failure, support_call

WHOLE = "Your order number A-17 left our house on Monday"


def uncut() -> Hand:
    """The support call whose interrupted answer is cut nowhere."""
    call = support_call()
    call.events = [one for one in call.events if not isinstance(one[1], s.AgentItemTruncatedEvent)]
    return call


def cut(kept: str, heard_ms: int = 3_130) -> Hand:
    """The support call whose interrupted answer is cut like this; 3,130 ms of it were heard: "Your order number"."""
    call = uncut()
    call.cut(7_081, "r2", kept, heard_ms)
    return call


def said(text: str | None, item_id: str = "item_r1", **more: Any) -> Item:
    return Item(id=item_id, role="assistant", content=(ContentPart(type="audio", transcript=text),), **more)


def late_item(call: Hand, ms: int) -> None:
    """A new item of the answer that was flushed."""
    where: dict[str, Any] = {"response_id": "r2", "item_id": "item_r2b", "agent_name": "Friday"}
    sound = s.AgentResponseAudioDeltaEvent(delta=bytes(48 * 600), format=FORMAT, **where)
    call.put(ms, s.AgentResponseAudioTranscriptDeltaEvent(delta="and on", **where), sound)


def test_an_interruption_that_is_not_there() -> None:
    run = support_call().run()
    found = failure(lambda: run.barge_in(3)).finding
    assert found == "There is no interruption 3; the call has 1 interruption: 7.08 s (speech_started)."
    found = failure(lambda: run.barge_ins(0)).finding
    assert found == "There was 1 interruption, not 0: 7.08 s (speech_started)."


def test_a_turn_that_goes_on_is_no_interruption_and_what_it_undoes_was_not_said() -> None:
    for answer, heard_ms, flushed_ms in (("Yes?", 0, 2_900), ("Yes please", 380, 3_130)):
        call = Hand()
        call.speaks(1_000, 2_000, "I would like", item="u1")
        call.answers(2_600, answer, response="r1", heard_ms=heard_ms)
        call.put(flushed_ms, s.ServerAudioFlushEvent(reason="hasty_turn"), s.AgentItemDeletedEvent(item_id="item_r1"))
        call.run().barge_ins(0).agent_did_not_say("yes").transcript_equals_heard()


def test_a_cut_that_is_not_where_the_ear_was_says_how_it_differs() -> None:
    found = {
        call_text: failure(call.run().barge_in(1).transcript_cut_at_heard_word).finding
        for call_text, call in {
            "keeps": cut(WHOLE),
            'keeps "Your"': cut("Your"),
            "is cut inside a word": cut("Your order num"),
            "is not how": cut("Your odour"),
            "the answer was cut at 3600 ms, but 3130 ms of it were heard; they may differ by 200 ms.": cut(
                "Your order number", 3_600
            ),
            'the answer was not cut; 3130 of 9000 ms were heard, up to "Your order number".': uncut(),
        }.items()
    }
    assert {text: finding for text, finding in found.items() if text not in finding} == {}


def test_an_interruption_that_nobody_answers() -> None:
    call = support_call()
    call.events = [one for one in call.events if one[0] < 8_700]
    call.played.pop()
    assert failure(call.run().barge_in(1).answered).finding == "Interruption 1 was never answered."


def test_sound_after_the_flush() -> None:
    call = support_call()
    call.played.append(Played("Ann", "item_r2", 3_130, 7_080, 400))
    call.marks.append(Mark(7_090, "Ann", "flushed"))
    found = failure(call.run().nothing_after_flush).finding
    assert found == "Ann heard the answer 290 ms longer than allowed, until 7.48 s."
    call.run().nothing_after_flush(grace_ms=390)
    sent = support_call()
    sent.late_samples = 480
    assert failure(sent.run().nothing_after_flush).finding == "480 samples of speech came to a page after its flush."


def test_a_new_item_of_the_flushed_answer_is_sound_after_the_flush() -> None:
    call = support_call()
    late_item(call, 7_200)
    call.played.append(Played("Ann", "item_r2b", 0, 7_300, 600))
    found = failure(call.run().nothing_after_flush).finding
    assert found == "Ann heard the answer 720 ms longer than allowed, until 7.90 s."
    assert "silent 900 ms after it began" in failure(lambda: call.run().barge_in(1).silence_within(ms=250)).finding


def test_a_new_item_of_the_flushed_answer_that_nobody_heard_is_not_kept() -> None:
    call = support_call()
    call.played = call.played[:1]
    late_item(call, 7_082)
    call.put(7_100, s.ServerSessionEndedEvent(session_id="s"))
    call.events = [one for one in call.events if one[0] <= 7_100]
    assert failure(call.run().transcript_equals_heard).finding.startswith(
        'The conversation holds more than was heard (0 ms of the answer): "and on"'
    )


def test_an_answer_that_stops_while_nobody_speaks() -> None:
    call = support_call()
    call.spoken.pop()
    found = failure(call.run().no_self_interruption).finding
    assert found == 'The answer was stopped at 7.08 s, though no human spoke, understood as "Stop, cancel it!".'


def test_its_own_voice_in_a_call_of_which_nobody_wrote_down_who_spoke() -> None:
    call = support_call()
    call.events = [one for one in call.events if one[0] < 8_600]
    call.put(8_600, s.AgentInputTranscriptionDoneEvent(item_id="u2", transcript="your order number"))
    failure(call.run(spoken=()).no_self_interruption)
    support_call().run(spoken=()).no_self_interruption()


def test_a_model_that_gives_up_by_itself_and_one_that_came_too_late() -> None:
    call = Hand()
    call.answers(1_000, "Well", response="r1", status="cancelled")
    found = failure(call.run().no_self_interruption).finding
    assert found == "The model gave up its answer at 1.60 s, without a request."
    late = support_call()
    late.put(7_100, s.AgentResponseCreatedEvent(response_id="r9", agent_name="Friday"))
    late.put(7_110, s.AgentResponseDoneEvent(response_id="r9", status="cancelled", agent_name="Friday"))
    late.run().no_self_interruption()


def test_words_that_nobody_heard_are_not_kept() -> None:
    found = failure(uncut().run().transcript_equals_heard).finding
    assert found.startswith(f'The conversation holds more than was heard (3130 ms of the answer): "{WHOLE}", heard')
    assert "which is not how" in failure(cut("Your odour nombre").run().transcript_equals_heard).finding
    unknown = failure(support_call().run(played=()).transcript_equals_heard).finding
    assert unknown == "It is not known what was heard: this record does not say what was played."


@pytest.mark.parametrize(
    ("kept", "finding"),
    [
        ("Your order number", ""),
        (WHOLE, f'The conversation holds "{WHOLE}" of an answer, but the log "Your order number".'),
        (None, 'The conversation holds "" of an answer, but the log "Your order number".'),
    ],
)
def test_the_conversation_is_looked_at_and_not_only_what_the_log_says(kept: str | None, finding: str) -> None:
    items = [said("It is cancelled", "item_r4"), *([] if kept is None else [said(kept, "item_r2")])]
    run = support_call().run(items=tuple(items))
    for check in (run.barge_in(1).transcript_cut_at_heard_word, run.transcript_equals_heard):
        if finding:
            assert failure(check).finding == finding
        else:
            check()


def test_what_is_still_being_said_need_not_be_in_the_conversation() -> None:
    call = Hand()
    call.answers(1_000, "Good morning", response="r1", length_ms=1_000)
    call.run(items=(said(None, status="in_progress"),)).transcript_equals_heard()


def test_words_that_ran_ahead_of_an_answer_that_broke_off_are_not_kept() -> None:
    call = Hand()
    call.answers(1_000, "Good morning to you", response="r1", length_ms=2_000, heard_ms=1_000)
    done = s.AgentResponseAudioTranscriptDoneEvent(transcript="Good morning", item_id="item_r1", response_id="r1")
    call.put(1_601, done)
    call.run(items=(said("Good morning"),)).transcript_equals_heard().agent_did_not_say("to you")


@pytest.mark.parametrize(
    ("kept", "finding"),
    [
        # 1 s at 15 letters a second is what the call could know.
        ("One two three", ""),
        ("One two three four", ""),
        ("One", 'keeps "One", but "One two'),
        ("One two three four five six seven", 'but "One two three four'),
    ],
)
def test_answer_cut_while_its_sound_still_came_is_known_by_the_pace_of_voices(kept: str, finding: str) -> None:
    call = Hand()
    words = "One two three four five six seven eight"
    call.answers(1_000, words, response="r1", length_ms=2_000, heard_ms=1_000)
    # The sound is complete 500 ms after it began: right after the cut.
    call.put(1_590, s.ServerAudioFlushEvent(reason="response_cancel"))
    call.cut(1_591, "r1", kept, 1_000)
    check = call.run().barge_in(1).transcript_cut_at_heard_word
    if finding:
        assert finding in failure(check).finding
    else:
        check()
