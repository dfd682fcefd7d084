"""The bench of listening plays what it says it plays, and gives the same numbers on each run. No timing."""

from collections import Counter
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from bench.listen import ARMS, measure_listen, wrong_decisions
from bench.listen_calls import Outcome, grouped, hear, script_of
from bench.listen_provider import ProviderName
from bench.listen_words import RememberingRecognizer, remembering_engine
from bench.stimuli import SHARES, Channel, Varied, backwards, drawn, manifest
from realtime.model.local.recognizer import Transcript
from realtime.testing.client.steps import BargeIn
from realtime.testing.score.board import Score
from tests.volumes import NIGHTLY, volume


class Listed:
    """A recogniser that counts, and hears something else each time."""

    def __init__(self) -> None:
        self.calls = 0

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        self.calls += 1
        return Transcript(text=f"words {self.calls}", no_speech_prob=0.1, audio_ms=10)


def outcome(kind: str, state: str, words: str = "") -> Outcome:
    return Outcome(
        id="a",
        stimulus_id=f"{kind}-a",
        kind=kind,
        text="Wait.",
        channel="clean",
        held_out=False,
        state=state,
        reason="words",
        level_db=0.0,
        looks=((500.0, words),),
    )


def level_db(pcm: bytes) -> float:
    return float(10 * np.log10(np.mean(np.frombuffer(pcm, "<i2").astype(float) ** 2)))


def test_a_thousand_stimuli_hold_a_hundred_of_each_class() -> None:
    counts = Counter(one.stimulus.kind for one in drawn(1_000))
    assert counts.keys() == SHARES.keys()
    assert min(counts.values()) >= 100


def test_the_same_stimuli_are_drawn_each_time() -> None:
    first, second = drawn(60), drawn(60)
    assert first == second
    assert [one.pcm() for one in first] == [one.pcm() for one in second]
    assert len({one.pcm() for one in first}) == len(first)


def test_a_user_of_a_call_has_one_voice_and_line_and_is_held_out_or_not() -> None:
    stimuli = drawn(200)
    calls = grouped(stimuli)
    assert sorted(one.number for call in calls for one in call) == sorted(one.number for one in stimuli)
    for call in calls:
        assert len({(one.user_voice, one.line) for one in call}) == 1
        assert len({one.stimulus.held_out for one in call}) == 1


@pytest.mark.parametrize(("channel", "quieter_db"), [("telephone", 0), ("noise", 0), ("far", 10)])
def test_a_channel_changes_the_level_as_it_says(channel: Channel, quieter_db: float) -> None:
    side = next(one for one in manifest() if one.kind == "side")
    clean, other = (Varied(side, each, 0, 0.0, 1.0, side.voice).pcm() for each in ("clean", channel))
    assert clean != other
    # A telephone drops what is below 300 Hz; reverberation outlasts the voice, so its mean is over a longer sound.
    assert level_db(clean) - level_db(other) == pytest.approx(quieter_db, abs=3)


def test_pace_moves_onset_and_end() -> None:
    hold = next(one for one in manifest() if one.kind == "hold")
    fast = Varied(hold, "clean", 0, 0.0, 1.1, hold.voice)
    assert fast.on_ms * 1.1 == pytest.approx(hold.on_ms)
    assert len(fast.pcm()) / 32 == pytest.approx((hold.off_ms + hold.on_ms) / 1.1, abs=10)
    assert fast.pauses_ms[0][1] < hold.pauses_ms[0][1]


def test_an_interruption_backwards_asks_for_nothing() -> None:
    one, again = backwards(1), backwards(1)
    assert one == again
    assert (one[0].stimulus.kind, one[0].stimulus.text, one[0].channel) == ("noise", "", "backwards")
    whole_ms = len(one[0].pcm()) / 32
    assert 0 < one[0].on_ms < one[0].off_ms < whole_ms


def test_all_but_holds_sound_over_a_reply() -> None:
    [call, *_] = grouped(drawn(12))
    steps = script_of(call, model="embedded").steps
    assert sum(isinstance(step, BargeIn) for step in steps) == sum(one.stimulus.kind != "hold" for one in call)


