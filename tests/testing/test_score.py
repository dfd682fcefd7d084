"""The scoreboard: hand-made calls with known answers, the control arms, and stored calls."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import server as s
from realtime.testing.cases.stored import record_of
from realtime.testing.check.run import Run
from realtime.testing.errors import CaseError
from realtime.testing.record import CallRecord
from realtime.testing.replay import replay
from realtime.testing.report import write_report
from realtime.testing.score.board import Score, table
from realtime.testing.score.eva import CURVE_WITH_TOOL, curve
from realtime.testing.score.labels import CLASSES, Label, LabelClass, labels_in, read_labels
from realtime.testing.score.numbers import NOT_MEASURABLE, Rate, Times
from realtime.testing.score.published import TAU_VOICE, published
from realtime.testing.score.scene import scene_of
from tests.testing.hand_made import NAMES, POSITIONS, Hand, any_record
from tests.volumes import volume

CALLS = Path(__file__).resolve().parents[2] / "fixtures" / "calls"
CHANGING: tuple[LabelClass, ...] = ("backchannel", "tic", "side", "noise")


class Heard(Hand):
    """A hand-made call whose log holds what was played."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[Label] = []

    def label(self, kind: LabelClass, on_ms: float, off_ms: float, *, far: bool = False) -> None:
        self.labels.append(Label(f"l{len(self.labels)}", kind, on_ms, off_ms, far=far))

    def replies(
        self, response: str, from_ms: int, to_ms: int, *, cut: bool = False, hold: tuple[int, int] | None = None
    ) -> None:
        """A reply is played from when to when; `cut`: a voice stops it there; `hold`: a gap in it, from when and ms."""
        me: dict[str, Any] = {"agent_name": "Friday"}
        item = f"item_{response}"
        self.put(from_ms - 100, s.AgentResponseCreatedEvent(response_id=response, **me))
        self.put(
            from_ms - 50,
            s.AgentResponseAudioTranscriptDeltaEvent(response_id=response, item_id=item, delta="Well", **me),
        )
        silent_ms = 0
        for ms in (*range(from_ms + 20, to_ms, 100), to_ms):
            if hold is not None and hold[0] <= ms < sum(hold):
                silent_ms = hold[1]
                continue
            self.put(ms, s.ServerPlaybackEvent(item_id=item, played_ms=ms - from_ms - silent_ms))
        if cut:
            self.put(to_ms, s.ServerAudioFlushEvent(reason="speech_started"))
            ended = to_ms - from_ms - silent_ms
            self.put(to_ms, s.AgentItemTruncatedEvent(item_id=item, audio_end_ms=ended, transcript="Well", **me))
        status: Any = "cancelled" if cut else "completed"
        self.put(to_ms, s.AgentResponseDoneEvent(response_id=response, status=status, **me))

    def over(self, ms: int) -> "Heard":
        self.put(ms, s.ServerSessionEndedEvent(session_id="s"))
        return self

    def score(self) -> Score:
        return Score.of(self.record(), self.labels)


def question(call: Heard) -> None:
    """The user asks from 1 to 2 s."""
    call.label("turn", 1_000, 2_000)


def sound_over_a_reply(kind: LabelClass, *, stops_ms: int | None, hold: tuple[int, int] | None = None) -> Heard:
    """A sound from 5 to 5.4 s over a reply that would play from 3 to 12 s."""
    call = Heard()
    question(call)
    call.label(kind, 5_000, 5_400)
    call.replies("r1", 3_000, 12_000 if stops_ms is None else stops_ms, cut=stops_ms is not None, hold=hold)
    return call.over(14_000)


def arm(stops_after_ms: Callable[[LabelClass], int | None]) -> Score:
    """Calls with a sound of each class over a reply; an interruption that stops the reply is answered."""
    calls = []
    for kind in (*CHANGING, "interruption"):
        after_ms = stops_after_ms(kind)
        call = sound_over_a_reply(kind, stops_ms=None if after_ms is None else 5_000 + after_ms)
        if after_ms is not None:
            call.replies("r2", 6_400, 7_400)
        calls.append(call.score())
    return Score.together(calls)


