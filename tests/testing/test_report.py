"""What a report holds: turns and latency, changes, frames, sound, and a page that nothing in a call can break."""

import base64
import io
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import server as s
from realtime.plan import Plan
from realtime.state.latency import percentile
from realtime.testing.errors import CaseError
from realtime.testing.record import CallRecord, Lane, Mark, Spoken, WireFrame
from realtime.testing.report import RunOutcome, write_report
from realtime.testing.report.diff import compare, digest, words_changed
from realtime.testing.report.frames import MAX_ROWS, MAX_TEXT_CHARS, rows
from realtime.testing.report.sound import MAX_BUCKETS, MIX_HZ, bucket_ms, mixed_flac, peaks
from realtime.testing.report.story import Story, tell
from realtime.testing.stores import some_entries
from tests.testing.report_calls import TRIP, CallWriter, interrupted_call, short_call


def not_json(constant: str) -> None:
    """NaN and infinities, which a page cannot read."""
    raise AssertionError(constant)


def data_of(page: Path) -> dict[str, Any]:
    """What is embedded in the page."""
    found = re.search(r'<script type="application/json" id="data">([^<]*)</script>', page.read_text("utf-8"))
    assert found is not None
    data: dict[str, Any] = json.loads(found[1], parse_constant=not_json)
    return data


def run_of(record: CallRecord, tmp_path: Path, **options: Any) -> dict[str, Any]:
    """The record as the page gets it."""
    run: dict[str, Any] = data_of(write_report([record], tmp_path / "report.html", **options))["runs"][0]
    return run


def said(story: Story) -> list[tuple[str, list[str]]]:
    """Every turn: what was said, and the answers."""
    captions = story.captions
    return [
        ("" if turn.said is None else captions[turn.said].heard, [captions[place].heard for place in turn.answers])
        for turn in story.turns
    ]


def test_what_an_agent_says_first_and_what_it_answers_to_each_turn_stand_together() -> None:
    story = tell(interrupted_call())
    assert said(story) == [
        ("", ["Hello there, my name is Anna."]),
        ("Good morning, I am Robert.", ["I would like to plan a trip, perhaps to the"]),
        ("Stop, please. That is enough.", ["What is twelve times seven?"]),
        ("84", ["Please set a timer for five seconds."]),
    ]
    assert [turn.interrupts for turn in story.turns] == [False, False, True, False]
    assert story.barge_ins == 1


def test_words_that_nobody_heard_stand_behind_those_that_were_heard() -> None:
    story = tell(interrupted_call())
    cut = next(caption for caption in story.captions if caption.unheard)
    assert cut.heard + cut.unheard == TRIP
    assert cut.to_ms - cut.from_ms == 3_900


def test_the_way_from_the_end_of_the_voice_to_the_ear_is_told_step_by_step() -> None:
    story = tell(interrupted_call())
    steps = story.turns[1].steps
    assert [step.name for step in steps] == [
        *("voice end", "turn end", "transcript", "response", "tool call", "tool result", "first audio", "played"),
    ]
    assert steps[-1].at_ms - steps[0].at_ms == story.turns[1].latency_ms
    assert [step.name for step in story.turns[3].steps] == ["typed", "response", "first audio", "played"]


def test_an_answer_that_begins_while_the_user_speaks_again_answers_the_turn_before() -> None:
    call = CallWriter("late answer")
    over = call.hears(200, "what_time.wav", "What time is it?", item="u1", speech=(400, 1_310))
    call.at(over + 100, s.AgentInputStartedEvent(item_id="u2", audio_start_ms=round(over), agent_name="Anna"))
    call.responds(over + 150, "r1")
    call.says(over + 400, "hello_anna.wav", "Hello there.", response="r1", item="a1")
    call.at(over + 900, s.AgentInputDoneEvent(item_id="u2", audio_end_ms=round(over + 400), agent_name="Anna"))
    assert said(tell(call.record())) == [("What time is it?", ["Hello there."]), ("", [])]


