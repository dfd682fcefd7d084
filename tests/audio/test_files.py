"""WAV and FLAC: what is written is what is read."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from realtime.audio.files import read_pcm16, write_flac, write_wav
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
