"""A recording's agent track: each part where its listener heard it, once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.audio.playback import AcknowledgedPlayback, EstimatedPlayback, WallClockPlayback
from realtime.call.listener import queue_listener
from realtime.call.recording import Recorder
from realtime.call.recording.disk import Disk
from realtime.call.recording.tracks import MAX_ITEMS, MAX_OUTPUT_BYTES, OutputTrack
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.runtime import Runtime
from realtime.state.log import Log
from tests.call.recorded import (
    CHUNK_MS,
    IN_HZ,
    OUT_HZ,
    Call,
    between,
    described,
    noise,
    place_ms,
    read,
    silent,
    spoken,
    until_ms,
)
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time


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


async def test_items_follow_one_another_without_overlap_and_where_speech_ran_dry_there_is_silence(
    tmp_path: Path,
) -> None:
    call = Call(tmp_path)
    first, second, third = (spoken(ms, seed=ms) for ms in (700, 500, 400))
    call.say("a1", first)
    call.say("a2", second)
    await until_ms(2_200)
    call.say("a2", third)
    output = await call.ended("output", 3_000)
    assert output == first + second + bytes(1_000 * OUT_HZ // 1000 * 2) + third


async def test_speech_in_time_has_no_seams(tmp_path: Path) -> None:
    call = Call(tmp_path, EstimatedPlayback(OUT_HZ))
    pcm = spoken(2_000)
    for start in range(0, len(pcm), 1_920):
        call.say("a1", pcm[start : start + 1_920])
        await asyncio.sleep(0.04)
    assert abs(place_ms(await call.ended("output", 4_000), pcm, OUT_HZ) - 100) <= CHUNK_MS


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
    output = await call.ended("output", 6_000)
    assert between(output, 1_000, 2_234, OUT_HZ) == between(pcm, 0, 1_234, OUT_HZ)
    assert silent(between(output, 2_234, 4_000, OUT_HZ))
    assert output == output[: 4_000 * OUT_HZ // 1000 * 2] + answer
    assert described(tmp_path)["items"][0] == {"item_id": "a1", "start_ms": 1_000, "heard_ms": 1_234}


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
    output = await call.ended("output", 4_000)
    assert output == bytes(300 * OUT_HZ // 1000 * 2) + between(pcm, 0, 1_000, OUT_HZ)


async def test_a_client_that_stops_playing_for_a_while_is_followed(tmp_path: Path) -> None:
    call = Call(tmp_path, AcknowledgedPlayback(OUT_HZ))
    pcm = spoken(600)
    call.say("a1", pcm)
    for at_ms, played_ms in ((300, 300), (4_000, 400), (4_200, 600)):
        await until_ms(at_ms)
        call.clock.ack("a1", played_ms, call.now())
        call.hear(b"")
    output = await call.ended("output")
    assert between(output, 0, 300, OUT_HZ) == between(pcm, 0, 300, OUT_HZ)
    assert silent(between(output, 300, 3_900, OUT_HZ))
    assert between(output, 3_900, 4_200, OUT_HZ) == between(pcm, 300, 600, OUT_HZ)


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
    await call.ended("output", 3_000)
    items = described(tmp_path)["items"]
    assert [(item["item_id"], item["heard_ms"]) for item in items] == [("a1", 400), ("a2", 1_000)]


async def test_the_word_of_a_client_that_was_estimated_counts(tmp_path: Path) -> None:
    call = Call(tmp_path)
    pcm = spoken(4_000)
    call.say("a1", pcm)
    await until_ms(1_500)
    call.flush()
    await until_ms(1_650)
    call.clock.truncate("a1", 1_300, call.now())
    call.recorder.truncated("a1", 1_300)
    output = await call.ended("output", 3_000)
    assert between(output, 0, 1_300, OUT_HZ) == between(pcm, 0, 1_300, OUT_HZ)
    assert silent(output[1_300 * OUT_HZ // 1000 * 2 :])
    assert described(tmp_path)["items"] == [{"item_id": "a1", "start_ms": 0, "heard_ms": 1_300}]


async def test_what_nobody_hears_is_not_in_the_recording(tmp_path: Path) -> None:
    call = Call(tmp_path, AcknowledgedPlayback(OUT_HZ))
    call.say("a1", spoken(2_000))
    await until_ms(5_000)
    assert (await call.recorder.close()).output_s < 0.001
    assert described(tmp_path)["items"] == []


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


def test_what_waits_to_be_heard_is_bounded_and_counted_and_of_very_many_items_the_last_are_listed() -> None:
    track = OutputTrack("output", OUT_HZ, lambda _: 0)
    second = spoken(1_000)
    n_seconds = 2 * MAX_OUTPUT_BYTES // len(second)
    for _ in range(n_seconds):
        track.say("a1", second, OUT_HZ, 0)
    assert track.lost_samples == (n_seconds - MAX_OUTPUT_BYTES // len(second)) * OUT_HZ
    track = OutputTrack("output", OUT_HZ, lambda _: 1)
    for number in range(MAX_ITEMS + 50):
        track.say(f"a{number}", spoken(1), OUT_HZ, number)
    track.follow(MAX_ITEMS + 50)
    assert [item["item_id"] for item in track.items()] == [f"a{number}" for number in range(50, MAX_ITEMS + 50)]


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
    heard = await call.ended("input")
    lost_samples = described(tmp_path)["input_lost_samples"]
    assert len(heard) == len(pcm)
    assert lost_samples > 25 * IN_HZ
    kept = len(pcm) // 2 - lost_samples
    assert heard[: kept * 2] == pcm[: kept * 2]
    assert silent(heard[kept * 2 :])
