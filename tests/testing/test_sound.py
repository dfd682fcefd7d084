"""What a scripted user says: the right bytes for every kind of file, and an error that helps for every bad one."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from realtime.audio.files import read_pcm16, write_flac, write_wav
from realtime.testing.client.sound import load
from realtime.testing.client.steps import Speak
from realtime.testing.errors import CaseError

RATE_HZ = 16_000


def tone(ms: int, *, amplitude: float = 8_000, hz: int = 440, rate_hz: int = RATE_HZ) -> bytes:
    samples = amplitude * np.sin(2 * np.pi * hz * np.arange(rate_hz * ms // 1000) / rate_hz)
    return samples.astype("<i2").tobytes()


def rms(pcm: bytes) -> float:
    return float(np.sqrt(np.mean(np.frombuffer(pcm, "<i2").astype(np.float64) ** 2)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A case's folder with a tone of a second in it."""
    write_wav(tmp_path / "tone.wav", tone(1_000), RATE_HZ)
    return tmp_path


def test_a_file_at_the_rate_of_a_call_comes_bit_for_bit_whatever_its_kind(folder: Path) -> None:
    write_flac(folder / "tone.flac", tone(1_000), RATE_HZ)
    (folder / "tone.pcm").write_bytes(tone(1_000))
    (folder / "tone.raw").write_bytes(tone(1_000))
    for name in ("tone.wav", "tone.flac", "tone.pcm", "tone.raw"):
        assert load(name, folder) == tone(1_000)
        assert load(Speak(audio=name), folder) == tone(1_000)
    assert load(folder / "tone.wav") == tone(1_000)
    assert load(Speak(pcm=tone(1_000))) == tone(1_000)


def test_other_rates_and_stereo_are_made_16_khz_mono(folder: Path) -> None:
    left = np.frombuffer(tone(1_000, rate_hz=48_000), "<i2")
    soundfile.write(folder / "stereo.wav", np.stack([left, left], axis=1), 48_000)
    assert len(load("stereo.wav", folder)) == 32_000
    assert rms(load("stereo.wav", folder)) == pytest.approx(rms(tone(1_000)), rel=0.01)
    (folder / "8k.pcm").write_bytes(tone(1_000, rate_hz=8_000))
    slow = load(Speak(audio="8k.pcm", rate_hz=8_000), folder)
    assert len(slow) == 32_000
    assert rms(slow) == pytest.approx(rms(tone(1_000)), rel=0.01)


def test_a_recording_of_ours_is_read_whole(fixtures_dir: Path) -> None:
    name = "hello_anna.wav"
    assert load(name, fixtures_dir / "audio") == read_pcm16(fixtures_dir / "audio" / name, RATE_HZ)


def test_a_cut_is_exact_to_the_sample(folder: Path) -> None:
    whole = tone(1_000)
    assert load(Speak(audio="tone.wav", from_ms=250), folder) == whole[8_000:]
    assert load(Speak(audio="tone.wav", to_ms=400), folder) == whole[:12_800]
    assert load(Speak(audio="tone.wav", from_ms=100, to_ms=101), folder) == whole[3_200:3_232]
    assert load(Speak(audio="tone.wav", to_ms=1_000), folder) == whole


def test_gain_is_in_decibels_and_clamps_at_full_scale(folder: Path) -> None:
    assert rms(load(Speak(audio="tone.wav", gain_db=-20), folder)) == pytest.approx(rms(tone(1_000)) / 10, rel=0.01)
    loud = np.frombuffer(load(Speak(audio="tone.wav", gain_db=40), folder), "<i2")
    assert (loud.min(), loud.max()) == (-32_768, 32_767)
    quiet = np.frombuffer(tone(1_000), "<i2")
    assert (np.sign(loud[quiet != 0]) == np.sign(quiet[quiet != 0])).all(), "nothing wraps around"