def selectivity(score: Score) -> list[float | None]:
    found = score.tau_voice_fine
    return [one.value for one in (found.backchannels, found.tics, found.side, found.noise)]


ARMS: dict[str, tuple[Callable[[LabelClass], int | None], int, int]] = {
    "never stops": (lambda kind: None, 1, 0),
    "stops at any onset": (lambda kind: 120, 0, 1),
    "an oracle": (lambda kind: 120 if kind == "interruption" else None, 1, 1),
}
"""When an agent stops after the onset of a sound, how selective that is, and how often it yields."""


@pytest.mark.parametrize("agent", ARMS)
def test_agents_that_never_stop_always_stop_or_know_when(agent: str) -> None:
    stops_after_ms, selective, yields = ARMS[agent]
    score = arm(stops_after_ms)
    assert selectivity(score) == [selective] * 4
    assert score.tau_voice.yield_rate.value == score.tau_voice_fine.yield_rate.value == yields
    assert score.tau_voice_fine.yield_latency.values_ms == (120,) * yields
    if agent == "an oracle":
        assert score.eva.passed.hits == score.eva.passed.total == 5


def test_latencies_are_whole_ticks() -> None:
    score = sound_over_a_reply("interruption", stops_ms=5_450)
    score.replies("r2", 6_010, 7_000)
    measured = score.score()
    assert measured.tau_voice.yield_latency.values_ms == (600,)
    assert measured.tau_voice_fine.yield_latency.values_ms == (450,)
    # The question, then the interruption: from 5.4 s on the agent still speaks, so only one turn counts.
    assert measured.tau_voice_fine.response_latency.values_ms == (1_000,)


def test_an_interruption_without_an_answer_or_after_two_seconds_is_no_yield() -> None:
    unanswered = sound_over_a_reply("interruption", stops_ms=5_300).score()
    assert (unanswered.tau_voice_fine.yield_rate, unanswered.eva.score) == (Rate(0, 1), 0)
    late = sound_over_a_reply("interruption", stops_ms=7_100)
    late.replies("r2", 8_000, 9_000)
    assert late.score().tau_voice_fine.yield_rate == Rate(0, 1)


@pytest.mark.parametrize("kind", CHANGING)
def test_a_sound_counts_as_dismissed_only_if_the_reply_plays_to_its_end(kind: LabelClass) -> None:
    assert selectivity(sound_over_a_reply(kind, stops_ms=8_000).score()).count(0.0) == 1
    explained = sound_over_a_reply(kind, stops_ms=8_000)
    explained.label("interruption", 7_500, 9_000)
    assert selectivity(explained.score()).count(1.0) == 1


def test_a_hold_of_more_than_200_ms_is_a_stop_and_a_shorter_one_is_none() -> None:
    held = sound_over_a_reply("backchannel", stops_ms=None, hold=(5_300, 400)).score()
    assert held.tau_voice_fine.backchannels == Rate(0, 1)
    assert (held.overlaps.resumed, held.overlaps.resumed_in_time) == (Rate(1, 1), Rate(1, 1))
    brief = sound_over_a_reply("backchannel", stops_ms=None, hold=(5_300, 150)).score()
    assert brief.tau_voice_fine.backchannels == Rate(1, 1)


def test_a_reply_that_ends_right_after_a_sound_did_not_stop_for_it() -> None:
    call = Heard()
    question(call)
    call.replies("r1", 3_000, 5_500)
    call.label("backchannel", 5_000, 5_400)
    assert call.over(9_000).score().tau_voice_fine.backchannels == Rate(1, 1)


def test_a_tic_to_a_silent_agent_must_not_be_answered_and_a_backchannel_is_not_counted() -> None:
    call = Heard()
    call.label("tic", 1_000, 1_300)
    call.label("side", 10_000, 11_000, far=True)
    call.label("backchannel", 16_000, 16_300)
    call.replies("r1", 2_500, 4_000)
    found = call.over(20_000).score().tau_voice_fine
    assert (found.tics, found.side, found.far) == (Rate(0, 1), Rate(1, 1), Rate(1, 1))
    assert found.backchannels == Rate(0, 0)


