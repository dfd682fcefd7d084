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

Check = Callable[[Run], object]


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


def saying(text: str) -> Run:
    """A call in which the agent says this."""
    call = Hand()
    call.answers(100, text, response="r1")
    return call.run()


def test_a_phrase_is_found_where_its_words_were_said() -> None:
    """Each line of the file: what the agent says, a phrase, and whether that was said. Case, spacing and punctuation do
    not count; other numbers are kept apart; a phrase is whole words, or characters in languages without spaces."""
    lines = Path(__file__).with_name("phrases.tsv").read_text(encoding="utf-8").splitlines()
    for text, phrase, told in (line.split("\t") for line in lines):
        run = saying(text).agent_said(text)
        holds, fails = run.agent_said, run.agent_did_not_say
        if told == "not said":
            holds, fails = fails, holds
        holds(phrase)
        failure(partial(fails, phrase))
    saying("Your order number is A-17.").agent_said(re.compile(r"A-\d+"))


def test_the_word_error_rate_names_the_words_that_differ() -> None:
    call = Hand()
    call.speaks(1_000, 3_000, "Where is my order, please?", item="u1", heard="where is my older please")
    found = failure(lambda: call.run().heard_by_agent.wer_below(0.2))
    assert found.finding == (
        "The word error rate is 0.200 (1 of 5: 1 wrong, 0 missing, 0 added); less than 0.2 was asked."
    )
    assert found.details == '  said "order", understood "older"'
    assert list(found.places_ms) == [1_000]
    call.run().heard_by_agent.wer_below(0.21)


def test_what_nobody_wrote_down_is_not_counted_as_added() -> None:
    call = support_call()
    call.spoken[1] = Spoken("Ann", 7_000, 8_000, None)
    call.run().heard_by_agent.wer_below(0.01)


def test_a_phrase_can_be_asked_of_one_turn() -> None:
    run = support_call().run()
    run.agent_said("cancelled", within_turn=2).agent_did_not_say("cancelled", within_turn=1)
    with pytest.raises(ValueError, match="has no words"):
        run.agent_said("...")


def test_a_typed_turn_counts() -> None:
    call = support_call()
    typed = Item(id="u3", role="user", content=(ContentPart(type="text", text="Thanks!"),))
    call.put(10_550, s.AgentItemAddedEvent(item=typed))
    call.run().turns(3).user_said("thanks", within_turn=3)
    found = failure(lambda: call.run().turns(2))
    assert found.finding.startswith('The user had 3 turns, not 2: 1.00 s "Where is my order?"')


def refunded(state: str = "success", result: str | None = None) -> Run:
    call = support_call()
    call.calls_tool(9_900, "refund", "{}", call="c3", response="r5", result=result, state=state)
    return call.run()


def unanswered(over_ms: int) -> Run:
    call = Hand()
    call.speaks(1_000, 2_000, "Hello?", item="u1")
    call.put(over_ms, s.ServerSessionEndedEvent(session_id="s"))
    return call.run()


def lost_result() -> Run:
    kept = Item(id="i", type="tool_call", tool_call=ToolCallBlock(id="c9", name="refund", input="{}"))
    return Hand().run(items=(kept,))


FINDINGS: dict[str, Check] = {
    'was interrupted before it had said "on Monday"; it said': lambda run: run.agent_said("on Monday"),
    "in turn 1": lambda run: run.agent_said("cancelled", within_turn=1),
    "There is no turn 3: the call has 2 turns of the user.": lambda run: run.agent_said("x", within_turn=3),
    'was not understood to say "refund"; it was "Where is my order?" or "Stop, cancel it!".': (
        lambda run: run.user_said("refund")
    ),
    'lookup_order(id=\'A-18\') was not called; the agent called lookup_order({"id": "A-17", "deep": true}).': (
        lambda run: run.tool_called("lookup_order", id="A-18")
    ),
    "lookup_order was called at 3.61 s, cancel_order() only at 8.61 s.": (
        lambda run: run.tool_called("cancel_order").before("lookup_order")
    ),
    '"lookup_order" does not follow: lookup_order, cancel_order.': (
        lambda run: run.tools_called_in_order("cancel_order", "lookup_order")
    ),
    "but refund was not at all": lambda run: run.tool_called("lookup_order").before("refund"),
    "lookup_order() was called 1 time, not 2.": lambda run: run.tool_called("lookup_order").times(2),
    "lookup_order() took 110 ms; at most 50 ms were allowed.": (
        lambda run: run.tool_called("lookup_order").answered(within_ms=50)
    ),
    "The agent called lookup_order(": lambda run: run.no_tool_called(),
    "The p95 from the end of the user's voice until the first sound reached the ear is 950 ms over 2 turns; "
    "less than 900 ms was asked. Turn 1 took longest, 950 ms.": lambda run: run.response_latency.p95_below(ms=900),
    "Nobody was to be heard for 950 ms, from 3.00 s to 3.95 s; at most 900 ms were allowed.": (
        lambda run: run.no_dead_air(longer_than_ms=900)
    ),
    "The call cost 60 tokens; fewer than 60 were allowed.": lambda run: run.tokens_below(60),
    'Nobody called "Monday" says anything in this call: Ann, Friday does.': lambda run: run.of("Monday"),
}
"""What is found in the support call."""