@pytest.mark.parametrize("noise", ["white", "pink", "hum.wav"])
def test_noise_lies_as_far_below_the_speech_as_is_asked(folder: Path, noise: str) -> None:
    write_wav(folder / "hum.wav", tone(130, hz=100), RATE_HZ)
    step = Speak(audio="tone.wav", noise=noise, snr_db=10)
    mixed = np.frombuffer(load(step, folder), "<i2").astype(np.int32) - np.frombuffer(tone(1_000), "<i2")
    ratio = rms(tone(1_000)) / float(np.sqrt(np.mean(mixed.astype(np.float64) ** 2)))
    assert 20 * np.log10(ratio) == pytest.approx(10, abs=0.1)
    if noise == "hum.wav":
        period = 2_080
        assert np.abs(mixed[:period] - mixed[period : 2 * period]).max() <= 2, "a short file is repeated"


def test_pink_noise_is_lower_than_white(folder: Path) -> None:
    def treble(noise: str) -> float:
        pcm = load(Speak(audio="tone.wav", noise=noise, snr_db=-40, gain_db=-40), folder)
        power = np.abs(np.fft.rfft(np.frombuffer(pcm, "<i2").astype(np.float64))) ** 2
        return float(power[len(power) // 2 :].sum() / power.sum())

    assert treble("white") == pytest.approx(0.5, abs=0.05)
    assert treble("pink") < 0.2


def test_noise_is_decided_by_the_seed_alone(folder: Path) -> None:
    step = Speak(audio="tone.wav", noise="pink", snr_db=5)
    assert load(step, folder, seed=1) == load(step, folder, seed=1)
    assert load(step, folder, seed=1) != load(step, folder, seed=2)


def test_a_file_that_changes_is_read_again(folder: Path) -> None:
    before = load("tone.wav", folder)
    write_wav(folder / "tone.wav", tone(500), RATE_HZ)
    assert load("tone.wav", folder) == before[:16_000]


def test_what_cannot_be_spoken_is_told_with_file_place_and_remedy(folder: Path) -> None:
    """Each line of the file: the fields of a step, and what is said of it."""
    (folder / "text.wav").write_text("this is no audio")
    (folder / "zero.wav").write_bytes(b"")
    (folder / "zero.pcm").write_bytes(b"")
    (folder / "odd.pcm").write_bytes(b"abc")
    (folder / "mute.pcm").write_bytes(bytes(32_000))
    write_wav(folder / "silence.wav", b"", RATE_HZ)
    chance = np.random.default_rng(0).integers(-9_000, 9_000, RATE_HZ).astype("<i2").tobytes()
    write_flac(folder / "whole.flac", chance, RATE_HZ)
    (folder / "part.flac").write_bytes((folder / "whole.flac").read_bytes()[:60])
    lines = Path(__file__).with_name("unspeakable.tsv").read_text(encoding="utf-8").splitlines()
    steps = [(Speak(**json.loads(fields)), told) for fields, told in (line.split("\t") for line in lines)]
    steps += [
        (Speak(audio="tone.wav", pcm=b"ab"), "tone.wav, pcm16: `pcm16` is given beside `audio`"),
        (Speak(pcm=b""), "pcm16: it holds no sound"),
        (Speak(audio="tone.wav", noise="white", snr_db=float("inf")), "tone.wav, snr_db: inf dB is no ratio"),
    ]
    for step, told in steps:
        with pytest.raises(CaseError) as caught:
            load(step, folder)
        assert told in str(caught.value)
        assert caught.value.remedy
        assert str(caught.value).endswith(caught.value.remedy)


def test_a_side_of_a_call_is_spoken_and_none_is_guessed(folder: Path) -> None:
    sides = np.zeros((RATE_HZ, 2), np.int16)
    sides[: RATE_HZ // 2, 0] = np.frombuffer(tone(500), "<i2")
    sides[RATE_HZ // 2 :, 1] = np.frombuffer(tone(500), "<i2")
    soundfile.write(folder / "call.wav", sides, RATE_HZ)
    half = bytes(RATE_HZ)
    assert load(Speak(audio="call.wav", channel=0), folder) == tone(500) + half
    assert load(Speak(audio="call.wav", channel=1), folder) == half + tone(500)
    assert load(Speak(audio="call.wav", channel=1, from_ms=500), folder) == tone(500)
    with pytest.raises(CaseError, match=r"call\.wav, channel: each of its channels.* Give `channel`: the user's side"):
        load("call.wav", folder)
    with pytest.raises(CaseError, match="it has no channel 2"):
        load(Speak(audio="call.wav", channel=2), folder)
