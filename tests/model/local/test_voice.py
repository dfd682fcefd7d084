"""Speech: two voices, one sentence at a time, the same bytes every time."""

import builtins
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from realtime.model.local import voice as voice_module
from realtime.model.local.voice import (
    SAMPLE_RATE_HZ,
    EspeakVoice,
    HibariEngine,
    HibariVoice,
    Voice,
    load_voices,
    readable_text,
    trim_silence,
)
from realtime.model.local.weights import SpeechPartMissing
from tests.model.local.rows import labelled

SENTENCES = (
    "Good morning, I am glad that you are here.",
    "The lighthouse counted all the ships in the harbour.",
    "We may well meet again on a long and rainy day.",
)


@pytest.fixture(scope="module")
def voices() -> dict[str, Voice]:
    return load_voices()


def samples(pcm: bytes) -> NDArray[np.float64]:
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def pitch_hz(pcm: bytes) -> float:
    """Median fundamental over the voiced windows, by autocorrelation (70 to 400 Hz)."""
    audio, width = samples(pcm), SAMPLE_RATE_HZ // 20
    shortest, longest = SAMPLE_RATE_HZ // 400, SAMPLE_RATE_HZ // 70
    pitches = []
    for start in range(0, len(audio) - width, width // 2):
        window = audio[start : start + width] - audio[start : start + width].mean()
        correlation = np.correlate(window, window, "full")[width - 1 :]
        lag = shortest + int(correlation[shortest:longest].argmax())
        if np.abs(window).max() > 1500 and correlation[lag] > 0.5 * correlation[0]:
            pitches.append(SAMPLE_RATE_HZ / lag)
    return float(np.median(pitches))


def test_two_voices_differ_in_pitch_by_more_than_15_percent_and_speak_at_the_same_pace(
    voices: dict[str, Voice],
) -> None:
    assert list(voices) == ["heart", "heart-low"]
    pitches = {name: np.mean([pitch_hz(one.synthesize(text)) for text in SENTENCES]) for name, one in voices.items()}
    assert pitches["heart-low"] < 0.85 * pitches["heart"]
    assert 80 < pitches["heart-low"] < pitches["heart"] < 300
    lengths = [len(one.synthesize(SENTENCES[0])) for one in voices.values()]
    assert max(lengths) < 1.15 * min(lengths)


def test_the_same_sentence_is_the_same_bytes_also_from_several_threads(voices: dict[str, Voice]) -> None:
    expected = {name: one.synthesize(SENTENCES[1]) for name, one in voices.items()}
    with ThreadPoolExecutor(4) as threads:
        for name, one in voices.items():
            assert set(threads.map(one.synthesize, [SENTENCES[1]] * 8)) == {expected[name]}


def test_speech_begins_at_once_and_is_loud_enough(voices: dict[str, Voice]) -> None:
    for one in voices.values():
        audio = np.abs(samples(one.synthesize(SENTENCES[0])))
        loud = np.flatnonzero(audio > 400)
        assert loud[0] < 0.08 * SAMPLE_RATE_HZ
        assert len(audio) - loud[-1] < 0.4 * SAMPLE_RATE_HZ
        assert 6_000 < audio.max() <= 32_767


def test_what_cannot_be_read_is_no_sound(voices: dict[str, Voice]) -> None:
    for text in ("", " \n", "👋 😀", "日本語", "Привет", "...", "—", "```\ncode()\n```", "***"):
        assert readable_text(text) == ""
        assert [one.synthesize(text) for one in voices.values()] == [b"", b""]


def test_markup_addresses_and_emoji_are_not_read_aloud() -> None:
    read = labelled("read_aloud")
    assert {text: readable_text(text) for text in read} == read


def test_trimming_leaves_a_breath_on_both_sides_and_nothing_of_silence() -> None:
    class Mute:
        def speak(self, text: str, speed: float) -> NDArray[np.float32]:
            return np.zeros(0, np.float32)

    audio = np.zeros(SAMPLE_RATE_HZ, np.float32)
    audio[10_000:12_000] = 0.5
    assert len(trim_silence(audio)) == 2_000 - 1 + (30 + 220) * SAMPLE_RATE_HZ // 1000
    assert len(trim_silence(np.zeros(100, np.float32))) == 0
    assert HibariVoice(Mute(), 0.8).synthesize("Hello.") == b""  # type: ignore[arg-type]


def test_the_engine_runs_on_one_thread() -> None:
    options = HibariEngine()._hibari.sess.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_a_voice_that_cannot_be_imported_is_told_without_the_files_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = builtins.__import__

    def broken(name: str, *args: Any, **more: Any) -> Any:
        if name == "hibari":
            raise ImportError("/opt/hibari/_core.so: undefined symbol")
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(SpeechPartMissing, match="hibari-tts cannot be imported: the server's log says why") as missing:
        HibariEngine()
    assert "/opt" not in missing.value.message
    assert "/opt/hibari/_core.so: undefined symbol" in caplog.text


def test_without_hibari_espeak_speaks_and_without_both_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise SpeechPartMissing("not installed")

    monkeypatch.setattr(voice_module, "HibariEngine", missing)
    monkeypatch.setattr(voice_module.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert list(load_voices()) == ["espeak", "espeak-low"]
    monkeypatch.setattr(voice_module.shutil, "which", lambda name: None)
    assert load_voices() == {}


def test_espeak_speaks_a_sentence_at_24_khz() -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("the command espeak-ng is not installed (apt install espeak-ng)")
    high, low = EspeakVoice(), EspeakVoice(pitch=20)
    pcm = high.synthesize("Good morning, how are you?")
    assert 1.0 < len(pcm) / 2 / SAMPLE_RATE_HZ < 3.0
    assert pitch_hz(low.synthesize(SENTENCES[0])) < 0.85 * pitch_hz(high.synthesize(SENTENCES[0]))
    assert high.synthesize("👋") == b""


# Writes to its output what espeak-ng writes: a header that cannot know the length, then 22,050 samples of a tone.
ESPEAK_STAND_IN = """#!{python}
import math, struct, sys
assert sys.stdin.read() == "Good morning."
assert sys.argv[1:3] == ["--stdin", "--stdout"]
samples = [int(8000 * math.sin(at * 0.1)) for at in range(22050)]
header = struct.pack("<IHHIIHH", 16, 1, 1, 22050, 44100, 2, 16)
head = b"RIFF" + struct.pack("<I", 0x7FFFF024) + b"WAVEfmt " + header + b"data" + struct.pack("<I", 0x7FFFF000)
sys.stdout.buffer.write(head + struct.pack("<22050h", *samples))
"""


def test_what_the_command_writes_becomes_24_khz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "espeak-ng"
    command.write_text(ESPEAK_STAND_IN.format(python=sys.executable))
    command.chmod(0o755)
    monkeypatch.setattr(voice_module.shutil, "which", lambda name: str(command))
    pcm = EspeakVoice().synthesize("*Good morning.*")
    assert len(pcm) / 2 == pytest.approx(SAMPLE_RATE_HZ, abs=2)
    assert np.abs(samples(pcm)).max() == pytest.approx(8000, rel=0.02)
