"""A call's recording: two FLAC files on the call's clock, whatever the client, the disk and the process do."""

import asyncio
import json
import logging
import signal
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.audio.playback import AcknowledgedPlayback, EstimatedPlayback, PlaybackClock, WallClockPlayback
from realtime.call.listener import queue_listener
from realtime.call.recording import Recorded, Recorder, RecordingError
from realtime.call.recording.disk import Disk
from realtime.call.recording.tracks import ALIGNED_MS, INPUT_PAUSE_MS, MAX_ITEMS, MAX_OUTPUT_BYTES, OutputTrack
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.runtime import Runtime
from realtime.state.log import Log
from realtime.testing.clock import run
from tests.volumes import volume

IN_HZ = 16_000
OUT_HZ = 24_000
CHUNK_MS = 20


def noise(n_samples: int, seed: int = 0) -> bytes:
    """Samples that are all different from silence."""
    return np.random.default_rng(seed).integers(1, 3_000, n_samples).astype("<i2").tobytes()


def spoken(ms: int, seed: int = 0) -> bytes:
    return noise(ms * OUT_HZ // 1000, seed)


def now_ms() -> int:
    return round(asyncio.get_running_loop().time() * 1000)


async def until_ms(ms: int) -> None:
    await asyncio.sleep(ms / 1000 - asyncio.get_running_loop().time())


def read(path: Path) -> tuple[bytes, int]:
    """The file as pcm, and its rate."""
    samples, rate_hz = soundfile.read(path, dtype="int16")
    return samples.astype("<i2").tobytes(), rate_hz


def between(pcm: bytes, start_ms: int, end_ms: int, rate_hz: int) -> bytes:
    return pcm[start_ms * rate_hz // 1000 * 2 : end_ms * rate_hz // 1000 * 2]


def place_ms(pcm: bytes, part: bytes, rate_hz: int) -> float:
    """Where *part* stands in *pcm*, in ms; -1 where it does not."""
    at = pcm.find(part)
    while at % 2 == 1:
        at = pcm.find(part, at + 1)
    return at / 2 * 1000 / rate_hz if at >= 0 else -1


def silent(pcm: bytes) -> bool:
    return not any(pcm)


def described(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((folder / "recording.json").read_text())
    return about


class Call:
    """A recorder beside one client, whose clock says what was heard."""

    def __init__(
        self,
        folder: Path,
        clock: PlaybackClock | None = None,
        executor: Executor | None = None,
        call_id: str = "call_1",
    ) -> None:
        self.clock = clock or WallClockPlayback(OUT_HZ)
        self.troubles: list[RecordingError] = []
        began_ms = now_ms()
        self.recorder = Recorder(
            folder,
            call_id=call_id,
            started_at="2026-01-01T00:00:00.000Z",
            now_ms=lambda: now_ms() - began_ms,
            heard_ms=lambda item_id: self.clock.played_ms(item_id, self.now()),
            executor=executor,
            on_trouble=self.troubles.append,
        )

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def hear(self, pcm: bytes, position: int | None = None, rate_hz: int = IN_HZ) -> None:
        self.recorder.hear(pcm, position, rate_hz)

    def say(self, item_id: str, pcm: bytes) -> None:
        self.clock.sent(item_id, len(pcm), self.now())
        self.recorder.say(item_id, pcm, OUT_HZ)

    def flush(self) -> None:
        self.clock.flush(self.now())
        self.recorder.flush()

    async def speak(self, pcm: bytes, *, chunk_ms: int = CHUNK_MS, position: int | None = None) -> None:
        """Audio of the client in real time."""
        size = chunk_ms * IN_HZ // 1000 * 2
        for start in range(0, len(pcm), size):
            await asyncio.sleep(chunk_ms / 1000)
            self.hear(pcm[start : start + size], None if position is None else position + start // 2)


# -- what the client sent ----------------------------------------------------------------------------------------------


@pytest.mark.virtual_time
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


@pytest.mark.virtual_time
async def test_a_hole_is_silence_and_what_comes_twice_is_kept_once(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(IN_HZ)
    call.hear(pcm[:8_000], 0)
    await until_ms(500)
    call.hear(pcm[:10_000], 0)  # sent again, with more
    await until_ms(700)
    call.hear(pcm[20_000:], 10_000)  # 5000 to 9999 are missing
    await call.recorder.close()

    heard, _ = read(tmp_path / "input.flac")
    assert heard == pcm[:10_000] + bytes(10_000) + pcm[20_000:]


@pytest.mark.virtual_time
async def test_a_count_from_the_future_does_not_fill_the_disk(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(1_600)
    call.hear(pcm, 0)
    await until_ms(2_000)
    call.hear(pcm, 2**60)
    recorded = await call.recorder.close()

    heard, _ = read(tmp_path / "input.flac")
    assert recorded.input_s == 2.1
    assert between(heard, 2_000, 2_100, IN_HZ) == pcm


@pytest.mark.virtual_time
@pytest.mark.parametrize("counts", [False, True])
async def test_a_client_that_sends_nothing_while_it_is_silent_goes_on_where_it_speaks_again(
    tmp_path: Path, counts: bool
) -> None:
    call = Call(tmp_path)
    first, second = noise(IN_HZ), noise(3 * IN_HZ, seed=1)
    await call.speak(first, position=0 if counts else None)
    await until_ms(9_000)
    await call.speak(second, position=IN_HZ if counts else None)
    await call.recorder.close()

    heard, _ = read(tmp_path / "input.flac")
    assert between(heard, 0, 1_000, IN_HZ) == first
    assert abs(place_ms(heard, second, IN_HZ) - 9_000) <= CHUNK_MS


@pytest.mark.virtual_time
@pytest.mark.parametrize("pause_ms", [40, 300, 950])
@pytest.mark.parametrize("counts", [False, True])
async def test_speech_after_a_short_pause_stands_where_it_was_said(tmp_path: Path, pause_ms: int, counts: bool) -> None:
    call = Call(tmp_path)
    first, second, third = (noise(IN_HZ // 2, seed=number) for number in range(3))
    await until_ms(730)
    await call.speak(first, position=0 if counts else None)
    await asyncio.sleep(pause_ms / 1000)
    await call.speak(second, position=IN_HZ // 2 if counts else None)
    await asyncio.sleep(pause_ms / 1000)
    await call.speak(third, position=IN_HZ if counts else None)
    await call.recorder.close()

    heard, _ = read(tmp_path / "input.flac")
    assert abs(place_ms(heard, first, IN_HZ) - 730) <= ALIGNED_MS
    assert abs(place_ms(heard, second, IN_HZ) - 1_230 - pause_ms) <= ALIGNED_MS
    assert abs(place_ms(heard, third, IN_HZ) - 1_730 - 2 * pause_ms) <= ALIGNED_MS


@pytest.mark.virtual_time
async def test_a_stall_that_the_client_catches_up_with_moves_nothing(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(8 * IN_HZ)
    await call.speak(pcm[: 2 * IN_HZ])  # the first second
    await until_ms(4_000)
    call.hear(pcm[2 * IN_HZ : 8 * IN_HZ])  # three seconds at once
    await call.speak(pcm[8 * IN_HZ :])
    await call.recorder.close()

    assert read(tmp_path / "input.flac")[0] == pcm


@pytest.mark.virtual_time
async def test_a_pause_that_is_not_decided_yet_is_decided_at_the_end(tmp_path: Path) -> None:
    call = Call(tmp_path)
    call.hear(noise(320))
    await until_ms(5_000)
    last = noise(320, seed=1)
    call.hear(last)
    await call.recorder.close()

    assert abs(place_ms(read(tmp_path / "input.flac")[0], last, IN_HZ) - 5_000) <= CHUNK_MS


@pytest.mark.virtual_time
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


# -- what the client heard ---------------------------------------------------------------------------------------------


@pytest.mark.virtual_time
async def test_an_item_stands_where_the_clock_says_that_it_was_heard(tmp_path: Path) -> None:
    call = Call(tmp_path, EstimatedPlayback(OUT_HZ, start_delay_ms=100))
    first, second = spoken(1_000), spoken(400, seed=1)
    await until_ms(2_000)
    call.say("a1", first)  # all at once, as a provider sends it
    await until_ms(5_000)
    call.say("a2", second)
    await until_ms(6_000)
    recorded = await call.recorder.close()

    output, rate_hz = read(tmp_path / "output.flac")
    assert rate_hz == OUT_HZ
    assert abs(place_ms(output, first, OUT_HZ) - 2_100) <= CHUNK_MS
    assert abs(place_ms(output, second, OUT_HZ) - 5_100) <= CHUNK_MS
    assert silent(between(output, 3_150, 5_050, OUT_HZ))
    assert recorded.output_s == pytest.approx(5.5, abs=0.02)
    starts = [(item["item_id"], item["heard_ms"]) for item in described(tmp_path)["items"]]
    assert starts == [("a1", 1_000), ("a2", 400)]
    for item, ms in zip(described(tmp_path)["items"], (2_100, 5_100), strict=True):
        assert abs(item["start_ms"] - ms) <= CHUNK_MS


@pytest.mark.virtual_time
async def test_items_follow_one_another_without_overlap(tmp_path: Path) -> None:
    call = Call(tmp_path)
    first, second = spoken(700), spoken(500, seed=1)
    call.say("a1", first)
    call.say("a2", second)
    await until_ms(3_000)
    await call.recorder.close()

    output, _ = read(tmp_path / "output.flac")
    assert place_ms(output, first, OUT_HZ) == 0
    assert place_ms(output, second, OUT_HZ) == pytest.approx(700, abs=1)


@pytest.mark.virtual_time
async def test_speech_in_time_has_no_seams(tmp_path: Path) -> None:
    call = Call(tmp_path, EstimatedPlayback(OUT_HZ))
    pcm = spoken(2_000)
    for start in range(0, len(pcm), 1_920):
        call.say("a1", pcm[start : start + 1_920])
        await asyncio.sleep(0.04)
    await until_ms(4_000)
    await call.recorder.close()

    assert abs(place_ms(read(tmp_path / "output.flac")[0], pcm, OUT_HZ) - 100) <= CHUNK_MS


@pytest.mark.virtual_time
async def test_where_the_speech_ran_dry_there_is_silence(tmp_path: Path) -> None:
    call = Call(tmp_path)
    first, second = spoken(500), spoken(500, seed=1)
    call.say("a1", first)
    await until_ms(1_500)
    call.say("a1", second)
    await until_ms(3_000)
    await call.recorder.close()

    output, _ = read(tmp_path / "output.flac")
    assert output == first + bytes(1_000 * OUT_HZ // 1000 * 2) + second


@pytest.mark.virtual_time
async def test_a_flush_cuts_the_item_where_it_was_heard(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = spoken(5_000)
    await until_ms(1_000)
    call.say("a1", pcm)
    await until_ms(2_234)
    call.flush()
    call.say("a1", spoken(300, seed=7))  # too late: nobody hears it
    await until_ms(4_000)
    answer = spoken(200, seed=2)
    call.say("a2", answer)
    await until_ms(6_000)
    await call.recorder.close()

    output, _ = read(tmp_path / "output.flac")
    assert between(output, 1_000, 2_234, OUT_HZ) == between(pcm, 0, 1_234, OUT_HZ)
    assert silent(between(output, 2_234, 4_000, OUT_HZ))
    assert output == output[: 4_000 * OUT_HZ // 1000 * 2] + answer
    assert described(tmp_path)["items"][0] == {"item_id": "a1", "start_ms": 1_000, "heard_ms": 1_234}


@pytest.mark.virtual_time
async def test_acknowledgements_place_the_speech_and_end_it(tmp_path: Path) -> None:
    call = Call(tmp_path, AcknowledgedPlayback(OUT_HZ))
    pcm = spoken(3_000)
    call.say("a1", pcm)
    # The client begins to play at 300 ms and reports in its speech, every 100 ms.
    for played_ms in range(100, 1_001, 100):
        await until_ms(300 + played_ms)
        call.clock.ack("a1", played_ms, call.now())
        call.hear(noise(1_600))
    await until_ms(1_350)
    call.flush()
    await until_ms(4_000)
    await call.recorder.close()

    output, _ = read(tmp_path / "output.flac")
    assert output == bytes(300 * OUT_HZ // 1000 * 2) + between(pcm, 0, 1_000, OUT_HZ)


@pytest.mark.virtual_time
async def test_a_client_that_stops_playing_for_a_while_is_followed(tmp_path: Path) -> None:
    call = Call(tmp_path, AcknowledgedPlayback(OUT_HZ))
    pcm = spoken(600)
    call.say("a1", pcm)
    for at_ms, played_ms in ((300, 300), (4_000, 400), (4_200, 600)):
        await until_ms(at_ms)
        call.clock.ack("a1", played_ms, call.now())
        call.hear(b"")
    await call.recorder.close()

    output, _ = read(tmp_path / "output.flac")
    assert between(output, 0, 300, OUT_HZ) == between(pcm, 0, 300, OUT_HZ)
    assert silent(between(output, 300, 3_900, OUT_HZ))
    assert between(output, 3_900, 4_200, OUT_HZ) == between(pcm, 300, 600, OUT_HZ)


@pytest.mark.virtual_time
async def test_truncating_an_older_item_leaves_a_newer_one_whole_that_has_run_dry(tmp_path: Path) -> None:
    call = Call(tmp_path)
    old, new = spoken(500), spoken(1_000)
    call.say("a1", old)
    await until_ms(500)
    call.say("a2", new[: len(new) // 2])
    await until_ms(1_500)
    call.clock.truncate("a1", 400, call.now())
    call.recorder.truncated("a1", 400)
    call.say("a2", new[len(new) // 2 :])
    await until_ms(3_000)
    await call.recorder.close()

    assert [(item["item_id"], item["heard_ms"]) for item in described(tmp_path)["items"]] == [
        ("a1", 400),
        ("a2", 1_000),
    ]


@pytest.mark.virtual_time
async def test_the_word_of_a_client_that_was_estimated_counts(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = spoken(4_000)
    call.say("a1", pcm)
    await until_ms(1_500)
    call.flush()
    await until_ms(1_650)
    call.clock.truncate("a1", 1_300, call.now())
    call.recorder.truncated("a1", 1_300)
    await until_ms(3_000)
    await call.recorder.close()

    output, _ = read(tmp_path / "output.flac")
    assert between(output, 0, 1_300, OUT_HZ) == between(pcm, 0, 1_300, OUT_HZ)
    assert silent(output[1_300 * OUT_HZ // 1000 * 2 :])
    assert described(tmp_path)["items"] == [{"item_id": "a1", "start_ms": 0, "heard_ms": 1_300}]


@pytest.mark.virtual_time
async def test_what_nobody_hears_is_not_in_the_recording(tmp_path: Path) -> None:
    call = Call(tmp_path, AcknowledgedPlayback(OUT_HZ))
    call.say("a1", spoken(2_000))
    await until_ms(5_000)
    recorded = await call.recorder.close()

    assert recorded.output_s < 0.001
    assert described(tmp_path)["items"] == []


@pytest.mark.virtual_time
async def test_a_paced_client_of_a_log_is_recorded_as_it_heard(tmp_path: Path) -> None:
    """Through the call's log and a real listener: the flush of a barge-in cuts the file where the client was."""
    runtime = Runtime.deterministic(asyncio.get_running_loop().time)
    log = Log(runtime.now)
    frames: list[Any] = []
    listener = queue_listener(frames.append, runtime)
    log.subscribe(listener.deliver)
    recorder = Recorder(
        tmp_path,
        call_id="call_1",
        started_at="2026-01-01T00:00:00.000Z",
        now_ms=log.now_ms,
        heard_ms=lambda item_id: listener.clock.played_ms(item_id, runtime.now()),
    )
    log.subscribe(recorder.follow)
    pcm = spoken(4_000)
    await until_ms(500)
    for start in range(0, len(pcm), 9_600):
        log.append(
            s.AgentResponseAudioDeltaEvent(
                response_id="r1", item_id="a1", delta=pcm[start : start + 9_600], format=AudioFormat.pcm16(OUT_HZ)
            )
        )
    await until_ms(2_000)
    log.append(s.ServerAudioFlushEvent())
    heard_ms = listener.clock.played_ms("a1", runtime.now())
    await until_ms(4_000)
    await recorder.close()
    listener.release()

    output, _ = read(tmp_path / "output.flac")
    heard = between(pcm, 0, heard_ms, OUT_HZ)
    assert 1_300 <= heard_ms <= 1_500
    assert abs(place_ms(output, heard, OUT_HZ) - 600) <= CHUNK_MS
    assert len(output) - 600 * OUT_HZ // 1000 * 2 - len(heard) <= CHUNK_MS * OUT_HZ // 1000 * 2


Step = tuple[str, int]


@settings(max_examples=volume(15, 150))
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["a1", "a2", "a3", "wait", "flush", "truncate", "write"]), st.integers(0, 900)),
        max_size=40,
    ),
    clock_type=st.sampled_from([EstimatedPlayback, WallClockPlayback]),
)
def test_no_part_stands_twice_or_over_another_whatever_happens(
    steps: list[Step], clock_type: type[EstimatedPlayback]
) -> None:
    ms = 0
    clock = clock_type(OUT_HZ)
    track = OutputTrack("output", OUT_HZ, lambda item_id: clock.played_ms(item_id, ms / 1000))
    written: list[tuple[int, bytes]] = []
    said: dict[str, bytes] = {}
    for what, number in steps:
        if what == "wait":
            ms += number
            track.follow(ms)
        elif what == "flush":
            clock.flush(ms / 1000)
            track.flush(ms)
        elif what == "truncate":
            clock.truncate("a1", number, ms / 1000)
            track.truncate("a1", number, ms)
        elif what == "write":
            written += track.take_settled(ms).pieces
        else:
            pcm = spoken(number, seed=len(said))
            said[what] = said.get(what, b"") + pcm
            clock.sent(what, len(pcm), ms / 1000)
            track.say(what, pcm, OUT_HZ, ms)
    last = track.take()
    written += last.pieces
    end = 0
    for start, pcm in written:
        assert start >= end
        assert any(pcm in whole for whole in said.values())
        end = start + len(pcm) // 2
    assert end <= last.end
    # Only a client's own word can be ahead of the clock.
    assert last.end <= (ms + 1) * OUT_HZ // 1000 or "truncate" in dict(steps)
    for item in track.items():
        assert item["heard_ms"] * OUT_HZ // 1000 * 2 <= len(said[item["item_id"]])


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_what_waits_to_be_heard_is_bounded_and_counted() -> None:
    track = OutputTrack("output", OUT_HZ, lambda _: 0)
    second = spoken(1_000)
    n_seconds = 2 * MAX_OUTPUT_BYTES // len(second)
    for _ in range(n_seconds):
        track.say("a1", second, OUT_HZ, 0)

    assert track.lost_samples == (n_seconds - MAX_OUTPUT_BYTES // len(second)) * OUT_HZ


def test_of_very_many_items_the_last_are_listed() -> None:
    track = OutputTrack("output", OUT_HZ, lambda _: 1)
    for number in range(MAX_ITEMS + 50):
        track.say(f"a{number}", spoken(1), OUT_HZ, number)
    track.follow(MAX_ITEMS + 50)

    listed = track.items()
    assert len(listed) == MAX_ITEMS
    assert (listed[0]["item_id"], listed[-1]["item_id"]) == ("a50", f"a{MAX_ITEMS + 49}")


def test_speech_of_two_items_in_turn_is_kept_in_the_order_of_playing() -> None:
    heard = {"a1": 0, "a2": 0}
    track = OutputTrack("output", OUT_HZ, heard.__getitem__)
    first, second, third = spoken(100), spoken(100, 1), spoken(100, 2)
    track.say("a1", first, OUT_HZ, 0)
    track.say("a2", second, OUT_HZ, 0)
    heard["a1"] = 100
    track.follow(100)
    track.say("a1", third, OUT_HZ, 100)
    heard["a2"] = 100
    track.follow(200)
    heard["a1"] = 200
    track.follow(300)

    assert b"".join(pcm for _, pcm in track.take().pieces) == first + second + third
    assert track.end == 300 * OUT_HZ // 1000


@pytest.mark.virtual_time(costs={Disk.write: 60.0})
async def test_a_slow_disk_costs_silence_and_is_counted(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(40 * IN_HZ)
    await call.speak(pcm, chunk_ms=100)
    await call.recorder.close()

    heard, _ = read(tmp_path / "input.flac")
    lost_samples = described(tmp_path)["input_lost_samples"]
    assert len(heard) == len(pcm)
    assert lost_samples > 25 * IN_HZ
    kept = len(pcm) // 2 - lost_samples
    assert heard[: kept * 2] == pcm[: kept * 2]
    assert silent(heard[kept * 2 :])


# -- the folder --------------------------------------------------------------------------------------------------------


@pytest.mark.virtual_time
async def test_the_folder_says_whose_recording_it_is_and_is_for_the_server_alone(tmp_path: Path) -> None:
    folder = tmp_path / "recordings" / "call_1"
    call = Call(folder)
    assert described(folder) == {
        "version": 1,
        "call_id": "call_1",
        "started_at": "2026-01-01T00:00:00.000Z",
        "input_samples": None,
        "output_samples": None,
        "items": [],
    }
    call.say("a1", spoken(50))
    for ms in (0, 50):
        await until_ms(ms)
        call.hear(noise(400), None, 8_000)
    await call.recorder.close()

    assert described(folder) == {
        "version": 1,
        "call_id": "call_1",
        "started_at": "2026-01-01T00:00:00.000Z",
        "input_hz": 8_000,
        "output_hz": OUT_HZ,
        "input_samples": 800,
        "output_samples": 1_200,
        "input_lost_samples": 0,
        "output_lost_samples": 0,
        "input_from_ms": 0,
        "items": [{"item_id": "a1", "start_ms": 0, "heard_ms": 50}],
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {"input.flac", "output.flac", "recording.json"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.virtual_time
async def test_a_call_without_a_sound_leaves_two_files_that_open(tmp_path: Path) -> None:
    call = Call(tmp_path)
    await call.recorder.close()
    # Of one sample, since libsndfile opens no FLAC file without any.
    assert read(tmp_path / "input.flac") == (b"\0\0", IN_HZ)
    assert read(tmp_path / "output.flac") == (b"\0\0", OUT_HZ)


@pytest.mark.virtual_time
async def test_a_call_that_was_rebuilt_writes_over_nothing(tmp_path: Path) -> None:
    first = Call(tmp_path)
    first.hear(noise(160))
    await first.recorder.close()
    before = read(tmp_path / "input.flac")
    folders = []
    for _ in range(2):
        again = Call(tmp_path)
        again.hear(noise(320, 1))
        folders.append((await again.recorder.close()).folder)

    assert folders == [tmp_path / "2", tmp_path / "3"]
    assert read(tmp_path / "input.flac") == before


@pytest.mark.virtual_time
async def test_closing_twice_and_hearing_afterwards_change_nothing(tmp_path: Path) -> None:
    call = Call(tmp_path)
    call.hear(noise(160))
    first, second = await asyncio.gather(call.recorder.close(), call.recorder.close())
    call.hear(noise(160))
    call.say("a1", spoken(20))
    call.recorder.truncated("a1", 0)
    call.flush()

    assert first == second == await call.recorder.close()
    assert first.input_s == 0.01
    assert call.troubles == []


@pytest.mark.virtual_time(costs={Disk.end: 5.0})
async def test_a_cancelled_close_ends_the_files_all_the_same(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = noise(1_600)
    call.hear(pcm)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call.recorder.close(), 1.0)
    await until_ms(10_000)

    assert read(tmp_path / "input.flac")[0] == pcm
    assert described(tmp_path)["input_samples"] == 1_600


async def test_a_real_executor_writes_beside_the_loop(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        call = Call(tmp_path, executor=executor)
        pcm = noise(20 * IN_HZ)
        for start in range(0, len(pcm), IN_HZ * 2):
            call.hear(pcm[start : start + IN_HZ * 2])
            await asyncio.get_running_loop().run_in_executor(executor, int)  # its earlier jobs are done
        recorded = await call.recorder.close()

    heard, _ = read(tmp_path / "input.flac")
    assert heard.endswith(pcm)
    assert recorded.input_s == len(heard) / 2 / IN_HZ


# -- trouble -----------------------------------------------------------------------------------------------------------

KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from realtime.testing.clock import run
from tests.call.test_recording import Call, noise, now_ms, spoken

async def main():
    call = Call(Path(sys.argv[1]))
    call.say("a1", spoken(60_000))
    pcm = noise(60 * 16_000)
    for start in range(0, len(pcm), 640):
        call.hear(pcm[start : start + 640])
        await asyncio.sleep(0.02)
        if now_ms() % 100 == 0:
            print(now_ms(), flush=True)

run(main())
"""


@pytest.mark.parametrize("kill_at_ms", [900, 3_100, 7_700, 20_000])
def test_the_files_of_a_killed_server_can_be_read(tmp_path: Path, kill_at_ms: int) -> None:
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if int(line) >= kill_at_ms:
                break
        server.send_signal(signal.SIGKILL)
    assert server.returncode == -signal.SIGKILL

    left_ms = kill_at_ms - 800
    heard, _ = read(tmp_path / "input.flac")
    assert len(heard) >= left_ms * IN_HZ // 1000 * 2
    assert heard == noise(60 * IN_HZ)[: len(heard)]
    if (tmp_path / "output.flac").exists():
        output, _ = read(tmp_path / "output.flac")
        assert output == spoken(60_000)[: len(output)]
        assert len(output) >= (kill_at_ms - 1_300) * OUT_HZ // 1000 * 2
    else:
        assert kill_at_ms < 1_300
    assert described(tmp_path)["input_samples"] is None


class Full:
    """Stands for a file on a disk with room for so many bytes more."""

    def __init__(self, file: Any, room_bytes: int) -> None:
        self._file = file
        self._room_bytes = room_bytes

    def write(self, data: bytes) -> int:
        taken = min(len(data), self._room_bytes)
        if not taken:
            raise OSError(28, "No space left on device")
        self._room_bytes -= taken
        return int(self._file.write(data[:taken]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def fill_up(monkeypatch: pytest.MonkeyPatch, room_bytes: int) -> None:
    """Files opened by the recording from now on take so many bytes each."""

    def opened(*arguments: Any, **options: Any) -> Any:
        file = open(*arguments, **options)  # noqa: SIM115 (closed by the code under test)
        return Full(file, room_bytes) if "b" in arguments[1] else file

    monkeypatch.setattr("realtime.call.recording.disk.open", opened, raising=False)


@pytest.mark.virtual_time
@pytest.mark.parametrize("room_bytes", [0, 100, 30_000])
async def test_a_full_disk_is_told_once_and_the_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], room_bytes: int
) -> None:
    fill_up(monkeypatch, room_bytes)
    call = Call(tmp_path)
    call.say("a1", spoken(8_000))
    pcm = noise(10 * IN_HZ)
    await call.speak(pcm)
    recorded = await call.recorder.close()

    assert [error.code for error in call.troubles] == ["recording_failed"]
    assert recorded.input_s < 10
    assert capfd.readouterr().err == ""
    if room_bytes > 100:
        heard, _ = read(tmp_path / "input.flac")
        assert heard
        assert heard == pcm[: len(heard)]


@pytest.mark.virtual_time
async def test_a_disk_that_is_full_at_the_very_end_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_up(monkeypatch, 1_000)
    call = Call(tmp_path)
    call.hear(noise(3_200))
    await call.recorder.close()

    assert [error.code for error in call.troubles] == ["recording_failed"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("obstacle", ["file", "proc"])
async def test_a_folder_that_cannot_be_written_is_told_once_and_the_call_goes_on(tmp_path: Path, obstacle: str) -> None:
    (tmp_path / "taken").write_text("")
    folder = tmp_path / "taken" / "call_1" if obstacle == "file" else Path("/proc/call_1")
    call = Call(folder)
    await call.speak(noise(2 * IN_HZ))
    call.say("a1", spoken(200))
    recorded = await call.recorder.close()

    assert [error.code for error in call.troubles] == ["recording_failed"]
    assert recorded == Recorded(None, 0.0, 0.0)


async def test_an_executor_that_was_shut_down_is_told_once(tmp_path: Path) -> None:
    executor = ThreadPoolExecutor(1)
    call = Call(tmp_path, executor=executor)
    executor.shutdown()
    call.hear(noise(IN_HZ))
    await call.recorder.close()

    assert [error.code for error in call.troubles] == ["recording_failed"]


@pytest.mark.virtual_time
async def test_the_server_log_tells_of_no_speech(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fill_up(monkeypatch, 30_000)
    call = Call(tmp_path, call_id="call_77")
    await call.speak(noise(10 * IN_HZ))
    await call.recorder.close()

    assert [record.getMessage() for record in caplog.records if record.name.startswith("realtime.call.recording")] == [
        "the recording of call call_77 stopped: [Errno 28] No space left on device"
    ]