def test_an_answer_that_was_withdrawn_is_unheard_and_stays_with_the_turn_that_went_on() -> None:
    call = CallWriter("hasty")
    call.at(600, s.AgentInputStartedEvent(item_id="u1", audio_start_ms=400, agent_name="Anna"))
    call.at(1_500, s.AgentInputDoneEvent(item_id="u1", audio_end_ms=1_200, agent_name="Anna"))
    call.responds(1_520, "r1")
    where: dict[str, Any] = {"response_id": "r1", "item_id": "a1", "agent_name": "Anna"}
    call.at(1_560, s.AgentResponseAudioTranscriptDeltaEvent(delta="Too early.", **where))
    call.at(1_600, s.ServerAudioFlushEvent(reason="hasty_turn"))
    call.at(1_601, s.AgentItemDeletedEvent(item_id="a1", agent_name="Anna"))
    call.at(1_602, s.AgentInputStartedEvent(item_id="u1", audio_start_ms=1_450, agent_name="Anna"))
    call.at(2_500, s.AgentInputDoneEvent(item_id="u1", audio_end_ms=2_100, agent_name="Anna"))
    story = tell(call.record())
    assert len(story.turns) == 1
    withdrawn = story.captions[story.turns[0].answers[0]]
    assert (withdrawn.heard, withdrawn.unheard, withdrawn.withdrawn) == ("", "Too early.", True)
    assert story.barge_ins == 0


def test_everybody_in_a_room_has_a_lane_and_the_floor_is_told(tmp_path: Path) -> None:
    call = CallWriter("room")
    call.at(100, s.ServerRoomJoinedEvent(participant_id="p1", name="Carl", kind="human"))
    call.at(200, s.ServerRoomFloorEvent(participant_id="p1", reason="asked"))
    call.at(900, s.ServerRoomFloorEvent(participant_id=None, reason="done"))
    call.at(1_000, s.AgentResponseCreatedEvent(response_id="r", agent_id="agent_2", agent_name="Dora"))
    call.at(
        1_010,
        s.AgentResponseTextDeltaEvent(response_id="r", item_id="d", delta="I write.", agent_name="Dora"),
    )
    call.at(1_500, s.AgentResponseDoneEvent(response_id="r", agent_name="Dora"))
    carl = Lane("Carl", "human", 16_000, b"\x00\x10" * 8_000)
    record = call.record(carl, spoken=(Spoken("Carl", 100, 600, "Hello."),), marks=(Mark(1_400, "Carl", "left"),))
    run = run_of(record, tmp_path)
    lanes = [(lane["speaker"], lane["kind"]) for lane in run["lanes"]]
    assert lanes == [("Robert", "human"), ("Carl", "human"), ("Anna", "agent"), ("Dora", "agent")]
    assert [(span["who"], span["from_ms"], span["to_ms"]) for span in run["floor"]] == [
        ("Carl", 200, 900),
        ("", 900, 1_500),
    ]
    assert [(one["what"], one["who"]) for one in run["moments"]] == [("joined", "Carl"), ("left", "Carl")]


def test_a_report_has_each_plan_as_far_as_it_came(tmp_path: Path) -> None:
    """What the user has changed by hand is a moment. A program's own event may have the same name, and is left out."""
    call = CallWriter("planned")
    trip = Plan(name="Trip", description="Go.", expected_outcome="Gone.", subtasks=["Book", "Pack"])  # type: ignore[list-item]  # texts become subtasks
    call.at(500, s.ServerCustomEvent(name="plan_updated", value={"plan": trip.model_dump()}))
    trip.subtasks[0].finish("Booked.")
    trip.suspend()
    for ms, plan in ((700, trip.model_dump()), (900, None), (950, {"name": "Sale"}), (960, "all")):
        call.at(ms, s.ServerCustomEvent(name="plan_updated", value={"plan": plan}))
    edit = {"type": "mark_subtask", "subtask_id": trip.subtasks[0].id, "state": "done"}
    call.at(800, s.ServerCustomEvent(name="plan_updated", value={"plan": None, "edited": {"by": "", "edit": edit}}))
    call.at(970, s.ServerCustomEvent(name="plan_updated", value={"plan": None, "edited": {"by": "Ann", "edit": None}}))
    run = run_of(call.record(), tmp_path)
    assert [(one["who"], one["what"], one["text"]) for one in run["moments"]] == [
        ("user", "changed the plan", "mark subtask")
    ]
    (plan,) = run["plans"]
    assert (plan["name"], plan["state"]) == ("Trip", "suspended")
    assert [(one["name"], one["state"]) for one in plan["subtasks"]] == [("Book", "done"), ("Pack", "todo")]


