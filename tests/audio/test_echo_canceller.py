"""The removal of the agent's voice from a microphone."""

import numpy as np
import pytest

from realtime.audio import echo_canceller
from realtime.audio.echo_canceller import EchoCanceller, is_installed
from realtime.audio.far_end import FarEnd
from realtime.audio.playback import AcknowledgedPlayback, PlaybackClock, WallClockPlayback
from realtime.audio.resample import resampled
from realtime.errors import UsageError
from tests.audio.rooms import RATE_HZ, Samples, agent_speech, echo_of, level_db, noise, pcm, voiced

needs_canceller = pytest.mark.skipif(not is_installed(), reason="the extra echo is not installed")
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


@needs_canceller
@pytest.mark.parametrize("delay_ms", [40, 120, 250])
@pytest.mark.parametrize("gain_db", [-6, -20])
def test_an_echo_is_removed(delay_ms: int, gain_db: int) -> None:
    heard = echo_of(agent_speech(SECONDS), delay_ms=delay_ms, gain_db=gain_db, decay_s=0.25)
    left = cleaned(heard + noise(len(heard), -80))
    assert level_db(seconds(pcm(heard), 4, 10)) - level_db(seconds(left, 4, 10)) >= 20


@needs_canceller
def test_a_client_that_acknowledges_every_100_ms_is_followed() -> None:
    heard = echo_of(agent_speech(SECONDS), delay_ms=80, gain_db=-9, decay_s=0.25)
    left = cleaned(heard + noise(len(heard), -80), clock=AcknowledgedPlayback(FAR_HZ), ack_every_ms=100)
    assert level_db(seconds(pcm(heard), 4, 10)) - level_db(seconds(left, 4, 10)) >= 20


@needs_canceller
def test_a_user_who_talks_over_the_echo_is_kept() -> None:
    heard = echo_of(agent_speech(SECONDS), delay_ms=120, gain_db=-12, decay_s=0.25) + noise(SECONDS * RATE_HZ, -80)
    voice = np.resize(voiced("barge_in.wav"), 2 * RATE_HZ)
    heard[6 * RATE_HZ : 8 * RATE_HZ] += voice
    left = cleaned(heard)
    assert level_db(seconds(left, 6.2, 8)) >= -20 - 7
    assert level_db(seconds(left, 8.5, 10)) < -45


@needs_canceller
def test_nothing_played_leaves_the_voice_as_it_is() -> None:
    canceller = EchoCanceller(lambda: None)
    voice = pcm(np.resize(voiced("barge_in.wav"), 2 * RATE_HZ))
    left = b"".join(canceller.clean(voice[at : at + 500], RATE_HZ) for at in range(0, len(voice), 500))
    assert 0 <= len(voice) - len(left) < 320, "only whole frames of 10 ms"
    assert abs(level_db(left) - level_db(voice)) < 1.5


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo_canceller, "is_installed", lambda: False)
    with pytest.raises(UsageError, match=r"pip install '\.\[echo\]'"):
        EchoCanceller(lambda: None)
