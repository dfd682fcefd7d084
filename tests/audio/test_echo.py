"""How much of a voice the played audio explains."""

import itertools

import numpy as np
import pytest

from realtime.audio.echo import RATE_HZ, EchoMeter, envelope, rises_alike
from realtime.turn.interruption import ECHO
from tests.audio.rooms import USERS, agent_speech, at_level, echo_of, noise, pcm, voiced

DELAYS_MS = (40, 120, 250)
DECAYS_S = (0.15, 0.3, 0.5)
STARTS_S = (0.6, 1.7, 2.9, 4.4)
PATH_MS = 500
PLAYED = agent_speech(8)


def likeness(near: bytes, far: bytes) -> float:
    """What a first measurement says, where it says anything."""
    found = EchoMeter().likeness(near, far)
    assert found is not None
    return found


def window(start_s: float, length_ms: int) -> slice:
    start = int(start_s * RATE_HZ)
    return slice(start, start + length_ms * RATE_HZ // 1000)


def windows(length_ms: int) -> list[slice]:
    return [window(start_s, length_ms) for start_s in STARTS_S]


def far_of(near: slice) -> bytes:
    """What was played up to the end of `near`, from the longest path before its beginning on."""
    return pcm(PLAYED[near.start - PATH_MS * RATE_HZ // 1000 : near.stop])


@pytest.mark.parametrize("gain_db", [-6, -12, -20, -30])
def test_an_echo_is_like_what_is_played(gain_db: int) -> None:
    found = []
    for delay_ms, decay_s in itertools.product(DELAYS_MS, DECAYS_S):
        heard = echo_of(PLAYED, delay_ms=delay_ms, gain_db=gain_db, decay_s=decay_s) + noise(len(PLAYED))
        found += [likeness(pcm(heard[part]), far_of(part)) for part in windows(800)]
    assert min(found) >= ECHO


def test_an_echo_is_known_from_the_first_400_ms() -> None:
    found = []
    for delay_ms, decay_s in itertools.product(DELAYS_MS, DECAYS_S):
        heard = echo_of(PLAYED, delay_ms=delay_ms, gain_db=-12, decay_s=decay_s) + noise(len(PLAYED))
        found += [likeness(pcm(heard[part]), far_of(part)) for part in windows(400)]
    assert np.mean([one >= ECHO for one in found]) >= 0.9


@pytest.mark.parametrize("length_ms", [400, 800])
def test_a_user_is_not_like_what_is_played(length_ms: int) -> None:
    found = []
    for user, part in itertools.product(USERS, windows(length_ms)):
        found.append(likeness(pcm(voiced(user)[: part.stop - part.start]), far_of(part)))
    assert max(found) < 0.4


@pytest.mark.parametrize("over_db", [0, 6])
def test_a_user_who_talks_over_the_echo_is_no_echo(over_db: int) -> None:
    found = []
    for delay_ms in DELAYS_MS:
        echo = echo_of(PLAYED, delay_ms=delay_ms, gain_db=-12, decay_s=0.3)
        for user, part in itertools.product(USERS, windows(800)):
            level_db = 10 * np.log10(np.mean(echo[part] ** 2) / 32_768**2)
            voice = at_level(np.resize(voiced(user), part.stop - part.start), level_db + over_db)
            found.append(likeness(pcm(echo[part] + voice), far_of(part)))
    assert max(found) < ECHO


@pytest.mark.parametrize(("gain_db", "noise_db"), [(-40, -75), (-50, -85), (-30, -62), (-40, -70)])
def test_a_quiet_echo_is_known_beside_the_noise_of_the_room(gain_db: int, noise_db: int) -> None:
    """The agent speaks at -20 dB below full scale: an echo of -40 dB is as quiet as many a room."""
    found = []
    for delay_ms, decay_s in itertools.product(DELAYS_MS, DECAYS_S):
        heard = echo_of(PLAYED, delay_ms=delay_ms, gain_db=gain_db, decay_s=decay_s)
        heard += at_level(noise(len(PLAYED)), noise_db)
        meter = EchoMeter()
        found += [meter.likeness(pcm(heard[part]), far_of(part)) for part in windows(800)]
    known = [one for one in found if one is not None]
    assert len(known) == len(found)
    assert np.mean([one >= ECHO for one in known]) >= 0.95


def test_a_user_beside_noise_is_not_like_what_is_played() -> None:
    found = []
    for user, part in itertools.product(USERS, windows(800)):
        voice = at_level(voiced(user)[: part.stop - part.start], -50)
        heard = voice + at_level(noise(len(voice)), -55)
        found.append(likeness(pcm(heard), far_of(part)))
    assert max(found) < ECHO


def alike(near: bytes, far: bytes) -> bool:
    return rises_alike(envelope(near, RATE_HZ), envelope(far, RATE_HZ))


def test_the_envelope_alone_tells_most_voices_from_an_echo() -> None:
    """And hardly an echo from an echo: what is unlike here is not measured."""
    echoes = []
    for delay_ms, decay_s in itertools.product(DELAYS_MS, DECAYS_S):
        heard = echo_of(PLAYED, delay_ms=delay_ms, gain_db=-20, decay_s=decay_s) + noise(len(PLAYED))
        echoes += [alike(pcm(heard[part]), far_of(part)) for part in windows(800)]
    assert np.mean(echoes) >= 0.95
    starts = range(0, RATE_HZ // 2, RATE_HZ // 8)
    voices = [
        alike(pcm(np.resize(voiced(user)[start:], 800 * RATE_HZ // 1000)), far_of(part))
        for user, part, start in itertools.product(USERS, windows(800), starts)
    ]
    assert np.mean(voices) <= 0.4


@pytest.mark.parametrize("near", [b"", bytes(12_800), pcm(noise(6_400))])
def test_silence_and_nothing_have_no_envelope_of_an_echo(near: bytes) -> None:
    assert not alike(near, far_of(window(1, 400)))


def test_what_cannot_be_measured_is_unknown() -> None:
    part = window(1, 800)
    far = far_of(part)
    for why, near, other in (
        ("nothing", b"", far),
        ("too short", pcm(PLAYED[window(1, 200)]), far),
        ("a silent microphone", bytes(25_600), far),
        ("only the room's noise", pcm(at_level(noise(12_800), -50)), far),
        ("nothing was played", pcm(PLAYED[part]), bytes(len(far))),
        ("less was played than the voice lasted", pcm(PLAYED[part]), far[:1_000]),
    ):
        assert EchoMeter().likeness(near, other) is None, why


def test_the_noise_of_a_room_costs_no_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("a transform")

    monkeypatch.setattr(np.fft, "rfft", never)
    part = window(1, 800)
    assert EchoMeter().likeness(pcm(at_level(noise(12_800), -60)), far_of(part)) is None
