"""WAV and FLAC: what is written is what is read."""

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from realtime.audio.files import ChannelError, read_pcm16, write_flac, write_wav
from realtime.audio.pcm import to_float32

NOISE = np.random.default_rng(3).integers(-32768, 32768, 4000).astype("<i2").tobytes()


@pytest.mark.parametrize(("write", "kind"), [(write_wav, "WAV"), (write_flac, "FLAC")])
def test_round_trip_is_bit_exact(write: Callable[[Path, bytes, int], None], kind: str, tmp_path: Path) -> None:
    path = tmp_path / "speech"
    write(path, NOISE, 16_000)
    assert read_pcm16(path, 16_000) == NOISE
    assert soundfile.info(str(path)).format == kind


def test_stereo_of_another_rate_becomes_mono_of_the_wanted_rate(tmp_path: Path) -> None:
    time_s = np.arange(48_000) / 48_000
    left = 0.6 * np.sin(2 * np.pi * 500 * time_s)
    soundfile.write(tmp_path / "stereo.wav", np.stack([left, np.zeros_like(left)], axis=1), 48_000)
    pcm = read_pcm16(tmp_path / "stereo.wav", 16_000)
    assert len(pcm) == 32_000
    expected = 0.3 * np.sin(2 * np.pi * 500 * np.arange(16_000) / 16_000)
    assert float(np.max(np.abs(to_float32(pcm) - expected)[500:-500])) < 0.001


def test_what_is_not_audio_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.wav").write_bytes(b"<html>not found</html>")
    with pytest.raises(ValueError, match="not a readable audio file"):
        read_pcm16(tmp_path / "page.wav", 16_000)
    with pytest.raises(FileNotFoundError):
        read_pcm16(tmp_path / "none.wav", 16_000)


PCM = (16_384 * np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)).astype("<i2").tobytes()
TONE = to_float32(PCM)
NAMED_PART = b"LIST" + struct.pack("<I", 4) + b"INFO"


def sound(samples: Any = TONE, **options: Any) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, 16_000, **{"format": "WAV", "subtype": "PCM_16", **options})
    return file.getvalue()


def told(data: bytes, n_riff: int, n_data: int) -> bytes:
    """The WAV with these lengths in its header."""
    at = data.index(b"data") + 4
    return data[:4] + struct.pack("<I", n_riff) + data[8:at] + struct.pack("<I", n_data) + data[at + 4 :]


WAV = sound()
NAMED = WAV[:36] + NAMED_PART + WAV[36:]
ULAW = sound(subtype="ULAW")
FLAC = sound(format="FLAC")
AU = sound(format="AU")
UNKNOWN_LENGTH = {
    "0": told(WAV, 0, 0),
    "0 in data alone": told(WAV, len(WAV) - 8, 0),
    "that of the header": told(WAV, 36, 0),
    "all ones": told(WAV, 0xFFFFFFFF, 0xFFFFFFFF),
    "the largest": told(WAV, 0x7FFFFFFF, 0x7FFFFFDB),
    "half": told(WAV, len(WAV) - 8, 16_000),
    "0 behind another part": told(NAMED, 0, 0),
    "0 in 24 bits": told(sound(subtype="PCM_24"), 0, 0),
    "0 in floats": told(sound(subtype="FLOAT", format="WAVEX"), 0, 0),
    "FLAC from a pipe": FLAC[:21] + bytes([FLAC[21] & 0xF0]) + bytes(4) + FLAC[26:],
    "AU": AU[:8] + bytes(4) + AU[12:],
}