def test_transcripts_are_kept_by_sound_and_context_and_checked(tmp_path: Path) -> None:
    own = Listed()
    kept = RememberingRecognizer(own, tmp_path / "words")
    first = kept.transcribe(b"\0\0")
    assert kept.transcribe(b"\0\0", "Stop.") != first
    assert own.calls == 2
    assert RememberingRecognizer(own, tmp_path / "words").transcribe(b"\0\0") == first
    assert own.calls == 2
    kept.check_next(1)
    assert [kept.transcribe(b"\0\0") for _ in range(2)] == [first, first]
    assert (kept.checked, kept.different) == (1, 1)
    kept.check_next(0)
    assert kept.transcribe(b"\0\0") == first
    assert (kept.checked, kept.different) == (0, 0)


def test_wrong_decisions_are_counted_with_their_words() -> None:
    right = [outcome("interruption", "confirmed"), outcome("tic", "dismissed"), outcome("tic", "")]
    wrong = [outcome("interruption", "dismissed", "Weight."), outcome("interruption", "dismissed", "Mm.")]
    assert wrong_decisions([*right, *wrong]) == [
        "2 x interruption 'Wait.': dismissed words; clean 'Mm.' +0 dB, clean 'Weight.' +0 dB"
    ]


@pytest.mark.night
def test_a_call_is_the_same_with_kept_words(tmp_path: Path) -> None:
    engine = remembering_engine(tmp_path / "words")
    call = [one for one in drawn(12) if one.stimulus.kind in ("interruption", "backchannel")][:2]
    fresh, kept = (hear(call, engine, model="embedded", mode="selective") for _ in range(2))
    assert fresh == kept
    assert not fresh.unplaced
    assert len(fresh.outcomes) == 2


@pytest.mark.night
@pytest.mark.parametrize("provider", get_args(ProviderName))
def test_a_provider_is_heard_through_its_own_protocol(provider: ProviderName, tmp_path: Path) -> None:
    engine = remembering_engine(tmp_path / "words")
    call = [one for one in drawn(12) if one.stimulus.kind in ("interruption", "tic")][:2]
    fresh, again = (hear(call, engine, model=provider, mode="selective", recognises=False) for _ in range(2))
    assert fresh == again
    assert not fresh.unplaced
    assert len(Score((fresh.scene,)).tau_voice_fine.response_latency.values_ms or ()) >= 2
    states = {outcome.kind: outcome.state for outcome in fresh.outcomes}
    assert states["interruption"] == "confirmed"


@pytest.mark.night
def test_gemini_stops_by_itself_with_its_own_detector(tmp_path: Path) -> None:
    engine = remembering_engine(tmp_path / "words")
    call = [one for one in drawn(12) if one.stimulus.kind == "interruption"][:1]
    heard = hear(call, engine, model="gemini", mode="selective", authority="provider")
    assert [(outcome.state, outcome.reason) for outcome in heard.outcomes] == [("", "")]
    assert Score((heard.scene,)).tau_voice_fine.yield_rate.value == 1.0


@pytest.mark.night
async def test_stimuli_give_a_table_and_no_goal_is_surely_missed(tmp_path: Path) -> None:
    """Twelve stimuli in two arms by day, a hundred in all arms each night."""
    arms = ARMS if NIGHTLY else (ARMS[0], ARMS[-1])
    section = await measure_listen(volume(12, 100), words=tmp_path / "words", workers=volume(1, 2), arms=arms)
    names = [arm.name for arm in arms]
    assert [row[0] for row in section.rows] == [names[0], "embedded, selective, held out", *names[1:]]
    assert all(len(row) == len(section.header) for row in section.rows)
    never = section.rows[-1]
    assert never[2].startswith("0.00")
    assert [cell.split()[0] for cell in never[4:8]] == ["1.00"] * 4
    assert {check.what for check in section.checks} >= {"R_Y", "S_BC", "S_VT", "S_ND", "L_Y, mean"}
    # Twelve stimuli hold two or three of a class: only the control arms are as certain as that.
    judged = names if NIGHTLY else names[1:]
    assert {name: section.data[name]["surely_missed"] for name in judged} == {name: [] for name in judged}


@pytest.mark.night
async def test_processes_change_no_number(tmp_path: Path) -> None:
    number, words = volume(4, 12), tmp_path / "words"
    alone, shared = [await measure_listen(number, words=words, workers=workers, arms=ARMS[-1:]) for workers in (1, 2)]
    assert (alone.rows, alone.data) == (shared.rows, shared.data)
