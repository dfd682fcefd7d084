"""A recording's user track: audio where it arrived, to the sample."""

import asyncio
import tempfile
from pathlib import Path

import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.call.recording.tracks import ALIGNED_MS, INPUT_PAUSE_MS
from realtime.testing.clock import run
from tests.call.recorded import CHUNK_MS, IN_HZ, Call, between, noise, now_ms, place_ms, read, until_ms
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time


async def test_the_input_begins_where_it_arrived_and_goes_on_to_the_sample(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(3 * IN_HZ)
    await until_ms(730)
    await call.speak(pcm)
    recorded = await call.recorder.close()
    heard, rate_hz = read(tmp_path / "input.flac")
    assert rate_hz == IN_HZ
    assert heard == bytes(730 * IN_HZ // 1000 * 2) + pcm
    assert (recorded.folder, recorded.input_s) == (tmp_path, 3.73)
    assert soundfile.info(tmp_path / "input.flac").subtype == "PCM_16"


async def test_a_hole_is_silence_and_what_comes_twice_is_kept_once(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(IN_HZ)
    call.hear(pcm[:8_000], 0)
    await until_ms(500)
    call.hear(pcm[:10_000], 0)  # sent again, with more
    await until_ms(700)
    call.hear(pcm[20_000:], 10_000)  # 5000 to 9999 are missing
    heard = await call.ended("input")
    assert heard == pcm[:10_000] + bytes(10_000) + pcm[20_000:]


async def test_a_count_from_the_future_does_not_fill_the_disk(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(1_600)
    call.hear(pcm, 0)
    await until_ms(2_000)
    call.hear(pcm, 2**60)
    heard = await call.ended("input")
    assert len(heard) == 2_100 * IN_HZ // 1000 * 2
    assert between(heard, 2_000, 2_100, IN_HZ) == pcm


@pytest.mark.parametrize("counts", [False, True])
async def test_a_client_that_sends_nothing_while_it_is_silent_goes_on_where_it_speaks_again(
    tmp_path: Path, counts: bool
) -> None:
    call = Call(tmp_path)
    first, second = noise(IN_HZ), noise(3 * IN_HZ, seed=1)
    await call.speak(first, position=0 if counts else None)
    await until_ms(9_000)
    await call.speak(second, position=IN_HZ if counts else None)
    heard = await call.ended("input")
    assert between(heard, 0, 1_000, IN_HZ) == first
    assert abs(place_ms(heard, second, IN_HZ) - 9_000) <= CHUNK_MS


@pytest.mark.parametrize("pause_ms", [40, 300, 950])
@pytest.mark.parametrize("counts", [False, True])
async def test_speech_after_a_short_pause_stands_where_it_was_said(tmp_path: Path, pause_ms: int, counts: bool) -> None:
    call = Call(tmp_path)
    parts = [noise(IN_HZ // 2, seed=number) for number in range(3)]
    await until_ms(730)
    for number, part in enumerate(parts):
        await call.speak(part, position=number * IN_HZ // 2 if counts else None)
        await asyncio.sleep(pause_ms / 1000)
    heard = await call.ended("input")
    for number, part in enumerate(parts):
        assert abs(place_ms(heard, part, IN_HZ) - 730 - number * (500 + pause_ms)) <= ALIGNED_MS


async def test_a_stall_that_the_client_catches_up_with_moves_nothing(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(8 * IN_HZ)
    await call.speak(pcm[: 2 * IN_HZ])  # the first second
    await until_ms(4_000)
    call.hear(pcm[2 * IN_HZ : 8 * IN_HZ])  # three seconds at once
    await call.speak(pcm[8 * IN_HZ :])
    assert await call.ended("input") == pcm


async def test_a_pause_that_is_not_decided_yet_is_decided_at_the_end(tmp_path: Path) -> None:
    call = Call(tmp_path)
    call.hear(noise(320))
    await until_ms(5_000)
    last = noise(320, seed=1)
    call.hear(last)
    assert abs(place_ms(await call.ended("input"), last, IN_HZ) - 5_000) <= CHUNK_MS


async def test_another_rate_in_mid_call_is_converted(tmp_path: Path) -> None:
    call = Call(tmp_path)
    call.hear(noise(IN_HZ), None, IN_HZ)
    await until_ms(1_000)
    call.hear(noise(48_000), None, 48_000)
    recorded = await call.recorder.close()
    assert recorded.input_s == pytest.approx(2.0, abs=0.005)
    assert read(tmp_path / "input.flac")[1] == IN_HZ


Cut = tuple[int, int]


@settings(max_examples=volume(10, 60))
@given(
    cuts=st.lists(st.integers(0, 31_999), max_size=30),
    pause_ms=st.sampled_from([0, 300, INPUT_PAUSE_MS + 1, 4_000]),
    counted=st.booleans(),
)
def test_any_cutting_of_the_input_gives_the_same_file(cuts: list[int], pause_ms: int, counted: bool) -> None:
    """The same audio at the same moments, however many frames it came in, cut inside of samples too."""
    pcm = noise(IN_HZ)
    half = len(pcm) // 2

    async def record(folder: Path, edges: list[int]) -> None:
        call = Call(folder)
        for start, end in zip([0, *edges], [*edges, len(pcm)], strict=True):
            if start >= half and now_ms() == 0:
                await until_ms(500 + pause_ms)
            call.hear(pcm[start:end], start // 2 if counted and start % 2 == 0 else None)
        await until_ms(9_000)
        await call.recorder.close()

    with tempfile.TemporaryDirectory() as place:
        whole, parts = Path(place, "whole"), Path(place, "parts")
        run(record(whole, [half]))
        run(record(parts, sorted({half, *cuts} - {0})))
        assert read(parts / "input.flac") == read(whole / "input.flac")
