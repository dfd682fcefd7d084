"""The bench of strangers says, plays and counts what it says it does, and shows no single stimulus."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import stranger_sounds as sounds
from bench import stranger_talks as talks
from bench.listen_calls import LEAD_MS
from bench.stimuli import RATE_HZ, Sound, manifest
from bench.strangers import LINES, QUICK, Counted, measure_strangers
from realtime.testing.client.steps import BargeIn, Silence, Speak
from tests.volumes import NIGHTLY, SEED
from tools.stimulus_sounds import LEVEL_DB, chance_of

DRAWN = 200


@pytest.fixture
def murmuring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Voices that need no engine: noise, as long as the text."""
    monkeypatch.setattr(sounds, "some_voice", lambda *_: "murmur")
    monkeypatch.setattr(sounds, "speech", lambda voice, text: at_level_db(len(text) * 0.06, LEVEL_DB))


def at_level_db(length_s: float, level_db: float) -> Sound:
    """Return noise of this level below full scale."""
    return np.random.default_rng(1).standard_normal(int(length_s * RATE_HZ)) * 10 ** (level_db / 20)


def level_db(sound: Sound) -> float:
    return float(10 * np.log10(np.mean(sound**2)))


def test_every_slot_of_a_wording_is_filled() -> None:
    for kind in sounds.book():
        text = talks.wording(kind, chance_of(kind), digits="one.")
        assert "{" not in text, kind
        assert text[0] == text[0].upper()


def test_a_chance_gives_the_same_wording_each_time_and_the_grammar_many() -> None:
    for kind, least in {"interruption": 120, "unusual": 60, "beside": 60, "paused": 60, "turn": 40}.items():
        first, again = ({talks.wording(kind, chance_of(f"{at}")) for at in range(DRAWN)} for _ in range(2))
        assert first == again
        assert len(first) >= least, kind


def test_no_stranger_says_what_the_stimuli_of_the_rules_say() -> None:
    known = {one.text for one in manifest() if one.kind in ("interruption", "side", "hold")} - {"Stop."}
    for kind in ("interruption", "beside", "paused", "chat"):
        assert not known & {talks.wording(kind, chance_of(f"{at}")) for at in range(DRAWN)}


def test_a_part_before_a_pause_sounds_as_if_it_goes_on() -> None:
    assert talks.parts_of("I need a | table for two.") == ["I need a,", "table for two."]
    assert talks.parts_of("Yes. | And you?") == ["Yes.", "And you?"]


def test_digits_are_read_as_they_were_said() -> None:
    assert talks.said_digits([4, 1, 5, 0]) == "four one five, zero."
    assert talks.figures_in(talks.said_digits([4, 1, 5, 0])) == "4150"
    assert talks.figures_in("It's 41, five-0, on my phone.") == "4150"


