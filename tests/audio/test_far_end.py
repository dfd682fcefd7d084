"""The played audio of one listener."""

import numpy as np

from realtime.audio.far_end import KEPT_MS, LEAD_MS, FarEnd
from realtime.audio.playback import AcknowledgedPlayback, WallClockPlayback

RATE_HZ = 1_000


def ramp(start: int, length: int) -> bytes:
    return np.arange(start, start + length).astype("<i2").tobytes()


def values(pcm: bytes) -> list[int]:
    return np.frombuffer(pcm, "<i2").tolist()


class Played:
    """A far end with its clock; time moves by hand."""

    def __init__(self, *, acknowledges: bool = False) -> None:
        self.now = 0.0
        self.clock = AcknowledgedPlayback(RATE_HZ) if acknowledges else WallClockPlayback(RATE_HZ)
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
    played.now = 5.0
    assert values(played.far.newest(100)) == list(range(230, 330))
    played.send("item_2", 200)
    played.now = 5.1
    assert values(played.far.newest(200)) == [*range(230, 330), *range(1_000, 1_200)]


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
    played = Played()
    for second in range(60):
        played.now = float(second)
        played.send(f"item_{second}", 1_000)
    assert len(played.far.newest(60_000)) // 2 <= KEPT_MS + LEAD_MS + 1_000