def test_decisions_about_voices_over_a_reply_are_marked_with_their_reasons(tmp_path: Path) -> None:
    call = CallWriter("listening")
    call.at(500, s.AgentInterruptionEvent(state="possible"))
    call.at(900, s.AgentInterruptionEvent(state="dismissed", reason="backchannel"))
    call.at(1_700, s.AgentInterruptionEvent(state="confirmed", reason="words"))
    moments = run_of(call.record(), tmp_path)["moments"]
    assert [(one["ts_ms"], one["what"], one["text"]) for one in moments] == [
        (900, "went on", "backchannel"),
        (1_700, "stopped", "words"),
    ]


def test_a_call_in_which_nothing_happened_makes_a_report(tmp_path: Path) -> None:
    run = run_of(CallRecord(name="empty", entries=(), items=()), tmp_path)
    assert (run["lanes"], run["turns"], run["frames"], run["audio"], run["silent"]) == ([], [], [], None, True)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([], 50, None), ([7.4], 95, 7), ([3, 1, 2], 50, 2), ([4, 1, 3, 2], 50, 2), (list(range(1, 101)), 95, 95)],
)
def test_percentiles_are_values_that_were_measured(values: list[float], percent: int, expected: int | None) -> None:
    assert percentile(values, percent) == expected


def test_a_run_that_is_the_same_as_the_accepted_one_has_no_changes(tmp_path: Path) -> None:
    page = write_report([interrupted_call()], tmp_path / "report.html")
    again = write_report([interrupted_call()], page, accepted=tmp_path / "report.json")
    assert data_of(again)["runs"][0]["change"] == {"known": True, "facts": [], "turns": []}


def test_changed_words_tools_and_latency_are_shown_turn_by_turn(tmp_path: Path) -> None:
    before = interrupted_call(greeting="Good morning, I am Rupert.", tool="nobody")
    write_report([before, short_call("gone")], tmp_path / "before.html")
    now: list[RunOutcome | CallRecord] = [RunOutcome(interrupted_call(slower_ms=180), "too slow"), short_call("new")]
    data = data_of(write_report(now, tmp_path / "report.html", accepted=tmp_path / "before.json"))
    change = data["runs"][0]["change"]
    assert [fact[0] for fact in change["facts"]] == ["result", "duration", "latency p95"]
    assert change["turns"] == [
        {
            "kind": "changed",
            "number": 1,
            "who": "Robert",
            "said": [["=", "Good morning, I am "], ["-", "Rupert."], ["+", "Robert."]],
            "answer": [],
            "unheard": [],
            "tools": [
                ["-", 'lookup_guest({"name": "Robert"}) success: nobody'],
                ["+", 'lookup_guest({"name": "Robert"}) success: found'],
            ],
            "latency_ms": [1_510, 1_690],
        }
    ]
    assert data["runs"][1]["change"]["known"] is False
    assert data["missing"] == ["gone"]


def test_turns_that_came_and_went_are_told_as_such() -> None:
    long, short = interrupted_call("call"), short_call("call")
    accepted, now = (digest("call", None, one.duration_ms, tell(one)) for one in (long, short))
    kinds = [(turn.kind, turn.number) for turn in compare(accepted, now).turns]
    assert kinds == [("changed", 1), ("removed", 1), ("removed", 2), ("removed", 3)]
    assert {turn.kind for turn in compare(now, accepted).turns} == {"changed", "added"}


