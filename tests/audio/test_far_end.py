"""The played audio of one listener."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.echo_watch import PATH_MS
from realtime.agent.overlap import ECHO_MS
from realtime.audio.far_end import KEPT_MS, LEAD_MS, FarEnd
from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.playback import AcknowledgedPlayback, EstimatedPlayback, PlaybackClock, WallClockPlayback

RATE_HZ = 1_000


def ramp(start: int, length: int) -> bytes:
    return np.arange(start, start + length).astype("<i2").tobytes()


def values(pcm: bytes | bytearray) -> list[int]:
    return np.frombuffer(pcm, "<i2").tolist()


class Played:
    """A far end with its clock; time moves by hand."""

    def __init__(self, *, acknowledges: bool = False, clock: PlaybackClock | None = None) -> None:
        self.now = 0.0
        self.clock = clock or (AcknowledgedPlayback(RATE_HZ) if acknowledges else WallClockPlayback(RATE_HZ))
        self.far = FarEnd(self.clock, lambda: self.now, RATE_HZ)
        self.size = 0

    def send(self, item_id: str, length: int, *, chunk: int = 100) -> None:
        for _ in range(0, length, chunk):
            pcm = ramp(self.size, chunk)
            self.size += chunk
            start = self.clock.sent(item_id, len(pcm), self.now)
            assert start is not None
            self.far.sent(item_id, start, pcm)


def test_it_gives_the_newest_played_audio_and_a_little_of_what_comes() -> None:
    played = Played()
    played.send("item_1", 1_000)
    played.now = 0.5
    assert values(played.far.newest(200)) == list(range(300, 500 + LEAD_MS))


def test_silence_precedes_the_first_item() -> None:
    played = Played()
    played.send("item_1", 1_000)
    played.now = 0.05
    assert values(played.far.newest(200)) == [0] * 150 + list(range(50 + LEAD_MS))


def test_items_are_played_one_after_the_other() -> None:
    played = Played(acknowledges=True)
    played.send("item_1", 300)
    played.send("item_2", 300)
    played.clock.ack("item_1", 120, 0.0)
    assert played.far.played_samples() == 120
    played.clock.ack("item_2", 50, 0.0)
    assert played.far.played_samples() == 350
    assert values(played.far.newest(100)) == list(range(250, 350 + LEAD_MS))


def test_what_a_flush_drops_was_not_played() -> None:
    played = Played()
    played.send("item_1", 1_000)
    played.now = 0.33
    played.far.flush()
    played.clock.flush(played.now)
    assert values(played.far.newest(100)) == [*range(230, 330), *[0] * LEAD_MS]
    played.now = 0.43
    played.send("item_2", 200)
    played.now = 0.53
    heard = values(played.far.newest(300))
    assert heard == [*range(230, 330), *[0] * 100, *range(1_000, 1_200), *[0] * (LEAD_MS - 100)]


@pytest.mark.parametrize("acknowledges", [False, True])
@given(pauses_ms=st.lists(st.integers(0, 4_000), min_size=1, max_size=4), ms=st.integers(1, KEPT_MS))
def test_the_pauses_between_items_are_silence(acknowledges: bool, pauses_ms: list[int], ms: int) -> None:
    played, truth = Played(acknowledges=acknowledges), bytearray()
    for number, pause_ms in enumerate(pauses_ms):
        played.send(f"item_{number}", 500)
        truth += ramp(number * 500, 500)
        for at in range(100, 501, 100):
            played.now += 0.1
            played.clock.ack(f"item_{number}", at, played.now)
            comes = truth[len(truth) - 1_000 + 2 * at :][: 2 * LEAD_MS]
            assert values(played.far.newest(0)) == values(comes.ljust(2 * LEAD_MS, b"\0"))
        played.now += pause_ms / 1000
        truth += bytes(2 * pause_ms)
        assert values(played.far.newest(ms)) == values(bytes(2 * ms) + truth + bytes(2 * LEAD_MS))[-ms - LEAD_MS :]


def test_the_position_moves_while_a_client_starts_to_play() -> None:
    played = Played(clock=EstimatedPlayback(RATE_HZ, start_delay_ms=100))
    played.send("item_1", 300)
    played.now = 0.6
    played.send("item_2", 300)
    for now, silence_ms in ((0.6, 200), (0.65, 250), (0.69, 290)):
        played.now = now
        assert values(played.far.newest(silence_ms + 10))[: silence_ms + 10] == [*range(290, 300), *[0] * silence_ms]
    played.now = 0.8
    assert values(played.far.newest(410))[:410] == [*range(290, 300), *[0] * 300, *range(300, 400)]


def test_an_item_that_the_client_cut_is_not_played_further() -> None:
    played = Played(acknowledges=True)
    played.send("item_1", 300)
    played.clock.ack("item_1", 100, 0.0)
    assert played.far.played_samples() == 100
    played.clock.truncate("item_1", 100, 0.0)
    played.send("item_2", 300)
    played.clock.ack("item_2", 60, 0.0)
    assert played.far.played_samples() == 360


def test_it_keeps_only_what_a_comparison_needs() -> None:
    assert ECHO_MS + PATH_MS <= KEPT_MS
    played = Played()
    for number in range(500):
        played.now = number * 0.04
        played.send("item", 40, chunk=40)
        assert played.far.size_bytes <= (KEPT_MS + 9 * 40) * SAMPLE_BYTES
        assert values(played.far.newest(KEPT_MS))[:KEPT_MS] == [*[0] * KEPT_MS, *range(number * 40)][-KEPT_MS:]


def test_a_rest_takes_no_memory() -> None:
    played = Played()
    played.send("item_1", 100)
    played.now = 2.0
    played.send("item_2", 100)
    assert played.far.size_bytes == 200 * SAMPLE_BYTES


def test_it_keeps_the_bytes_that_were_sent_and_no_copy() -> None:
    played, pcm = Played(), ramp(0, 40)
    n_holders = sys.getrefcount(pcm)
    assert played.clock.sent("item", len(pcm), 0.0) == 0
    played.far.sent("item", 0, pcm)
    assert sys.getrefcount(pcm) == n_holders + 1


def test_it_knows_how_long_nothing_has_been_played() -> None:
    played = Played()
    assert played.far.idle_ms() is None
    played.send("item_1", 1_000)
    played.now = 0.9
    assert played.far.idle_ms() is None
    played.now = 1.25
    assert played.far.idle_ms() == 250
    played.send("item_2", 100)
    assert played.far.idle_ms() is None


def test_a_flush_begins_the_silence() -> None:
    played = Played()
    played.send("item_1", 1_000)
    played.now = 0.4
    played.far.flush()
    played.clock.flush(played.now)
    played.now = 0.5
    assert played.far.idle_ms() == 100