@pytest.mark.parametrize("data", UNKNOWN_LENGTH.values(), ids=UNKNOWN_LENGTH)
def test_a_recording_whose_header_has_another_length_is_read_to_its_end(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(data)
    assert read_pcm16(tmp_path / "a.wav", 16_000) == PCM


def test_compressed_sound_of_length_0_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "whole.wav").write_bytes(ULAW)
    (tmp_path / "a.wav").write_bytes(told(ULAW, 0, 0))
    assert len(read_pcm16(tmp_path / "a.wav", 16_000)) == len(PCM)
    assert read_pcm16(tmp_path / "a.wav", 16_000) == read_pcm16(tmp_path / "whole.wav", 16_000)


@pytest.mark.parametrize("data", [WAV[:20_044], FLAC[: len(FLAC) - 3_000]], ids=["WAV", "FLAC"])
def test_a_recording_that_breaks_off_is_read_until_there(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(data)
    pcm = read_pcm16(tmp_path / "a.wav", 16_000)
    assert len(pcm) >= 8_000
    assert PCM.startswith(pcm)


def test_what_stands_behind_the_sound_is_no_sound(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(WAV + NAMED_PART)
    assert read_pcm16(tmp_path / "a.wav", 16_000) == PCM
    (tmp_path / "none.wav").write_bytes(told(WAV[:44], 36, 0) + NAMED_PART)
    assert read_pcm16(tmp_path / "none.wav", 16_000) == b""


FOREIGN = {
    "WebM": b"\x1a\x45\xdf\xa3" + bytes(40),
    "MP4 or M4A": b"\0\0\0\x20ftypM4A " + bytes(40),
    "AMR": b"#!AMR\n" + bytes(40),
    "it is empty": b"",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_recording_of_another_kind_is_named(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(FOREIGN[kind])
    with pytest.raises(ValueError, match=kind):
        read_pcm16(tmp_path / "a.wav", 16_000)


@pytest.mark.parametrize(("left", "right"), [(1, -1), (1, -0.8), (-0.9, 1), (0.999, -1)])
def test_channels_of_opposite_phase_are_heard(left: float, right: float, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(sound(np.stack([left * TONE, right * TONE], axis=1)))
    heard = to_float32(read_pcm16(tmp_path / "a.wav", 16_000))
    assert float(np.sqrt(np.mean(heard**2))) == pytest.approx(0.3535, rel=0.01)


EARLY, LATE = np.where(np.arange(16_000) < 8_000, TONE, 0), np.where(np.arange(16_000) < 8_000, 0, TONE)
CALL = np.stack([EARLY + 0.05 * LATE, LATE + 0.05 * EARLY], axis=1)


@pytest.mark.parametrize("channel", [0, 1])
def test_a_side_of_a_telephone_call_is_chosen(channel: int, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(sound(CALL))
    one = np.abs(to_float32(read_pcm16(tmp_path / "a.wav", 16_000, channel=channel)))
    assert (float(np.max(one[:8_000])) > 0.4) == (channel == 0)
    assert (float(np.max(one[8_000:])) > 0.4) == (channel == 1)


@pytest.mark.parametrize(
    ("samples", "channel", "problem"),
    [
        (CALL, None, "each of its channels, 0 and 1, holds one side of a call: choose one"),
        (CALL, 2, "it has no channel 2, but the channels 0 to 1"),
        (CALL, -1, "it has no channel -1"),
        (TONE, 1, "it has no channel 1, but one channel, 0"),
    ],
)
def test_a_channel_that_is_missing_or_not_chosen_is_named(
    samples: Any, channel: int | None, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "a.wav").write_bytes(sound(samples))
    with pytest.raises(ChannelError, match=problem):
        read_pcm16(tmp_path / "a.wav", 16_000, channel=channel)


def test_values_that_are_no_numbers_are_silence(tmp_path: Path) -> None:
    broken = TONE.copy()
    broken[:8_000] = np.nan
    (tmp_path / "a.wav").write_bytes(sound(broken, subtype="FLOAT"))
    pcm = read_pcm16(tmp_path / "a.wav", 16_000)
    assert (pcm[:16_000], pcm[16_000:]) == (bytes(16_000), PCM[16_000:])
