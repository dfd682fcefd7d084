"""Recognition: the features, the windows, what is dropped; and the words of whole recordings."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from realtime.audio.files import read_pcm16
from realtime.audio.vad import shared_silero
from realtime.model.local.ears import RATE_HZ, Ears, Ended, Paused, endpoint_config
from realtime.model.local.recognizer import Decoded, Floats, Recognizer, log_mel, mel_filters, split_at_pauses
from realtime.model.local.weights import whisper_folder
from tests.model.local.stand_ins import silence

DIGITS = {"4": "four", "5": "five", "7": "seven", "8": "eight", "10": "ten", "12": "twelve"}


class TableDecoder:
    """Answers each window with the next of the prepared results; remembers what it was asked."""

    def __init__(self, *results: Decoded) -> None:
        self.results = list(results)
        self.windows_s: list[int] = []
        self.limits: list[int] = []

    def decode(self, features: Floats, max_tokens: int, context: str = "") -> Decoded:
        self.windows_s.append(features.shape[2] // 100)
        self.limits.append(max_tokens)
        return self.results.pop(0)

    def text(self, tokens: Iterable[int]) -> str:
        return " ".join(f"w{token}" for token in tokens)


def test_mel_filters_are_slaney_triangles_of_unit_area() -> None:
    filters = mel_filters()
    assert filters.shape == (80, 201)
    assert np.allclose(filters.sum(axis=1) * (RATE_HZ / 400), 1.0, atol=0.1)
    # The first ten centres lie 37 Hz apart (linear part): 0 Hz is outside, the peak of filter 0 is at the first bin.
    assert filters[0].argmax() == 1
    assert filters[:, 0].max() == 0.0
    # Values of librosa.filters.mel(sr=16000, n_fft=400, n_mels=80), as published with Whisper (mel_filters.npz).
    assert filters[0, 1] == pytest.approx(0.02486259, abs=1e-7)
    assert filters[1, 1] == pytest.approx(0.00199082, abs=1e-7)


def test_features_fill_the_window_with_the_floor() -> None:
    tone = np.sin(np.arange(RATE_HZ) * 2 * np.pi * 440 / RATE_HZ).astype(np.float32)
    features = log_mel(tone, 15)
    assert features.shape == (80, 1500)
    assert features.dtype == np.float32
    assert np.ptp(features) == pytest.approx(2.0, abs=1e-6)
    assert (features[:, 110:] == features.min()).all()
    centre_hz = 440
    assert abs(int(features[:, 50].argmax()) - centre_hz / 37.2) < 2


def test_only_windows_of_15_and_30_seconds_are_used() -> None:
    for seconds, window_s in ((1.0, 15), (13.0, 15), (13.1, 30), (29.0, 30)):
        decoder = TableDecoder(Decoded((1, 2), 0.1))
        assert Recognizer(decoder).transcribe(silence(round(seconds * 1_000))).text == "w1 w2"
        assert decoder.windows_s == [window_s]


def test_endless_repetition_is_tried_again_in_the_long_window() -> None:
    decoder = TableDecoder(Decoded(tuple([7] * 24), 0.1), Decoded((1,), 0.1))
    transcript = Recognizer(decoder).transcribe(silence(1_000))
    assert (decoder.windows_s, decoder.limits, transcript.text) == ([15, 30], [24, 24], "w1")


def test_words_are_dropped_where_neither_speech_nor_words_are_sure() -> None:
    """And what Whisper itself takes for no speech."""
    for decoded, text in (
        (Decoded((1,), 0.61), ""),
        (Decoded((1,), 0.4, -1.8), ""),
        (Decoded((1,), 0.4, -0.9), "w1"),
        (Decoded((1,), 0.1, -1.8), "w1"),
        (Decoded((1,), 0.59, -0.2), "w1"),
    ):
        transcript = Recognizer(TableDecoder(decoded)).transcribe(silence(2_000))
        assert (transcript.text, transcript.no_speech_prob, transcript.audio_ms) == (text, decoded.no_speech_prob, 2000)


def test_long_speech_is_split_in_its_quietest_place_and_joined_again() -> None:
    rng = np.random.default_rng(1)
    speech = rng.normal(0, 0.1, 40 * RATE_HZ).astype(np.float32)
    pause = slice(int(20.0 * RATE_HZ), int(20.5 * RATE_HZ))
    speech[pause] = 0
    parts = split_at_pauses(speech)
    assert len(parts) == 2
    assert 20.0 * RATE_HZ < len(parts[0]) < 20.5 * RATE_HZ
    assert np.array_equal(np.concatenate(parts), speech)
    pcm = (speech * 32767).astype("<i2").tobytes()
    decoder = TableDecoder(Decoded((1,), 0.2), Decoded((2,), 0.3))
    transcript = Recognizer(decoder).transcribe(pcm)
    assert (transcript.text, transcript.no_speech_prob, transcript.audio_ms) == ("w1 w2", 0.3, 40_000)


def test_too_little_audio_is_no_speech() -> None:
    for pcm in (b"", b"\x00", silence(10)):
        assert Recognizer(TableDecoder()).transcribe(pcm).text == ""


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    recognizer = Recognizer.load(whisper_folder())
    recognizer.warm_up()
    return recognizer


def words(text: str) -> str:
    """Lower case, no punctuation, digits and abbreviations spelled out: what a word error rate compares."""
    text = text.lower().replace("’", "'").replace("mr.", "mister").replace(" / ", " ")
    text = re.sub(r"\d+", lambda number: DIGITS.get(number[0], number[0]), text)
    return " ".join(re.sub(r"[^\w' ]", " ", text).split())


def turns_of(pcm: bytes) -> list[bytes]:
    """The clips that the embedded model would recognise: cut by the detector, with the default silence timer."""
    ears = Ears(shared_silero().stream())
    ears.configure(endpoint_config(None))
    rng = np.random.default_rng(5)
    before, after = (rng.normal(0, 3, RATE_HZ * ms // 1000).astype("<i2").tobytes() for ms in (500, 2000))
    clips: list[bytes] = []
    guess = b""
    stream = before + pcm + after
    for start in range(0, len(stream), 1280):
        for heard in ears.push(stream[start : start + 1280]):
            match heard:
                case Paused(pcm=clip):
                    guess = clip
                case Ended():
                    clips.append(guess)
                case _:
                    pass
    return clips


def error_rate(folder: Path, recognizer: Recognizer) -> tuple[float, int]:
    """Word error rate over the clean speech of a folder with a manifest, and how many words that is."""
    import jiwer

    said, heard = [], []
    for entry in json.loads((folder / "manifest.json").read_text()):
        if entry["transcript"] and not entry["file"].startswith(("mix_", "echo_")) and entry.get("voice") != "espeak":
            clips = turns_of(read_pcm16(folder / entry["file"], RATE_HZ))
            said.append(words(entry["transcript"]))
            heard.append(words(" ".join(recognizer.transcribe(clip).text for clip in clips)))
    return jiwer.wer(said, heard), sum(len(text.split()) for text in said)


@pytest.mark.night
@pytest.mark.parametrize(("folder", "at_least", "at_most"), [("recordings_dir", 200, 0.03), ("fixtures_dir", 50, 0.05)])
def test_few_words_of_real_speech_and_of_our_own_are_wrong(
    request: pytest.FixtureRequest, recognizer: Recognizer, folder: str, at_least: int, at_most: float
) -> None:
    rate, count = error_rate(request.getfixturevalue(folder) / "audio", recognizer)
    assert count > at_least
    assert rate <= at_most


@pytest.mark.night
@pytest.mark.parametrize("folder", ["fixtures_dir", "recordings_dir"])
def test_nothing_is_understood_in_noise_silence_and_music(
    request: pytest.FixtureRequest, recognizer: Recognizer, folder: str
) -> None:
    names = {
        "fixtures_dir": ("noise_room.flac", "silence.flac", "music_synthetic.flac"),
        "recordings_dir": ("noise_office.wav", "noise_pink.wav", "silence.wav", "music_synthetic.wav"),
    }
    for name in names[folder]:
        pcm = read_pcm16(request.getfixturevalue(folder) / "audio" / name, RATE_HZ)
        transcript = recognizer.transcribe(pcm)
        assert transcript.text == "", name
        assert folder == "recordings_dir" or transcript.no_speech_prob > 0.3
