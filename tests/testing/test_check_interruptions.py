"""What the checks of interruptions accept: cuts, flushes, what was heard and kept, and who stopped the agent."""

from typing import Any

import pytest

from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.testing.record import Mark, Played
from tests.testing.hand_made import FORMAT, Hand, failure, support_call


class TestInterruptions:
    def test_one_that_is_not_there(self) -> None:
        found = failure(lambda: support_call().run().barge_in(3))
        assert found.finding == ("There is no interruption 3; the call has 1 interruption: 7.08 s (speech_started).")
        assert failure(lambda: support_call().run().barge_ins(0)).finding == (
            "There was 1 interruption, not 0: 7.08 s (speech_started)."
        )

    def test_a_turn_that_goes_on_is_none(self) -> None:
        call = Hand()
        call.speaks(1_000, 2_000, "I would like", item="u1")
        call.answers(2_600, "Yes?", response="r1", heard_ms=0)
        call.put(2_900, s.ServerAudioFlushEvent(reason="hasty_turn"), s.AgentItemDeletedEvent(item_id="item_r1"))
        call.run().barge_ins(0).agent_did_not_say("yes")

    @pytest.mark.parametrize(
        ("kept", "said"),
        [
            ("Your order number A-17 left our house on Monday", "keeps"),
            ("Your", "keeps"),
            ("Your order num", "is cut inside a word"),
            ("Your odour", "is not how"),
        ],
    )
    def test_a_cut_that_is_not_where_the_ear_was(self, kept: str, said: str) -> None:
        call = support_call()
        call.events = [one for one in call.events if not isinstance(one[1], s.AgentItemTruncatedEvent)]
        call.cut(7_081, "r2", kept, 3_130)
        found = failure(call.run().barge_in(1).transcript_cut_at_heard_word)
        assert said in found.finding

    def test_a_cut_elsewhere_in_the_sound(self) -> None:
        call = support_call()
        call.events = [one for one in call.events if not isinstance(one[1], s.AgentItemTruncatedEvent)]
        call.cut(7_081, "r2", "Your order number", 3_600)
        found = failure(call.run().barge_in(1).transcript_cut_at_heard_word)
        assert found.finding == (
            "Interruption 1: the answer was cut at 3600 ms, but 3130 ms of it were heard; they may differ by 200 ms."
        )

    def test_an_answer_that_was_not_cut_at_all(self) -> None:
        call = support_call()
        call.events = [one for one in call.events if not isinstance(one[1], s.AgentItemTruncatedEvent)]
        found = failure(call.run().barge_in(1).transcript_cut_at_heard_word)
        assert found.finding == (
            'Interruption 1: the answer was not cut; 3130 of 9000 ms were heard, up to "Your order number".'
        )

    def test_an_interruption_that_nobody_answers(self) -> None:
        call = support_call()
        call.events = [one for one in call.events if one[0] < 8_700]
        call.played.pop()
        assert failure(call.run().barge_in(1).answered).finding == "Interruption 1 was never answered."

    def test_sound_after_the_flush(self) -> None:
        call = support_call()
        call.played.append(Played("Ann", "item_r2", 3_130, 7_080, 400))
        call.marks.append(Mark(7_090, "Ann", "flushed"))
        found = failure(call.run().nothing_after_flush)
        assert found.finding == "Ann heard the answer 290 ms longer than allowed, until 7.48 s."
        call.run().nothing_after_flush(grace_ms=390)

    def test_a_new_item_of_the_flushed_answer_is_sound_after_the_flush(self) -> None:
        call = support_call()
        where: dict[str, Any] = {"response_id": "r2", "item_id": "item_r2b", "agent_name": "Friday"}
        sound = s.AgentResponseAudioDeltaEvent(delta=bytes(48 * 600), format=FORMAT, **where)
        call.put(7_200, s.AgentResponseAudioTranscriptDeltaEvent(delta="and on", **where), sound)
        call.played.append(Played("Ann", "item_r2b", 0, 7_300, 600))
        assert failure(call.run().nothing_after_flush).finding == (
            "Ann heard the answer 720 ms longer than allowed, until 7.90 s."
        )
        assert "silent 900 ms after it began" in failure(lambda: call.run().barge_in(1).silence_within(ms=250)).finding

    def test_a_new_item_of_the_flushed_answer_that_nobody_heard_is_not_kept(self) -> None:
        call = support_call()
        call.events = [one for one in call.events if one[0] < 8_100]
        call.played = call.played[:1]
        where: dict[str, Any] = {"response_id": "r2", "item_id": "item_r2b", "agent_name": "Friday"}
        sound = s.AgentResponseAudioDeltaEvent(delta=bytes(48 * 600), format=FORMAT, **where)
        call.put(7_082, s.AgentResponseAudioTranscriptDeltaEvent(delta="and on", **where), sound)
        call.put(7_100, s.ServerSessionEndedEvent(session_id="s"))
        call.events = [one for one in call.events if one[0] <= 7_100]
        assert failure(call.run().transcript_equals_heard).finding.startswith(
            'The conversation holds more than was heard (0 ms of the answer): "and on"'
        )

    def test_speech_sent_after_the_flush(self) -> None:
        call = support_call()
        call.late_samples = 480
        assert failure(call.run().nothing_after_flush).finding == (
            "480 samples of speech came to a page after its flush."
        )

    def test_an_answer_that_stops_while_nobody_speaks(self) -> None:
        call = support_call()
        call.spoken.pop()
        found = failure(call.run().no_self_interruption)
        assert found.finding == (
            'The answer was stopped at 7.08 s, though no human spoke, understood as "Stop, cancel it!".'
        )

    def test_its_own_voice_in_a_call_of_which_nobody_wrote_down_who_spoke(self) -> None:
        call = support_call()
        call.events = [one for one in call.events if one[0] < 8_600]
        call.put(8_600, s.AgentInputTranscriptionDoneEvent(item_id="u2", transcript="your order number"))
        failure(call.run(spoken=()).no_self_interruption)
        support_call().run(spoken=()).no_self_interruption()

    def test_a_model_that_gives_up_by_itself(self) -> None:
        call = Hand()
        call.answers(1_000, "Well", response="r1", status="cancelled")
        found = failure(call.run().no_self_interruption)
        assert found.finding == "The model gave up its answer at 1.60 s, without a request."

    def test_an_answer_that_came_too_late_was_not_given_up(self) -> None:
        call = support_call()
        call.put(7_100, s.AgentResponseCreatedEvent(response_id="r9", agent_name="Friday"))
        call.put(7_110, s.AgentResponseDoneEvent(response_id="r9", status="cancelled", agent_name="Friday"))
        call.run().no_self_interruption()

    def test_an_answer_in_haste_is_undone_though_its_beginning_was_heard(self) -> None:
        call = Hand()
        call.speaks(1_000, 2_000, "I would like", item="u1")
        call.answers(2_600, "Yes please", response="r1", heard_ms=380)
        call.put(3_130, s.ServerAudioFlushEvent(reason="hasty_turn"), s.AgentItemDeletedEvent(item_id="item_r1"))
        call.run().transcript_equals_heard()

    def test_the_conversation_holds_words_that_nobody_heard(self) -> None:
        call = support_call()
        call.events = [one for one in call.events if not isinstance(one[1], s.AgentItemTruncatedEvent)]
        found = failure(call.run().transcript_equals_heard)
        assert found.finding.startswith(
            "The conversation holds more than was heard (3130 ms of the answer): "
            '"Your order number A-17 left our house on Monday", heard'
        )

    @pytest.mark.parametrize(
        ("kept", "finding"),
        [
            ("Your order number", ""),
            (
                "Your order number A-17 left our house on Monday",
                'The conversation holds "Your order number A-17 left our house on Monday" of an answer, '
                'but the log "Your order number".',
            ),
            (None, 'The conversation holds "" of an answer, but the log "Your order number".'),
        ],
    )
    def test_the_conversation_is_looked_at_and_not_only_what_the_log_says(self, kept: str | None, finding: str) -> None:
        texts = {"item_r2": kept, "item_r4": "It is cancelled"}
        items = tuple(
            Item(id=name, role="assistant", content=(ContentPart(type="audio", transcript=text),))
            for name, text in texts.items()
            if text is not None
        )
        run = support_call().run(items=items)
        for check in (run.barge_in(1).transcript_cut_at_heard_word, run.transcript_equals_heard):
            if finding:
                assert failure(check).finding == finding
            else:
                check()

    def test_what_is_still_being_said_need_not_be_in_the_conversation(self) -> None:
        call = Hand()
        call.answers(1_000, "Good morning", response="r1", length_ms=1_000)
        said = Item(id="item_r1", role="assistant", status="in_progress", content=(ContentPart(type="audio"),))
        call.run(items=(said,)).transcript_equals_heard()

    def test_words_that_ran_ahead_of_an_answer_that_broke_off_are_not_kept(self) -> None:
        call = Hand()
        call.answers(1_000, "Good morning to you", response="r1", length_ms=2_000, heard_ms=1_000)
        done = s.AgentResponseAudioTranscriptDoneEvent(transcript="Good morning", item_id="item_r1", response_id="r1")
        call.put(1_601, done)
        said = Item(id="item_r1", role="assistant", content=(ContentPart(type="audio", transcript="Good morning"),))
        call.run(items=(said,)).transcript_equals_heard().agent_did_not_say("to you")

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
    def test_answer_cut_while_its_sound_still_came_is_known_by_the_pace_of_voices(
        self, kept: str, finding: str
    ) -> None:
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

    def test_other_words_of_the_same_length_were_not_heard(self) -> None:
        call = support_call()
        call.events = [one for one in call.events if not isinstance(one[1], s.AgentItemTruncatedEvent)]
        call.cut(7_081, "r2", "Your odour nombre", 3_130)
        assert "which is not how" in failure(call.run().transcript_equals_heard).finding

    def test_what_was_heard_has_to_be_known(self) -> None:
        found = failure(support_call().run(played=()).transcript_equals_heard)
        assert found.finding == ("It is not known what was heard: this record does not say what was played.")
