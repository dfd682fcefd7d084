"""What was heard: bounded by what was sent, never taken back, and over at a flush."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from realtime.audio.pcm import bytes_of
from realtime.audio.playback import (
    KEPT_ITEMS,
    AcknowledgedPlayback,
    EstimatedPlayback,
    PlaybackClock,
    PlayoutBuffer,
    WallClockPlayback,
)
from tests.volumes import volume

RATE_HZ = 24_000
LIMIT_BYTES = 4_000_000

MODES: list[Callable[[int], PlaybackClock]] = [AcknowledgedPlayback, EstimatedPlayback, WallClockPlayback]


def audio(ms: float) -> int:
    return bytes_of(ms, RATE_HZ)


# --- acknowledged ---


def test_acknowledged_heard_is_the_last_acknowledgement() -> None:
    clock = AcknowledgedPlayback(RATE_HZ)
    clock.sent("a", audio(1000), 0.0)
    assert clock.played_ms("a", 0.9) == 0
    clock.ack("a", 400, 0.9)
    assert clock.played_ms("a", 5.0) == 400
    assert clock.unplayed_ms(5.0) == 600


def test_acknowledging_an_item_means_the_items_before_were_heard() -> None:
    clock = AcknowledgedPlayback(RATE_HZ)
    clock.sent("a", audio(1000), 0.0)
    clock.sent("b", audio(1000), 0.0)
    clock.ack("b", 100, 1.0)
    assert (clock.played_ms("a", 1.0), clock.played_ms("b", 1.0)) == (1000, 100)


def test_acknowledgement_of_more_than_sent_of_unknown_and_of_less_changes_nothing_false() -> None:
    clock = AcknowledgedPlayback(RATE_HZ)
    clock.sent("a", audio(500), 0.0)
    clock.ack("a", 99_999, 0.1)
    clock.ack("a", 10, 0.2)
    clock.ack("a", -5, 0.2)
    clock.ack("never", 10, 0.2)
    assert clock.played_ms("a", 0.2) == 500
    assert clock.played_ms("never", 0.2) == 0


def test_whole_ms_acknowledge_a_length_that_is_none() -> None:
    clock = AcknowledgedPlayback(RATE_HZ)
    clock.sent("a", 1024 * 2, 0.0)
    clock.ack("a", 42, 0.1)
    assert clock.unplayed_ms(0.1) == 0


def test_acknowledged_end_is_reckoned_from_the_last_word_of_the_client() -> None:
    clock = AcknowledgedPlayback(RATE_HZ)
    assert clock.finished_at(0.0) is None
    clock.sent("a", audio(1000), 2.0)
    assert clock.finished_at(2.5) == pytest.approx(3.0)
    clock.ack("a", 400, 2.6)
    assert clock.finished_at(2.7) == pytest.approx(3.2)
    assert clock.finished_at(9.0) == pytest.approx(9.0)


# --- estimated and wall clock ---


def test_wall_clock_heard_is_time_since_the_first_byte_never_more_than_sent() -> None:
    clock = WallClockPlayback(RATE_HZ)
    clock.sent("a", audio(300), 10.0)
    assert clock.played_ms("a", 10.25) == 250
    clock.sent("a", audio(12_000), 10.25)
    assert clock.played_ms("a", 11.0) == 1000
    assert clock.played_ms("a", 60.0) == 12_300


def test_estimated_playing_begins_after_the_delay_and_runs_in_real_time() -> None:
    clock = EstimatedPlayback(RATE_HZ, start_delay_ms=100)
    clock.sent("a", audio(350), 0.0)
    assert clock.played_ms("a", 0.1) == 0
    assert clock.played_ms("a", 0.3) == 200
    assert clock.finished_at(0.3) == pytest.approx(0.45)


def test_a_client_that_ran_dry_begins_anew() -> None:
    clock = EstimatedPlayback(RATE_HZ, start_delay_ms=100)
    clock.sent("a", audio(200), 0.0)
    clock.sent("a", audio(200), 5.0)
    assert clock.played_ms("a", 5.1) == 200
    assert clock.played_ms("a", 5.2) == 300


def test_items_are_heard_one_after_the_other() -> None:
    clock = WallClockPlayback(RATE_HZ)
    clock.sent("a", audio(500), 0.0)
    clock.sent("b", audio(500), 0.0)
    assert (clock.played_ms("a", 0.7), clock.played_ms("b", 0.7)) == (500, 200)


def test_chunks_of_broken_ms_do_not_drift() -> None:
    clock = WallClockPlayback(RATE_HZ)
    for _ in range(1000):
        clock.sent("a", 1024 * 2, 0.0)
    assert clock.played_ms("a", 100.0) == 1024 * 1000 * 1000 // RATE_HZ
    assert clock.sent_ms("a") == 1024 * 1000 * 1000 // RATE_HZ


# --- interruption ---


@pytest.mark.parametrize("make", MODES)
def test_nothing_is_heard_after_a_flush(make: Callable[[int], PlaybackClock]) -> None:
    clock = make(RATE_HZ)
    clock.sent("a", audio(12_000), 0.0)
    clock.ack("a", 700, 1.0)
    clock.flush(1.0)
    played_ms = clock.played_ms("a", 1.0)
    assert 0 < played_ms <= 1000
    clock.sent("a", audio(500), 1.0)
    clock.ack("a", played_ms, 1.9, flushed=True)
    clock.ack("a", 9000, 2.0)
    assert clock.played_ms("a", 60.0) == played_ms
    assert clock.unplayed_ms(1.0) == 0
    assert clock.finished_at(1.0) is None


def test_audio_after_a_flush_is_heard_from_its_own_beginning() -> None:
    clock = WallClockPlayback(RATE_HZ)
    clock.sent("a", audio(12_000), 0.0)
    clock.flush(1.0)
    clock.sent("b", audio(500), 3.0)
    assert clock.played_ms("b", 3.2) == 200


def test_truncation_takes_the_clients_word_over_the_estimate() -> None:
    clock = WallClockPlayback(RATE_HZ)
    clock.sent("a", audio(12_000), 0.0)
    assert clock.played_ms("a", 3.0) == 3000
    clock.truncate("a", 2500, 3.0)
    assert clock.played_ms("a", 10.0) == 2500
    clock.truncate("a", 99_999, 10.0)
    assert clock.played_ms("a", 10.0) == 12_000
    clock.truncate("never", 1, 10.0)
    assert clock.played_ms("never", 10.0) == 0


@pytest.mark.parametrize("make", MODES)
def test_cutting_an_item_that_was_heard_leaves_the_one_that_plays_and_the_clock_whole(
    make: Callable[[int], PlaybackClock],
) -> None:
    clock = make(RATE_HZ)
    clock.sent("a", audio(1_000), 0.0)
    clock.sent("b", audio(1_000), 0.0)
    if isinstance(clock, AcknowledgedPlayback):
        clock.ack("b", 500, 1.5)
    clock.truncate("a", 400, 1.5)
    unplayed_ms = clock.unplayed_ms(1.5)
    if isinstance(clock, AcknowledgedPlayback):
        clock.ack("a", 700, 1.6)
    clock.sent("a", audio(300), 1.6)
    assert clock.played_ms("a", 1.6) == 400
    assert 0 < clock.unplayed_ms(1.6) <= unplayed_ms
    for number in range(40):
        clock.sent(f"later{number}", audio(10), 1.6)
    assert clock.played_ms("b", 1.6) <= 1_000


# --- rules that hold for any course of events ---


@pytest.mark.parametrize("make", MODES)
def test_memory_is_bounded_by_the_last_items(make: Callable[[int], PlaybackClock]) -> None:
    clock = make(RATE_HZ)
    for number in range(5 * KEPT_ITEMS):
        clock.sent(f"item{number}", audio(100), 0.0)
    assert clock.sent_ms("item0") == 0
    assert clock.sent_ms(f"item{4 * KEPT_ITEMS}") == 100
    assert clock.unplayed_ms(0.0) == KEPT_ITEMS * 100


def test_rate_has_to_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        WallClockPlayback(0)


class HeardRules(RuleBasedStateMachine):
    """Any course of sending, acknowledging, flushing and waiting, over items that may grow at the same time."""

    @initialize(mode=st.sampled_from(MODES))
    def begin(self, mode: Callable[[int], PlaybackClock]) -> None:
        self.clock = mode(RATE_HZ)
        self.now = 0.0
        self.heard: dict[str, int] = {}
        self.over: set[str] = set()

    @rule(item=st.sampled_from("abc"), samples=st.integers(0, 30_000))
    def send(self, item: str, samples: int) -> None:
        self.clock.sent(item, samples * 2, self.now)
        self.heard.setdefault(item, 0)

    @rule(item=st.sampled_from("abcx"), played_ms=st.integers(-10, 3000))
    def acknowledge(self, item: str, played_ms: int) -> None:
        self.clock.ack(item, played_ms, self.now)
        if item in self.over:
            # Up to the answer to the flush.
            self.heard[item] = self.clock.played_ms(item, self.now)

    @rule(wait_ms=st.integers(0, 2000))
    def wait(self, wait_ms: int) -> None:
        self.now += wait_ms / 1000

    @precondition(lambda self: self.heard)
    @rule()
    def flush(self) -> None:
        self.clock.flush(self.now)
        for item in self.heard:
            self.heard[item] = self.clock.played_ms(item, self.now)
        self.over |= set(self.heard)

    @invariant()
    def heard_grows_within_what_was_sent(self) -> None:
        if not hasattr(self, "clock"):
            return
        total_unplayed_ms = 0
        for item, before_ms in self.heard.items():
            played_ms = self.clock.played_ms(item, self.now)
            assert before_ms <= played_ms <= self.clock.sent_ms(item)
            if item in self.over:
                assert played_ms == before_ms
            else:
                total_unplayed_ms += self.clock.sent_ms(item) - played_ms
            self.heard[item] = played_ms
        assert abs(self.clock.unplayed_ms(self.now) - total_unplayed_ms) <= len(self.heard) + 1
        end = self.clock.finished_at(self.now)
        assert (end is None) == (self.clock.unplayed_ms(self.now) == 0)
        assert end is None or end >= self.now


HeardRules.TestCase.settings = settings(max_examples=volume(10, 100), stateful_step_count=30, deadline=None)
TestHeardRules = HeardRules.TestCase


# --- play-out buffer ---

pushes = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 60_000)), max_size=12)


def numbered(sizes: list[tuple[str, int]]) -> list[tuple[str, bytes]]:
    """Chunks of the given numbers of samples whose bytes tell lost or reordered ones."""
    return [(item, bytes([number % 251, 7]) * samples) for number, (item, samples) in enumerate(sizes)]


def joined(chunks: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    runs: list[tuple[str, bytes]] = []
    for item, pcm in chunks:
        if runs and runs[-1][0] == item:
            runs[-1] = (item, runs[-1][1] + pcm)
        else:
            runs.append((item, pcm))
    return runs


@settings(deadline=None)
@given(pushes)
def test_paced_audio_arrives_whole_and_never_too_early(sizes: list[tuple[str, int]]) -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    chunks = numbered(sizes)
    assert all(buffer.push(item, pcm) for item, pcm in chunks)
    got: list[tuple[str, bytes]] = []
    now = 0.0
    got_bytes = 0
    while (due_at := buffer.next_due()) is not None:
        now = max(now, due_at)
        out = buffer.pop_due(now)
        assert out
        assert all(0 < len(pcm) <= audio(100) for _, pcm in out)
        got += out
        got_bytes += sum(len(pcm) for _, pcm in out)
        assert got_bytes <= audio(now * 1000 + 350) + 2
    assert joined(got) == joined(chunks)
    assert buffer.size_bytes == 0
    assert len(buffer) == 0


def test_chunks_are_neither_tiny_nor_large_while_there_is_more() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    for _ in range(100):
        buffer.push("a", bytes(audio(10)))
    assert [len(pcm) for _, pcm in buffer.pop_due(0.0)] == [audio(100), audio(100), audio(100), audio(50)]
    assert buffer.pop_due(0.039) == []
    assert [len(pcm) for _, pcm in buffer.pop_due(0.041)] == [audio(40)]


def test_paced_chunks_that_are_long_enough_leave_as_they_came() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    chunks = [bytes([number]) * audio(40) for number in range(50)]
    sent: list[bytes] = []
    for number, pcm in enumerate(chunks):
        buffer.push("a", pcm)
        sent += [pcm for _, pcm in buffer.pop_due(number * 0.0404)]
    assert len(sent) == len(chunks)
    assert all(one is pcm for one, pcm in zip(sent, chunks, strict=True))


def test_what_is_taken_of_one_item_is_one_chunk_wherever_its_chunks_end() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    for _ in range(3):
        buffer.push("a", bytes(audio(60)))
    assert [len(pcm) for _, pcm in buffer.take(audio(100))] == [audio(100)]


def test_an_idle_listener_gets_the_next_audio_at_once() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    buffer.push("a", bytes(audio(20)))
    assert buffer.pop_due(0.0) == [("a", bytes(audio(20)))]
    assert buffer.next_due() is None
    buffer.push("b", bytes(audio(400)))
    assert sum(len(pcm) for _, pcm in buffer.pop_due(100.0)) == audio(350)


def test_unpaced_audio_leaves_as_it_came() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    chunks = numbered([("a", 100), ("b", 5), ("b", 7000)])
    for item, pcm in chunks:
        buffer.push(item, pcm)
    assert [buffer.pop() for _ in range(4)] == [*chunks, None]


def test_paced_and_unpaced_reading_lose_nothing_between_them() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    pcm = bytes(range(256)) * 200
    buffer.push("a", pcm)
    taken = b"".join(chunk for _, chunk in buffer.pop_due(0.0))
    rest = buffer.pop()
    assert rest is not None
    assert taken + rest[1] == pcm
    assert buffer.size_bytes == 0


def test_a_full_buffer_refuses_and_keeps_what_it_has() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    assert buffer.push("a", bytes(4_000_000))
    assert not buffer.push("a", bytes(2))
    assert buffer.waiting_ms() == 83_333
    assert buffer.push("a", b"")


def test_clearing_tells_what_was_dropped_and_frees_the_way() -> None:
    buffer = PlayoutBuffer(RATE_HZ, LIMIT_BYTES)
    buffer.push("a", bytes(audio(5000)))
    buffer.pop_due(0.0)
    assert buffer.clear() == audio(5000) - audio(350)
    buffer.push("b", bytes(audio(100)))
    assert buffer.pop_due(0.0) == [("b", bytes(audio(100)))]


def test_truncating_an_older_item_leaves_what_plays_now_alone() -> None:
    clock = EstimatedPlayback(24_000, start_delay_ms=0)
    clock.sent("old", 48_000, 0.0)
    clock.sent("new", 96_000, 2.0)
    clock.truncate("old", 500, 2.5)
    clock.truncate("never", 500, 2.5)
    assert clock.played_ms("old", 3.0) == 500
    assert clock.played_ms("new", 3.0) == 1_000
    assert clock.unplayed_ms(3.0) == 1_000


def test_truncating_an_older_item_leaves_a_newer_one_alone_that_has_run_dry() -> None:
    clock = AcknowledgedPlayback(24_000)
    clock.sent("old", 48_000, 0.0)
    clock.sent("new", 48_000, 1.0)
    clock.ack("new", 1_000, 2.0)
    clock.truncate("old", 500, 2.5)
    clock.sent("new", 48_000, 2.6)
    clock.ack("new", 1_800, 3.4)
    assert (clock.played_ms("old", 3.4), clock.played_ms("new", 3.4)) == (500, 1_800)


def test_what_a_client_had_played_when_it_fell_silent_is_known_from_its_answer() -> None:
    clock = AcknowledgedPlayback(24_000)
    clock.sent("a", 96_000, 0.0)
    clock.sent("b", 96_000, 0.0)
    clock.ack("a", 1_500, 1.6)
    clock.flush(1.8)
    assert clock.awaits_answer
    clock.ack("a", 1_700, 1.9)
    assert (clock.played_ms("a", 1.9), clock.awaits_answer) == (1_700, True)
    clock.ack("a", 1_760, 2.0, flushed=True)
    assert clock.awaits_answer
    clock.ack("b", 0, 2.0, flushed=True)
    assert (clock.played_ms("a", 2.0), clock.played_ms("b", 2.0), clock.awaits_answer) == (1_760, 0, False)
    clock.ack("a", 1_900, 2.1)
    assert clock.played_ms("a", 2.1) == 1_760