def test_turns_without_an_answer_lower_the_response_rate_except_the_last() -> None:
    call = Heard()
    call.label("turn", 1_000, 2_000)
    call.label("turn", 5_000, 6_000)
    call.replies("r1", 7_500, 8_500)
    call.label("turn", 10_000, 11_000)
    found = call.over(12_000).score().tau_voice
    assert found.response_rate == Rate(1, 2)
    assert found.response_latency.values_ms == (1_400,)


def test_an_agent_that_begins_while_the_user_speaks_interrupts() -> None:
    call = Heard()
    call.label("turn", 1_000, 4_000)
    call.replies("r1", 3_000, 3_600)
    call.replies("r2", 4_600, 6_000)
    score = call.over(8_000).score()
    assert score.tau_voice.agent_interruptions == 1
    # 600 ms of overlap, one interruption, 600 ms of latency after it.
    assert score.eva.score == pytest.approx(0.5 * (1 - 600 / 2_000))


def test_eva_rates_latency_and_allows_more_time_after_a_tool() -> None:
    earns = {-600: 0, -500: 0, 0: 0.5, 500: 1, 2_000: 1, 2_750: 0.5, 3_500: 0, 9_000: 0}
    assert {ms: curve(ms) for ms in earns} == pytest.approx(earns)
    assert curve(4_000, CURVE_WITH_TOOL) == pytest.approx(0.5)
    call = Heard()
    question(call)
    call.calls_tool(2_400, "look", "{}", call="c1", response="t1")
    call.replies("r1", 6_000, 7_000)
    assert call.over(8_000).score().eva.score == pytest.approx(0.5)


def test_eva_rates_yields() -> None:
    call = sound_over_a_reply("interruption", stops_ms=5_500)
    call.replies("r2", 6_200, 7_000)
    # The question is answered in 1 s; the yield takes 500 ms.
    assert call.score().eva.score == pytest.approx((1 + 0.75) / 2)


def test_the_same_item_resumes_and_a_new_one_responds() -> None:
    through = sound_over_a_reply("backchannel", stops_ms=None).score()
    held = sound_over_a_reply("backchannel", stops_ms=None, hold=(5_300, 400)).score()
    cut = sound_over_a_reply("side", stops_ms=5_500)
    cut.replies("r2", 6_500, 7_000)
    silent = sound_over_a_reply("tic", stops_ms=5_500).score()
    assert Score.together([through, held, cut.score(), silent]).overlaps.behaviour == {
        "backchannel": {"resumes": 2},
        "side": {"responds": 1},
        "tic": {"silent": 1},
    }


def test_a_mistaken_stop_that_never_resumes_lowers_the_rate() -> None:
    held = sound_over_a_reply("tic", stops_ms=None, hold=(5_300, 1_200)).score()
    lost = sound_over_a_reply("tic", stops_ms=5_500).score()
    found = Score.together([held, lost]).overlaps
    assert (found.resumed, found.resumed_in_time) == (Rate(1, 2), Rate(0, 2))
    assert found.resume_delay.mean_ms == pytest.approx(1_100, abs=100)
    # The user waits through what never comes again.
    assert lost.overlaps.dead_air.values_ms == (8_500,)
    assert sound_over_a_reply("tic", stops_ms=None).score().overlaps.dead_air.values_ms == ()


def test_a_dismissed_sound_lets_the_reply_go_on_in_time_or_late_or_not_at_all() -> None:
    calls = []
    for stops_ms, dismissed_ms in ((None, 5_700), (None, 6_200), (5_500, 5_800), (None, None)):
        call = sound_over_a_reply("tic", stops_ms=stops_ms)
        if dismissed_ms is not None:
            call.put(dismissed_ms, s.AgentInterruptionEvent(state="dismissed", reason="no_words"))
        calls.append(call.score())
    found = Score.together(calls).overlaps
    assert found.gone_on == Rate(1, 3)
    assert found.gone_on_delay.values_ms == (300, 800)