@given(st.text(alphabet="ab \n", max_size=40), st.text(alphabet="ab \n", max_size=40))
def test_changed_words_hold_both_texts(before: str, after: str) -> None:
    pieces = words_changed(before, after)
    if before == after:
        assert pieces == []
    else:
        assert "".join(text for op, text in pieces if op != "+") == before.lstrip()
        assert "".join(text for op, text in pieces if op != "-") == after.lstrip()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        (b"<html>", "no digest of a report"),
        (b'{"runs": []}', "no digest of a report"),
        (b'{"version": 99, "runs": []}', "version 99"),
    ],
)
def test_a_file_that_is_no_accepted_report_is_named_with_its_remedy(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    accepted = tmp_path / "accepted.json"
    if content is not None:
        accepted.write_bytes(content)
    with pytest.raises(CaseError, match=problem) as caught:
        write_report([short_call()], tmp_path / "report.html", accepted=accepted)
    assert str(accepted) in str(caught.value)
    assert caught.value.remedy
    assert not (tmp_path / "report.html").exists()


def frames_of(*texts: tuple[float, str]) -> CallRecord:
    frames = tuple(WireFrame(ms, "client", "sent", "Anna", text) for ms, text in texts)
    return CallRecord(name="frames", entries=(), items=(), frames=frames)


def test_frames_that_differ_in_numbers_and_ids_only_make_one_row_while_they_come() -> None:
    made, left_out = rows(
        frames_of(
            (0, '{"type": "audio", "n": 1, "id": "item_a1"}'),
            (20, '{"type": "words", "delta": "one"}'),
            (40, '{"type": "audio", "n": 2, "id": "item_b2"}'),
            (60, '{"type": "words", "delta": "two"}'),
            (5_000, '{"type": "audio", "n": 3, "id": "item_b2"}'),
        )
    )
    assert [(row.kind, row.ts_ms, row.more, row.until_ms) for row in made] == [
        ("audio", 0, 1, 40),
        ("words", 20, 0, 20),
        ("words", 60, 0, 60),
        ("audio", 5_000, 0, 5_000),
    ]
    assert left_out == 0


def test_a_long_list_of_frames_and_a_long_frame_are_bounded_and_say_so() -> None:
    letters = [chr(0x4E00 + number) for number in range(MAX_ROWS + 10)]
    made, left_out = rows(frames_of((0, "x" * (MAX_TEXT_CHARS + 5)), *((1, f'{{"{one}": 0}}') for one in letters)))
    assert (len(made), left_out) == (MAX_ROWS, 11)
    assert made[0].text.endswith("x ... 5 more characters")
    assert (made[0].kind, made[1].kind) == ("binary", letters[0])


def test_words_of_any_length_are_looked_at_once() -> None:
    """Looked at from each of its letters, a word like this would take hours."""
    made, _ = rows(frames_of((0, "x" * 2_000_000), (1, "y" * 2_000_000 + "1"), (2, "z" * 2_000_000 + "2")))
    assert [row.more for row in made] == [0, 1]


def test_of_a_call_without_frames_the_log_is_listed() -> None:
    made, _ = rows(replace(short_call(), frames=()))
    assert {row.leg for row in made} == {"log"}
    assert made[0].kind == "server_session_created"


def test_the_outline_of_a_lane_is_the_loudest_sample_of_each_step() -> None:
    samples = np.zeros(1_000, "<i2")
    samples[10], samples[900] = 8_192, -32_768
    outline = base64.b64decode(peaks(Lane("a", "human", 16_000, samples.tobytes()), 10))
    assert list(outline) == [128, 0, 0, 0, 0, 255, 0]
    assert peaks(Lane("a", "human", 16_000, b""), 10) == ""


def test_the_outline_keeps_time_at_rates_that_do_not_divide() -> None:
    samples = np.zeros(11_025 * 60, "<i2")
    samples[-1] = 32_767
    outline = base64.b64decode(peaks(Lane("a", "human", 11_025, samples.tobytes()), 10))
    assert (len(outline), outline.index(255)) == (6_000, 5_999)


def test_an_hour_fits_into_the_page() -> None:
    hour_ms = 3_600_000
    assert hour_ms / bucket_ms(hour_ms) <= MAX_BUCKETS
    hour = Lane("a", "human", 8_000, bytes(8_000 * 2 * 3_600))
    assert len(base64.b64decode(peaks(hour, bucket_ms(hour_ms)))) <= MAX_BUCKETS


def test_the_sound_of_all_is_mixed_while_it_is_small() -> None:
    low, high = (np.full(1_600, value, "<i2").tobytes() for value in (1_000, 3_000))
    lanes = (Lane("a", "human", MIX_HZ, low), Lane("b", "agent", MIX_HZ, high[:1_600]))
    mixed = mixed_flac(lanes, 1_000_000)
    assert mixed is not None
    samples, rate_hz = soundfile.read(io.BytesIO(base64.b64decode(mixed)), dtype="int16")
    assert (rate_hz, list(samples[[0, 799, 800, 1_599]])) == (MIX_HZ, [4_000, 4_000, 1_000, 1_000])
    assert mixed_flac(lanes, 10) is None
    assert mixed_flac((Lane("a", "human", 8_000, bytes(8_000 * 2 * 3_600)),), 1_000_000_000) is None
    assert mixed_flac((Lane("a", "human", MIX_HZ, b""),), 1_000_000) is None


def test_runs_share_the_room_for_sound(tmp_path: Path) -> None:
    both = data_of(write_report([short_call("one"), short_call("two")], tmp_path / "report.html"))
    one_bytes = len(base64.b64decode(both["runs"][0]["audio"]))
    page = write_report([short_call("one"), short_call("two")], tmp_path / "less.html", max_audio_bytes=one_bytes + 10)
    assert [run["audio"] is not None for run in data_of(page)["runs"]] == [True, False]


NASTY = '</script><script>alert(1)</script><!-- {{script}} <img src=x onerror=alert(2)> \ud800 \u2028 & "'


def test_nothing_that_was_said_becomes_part_of_the_page(tmp_path: Path) -> None:
    page = write_report([RunOutcome(short_call(NASTY, question=NASTY), NASTY)], tmp_path / "report.html", title=NASTY)
    text = page.read_text("utf-8")
    assert text.count("<script") == 2
    assert "<img" not in text
    run = data_of(page)["runs"][0]
    assert (run["name"], run["failure"], run["captions"][0]["heard"]) == (NASTY, NASTY, NASTY)


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_any_log_makes_a_page_that_can_be_read(seed: int, count: int) -> None:
    record = CallRecord(name="any", entries=tuple(some_entries(Random(seed), count)), items=())
    with tempfile.TemporaryDirectory() as folder:
        page = write_report([record], Path(folder) / "report.html")
        assert data_of(page)["runs"][0]["name"] == "any"


def test_a_page_that_commits_its_turns_itself_makes_a_report(tmp_path: Path) -> None:
    call = CallWriter("push to talk")
    call.at(2_000, s.AgentInputCommittedEvent(item_id="u1", agent_name="Anna"))
    call.at(2_100, s.AgentInputTranscriptionDoneEvent(item_id="u1", transcript="Hello.", agent_name="Anna"))
    run = run_of(call.record(lanes=(), spoken=()), tmp_path)
    assert [(one["heard"], one["from_ms"], one["to_ms"]) for one in run["captions"]] == [("Hello.", 2_000, 2_000)]


def test_the_same_runs_make_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write_report([interrupted_call()], tmp_path / name / "report.html") for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert first.with_suffix(".json").read_bytes() == second.with_suffix(".json").read_bytes()


def test_a_reader_without_scripts_finds_every_run_as_text(tmp_path: Path) -> None:
    page = write_report([RunOutcome(interrupted_call(), "it was too slow"), short_call()], tmp_path / "report.html")
    found = re.search(r"<noscript>.*</noscript>", page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    for words in ("interrupted: failed", "it was too slow", "calls lookup_guest", "short: passed"):
        assert words in found[0]
