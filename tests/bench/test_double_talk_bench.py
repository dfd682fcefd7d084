"""The microphones of the bench of double talk. No timing."""

from __future__ import annotations

import numpy as np
import pytest

from bench.double_talk import LIMITS, SUBJECTS, subject
from bench.user_sounds import SOUNDS, Sound, agent_deltas, user_chunks
from bench.window import NATIVE
from bench.work import CHUNK_MS, DOWN_BYTES, DOWN_HZ
from realtime.audio.echo import EchoMeter
from realtime.audio.resample import resampled
from realtime.turn.interruption import ECHO


@pytest.mark.parametrize("sound", SOUNDS)
@pytest.mark.parametrize("rate_hz", [16_000, 24_000])
def test_every_chunk_is_as_long_as_the_clients_send(sound: Sound, rate_hz: int) -> None:
    chunks = user_chunks(sound, rate_hz)
    assert {len(chunk) for chunk in chunks} == {rate_hz * CHUNK_MS // 1000 * 2}
    assert len(chunks) * CHUNK_MS >= 2_000


def test_an_echo_is_that_of_the_delta_with_its_number() -> None:
    deltas, echoes = agent_deltas(), user_chunks("echo", 16_000)
    assert {len(delta) for delta in deltas} == {DOWN_BYTES}
    assert abs(len(echoes) - len(deltas)) <= 1
    at = 20
    played = resampled(b"".join(deltas[at - 15 : at + 20]), DOWN_HZ, 16_000)
    likeness = EchoMeter().likeness(b"".join(echoes[at : at + 20]), played)
    assert likeness is not None
    assert likeness >= ECHO


def test_a_user_and_music_are_louder_than_a_silent_room() -> None:
    levels = {sound: np.std(np.frombuffer(b"".join(user_chunks(sound, 16_000)), "<i2")) for sound in SOUNDS}
    assert min(levels[sound] for sound in SOUNDS if sound != "silence") > 5 * levels["silence"]


def test_each_limit_is_of_something_that_is_measured() -> None:
    measured = {(subject(one, sound).name, sound) for one in SUBJECTS for sound in SOUNDS}
    measured.add((subject(NATIVE, "speech", "off").name, "speech"))
    assert {*LIMITS} <= measured
