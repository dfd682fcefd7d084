"""A page whose microphone hears its loudspeaker."""

import numpy as np
import pytest

from realtime.client.speaker import OUTPUT_HZ, OUTPUT_LATENCY_S, Speaker
from realtime.testing.client.devices import FRAME_MS, FRAME_SAMPLES, Microphone
from realtime.testing.client.echo_path import EchoPath
from realtime.testing.client.steps import INPUT_HZ, Loudspeaker

SECONDS = 2


def heard(step: Loudspeaker, speech: bytes) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What a microphone in silence hears of speech that is played from the first moment on."""
    speaker, microphone = Speaker(), Microphone(0.0, 1)
    speaker.play("item", 0, speech, 0.0)
    microphone.echo = EchoPath(step, OUTPUT_HZ)
    frames = []
    for number in range(SECONDS * 1000 // FRAME_MS):
        begin_s = number * FRAME_MS / 1000
        frames.append(microphone.next_frame(speaker.audible(begin_s, FRAME_MS)))
    return np.frombuffer(b"".join(frames), "<i2").astype(np.float64)


def speech() -> bytes:
    """A second of noise that a microphone at 16 kHz hears whole."""
    noise = np.random.default_rng(3).normal(0, 4_000, OUTPUT_HZ)
    spectrum = np.fft.rfft(noise)
    spectrum[len(spectrum) // 2 :] = 0
    return np.fft.irfft(spectrum, OUTPUT_HZ).astype("<i2").tobytes()


@pytest.mark.parametrize(("level_db", "delay_ms"), [(-6, 40), (-20, 120), (-20, 250)])
def test_an_echo_is_late_and_quieter(level_db: float, delay_ms: int) -> None:
    sound = heard(Loudspeaker(level_db, delay_ms), speech())
    first_ms = int(np.flatnonzero(np.abs(sound) > 20)[0]) * 1000 / INPUT_HZ
    assert first_ms == pytest.approx(OUTPUT_LATENCY_S * 1000 + delay_ms, abs=2)
    begin = int(first_ms * INPUT_HZ / 1000)
    middle = sound[begin + INPUT_HZ // 2 : begin + INPUT_HZ * 9 // 10]
    played = np.frombuffer(speech(), "<i2").astype(np.float64)
    assert 20 * np.log10(middle.std() / played.std()) == pytest.approx(level_db, abs=1.5)


def test_equal_steps_make_equal_echoes_and_others_other_ones() -> None:
    first, again, other = (heard(Loudspeaker(-12, seed=seed), speech()) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_is_flushed_is_not_heard() -> None:
    speaker = Speaker()
    speaker.play("item", 0, speech(), 0.0)
    speaker.flush(["item"], 0.5)
    ends_s = 0.5 + OUTPUT_LATENCY_S
    assert np.any(np.frombuffer(speaker.audible(ends_s - FRAME_MS / 1000, FRAME_MS), "<i2"))
    assert not np.any(np.frombuffer(speaker.audible(ends_s, FRAME_MS), "<i2"))


def test_items_and_the_pause_between_them_are_heard_in_one_frame() -> None:
    speaker = Speaker()
    tone = np.full(OUTPUT_HZ // 100, 1_000, "<i2").tobytes()
    speaker.play("first", 0, tone, 0.0)
    speaker.play("second", 0, tone, 0.02)
    sound = np.frombuffer(speaker.audible(OUTPUT_LATENCY_S, FRAME_MS), "<i2")
    assert [int(part.mean()) for part in np.split(sound, 4)] == [1_000, 0, 1_000, 0]


def test_a_frame_of_the_room_is_as_long_as_any() -> None:
    assert len(Microphone(3.0, 1).next_frame()) == FRAME_SAMPLES * 2