@pytest.mark.parametrize(("rest", "has_each_once"), [("well I know", True), ("I know", False), ("Well well I", False)])
def test_a_resumed_reply_has_each_word_once(rest: str, has_each_once: bool) -> None:
    call = Heard()
    question(call)
    me: dict[str, Any] = {"agent_name": "Friday"}
    call.put(2_900, s.AgentResponseCreatedEvent(response_id="r1", **me))
    for ms, words in ((2_950, "Well"), (2_960, " well I know")):
        call.put(ms, s.AgentResponseAudioTranscriptDeltaEvent(response_id="r1", item_id="item_r1", delta=words, **me))
    call.put(3_500, s.AgentItemTruncatedEvent(item_id="item_r1", audio_end_ms=400, transcript="Well", **me))
    call.put(4_000, s.AgentResponseCreatedEvent(response_id="r2", metadata={"resumes": "item_r1"}, **me))
    call.put(4_010, s.AgentResponseAudioTranscriptDeltaEvent(response_id="r2", item_id="item_r2", delta=rest, **me))
    assert call.over(9_000).score().overlaps.rests == Rate.of([has_each_once])


def test_stop_response_duck_and_flush_are_timed_from_the_interruption() -> None:
    call = sound_over_a_reply("interruption", stops_ms=5_300)
    call.put(5_090, s.ServerAudioGainEvent(gain_db=-15))
    call.put(5_290, s.ServerAudioGainEvent(gain_db=0))
    call.replies("r2", 6_400, 7_000)
    found = call.score().overlaps
    assert (found.stop_latency.values_ms, found.response_latency.values_ms) == ((300,), (1_000,))
    assert (found.duck.values_ms, found.flush.values_ms) == ((90,), (300,))


DUCKS: dict[str, tuple[list[tuple[int, int | None]], tuple[int, ...]]] = {
    "lowered by a sound before the voice: at once": ([(4_900, -15)], (0,)),
    "a flush ends what lowered it": ([(4_000, -15), (4_500, None), (5_050, -15)], (50,)),
    "its level is back before the voice": ([(4_700, -15), (4_900, 0)], ()),
}
"""When the reply got which level, None for a flush, and when it is quieter after the onset of the voice at 5 s."""


def test_a_reply_is_quieter_from_where_it_is_lowered_for_the_voice() -> None:
    found = {}
    for name, (levels, _) in DUCKS.items():
        call = sound_over_a_reply("interruption", stops_ms=5_300)
        for ms, gain_db in levels:
            flush = s.ServerAudioFlushEvent(item_id=None, reason="speech_started")
            call.put(ms, flush if gain_db is None else s.ServerAudioGainEvent(gain_db=gain_db))
        found[name] = call.score().overlaps.duck.values_ms
    assert found == {name: quieter_ms for name, (_, quieter_ms) in DUCKS.items()}


def test_decisions_are_counted_by_reason() -> None:
    call = sound_over_a_reply("backchannel", stops_ms=None)
    for state, reason in (("possible", ""), ("dismissed", "backchannel"), ("confirmed", "words")):
        call.put(5_300, s.AgentInterruptionEvent(state=state, reason=reason))
    score = Score.together([call.score(), call.score()])
    assert score.overlaps.decisions == {"confirmed: words": 2, "dismissed: backchannel": 2}
    assert "confirmed: words 2, dismissed: backchannel 2" in str(score)


def test_a_stop_without_a_sound_is_a_self_interruption() -> None:
    call = Heard()
    question(call)
    call.replies("r1", 3_000, 9_000, cut=True)
    found = call.over(10_000).score().overlaps
    assert found.self_interruptions == Rate(1, 1)
    assert found.self_interruptions_per_minute == pytest.approx(10)
    assert sound_over_a_reply("backchannel", stops_ms=5_500).score().overlaps.self_interruptions == Rate(0, 1)