ELSEWHERE: dict[str, tuple[Run, Check]] = {
    "there is no transcript of the speech": (Hand().run(), lambda run: run.heard_by_agent.wer_below(0.1)),
    'did not say "dog"; it said "A cat".': (saying("A cat"), lambda run: run.agent_said("dog")),
    "refund() never got a result.": (refunded(), lambda run: run.tool_called("refund").answered()),
    "The call of refund({}) never got a result.": (refunded(), lambda run: run.tools_answered()),
    "refund() ended as denied: no.": (refunded("denied", "no"), lambda run: run.tool_called("refund").answered()),
    "The conversation holds a call of refund without its result.": (lost_result(), lambda run: run.tools_answered()),
    "No turn of the user has a latency": (unanswered(2_000), lambda run: run.response_latency.p95_below(ms=900)),
    "for 7000 ms": (unanswered(9_000), lambda run: run.no_dead_air(longer_than_ms=5_000)),
}


def test_what_fails_says_what_was_found() -> None:
    found = {said: failure(partial(check, support_call().run())).finding for said, check in FINDINGS.items()}
    found |= {said: failure(partial(check, run)).finding for said, (run, check) in ELSEWHERE.items()}
    assert {said: one for said, one in found.items() if said not in one} == {}


def test_a_failure_knows_the_places_it_is_about() -> None:
    run = support_call().run()
    assert list(failure(lambda: run.tool_called("lookup_order", id="A-18")).places_ms) == [3_610]
    assert list(failure(lambda: run.response_latency.p95_below(ms=900)).places_ms) == [3_000, 3_950]


def test_an_argument_may_be_a_pattern_and_a_denied_call_is_answered() -> None:
    support_call().run().tool_called("lookup_order", id=re.compile(r"^A-\d\d$"))
    support_call().run().no_tool_called("refund")
    refunded("denied", "no").tools_answered()


def test_every_stage_counts_from_the_end_of_the_voice() -> None:
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


def test_a_stage_that_the_server_measured() -> None:
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


def test_a_turn_that_was_never_answered_is_infinitely_slow() -> None:
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


def test_who_does_not_wait_as_long_as_the_limit_is_owed_nothing() -> None:
    call = support_call()
    call.speaks(11_000, 12_000, "Goodbye", item="u3")
    call.put(20_000, s.ServerSessionEndedEvent(session_id="s"))
    call.marks.append(Mark(12_900, "Ann", "left"))
    latency = call.run().response_latency.p95_below(ms=951)
    assert [(turn.number, waited_ms) for turn, waited_ms in latency.unanswered] == [(3, 900)]
    failure(lambda: call.run(marks=()).response_latency.p95_below(ms=951))


@pytest.mark.parametrize("how", ["withdrawn", "in writing", "never ended", "by another human", "stopped"])
def test_a_turn_that_is_owed_no_sound(how: str) -> None:
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


def test_without_ears_the_first_sound_that_left_counts() -> None:
    assert support_call().run(played=()).response_latency.values_ms == [900, 900]


def test_the_lag_of_the_detector_is_taken_out_by_the_sound() -> None:
    loud = b"\x00\x20" * 16
    pcm = b"\0\0" * (16 * 920) + loud * 2_000
    call = support_call()
    # The client's audio began 100 ms after the call did, which no event says.
    lane = Lane("Ann", "human", 16_000, pcm + bytes(32 * 10_000))
    turn = call.run(lanes=(lane,)).reading.turns[0]
    assert (turn.from_ms, turn.to_ms) == (920, 2_920)


