"""What the checks of a call accept, and how they say what they do not."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.message import ToolCallBlock
from realtime.testing.cases.expected import Expected
from realtime.testing.check.run import CheckFailed, Run, check_expectations
from realtime.testing.record import CallRecord, Lane, Mark, Spoken
from tests.testing.hand_made import Hand, any_record, failure, support_call


def test_the_whole_of_a_good_call_passes() -> None:
    run = support_call().run()
    run.heard_by_agent.wer_below(0.10)
    run.agent_said("order number").agent_did_not_say("Monday").user_said("cancel it", within_turn=2)
    run.tool_called("lookup_order", id="A-17").before("cancel_order").once().answered(within_ms=200)
    run.tools_called_in_order("lookup_order", "cancel_order").tools_answered()
    run.barge_in(1).silence_within(ms=150).transcript_cut_at_heard_word().answered(within_ms=2_000)
    run.barge_ins(1).turns(2).no_dead_air(longer_than_ms=1_000).no_self_interruption()
    run.response_latency.p50_below(ms=951).p95_below(ms=951).max_below(ms=951)
    run.transcript_equals_heard().nothing_after_flush().tokens_below(61)


def test_a_failure_says_what_was_found_and_shows_the_seconds_around_it() -> None:
    found = failure(lambda: support_call().run().barge_in(1).silence_within(ms=50))
    assert found.finding == (
        "Interruption 1: the ear was silent 80 ms after it began (the flush left after 80 ms); "
        "at most 50 ms were allowed."
    )
    assert list(found.places_ms) == [7_000, 7_080]
    lines = str(found).splitlines()
    assert lines[0] == found.finding
    assert ">    7.000 s  Ann           voice begins, turn 2" in lines
    assert any(line.startswith(">    7.080 s") for line in lines)
    assert all(len(line) <= 110 for line in lines[1:])
    assert not any("voice begins, turn 1" in line for line in lines)


@pytest.mark.parametrize(
    "check",
    [
        lambda run: run.turns(7),
        lambda run: run.barge_in(1).silence_within(ms=50),
        lambda run: run.response_latency.p95_below(ms=1),
        lambda run: check_expectations(run, Expected(agent_said=("nonsense",))),
    ],
)
def test_a_failure_points_at_the_line_of_the_test(check: Callable[[Run], object]) -> None:
    with pytest.raises(CheckFailed) as caught:
        check(support_call().run())
    shown = caught.traceback.filter(caught)
    assert {Path(entry.path).name for entry in shown} == {Path(__file__).name}


def test_a_run_and_its_parts_are_no_truth_values() -> None:
    run = support_call().run()
    for one in (run, run.barge_in(1), run.tool_called("lookup_order"), run.response_latency, run.heard_by_agent):
        with pytest.raises(TypeError, match="call its checks"):
            bool(one)


def test_what_the_agent_said_is_expected_in_its_order() -> None:
    run = support_call().run()
    phrases = [one.text for one in run.speeches if one.text]
    assert len(phrases) > 1
    run.agent_said(*phrases)
    check_expectations(run, Expected(agent_said=tuple(phrases)))
    with pytest.raises(CheckFailed, match=r"did not say .* behind "):
        run.agent_said(*reversed(phrases))
    with pytest.raises(CheckFailed, match=r"did not say .* behind "):
        check_expectations(run, Expected(agent_said=tuple(reversed(phrases))))


class TestWords:
    def test_the_word_error_rate_names_the_words_that_differ(self) -> None:
        call = Hand()
        call.speaks(1_000, 3_000, "Where is my order, please?", item="u1", heard="where is my older please")
        found = failure(lambda: call.run().heard_by_agent.wer_below(0.2))
        assert found.finding == (
            "The word error rate is 0.200 (1 of 5: 1 wrong, 0 missing, 0 added); less than 0.2 was asked."
        )
        assert found.details == '  said "order", understood "older"'
        assert list(found.places_ms) == [1_000]
        call.run().heard_by_agent.wer_below(0.21)

    def test_without_a_reference_there_is_no_word_error_rate(self) -> None:
        found = failure(lambda: Hand().run().heard_by_agent.wer_below(0.1))
        assert "there is no transcript of the speech" in found.finding

    def test_what_nobody_wrote_down_is_not_counted_as_added(self) -> None:
        call = support_call()
        call.spoken[1] = Spoken("Ann", 7_000, 8_000, None)
        call.run().heard_by_agent.wer_below(0.01)

    @pytest.mark.parametrize("phrase", ["order number", "Order, NUMBER!", "a 17", "A17", re.compile(r"A-\d+")])
    def test_case_spacing_and_punctuation_of_a_phrase_do_not_count(self, phrase: str | re.Pattern[str]) -> None:
        call = Hand()
        call.answers(100, "Your order number is A-17.", response="r1")
        call.run().agent_said(phrase)
        failure(lambda: call.run().agent_did_not_say(phrase))

    @pytest.mark.parametrize(
        ("said", "phrase"),
        [
            ("It costs $150 today.", "$1.50"),
            ("It costs $1.50 today.", "$150"),
            ("It costs $1.50 today.", "$1"),
            ("It costs $1.50 today.", "50 today"),
            ("room 1 234", "room 12 34"),
            ("room 1 234", "1234"),
            ("-5 degrees", "5 degrees"),
            ("\u22125 degrees", "5 degrees"),
            ("5 degrees", "-5 degrees"),
            ("you owe -$5", "you owe $5"),
            ("It is 1,5 percent", "15 percent"),
            ("It is 1,500", "1.500"),
        ],
    )
    def test_numbers_are_kept_apart(self, said: str, phrase: str) -> None:
        call = Hand()
        call.answers(100, said, response="r1")
        call.run().agent_did_not_say(phrase).agent_said(said)

    @pytest.mark.parametrize(
        ("said", "phrase"),
        [
            ("It is 1,500 euros.", "1500 euros"),
            ("Call 555-1234 at 10:30.", "555 1234 at 10 30"),
            ("A-17, B 4", "a17b4"),
            ("From 10-12.", "12"),
        ],
    )
    def test_the_same_numbers_written_in_another_way(self, said: str, phrase: str) -> None:
        call = Hand()
        call.answers(100, said, response="r1")
        call.run().agent_said(phrase)

    def test_a_phrase_is_whole_words(self) -> None:
        call = Hand()
        call.answers(100, "A category of its own", response="r1")
        call.run().agent_did_not_say("cat")
        found = failure(lambda: call.run().agent_said("cat"))
        assert found.finding == 'The agent did not say "cat"; it said "A category of its own".'

    def test_languages_without_spaces_are_searched_by_character(self) -> None:
        call = Hand()
        call.answers(100, "您的订单号是多少?", response="r1")
        call.run().agent_said("订单号").agent_did_not_say("单子")

    def test_what_was_cut_off_was_not_said(self) -> None:
        found = failure(lambda: support_call().run().agent_said("on Monday"))
        assert found.finding.startswith('The agent was interrupted before it had said "on Monday"; it said')

    def test_a_phrase_can_be_asked_of_one_turn(self) -> None:
        run = support_call().run()
        run.agent_said("cancelled", within_turn=2).agent_did_not_say("cancelled", within_turn=1)
        assert "in turn 1" in failure(lambda: run.agent_said("cancelled", within_turn=1)).finding
        assert failure(lambda: run.agent_said("x", within_turn=3)).finding == (
            "There is no turn 3: the call has 2 turns of the user."
        )

    def test_a_phrase_without_words_is_a_mistake_of_the_test(self) -> None:
        with pytest.raises(ValueError, match="has no words"):
            support_call().run().agent_said("...")

    def test_the_user_was_not_understood_to_say_it(self) -> None:
        found = failure(lambda: support_call().run().user_said("refund"))
        assert found.finding == (
            'The user was not understood to say "refund"; it was "Where is my order?" or "Stop, cancel it!".'
        )

    def test_a_typed_turn_counts(self) -> None:
        call = support_call()
        typed = Item(id="u3", role="user", content=(ContentPart(type="text", text="Thanks!"),))
        call.put(10_550, s.AgentItemAddedEvent(item=typed))
        call.run().turns(3).user_said("thanks", within_turn=3)
        found = failure(lambda: call.run().turns(2))
        assert found.finding.startswith('The user had 3 turns, not 2: 1.00 s "Where is my order?"')


class TestTools:
    def test_arguments_that_differ_are_shown(self) -> None:
        found = failure(lambda: support_call().run().tool_called("lookup_order", id="A-18"))
        assert found.finding == (
            'lookup_order(id=\'A-18\') was not called; the agent called lookup_order({"id": "A-17", "deep": true}).'
        )
        assert list(found.places_ms) == [3_610]

    def test_an_argument_may_be_a_pattern(self) -> None:
        support_call().run().tool_called("lookup_order", id=re.compile(r"^A-\d\d$"))

    def test_the_order_of_tools(self) -> None:
        run = support_call().run()
        found = failure(lambda: run.tool_called("cancel_order").before("lookup_order"))
        assert found.finding == "lookup_order was called at 3.61 s, cancel_order() only at 8.61 s."
        found = failure(lambda: run.tools_called_in_order("cancel_order", "lookup_order"))
        assert '"lookup_order" does not follow: lookup_order, cancel_order.' in found.finding
        assert "but refund was not at all" in failure(lambda: run.tool_called("lookup_order").before("refund")).finding

    def test_a_call_is_counted(self) -> None:
        found = failure(lambda: support_call().run().tool_called("lookup_order").times(2))
        assert found.finding == "lookup_order() was called 1 time, not 2."

    def test_a_call_without_a_result_is_left_over(self) -> None:
        call = support_call()
        call.calls_tool(9_900, "refund", "{}", call="c3", response="r5", result=None)
        run = call.run()
        assert failure(run.tool_called("refund").answered).finding == "refund() never got a result."
        assert failure(run.tools_answered).finding == "The call of refund({}) never got a result."

    def test_a_call_that_failed_is_not_answered(self) -> None:
        call = Hand()
        call.calls_tool(100, "refund", "{}", call="c1", response="r1", result="no right", state="denied")
        assert failure(call.run().tool_called("refund").answered).finding == "refund() ended as denied: no right."
        call.run().tools_answered()

    def test_a_slow_tool(self) -> None:
        found = failure(lambda: support_call().run().tool_called("lookup_order").answered(within_ms=50))
        assert found.finding == "lookup_order() took 110 ms; at most 50 ms were allowed."

    def test_no_tool_may_be_called(self) -> None:
        run = support_call().run().no_tool_called("refund")
        assert failure(run.no_tool_called).finding.startswith("The agent called lookup_order(")

    def test_a_call_in_the_conversation_without_its_result(self) -> None:
        kept = Item(id="i", type="tool_call", tool_call=ToolCallBlock(id="c9", name="refund", input="{}"))
        found = failure(Hand().run(items=(kept,)).tools_answered)
        assert found.finding == "The conversation holds a call of refund without its result."


class TestTimes:
    def test_a_slow_answer(self) -> None:
        found = failure(lambda: support_call().run().response_latency.p95_below(ms=900))
        assert found.finding == (
            "The p95 from the end of the user's voice until the first sound reached the ear is 950 ms over 2 turns; "
            "less than 900 ms was asked. Turn 1 took longest, 950 ms."
        )
        assert list(found.places_ms) == [3_000, 3_950]

    def test_every_stage_counts_from_the_end_of_the_voice(self) -> None:
        latency = support_call().run().response_latency
        stages = ("turn_end", "transcript", "response", "first_token", "first_audio", "heard")
        values_ms = {stage: latency.stage(stage).values_ms for stage in stages}
        assert values_ms == {
            "turn_end": [500, 500],
            "transcript": [600, 600],
            "response": [600, 600],
            "first_token": [610, 610],
            "first_audio": [900, 900],
            "heard": [950, 950],
        }
        with pytest.raises(ValueError, match="there is no stage 'thinking': use one of turn_end"):
            latency.stage("thinking")

    def test_a_stage_that_the_server_measured(self) -> None:
        call = support_call()
        stages_ms = {"turn_end": 510, "first_sentence": 200, "first_audio": 40, "sent": 3, "played": 170}
        told = s.ServerLatencyEvent(
            response_id="r2", item_id="u2", turn_end_to_audio_ms=240, stages_ms=stages_ms, latency_ms=923
        )
        call.put(3_900, told)
        latency = call.run().response_latency
        assert latency.values_ms == [950, 923]
        assert latency.stage("first_sentence").values_ms == [710]
        assert latency.stage("sent").values_ms == [753]

    def test_without_an_answer_there_is_no_latency(self) -> None:
        call = Hand()
        call.speaks(1_000, 2_000, "Hello?", item="u1")
        found = failure(lambda: call.run().response_latency.p95_below(ms=900))
        assert found.finding.startswith("No turn of the user has a latency")

    def test_a_turn_that_was_never_answered_is_infinitely_slow(self) -> None:
        call = Hand()
        for number, from_ms in enumerate((1_000, 6_000, 20_000), 1):
            call.speaks(from_ms, from_ms + 1_000, f"Question {number}", item=f"u{number}")
            if number != 2:
                call.answers(from_ms + 1_700, "Well", response=f"r{number}", length_ms=500)
        latency = call.run().response_latency
        assert latency.values_ms == [850, 850]
        assert latency.percentile_ms(95) == float("inf")
        latency.p50_below(ms=900)
        for check in (latency.p95_below, latency.max_below, latency.stage("response").p95_below):
            found = failure(partial(check, ms=1_000))
            assert found.finding.endswith(
                "is infinite: turn 2 of 3 was never answered. The user waited 13000 ms after turn 2."
            )
            assert list(found.places_ms) == [7_000, 20_000]

    def test_who_does_not_wait_as_long_as_the_limit_is_owed_nothing(self) -> None:
        call = support_call()
        call.speaks(11_000, 12_000, "Goodbye", item="u3")
        call.put(20_000, s.ServerSessionEndedEvent(session_id="s"))
        call.marks.append(Mark(12_900, "Ann", "left"))
        latency = call.run().response_latency.p95_below(ms=951)
        assert [(turn.number, waited_ms) for turn, waited_ms in latency.unanswered] == [(3, 900)]
        failure(lambda: call.run(marks=()).response_latency.p95_below(ms=951))

    @pytest.mark.parametrize("how", ["withdrawn", "in writing", "never ended", "by another human", "stopped"])
    def test_a_turn_that_is_owed_no_sound(self, how: str) -> None:
        call = support_call()
        call.speaks(11_000, 12_000, "Goodbye", item="u3", who="Bob" if how == "by another human" else "Ann")
        call.put(20_000, s.ServerSessionEndedEvent(session_id="s"))
        if how == "withdrawn":
            call.put(13_000, s.AgentItemDeletedEvent(item_id="u3"))
        if how == "stopped":
            call.put(12_900, s.ServerAudioFlushEvent(reason="cancelled"))
        if how == "in writing":
            where: dict[str, Any] = {"response_id": "r9", "agent_name": "Friday"}
            call.put(12_700, s.AgentResponseCreatedEvent(**where))
            call.put(12_800, s.AgentResponseTextDoneEvent(item_id="i9", text="Goodbye", **where))
        if how == "never ended":
            call.events = [one for one in call.events if not 12_000 <= one[0] < 20_000]
        call.run().response_latency.p95_below(ms=951)

    def test_without_ears_the_first_sound_that_left_counts(self) -> None:
        assert support_call().run(played=()).response_latency.values_ms == [900, 900]

    def test_the_lag_of_the_detector_is_taken_out_by_the_sound(self) -> None:
        loud = b"\x00\x20" * 16
        pcm = b"\0\0" * (16 * 920) + loud * 2_000
        call = support_call()
        # The client's audio began 100 ms after the call did, which no event says.
        lane = Lane("Ann", "human", 16_000, pcm + bytes(32 * 10_000))
        turn = call.run(lanes=(lane,)).reading.turns[0]
        assert (turn.from_ms, turn.to_ms) == (920, 2_920)

    def test_noise_hides_the_edges_of_a_voice(self) -> None:
        lane = Lane("Ann", "human", 16_000, b"\x00\x20\x00\xe0" * 8 * 11_000)
        turn = support_call().run(lanes=(lane,)).reading.turns[0]
        assert (turn.from_ms, turn.to_ms) == (1_080, 3_080)

    def test_where_the_page_ends_the_turn_the_voice_is_that_of_the_script(self) -> None:
        call = Hand()
        for number, from_ms in enumerate((1_000, 5_000), 1):
            said = s.AgentInputCommittedEvent(item_id=f"u{number}", agent_name="Friday")
            call.put(from_ms + 1_200, said)
            call.answers(from_ms + 1_300, "Yes", response=f"r{number}", length_ms=500)
            call.spoken.append(Spoken("Ann", from_ms, from_ms + 1_000, "Hello"))
        run = call.run()
        assert [(turn.who, turn.from_ms, turn.to_ms) for turn in run.user_turns] == [
            ("Ann", 1_000, 2_000),
            ("Ann", 5_000, 6_000),
        ]
        assert run.response_latency.values_ms == [450, 450]

    def test_a_long_silence_while_the_user_waits(self) -> None:
        found = failure(lambda: support_call().run().no_dead_air(longer_than_ms=900))
        assert found.finding == (
            "Nobody was to be heard for 950 ms, from 3.00 s to 3.95 s; at most 900 ms were allowed."
        )

    def test_a_question_that_is_never_answered_is_dead_air(self) -> None:
        call = Hand()
        call.speaks(1_000, 2_000, "Hello?", item="u1")
        call.put(9_000, s.ServerSessionEndedEvent(session_id="s"))
        assert "for 7000 ms" in failure(lambda: call.run().no_dead_air(longer_than_ms=5_000)).finding

    def test_a_user_may_take_their_time(self) -> None:
        call = Hand()
        call.answers(100, "Good morning", response="r1", length_ms=1_000)
        call.speaks(9_000, 9_500, "Hello", item="u1")
        call.run().no_dead_air(longer_than_ms=2_000)
        failure(lambda: call.run().no_dead_air(longer_than_ms=2_000, anyones=True))

    def test_too_many_tokens(self) -> None:
        found = failure(lambda: support_call().run().tokens_below(60))
        assert found.finding == "The call cost 60 tokens; fewer than 60 were allowed."


class TestSpeakers:
    def two_agents(self) -> Hand:
        call = Hand()
        call.answers(100, "I am Friday", response="r1", length_ms=900)
        call.answers(1_100, "And I am Sunday", response="r2", length_ms=900, who="Sunday")
        call.speaks(3_000, 4_000, "Hello you", item="u1")
        call.speaks(5_000, 6_000, "Hello too", item="u2", who="Bob")
        return call

    def test_only_what_one_agent_says(self) -> None:
        run = self.two_agents().run()
        run.of("Friday").agent_said("I am Friday").agent_did_not_say("Sunday").turns(2)
        run.of("Bob").turns(1).user_said("too", within_turn=1)

    def test_somebody_who_is_not_there(self) -> None:
        found = failure(lambda: self.two_agents().run().of("Monday"))
        assert found.finding == 'Nobody called "Monday" says anything in this call: Ann, Bob, Friday, Sunday does.'

    def test_only_one_human_is_compared_with_what_they_said(self) -> None:
        call = self.two_agents()
        call.speaks(7_000, 8_000, "Goodbye", item="u3", who="Bob", heard="good pie")
        call.run().of("Ann").heard_by_agent.wer_below(0.01)
        failure(lambda: call.run().of("Bob").heard_by_agent.wer_below(0.5))


class TestAcceptedLog:
    def test_a_log_that_was_accepted_matches(self, tmp_path: Path) -> None:
        support_call().run().matches_log(tmp_path, accept=True).matches_log(tmp_path)
        support_call().run(folder=tmp_path).matches_log()

    def test_without_one_the_remedy_is_named(self, tmp_path: Path) -> None:
        found = failure(lambda: support_call().run().matches_log(tmp_path))
        assert found.finding.endswith("look at the call and keep it with accept=True.")

    def test_a_log_that_was_accepted_before_an_event_gained_a_field_still_matches(self, tmp_path: Path) -> None:
        support_call().run().matches_log(tmp_path, accept=True)
        log = tmp_path / "log.jsonl"
        entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        for entry in entries:
            entry.pop("language", None)
        log.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
        support_call().run().matches_log(tmp_path)

    def test_an_entry_that_is_new_is_the_only_difference(self, tmp_path: Path) -> None:
        call = support_call()
        call.run().matches_log(tmp_path, accept=True)
        call.put(9_000, s.AgentErrorEvent(error_type="tool_error", code="tool_slow", message="slow"))
        found = failure(lambda: call.run().matches_log(tmp_path))
        changed = [line for line in found.details.splitlines() if line[0] in "+-"]
        assert changed == ["+ 9.000 s agent_error error_type=tool_error code=tool_slow message=slow retryable=False"]
        assert list(found.places_ms) == [9_000]

    def test_a_field_that_changed_is_shown_whole(self, tmp_path: Path) -> None:
        call = support_call()
        call.run().matches_log(tmp_path, accept=True)
        call.events = [
            (ms, s.AgentInputTranscriptionDoneEvent(item_id="u2", transcript="Shop", agent_name="Friday"))
            if isinstance(event, s.AgentInputTranscriptionDoneEvent) and event.item_id == "u2"
            else (ms, event)
            for ms, event in call.events
        ]
        found = failure(lambda: call.run().matches_log(tmp_path))
        assert '  transcript: "Stop, cancel it!" -> "Shop"' in found.details.splitlines()

    def test_what_merely_comes_later_is_told_once(self, tmp_path: Path) -> None:
        call = support_call()
        call.run().matches_log(tmp_path, accept=True)
        call.events = [(ms + 40 if ms > 8_000 else ms, event) for ms, event in call.events]
        found = failure(lambda: call.run().matches_log(tmp_path))
        assert "entries come at another time, at most +40 ms; the first:" in found.details
        assert len(found.details.splitlines()) == 3

    def test_a_broken_file_is_named_with_its_line(self, tmp_path: Path) -> None:
        (tmp_path / "log.jsonl").write_bytes(b'{"type": "agent_ready"}\n{oops\n')
        found = failure(lambda: support_call().run().matches_log(tmp_path))
        assert "line 2 is no JSON" in found.finding


class TestOwnChecks:
    def test_it_gets_the_record(self) -> None:
        seen = []
        support_call().run().check(lambda record: seen.append(record.name))
        assert seen == ["by hand"]

    def test_what_it_asserts_comes_with_the_timeline(self) -> None:
        def too_long(record: CallRecord) -> None:
            assert record.duration_ms < 1_000, "the call is too long"

        found = failure(lambda: support_call().run().check(too_long))
        assert "the call is too long" in found.finding
        assert "voice begins, turn 1" in str(found)

    def test_an_answer_that_would_be_forgotten_is_refused(self) -> None:
        with pytest.raises(TypeError, match="returned bool; a check asserts, and returns nothing"):
            support_call().run().check(lambda record: record.duration_ms < 1_000)


CHECKS: list[Callable[[Run], object]] = [
    lambda run: run.heard_by_agent.wer_below(0.5),
    lambda run: run.agent_said("one"),
    lambda run: run.agent_did_not_say("one", within_turn=1),
    lambda run: run.user_said("two"),
    lambda run: run.tool_called("a", x=1).before("b").once().answered(within_ms=10),
    lambda run: run.tools_called_in_order("a", "b"),
    lambda run: run.no_tool_called(),
    lambda run: run.tools_answered(),
    lambda run: run.barge_in(1).silence_within(ms=10),
    lambda run: run.barge_in(1).transcript_cut_at_heard_word(),
    lambda run: run.barge_in(1).answered(within_ms=1),
    lambda run: run.barge_ins(0),
    lambda run: run.response_latency.p95_below(ms=100),
    lambda run: run.response_latency.stage("transcript").max_below(ms=100),
    lambda run: run.no_dead_air(longer_than_ms=100),
    lambda run: run.no_self_interruption(),
    lambda run: run.transcript_equals_heard(),
    lambda run: run.nothing_after_flush(),
    lambda run: run.turns(1),
    lambda run: run.tokens_below(1),
    lambda run: run.of("a").turns(1),
]


@given(any_record())
def test_a_check_passes_or_fails_whatever_the_log_holds(record: CallRecord) -> None:
    run, failures = Run(record), []
    for check in CHECKS:
        try:
            check(run)
        except CheckFailed as failed:
            failures.append(failed)
    assert all(one.finding.endswith(".") for one in failures)
    assert all(len(line) <= 110 for one in failures for line in one.timeline.splitlines())
