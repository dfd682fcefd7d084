"""The bench of rooms measures what it says it measures. No timing."""

import asyncio
import struct

import pytest

from bench import rooms
from bench.rooms import (
    BREATH,
    BREATH_EVERY,
    STEP_BYTES,
    decisions,
    in_process,
    measure_rooms,
    mixing,
    speech,
    with_sockets,
)


def test_every_stream_holds_voices_all_the_time() -> None:
    assert mixing(1.0) > 0


def test_a_mixer_that_leaves_voices_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.audio.mix.Mixer.push", lambda *_: None)
    with pytest.raises(ValueError, match=r"0 of 400 frames hold voices"):
        mixing(1.0)


def test_each_frame_of_speech_has_its_number_and_there_is_room_to_breathe() -> None:
    steps = [*speech(200)]
    assert {len(pcm) for pcm in steps} == {STEP_BYTES}
    numbered = [*range(BREATH_EVERY - BREATH), *range(BREATH_EVERY, 2 * BREATH_EVERY - BREATH)]
    assert [struct.unpack_from("<hh", steps[number])[1] for number in numbered] == numbered
    assert [number for number, pcm in enumerate(steps) if any(pcm)] == numbered


async def test_everybody_but_the_speaker_hears_each_frame() -> None:
    assert await in_process(6, 1.0) > 0


async def test_a_room_that_loses_frames_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.call.listener.Listener.deliver_voice", lambda *_: None)
    with pytest.raises(ValueError, match=r"of 50 frames were heard: \[0, 0, 0\]"):
        await in_process(3, 1.0)


async def test_each_turn_is_decided_once() -> None:
    assert len(await decisions(3)) == 3


@pytest.mark.night
async def test_over_sockets_all_frames_come_and_those_at_the_speakers_rate_tell_when() -> None:
    heard = await with_sockets(4, 1.0)
    assert (heard.n_frames, heard.expected) == (150, 150)
    assert len(heard.late_ms) == 50
    assert min(heard.late_ms) > 0


@pytest.mark.night
async def test_of_a_mixed_stream_they_tell_as_well() -> None:
    heard = await with_sockets(4, 1.0, lanes=False)
    assert heard.n_frames > 75, "frames of a stream have a clock of their own"
    assert len(heard.late_ms) > 75
    assert min(heard.late_ms) > 0


@pytest.mark.night
async def test_all_of_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def served(listeners: int, seconds: float, *, lanes: bool = True) -> rooms.Heard:
        await asyncio.sleep(0)
        return rooms.Heard(
            cpu=5.0 if lanes else 9.0,
            n_frames=100,
            expected=100,
            late_ms=[1.0, 2.0] if lanes else [12.0, 13.0],
            sent_late_ms=[0.1],
            numbers=[500, 501],
        )

    monkeypatch.setattr(rooms, "with_sockets", served)
    section = await measure_rooms(0.4, 1, 3)
    assert [check.limit for check in section.checks] == [3.0, 25.0, 25.0, 20.0, 20.0, 100.0, 30.0]
    assert section.checks[2].value == 5.0
    assert [check.value for check in section.checks[3:5]] == [2.0, 13.0]


def test_sound_counts_as_in_time_again_a_while_after_some_was_held_up() -> None:
    numbers = [100, 101, 102, 300, 700]
    heard = rooms.Heard(numbers=numbers, late_ms=[13.0, 13.0, 80.0, 60.0, 14.0], in_lane_ms={99: 2.0, 102: 30.0})
    assert heard.unjittered_ms == [13.0, 13.0, 14.0]