def test_ends_of_turns_in_a_pause_are_false() -> None:
    call = Heard()
    call.label("turn", 1_000, 8_000)
    call.label("hold", 3_000, 3_800)
    call.label("hold", 5_000, 6_500)
    for ms in (3_500, 8_560):
        call.put(ms, s.AgentInputDoneEvent(item_id="u1", audio_end_ms=ms))
    call.replies("r1", 3_700, 4_200)
    ends = call.over(12_000).score().turn_ends
    assert (ends.false_ends, ends.cut_turns, ends.audible) == (Rate(1, 2), Rate(1, 1), Rate(1, 2))
    assert ends.latency.values_ms == (560,)


def test_without_labels_only_what_needs_none_is_measured() -> None:
    call = Heard()
    call.speaks(1_000, 2_000, "Hello", item="u1")
    call.replies("r1", 3_000, 4_000)
    score = Score.of(call.over(5_000).record())
    assert score.tau_voice.response_rate == Rate(1, 1)
    assert str(score.tau_voice.yield_rate) == str(score.turn_ends.false_ends) == NOT_MEASURABLE
    assert str(score).count(NOT_MEASURABLE) == 33
    assert "1 call, 0 labels" in str(score)


def test_rates_have_wilsons_interval_and_times_median_mean_and_the_ninth_of_ten() -> None:
    assert Rate(19, 20).interval == pytest.approx((0.7639, 0.9911), abs=1e-4)
    assert Rate(0, 200).interval == pytest.approx((0, 0.0188), abs=1e-4)
    assert (Rate(0, 0).value, Rate(0, 0).interval, str(Rate(0, 0))) == (None, None, "none")
    times = Times(tuple(float(ms) for ms in range(100, 1_100, 100)))
    assert (times.median_ms, times.mean_ms, times.p90_ms) == (550, 550, 900)
    assert str(Times(())) == "none"


def test_sources_are_compared_in_a_table() -> None:
    rows = table([("never", arm(lambda kind: None)), ("always", arm(lambda kind: 120))]).splitlines()
    assert rows[1].split()[:6] == ["never", "0.000", "-", "1.000", "1.000", "1.000"]
    assert rows[2].split()[:7] == ["always", "1.000", "120", "ms", "0.000", "0.000", "0.000"]


def test_every_stored_call_has_a_score() -> None:
    folders = sorted(one.parent for one in CALLS.glob("*/log.jsonl"))[:: volume(4, 1)]
    scores = [Score.of(record_of(folder)) for folder in folders]
    assert len(scores) > 20
    assert str(Score.together(scores)) == str(Score.together([Score.of(record_of(folder)) for folder in folders]))


def test_a_stored_backchannel_stops_the_reply_and_is_found_to() -> None:
    record = record_of(CALLS / "backchannel_immediate")
    labels = [Label("t", "turn", 400, 1_314), Label("bc", "backchannel", 3_856, 4_246)]
    assert Score.of(record, labels).tau_voice_fine.backchannels == Rate(0, 1)
    assert Score.of(record_of(CALLS / "backchannel"), labels).tau_voice_fine.backchannels == Rate(1, 1)
    let_on = Score.of(record_of(CALLS / "backchannel_let_on"), labels)
    assert let_on.tau_voice_fine.backchannels == Rate(1, 1)
    assert let_on.overlaps.behaviour == {"backchannel": {"resumes": 1}}


def test_a_reply_that_goes_on_as_another_response_is_one_reply() -> None:
    record = record_of(CALLS / "wordless_voice")
    cut, again = scene_of(record).stretches
    assert (cut.item_id, cut.reply_id) == (again.item_id, again.reply_id)
    noise = Label("noise", "noise", 3_860, 5_980)
    found = Score.of(record, [Label("t", "turn", 400, 1_300), noise]).overlaps
    assert (found.resumed, found.behaviour) == (Rate(1, 1), {"noise": {"resumes": 1}})
    assert found.resume_delay.mean_ms == pytest.approx(640, abs=60)
    assert found.dead_air == Times(())


def test_a_run_has_a_score_with_the_labels_beside_its_case(tmp_path: Path) -> None:
    call = sound_over_a_reply("backchannel", stops_ms=5_300)
    (tmp_path / "labels.json").write_text('[{"id": "bc", "class": "backchannel", "on_ms": 5000, "off_ms": 5400}]')
    run = Run(call.record(folder=tmp_path))
    assert run.score().tau_voice.backchannels == Rate(0, 1)
    assert run.score([]).tau_voice.backchannels == Rate(0, 0)


