"""Streaming resampling: chunk edges leave no trace, tones stay tones, lengths stay true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pybase64 import b64decode, b64encode_as_string

from realtime.audio.mix import mix
from realtime.audio.pcm import PcmCarry, from_float32, to_float32
from realtime.audio.resample import Resampler
from realtime.event.base import SAMPLE_RATES_HZ
from tests.volumes import volume

RATES = [(16_000, 24_000), (24_000, 16_000), (8_000, 24_000), (48_000, 16_000), (44_100, 24_000)]


def tone(freq_hz: float, rate_hz: int, seconds: float, level: float = 0.5) -> bytes:
    time_s = np.arange(int(rate_hz * seconds)) / rate_hz
    return from_float32((level * np.sin(2 * np.pi * freq_hz * time_s)).astype(np.float32))


def snr_db(pcm: bytes, freq_hz: float, rate_hz: int) -> float:
    """Power of the fitted tone over that of everything else, the first and last 50 ms (filter edges) left out."""
    edge = rate_hz // 20
    signal: NDArray[np.float64] = to_float32(pcm).astype(np.float64)[edge:-edge]
    time_s = np.arange(len(signal)) / rate_hz
    basis = np.stack([np.sin(2 * np.pi * freq_hz * time_s), np.cos(2 * np.pi * freq_hz * time_s)])
    weights, *_ = np.linalg.lstsq(basis.T, signal, rcond=None)
    fitted = weights @ basis
    return float(10 * np.log10(np.mean(fitted**2) / np.mean((signal - fitted) ** 2)))


def cut(pcm: bytes, sizes: list[int]) -> list[bytes]:
    """*pcm* in chunks of the given numbers of bytes, repeated as often as needed."""
    chunks: list[bytes] = []
    start = 0
    while start < len(pcm):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(pcm[start : start + size])
        start += size
    return chunks


@settings(max_examples=volume(10, 40), deadline=None)
@given(st.sampled_from(RATES), st.lists(st.integers(1, 4000), min_size=1, max_size=10), st.integers(0, 2**32 - 1))
def test_chunked_equals_whole(rates: tuple[int, int], samples_per_chunk: list[int], seed: int) -> None:
    """CARD-05: the filter's state goes across chunks, so any cutting gives the same bytes."""
    noise = np.random.default_rng(seed).integers(-20_000, 20_000, 9_000).astype("<i2").tobytes()
    whole = Resampler(*rates)
    expected = whole.push(noise) + whole.flush()
    chunked = Resampler(*rates)
    got = b"".join(chunked.push(chunk) for chunk in cut(noise, [2 * n for n in samples_per_chunk])) + chunked.flush()
    assert got == expected