def test_noise_hides_the_edges_of_a_voice() -> None:
    lane = Lane("Ann", "human", 16_000, b"\x00\x20\x00\xe0" * 8 * 11_000)
    turn = support_call().run(lanes=(lane,)).reading.turns[0]
    assert (turn.from_ms, turn.to_ms) == (1_080, 3_080)


def test_where_the_page_ends_the_turn_the_voice_is_that_of_the_script() -> None:
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


def test_a_user_may_take_their_time() -> None:
    call = Hand()
    call.answers(100, "Good morning", response="r1", length_ms=1_000)
    call.speaks(9_000, 9_500, "Hello", item="u1")
    call.run().no_dead_air(longer_than_ms=2_000)
    failure(lambda: call.run().no_dead_air(longer_than_ms=2_000, anyones=True))


def two_agents() -> Hand:
    call = Hand()
    call.answers(100, "I am Friday", response="r1", length_ms=900)
    call.answers(1_100, "And I am Sunday", response="r2", length_ms=900, who="Sunday")
    call.speaks(3_000, 4_000, "Hello you", item="u1")
    call.speaks(5_000, 6_000, "Hello too", item="u2", who="Bob")
    return call


def test_only_what_one_agent_says() -> None:
    run = two_agents().run()
    run.of("Friday").agent_said("I am Friday").agent_did_not_say("Sunday").turns(2)
    run.of("Bob").turns(1).user_said("too", within_turn=1)


def test_only_one_human_is_compared_with_what_they_said() -> None:
    call = two_agents()
    call.speaks(7_000, 8_000, "Goodbye", item="u3", who="Bob", heard="good pie")
    call.run().of("Ann").heard_by_agent.wer_below(0.01)
    failure(lambda: call.run().of("Bob").heard_by_agent.wer_below(0.5))


def test_a_log_that_was_accepted_matches_and_before_that_the_remedy_is_named(tmp_path: Path) -> None:
    found = failure(lambda: support_call().run().matches_log(tmp_path))
    assert found.finding.endswith("look at the call and keep it with accept=True.")
    support_call().run().matches_log(tmp_path, accept=True).matches_log(tmp_path)
    support_call().run(folder=tmp_path).matches_log()
    # An event has gained a field since.
    log = tmp_path / "log.jsonl"
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for entry in entries:
        entry.pop("language", None)
    log.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    support_call().run().matches_log(tmp_path)
    log.write_bytes(b'{"type": "agent_ready"}\n{oops\n')
    assert "line 2 is no JSON" in failure(lambda: support_call().run().matches_log(tmp_path)).finding


def test_a_log_that_differs_shows_what_is_new_changed_or_late(tmp_path: Path) -> None:
    support_call().run().matches_log(tmp_path, accept=True)
    longer = support_call()
    longer.put(9_000, s.AgentErrorEvent(error_type="tool_error", code="tool_slow", message="slow"))
    found = failure(lambda: longer.run().matches_log(tmp_path))
    changed = [line for line in found.details.splitlines() if line[0] in "+-"]
    assert changed == ["+ 9.000 s agent_error error_type=tool_error code=tool_slow message=slow retryable=False"]
    assert list(found.places_ms) == [9_000]
    other = support_call()
    shop = s.AgentInputTranscriptionDoneEvent(item_id="u2", transcript="Shop", agent_name="Friday")
    other.events = [
        (ms, shop if getattr(event, "transcript", "") == "Stop, cancel it!" else event) for ms, event in other.events
    ]
    found = failure(lambda: other.run().matches_log(tmp_path))
    assert '  transcript: "Stop, cancel it!" -> "Shop"' in found.details.splitlines()
    later = support_call()
    later.events = [(ms + 40 if ms > 8_000 else ms, event) for ms, event in later.events]
    found = failure(lambda: later.run().matches_log(tmp_path))
    assert "entries come at another time, at most +40 ms; the first:" in found.details
    assert len(found.details.splitlines()) == 3


def test_a_check_of_ones_own_gets_the_record_and_what_it_asserts_comes_with_the_timeline() -> None:
    def too_long(record: CallRecord) -> None:
        assert record.name == "by hand"
        assert record.duration_ms < 1_000, "the call is too long"

    found = failure(lambda: support_call().run().check(too_long))
    assert "the call is too long" in found.finding
    assert "voice begins, turn 1" in str(found)
    with pytest.raises(TypeError, match="returned bool; a check asserts, and returns nothing"):
        support_call().run().check(lambda record: record.duration_ms < 1_000)


CHECKS: list[Check] = [
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