def test_labels_are_read_in_order_and_a_wrong_one_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    assert labels_in(tmp_path) is None
    with pytest.raises(CaseError, match=r"labels\.json"):
        read_labels(file)
    file.write_text(
        '[{"id": "b", "class": "tic", "on_ms": 9, "off_ms": 10}, {"id": "a", "class": "side", "on_ms": 1, "off_ms": 2}]'
    )
    assert [one.id for one in labels_in(tmp_path) or ()] == ["a", "b"]
    for wrong in (
        '{"id": "a", "class": "cough", "on_ms": 1, "off_ms": 2}',
        '{"id": "a", "class": "tic", "on_ms": 3, "off_ms": 2}',
    ):
        file.write_text(f"[{wrong}]")
        with pytest.raises(CaseError, match="Correct it there"):
            read_labels(file)


def test_a_record_without_sound_has_a_score() -> None:
    score = Score.of(CallRecord("empty", (), ()), [])
    assert (score.eva.score, score.tau_voice.response_rate) == (None, Rate(0, 0))
    assert score.overlaps.self_interruptions_per_minute is None


def test_the_guide_prints_the_published_figures() -> None:
    guide = (CALLS.parents[1] / "docs" / "listening.md").read_text("utf-8")
    printed = {
        cells[0].strip(): cells[1:] for line in guide.splitlines() if len(cells := line.strip("|").split("|")) == 9
    }
    for agent, figures in TAU_VOICE.items():
        assert tuple(map(float, printed[agent])) == figures
        assert agent in published()


@pytest.mark.parametrize("name", ["interruption", "twice_interrupted", "backchannel_let_on", "tool", "lossy_network"])
def test_the_log_says_when_a_user_heard_the_agent(name: str) -> None:
    record = replay(CALLS / name)
    ear = [(one.item_id, one.from_ms, one.from_ms + one.ms) for one in record.played]
    for item_id in {item_id for item_id, _, _ in ear}:
        heard = [(from_ms, to_ms) for one, from_ms, to_ms in ear if one == item_id]
        read = [one for one in scene_of(record).stretches if one.item_id == item_id]
        assert read[0].from_ms == pytest.approx(heard[0][0], abs=100)
        assert read[-1].to_ms == pytest.approx(heard[-1][1], abs=100)


def test_a_report_of_a_labelled_call_shows_its_score(tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text('[{"id": "bc", "class": "backchannel", "on_ms": 5000, "off_ms": 5400}]')
    call = sound_over_a_reply("backchannel", stops_ms=None)
    page = write_report([call.record(folder=tmp_path)], tmp_path / "report.html").read_text("utf-8")
    assert "S_BC backchannels ignored   1.000 (1/1" in page
    assert "pine-voice-preview" in page
    assert '"listening":null' in write_report([call.record()], tmp_path / "plain.html").read_text("utf-8")


def any_label() -> st.SearchStrategy[Label]:
    def made(name: str, kind: LabelClass, on_ms: int, length_ms: int) -> Label:
        return Label(name, kind, on_ms, on_ms + length_ms)

    return st.builds(made, NAMES, st.sampled_from(CLASSES), POSITIONS, st.integers(1, 2_000))


@given(any_record(), st.none() | st.lists(any_label(), max_size=6))
def test_any_call_has_a_score_and_no_rate_leaves_its_range(record: CallRecord, labels: list[Label] | None) -> None:
    score = Score.of(record, labels)
    assert str(score) == str(Score.of(record, labels))
    assert score.eva.score is None or 0 <= score.eva.score <= 1
    for part in (score.tau_voice, score.tau_voice_fine, score.overlaps, score.turn_ends):
        for value in (getattr(part, field.name) for field in fields(part)):
            if isinstance(value, Rate) and value.total:
                assert 0 <= value.hits <= value.total
            if isinstance(value, Times):
                assert all(ms >= 0 for ms in value.values_ms or ())