@pytest.mark.parametrize(("in_hz", "out_hz"), RATES)
def test_tone_keeps_its_pitch_level_and_length(in_hz: int, out_hz: int) -> None:
    """CARD-05: tone in, tone out, within bounds of SNR and length."""
    resampler = Resampler(in_hz, out_hz)
    out = (
        b"".join(resampler.push(chunk) for chunk in cut(tone(1000, in_hz, 1.0), [in_hz // 25 * 2])) + resampler.flush()
    )
    assert snr_db(out, 1000, out_hz) > 60
    assert abs(len(out) // 2 - out_hz) <= 1
    peak = float(np.max(np.abs(to_float32(out)[out_hz // 20 : -out_hz // 20])))
    assert peak == pytest.approx(0.5, abs=0.01)


def test_whole_pipeline_gives_the_tone_back() -> None:
    """CARD-05: decode, resample, frame, mix, encode on ragged chunks: SNR and length bounds. AMB-46: pcm16 little
    endian, chunks of any length, odd ones too."""
    carry, resampler = PcmCarry(), Resampler(16_000, 24_000)
    wire = [b64encode_as_string(chunk) for chunk in cut(tone(440, 16_000, 2.0, level=0.4), [641, 1280, 3])]
    resampled = b"".join(resampler.push(carry.push(b64decode(text))) for text in wire) + resampler.flush()
    encoded = [b64encode_as_string(mix([frame, bytes(len(frame))])) for frame in cut(resampled, [960])]
    out = b"".join(b64decode(text) for text in encoded)
    assert snr_db(out, 440, 24_000) > 60
    assert abs(len(out) // 2 - 48_000) <= 1


def test_frequencies_beyond_the_lower_rate_do_not_fold_back() -> None:
    resampler = Resampler(24_000, 16_000)
    out = resampler.push(tone(11_000, 24_000, 1.0)) + resampler.flush()
    assert float(np.max(np.abs(to_float32(out)[800:-800]))) < 0.001


@pytest.mark.parametrize("client_hz", SAMPLE_RATES_HZ)
@pytest.mark.parametrize("model_hz", [8_000, 16_000, 24_000])
def test_every_rate_of_a_client_is_converted_to_and_from_every_rate_of_a_model(client_hz: int, model_hz: int) -> None:
    """CARD-05: pitch, level and length, both ways."""
    for in_hz, out_hz in ((client_hz, model_hz), (model_hz, client_hz)):
        resampler = Resampler(in_hz, out_hz)
        out = resampler.push(tone(1000, in_hz, 1.0)) + resampler.flush()
        assert snr_db(out, 1000, out_hz) > 60
        assert len(out) // 2 == out_hz


@pytest.mark.parametrize(
    ("in_hz", "out_hz", "most_ms"), [(16_000, 24_000, 3), (24_000, 16_000, 3), (48_000, 16_000, 2), (44_100, 24_000, 5)]
)
def test_little_is_held_back(in_hz: int, out_hz: int, most_ms: float) -> None:
    resampler = Resampler(in_hz, out_hz)
    chunk = tone(300, in_hz, 0.02)
    sent_s, got_s = 0.0, 0.0
    for _ in range(20):
        sent_s += len(chunk) / 2 / in_hz
        got_s += len(resampler.push(chunk)) / 2 / out_hz
        assert 0 <= sent_s - got_s <= most_ms / 1000


def test_speech_frequencies_pass_and_their_images_do_not() -> None:
    """Up to 5.5 kHz of 16 kHz audio nothing is lost; what a tone leaves beyond 8.8 kHz is not heard."""
    for freq_hz in (200, 3_000, 5_500):
        resampler = Resampler(16_000, 24_000)
        out = to_float32(resampler.push(tone(freq_hz, 16_000, 1.0)) + resampler.flush())[2_400:-2_400]
        assert float(np.sqrt(2 * np.mean(np.square(out)))) == pytest.approx(0.5, rel=0.02)
        spectrum = np.abs(np.fft.rfft(out * np.hanning(len(out))))
        beyond = spectrum[np.fft.rfftfreq(len(out), 1 / 24_000) > 8_800]
        assert float(beyond.max() / spectrum.max()) < 0.001


def test_full_scale_is_clipped_and_does_not_wrap() -> None:
    resampler = Resampler(16_000, 24_000)
    square = np.where(np.arange(16_000) // 40 % 2, 32_767, -32_768).astype("<i2").tobytes()
    out = np.frombuffer(resampler.push(square), "<i2").astype(np.int32)
    assert out.max() == 32_767
    assert out.min() == -32_768
    assert not np.any((out[1:-1] > 30_000) & (out[:-2] < -30_000) & (out[2:] < -30_000))


def test_equal_rates_pass_through() -> None:
    resampler = Resampler(16_000, 16_000)
    pcm = tone(300, 16_000, 0.1)
    assert resampler.push(pcm) is pcm
    assert resampler.flush() == b""


def test_flush_and_clear_begin_a_new_stream() -> None:
    pcm = tone(300, 16_000, 0.3)
    resampler = Resampler(16_000, 24_000)
    first = resampler.push(pcm) + resampler.flush()
    resampler.push(pcm)
    resampler.clear()
    assert resampler.push(pcm) + resampler.flush() == first


def test_unused_resampler_has_nothing_to_flush() -> None:
    resampler = Resampler(16_000, 24_000)
    resampler.clear()
    assert resampler.flush() == b""


@pytest.mark.parametrize("rates", [(16_000, 16_000), (16_000, 24_000)])
def test_half_a_sample_is_refused(rates: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="size"):
        Resampler(*rates).push(b"abc")


def test_rates_without_a_common_measure_are_refused() -> None:
    with pytest.raises(ValueError, match="common rates"):
        Resampler(44_101, 24_000)


@pytest.mark.parametrize("rates", [(0, 16_000), (16_000, -1)])
def test_rates_have_to_be_positive(rates: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="positive"):
        Resampler(*rates)