def test_a_room_lets_a_click_die_away_after_it_was_heard() -> None:
    click = np.zeros(RATE_HZ // 10)
    click[0] = 1.0
    room = sounds.in_room(click, chance_of("room"), direct_db=3.0)
    assert np.argmax(np.abs(room)) == 0
    assert np.sum(room[1:] ** 2) == pytest.approx(10 ** (-3 / 10), rel=0.1)
    late = sounds.ROOM_S[0] / 2
    assert np.sum(room[int(late * RATE_HZ) :] ** 2) < 0.1 * np.sum(room[1:] ** 2)


def test_noise_is_as_far_below_a_voice_as_wanted() -> None:
    voice = at_level_db(2.0, -24)
    assert level_db(voice) - level_db(sounds.in_noise(voice, chance_of("a"), 10) - voice) == pytest.approx(10, abs=0.5)


@pytest.mark.parametrize("error_db", [-10, 8])
def test_a_gain_control_learns_a_level_in_its_time_and_from_voice_alone(error_db: float) -> None:
    voice, silence = at_level_db(10.0, LEVEL_DB + error_db), np.full(5 * RATE_HZ, 1e-5)
    heard = sounds.slow_gain(np.concatenate([voice, silence, voice]), settle_s=10.0)
    gains_db = [level_db(heard[at * RATE_HZ :][: RATE_HZ // 10]) - LEVEL_DB - error_db for at in (0, 5, 15)]
    assert abs(gains_db[0]) < 0.5
    assert abs(gains_db[0]) < abs(gains_db[1]) < abs(gains_db[2])
    # It has learnt nine tenths of the power that it did not expect, and lost none of it in the silence.
    left = 1 + (10 ** (error_db / 10) - 1) * 0.9
    assert gains_db[2] == pytest.approx(-10 * np.log10(left), abs=0.5)


def test_speech_that_may_be_lost_is_where_it_is_loud() -> None:
    sound = np.concatenate([at_level_db(0.1, -20), at_level_db(0.1, -70), at_level_db(0.1, -30)])
    assert sounds.voiced_ms(sound) == [*range(0, 100, 10), *range(200, 300, 10)]


@pytest.mark.usefixtures("murmuring")
def test_each_line_writes_the_same_call_each_time() -> None:
    for name, line in LINES.items():
        first, again = (line.make(chance_of(name)) for _ in range(2))
        assert first.script == again.script
        assert first.said == again.said
        assert len(first.said) == sum(isinstance(step, Speak | BargeIn) for step in first.script.steps)


@pytest.mark.usefixtures("murmuring")
def test_a_user_behind_a_gain_control_interrupts_when_it_says() -> None:
    for at in range(10):
        talk = talks.behind_gain(chance_of(f"{at}"), "stop")
        before_ms = sum(len(step.pcm or b"") / 32 for step in talk.script.steps[1:3] if isinstance(step, Speak))
        assert 12_000 <= LEAD_MS + before_ms + talk.said[-1].from_ms <= 15_000
        assert talk.script.asks == {3}
        assert isinstance(talk.script.steps[-1], Silence)


@pytest.mark.usefixtures("murmuring")
def test_a_pause_is_labelled_where_it_is() -> None:
    talk = talks.pausing(chance_of("a"), "paused", (300, 1_000))
    [(from_ms, to_ms)] = talk.said[-1].pauses_ms
    step = talk.script.steps[-2]
    assert isinstance(step, Speak)
    sound = np.frombuffer(step.pcm or b"", "<i2") / 32768
    begin, end = (round(ms * RATE_HZ / 1000) for ms in (from_ms, to_ms))
    assert 300 <= to_ms - from_ms <= 1_000
    assert level_db(sound[begin:end]) < -70 < level_db(sound[:begin])


def test_lines_add_up() -> None:
    whole = Counted(1, 2, (30.0,), turns=2) + Counted(0, 2, (), turns=1, unanswered=1)
    assert whole == Counted(1, 4, (30.0,), turns=3, unanswered=1)
    assert (whole.share, Counted().share) == (0.25, 0.0)


@pytest.mark.night
# 80 s on two cores that are free; at night they are not.
@pytest.mark.timeout(900)
async def test_each_line_is_measured_and_no_stimulus_is_shown(tmp_path: Path) -> None:
    if not sounds.voices():
        pytest.skip(f"none of {', '.join(sounds.ENGINES.values())} is installed")
    said: list[str] = []
    section = await measure_strangers(QUICK, said.append, words=tmp_path / "words", seed=SEED if NIGHTLY else 0)
    rows = {row[0]: row for row in section.rows if not row[0].startswith("WITHOUT")}
    assert [*rows] == [*LINES]
    assert all(float(row[1].split("/")[1]) >= QUICK for row in rows.values())
    assert len(said) == len(rows)
    assert not section.data
    shown = json.dumps([section.as_json(""), section.markdown(""), said])
    assert not [voice for voice in sounds.book()["voices"] if voice in shown]
