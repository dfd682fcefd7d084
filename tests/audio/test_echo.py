"""How much of a voice the played audio explains."""

import itertools

import numpy as np
import pytest

from realtime.audio.echo import RATE_HZ, likeness
from realtime.turn.interruption import ECHO
from tests.audio.rooms import USERS, agent_speech, at_level, echo_of, noise, pcm, voiced

DELAYS_MS = (40, 120, 250)
DECAYS_S = (0.15, 0.3, 0.5)
STARTS_S = (0.6, 1.7, 2.9, 4.4)
PATH_MS = 500
PLAYED = agent_speech(8)


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


def test_nothing_to_compare_is_no_likeness() -> None:
    part = window(1, 800)
    far = far_of(part)
    assert likeness(b"", far) == 0.0
    assert likeness(pcm(PLAYED[window(1, 200)]), far) == 0.0, "too short"
    assert likeness(bytes(25_600), far) == 0.0, "a silent microphone"
    assert likeness(pcm(PLAYED[part]), bytes(len(far))) == 0.0, "nothing was played"
    assert likeness(pcm(PLAYED[part]), far[:1_000]) == 0.0, "less was played than the voice lasted"
