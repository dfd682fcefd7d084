"""The removal of the agent's voice from a microphone."""

import numpy as np
import pytest

from realtime.audio.echo_canceller import PARTS, EchoCanceller, EchoFilter
from realtime.audio.far_end import FarEnd
from realtime.audio.playback import AcknowledgedPlayback, PlaybackClock, WallClockPlayback
from realtime.audio.resample import resampled
from tests.audio.rooms import RATE_HZ, Samples, agent_speech, echo_of, level_db, noise, pcm, voiced

FAR_HZ = 24_000
FRAME_MS = 20
SECONDS = 10


def cleaned(microphone: Samples, *, clock: PlaybackClock | None = None, ack_every_ms: int = 0) -> bytes:
    """What is left of the microphone while a client plays the agent's speech from the first moment on."""
    now = 0.0
    clock = clock or WallClockPlayback(FAR_HZ)
    far_end = FarEnd(clock, lambda: now, FAR_HZ)
    canceller = EchoCanceller(lambda: far_end)
    speech = resampled(pcm(agent_speech(SECONDS)), RATE_HZ, FAR_HZ)
    for at in range(0, len(speech), 9_600):
        start = clock.sent("item_1", len(speech[at : at + 9_600]), now)
        assert start is not None
        far_end.sent("item_1", start, speech[at : at + 9_600])
    sound, left = pcm(microphone), b""
    for at in range(0, len(sound), FRAME_MS * 32):
        now += FRAME_MS / 1000
        if ack_every_ms and round(now * 1000) % ack_every_ms == 0:
            clock.ack("item_1", round(now * 1000), now)
        left += canceller.clean(sound[at : at + FRAME_MS * 32], RATE_HZ)
    return left


def seconds(data: bytes, start: float, end: float) -> bytes:
    return data[int(start * RATE_HZ) * 2 : int(end * RATE_HZ) * 2]


@pytest.mark.parametrize("delay_ms", [40, 120, 250])
@pytest.mark.parametrize("gain_db", [-6, -20])
def test_an_echo_is_removed(delay_ms: int, gain_db: int) -> None:
    heard = echo_of(agent_speech(SECONDS), delay_ms=delay_ms, gain_db=gain_db, decay_s=0.25)
    left = cleaned(heard + noise(len(heard), -80))
    assert level_db(seconds(pcm(heard), 4, 10)) - level_db(seconds(left, 4, 10)) >= 20


def test_a_client_that_acknowledges_every_100_ms_is_followed() -> None:
    heard = echo_of(agent_speech(SECONDS), delay_ms=80, gain_db=-9, decay_s=0.25)
    left = cleaned(heard + noise(len(heard), -80), clock=AcknowledgedPlayback(FAR_HZ), ack_every_ms=100)
    assert level_db(seconds(pcm(heard), 4, 10)) - level_db(seconds(left, 4, 10)) >= 20


@pytest.mark.parametrize("gain_db", [-6, -12, -30])
def test_a_user_who_talks_over_the_echo_is_kept(gain_db: int) -> None:
    echo = echo_of(agent_speech(SECONDS), delay_ms=120, gain_db=gain_db, decay_s=0.25)
    voice = np.zeros(len(echo))
    voice[6 * RATE_HZ : 8 * RATE_HZ] = np.resize(voiced("barge_in.wav"), 2 * RATE_HZ)
    left = cleaned(echo + voice + noise(len(echo), -80))
    error = np.frombuffer(left, "<i2").astype(float) - voice[: len(left) // 2]
    for start in (6.0, 6.25, 7.0):
        user, beside = seconds(pcm(voice), start, start + 0.25), seconds(pcm(error), start, start + 0.25)
        assert level_db(user) - level_db(beside) >= 12, "from the first quarter of a second on"
    assert level_db(seconds(pcm(echo), 8.5, 10)) - level_db(seconds(left, 8.5, 10)) >= 18


def test_replies_with_pauses_between_them_lie_to_the_microphone_in_the_same_way() -> None:
    now = 0.0
    clock = AcknowledgedPlayback(FAR_HZ)
    far_end = FarEnd(clock, lambda: now, FAR_HZ)
    canceller = EchoCanceller(lambda: far_end)
    speech = agent_speech(2)
    sound = resampled(pcm(speech), RATE_HZ, FAR_HZ)
    frame = RATE_HZ // 25
    echo = pcm(echo_of(speech, delay_ms=80, gain_db=-6, decay_s=0.1))
    levels = []
    for reply in range(5):
        item_id = f"item_{reply}"
        start = clock.sent(item_id, len(sound), now)
        far_end.sent(item_id, start or 0, sound)
        begin, left = now, b""
        for at in range(0, len(echo), 2 * frame):
            now += 0.04
            clock.ack(item_id, round((now - begin) * 1000), now)
            left += canceller.clean(echo[at : at + 2 * frame], RATE_HZ)
        levels.append(level_db(echo) - level_db(left))
        for _ in range(37 + reply):
            now += 0.04
            canceller.clean(bytes(2 * frame), RATE_HZ)
    assert min(levels[2:]) >= 15


def test_a_loudspeaker_that_becomes_quieter_is_learned_again() -> None:
    quiet = [echo_of(agent_speech(SECONDS), delay_ms=120, gain_db=gain_db, decay_s=0.25) for gain_db in (-6, -21)]
    heard = np.concatenate([quiet[0][: 4 * RATE_HZ], quiet[1][4 * RATE_HZ :]])
    left = cleaned(heard + noise(len(heard), -80))
    assert level_db(seconds(pcm(heard), 7, 10)) - level_db(seconds(left, 7, 10)) >= 6


def test_nothing_played_leaves_the_voice_as_it_is() -> None:
    canceller = EchoCanceller(lambda: None)
    voice = pcm(np.resize(voiced("barge_in.wav"), 2 * RATE_HZ))
    left = b"".join(canceller.clean(voice[at : at + 500], RATE_HZ) for at in range(0, len(voice), 500))
    assert 0 <= len(voice) - len(left) < 1_024, "only whole blocks of 32 ms"
    assert np.abs(np.frombuffer(voice, "<i2")[: len(left) // 2] - np.frombuffer(left, "<i2").astype(int)).max() <= 1


@pytest.mark.parametrize("level", [0.0, 1e-4, 1.0])
def test_the_filter_stays_bounded_whatever_is_played_and_heard(level: float) -> None:
    chance = np.random.default_rng(1)
    echo = EchoFilter(256)
    for number in range(20 * PARTS):
        far = chance.choice([0.0, 1.0]) * chance.uniform(-1, 1, 256) * level
        near = np.sign(chance.standard_normal(256)) if number % 3 else np.zeros(256)
        left = echo.subtract(near.astype(np.float32), far.astype(np.float32))
        assert np.all(np.isfinite(left))
        assert np.abs(left).max() < 10


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 44_100, 48_000])
def test_every_rate_is_taken(rate_hz: int) -> None:
    canceller = EchoCanceller(lambda: None)
    n_bytes = sum(len(canceller.clean(bytes(rate_hz // 50 * 2), rate_hz)) for _ in range(50))
    assert 0 <= rate_hz * 2 - n_bytes < rate_hz // 60 * 2 + 2
