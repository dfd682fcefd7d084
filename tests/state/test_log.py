"""The log of a call: its order, its bound, its readers, and audio kept as runs."""

import json
import logging
import tracemalloc
import zlib
from collections import Counter, deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import realtime.state.log
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.state.log import DEFAULT_MAX_ENTRIES, KEPT_UNPACKED, AudioRun, Entry, Log, last_seq_of
from realtime.state.store import encode_entry

PCM = AudioFormat.pcm16(24_000)


@dataclass
class Clock:
    """Monotonic seconds that a test moves by hand."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Seen:
    """A reader that remembers."""

    events: list[s.ServerEvent] = field(default_factory=list)

    def read(self, event: s.ServerEvent) -> None:
        self.events.append(event)

    @property
    def seqs(self) -> list[int]:
        return [event.seq for event in self.events]


def audio(item_id: str, n_bytes: int) -> s.AgentResponseAudioDeltaEvent:
    return s.AgentResponseAudioDeltaEvent(response_id="response", item_id=item_id, delta=bytes(n_bytes), format=PCM)


def other() -> s.AgentInputClearedEvent:
    return s.AgentInputClearedEvent()


def runs(entries: list[Entry]) -> list[AudioRun]:
    return [entry for entry in entries if isinstance(entry, AudioRun)]


def test_events_are_numbered_from_one_and_timed_from_the_beginning_of_the_call() -> None:
    clock = Clock()
    log = Log(clock)
    first, second = other(), other()
    log.append(first)
    clock.now += 1.25
    log.append(second)
    assert [(event.seq, event.ts_ms) for event in (first, second)] == [(1, 0), (2, 1250)]
    assert log.now_ms() == 1250


appends = st.lists(
    st.tuples(
        st.sampled_from(["item_a", "item_b", "item_c", None]),
        st.integers(0, 5).map(lambda samples: 2 * samples),
        st.floats(0, 2, allow_nan=False),
    ),
    max_size=60,
)


@given(appends)
def test_seq_rises_by_one_and_ts_ms_never_falls(course: list[tuple[str | None, int, float]]) -> None:
    clock, seen = Clock(), Seen()
    log = Log(clock)
    log.subscribe(seen.read)
    for item_id, n_bytes, pause_s in course:
        clock.now += pause_s
        log.append(other() if item_id is None else audio(item_id, n_bytes))
    assert seen.seqs == list(range(1, len(course) + 1))
    times = [event.ts_ms for event in seen.events]
    assert times == sorted(times)
    assert log.last_seq == len(course)


@given(appends)
def test_audio_runs_cover_every_byte_of_every_item_once_and_in_order(
    course: list[tuple[str | None, int, float]],
) -> None:
    clock, log_bytes = Clock(), Counter[str]()
    log = Log(clock)
    for item_id, n_bytes, pause_s in course:
        clock.now += pause_s
        log.append(other() if item_id is None else audio(item_id, n_bytes))
        if item_id is not None:
            log_bytes[item_id] += n_bytes
    entries = log.read()
    for item_id, total in log_bytes.items():
        end = 0
        for run in runs(entries):
            if run.item_id == item_id:
                assert run.offset_bytes == end
                end += run.n_bytes
        assert end == total
    covered: list[int] = []
    for entry in entries:
        covered += range(entry.seq, last_seq_of(entry) + 1)
    assert covered == list(range(1, len(course) + 1))


def test_neighbouring_audio_of_one_item_is_one_entry_without_payload() -> None:
    """An entry that was read does not change when it grows; whoever wants what is complete gets none that does."""
    clock = Clock()
    log = Log(clock)
    log.append(audio("item", 100))
    before = log.read()
    for _ in range(2):
        clock.now += 0.5
        log.append(audio("item", 100))
    assert before == [AudioRun(1, 1, 0, 0, "item", 0, 100)]
    assert log.read() == [run := AudioRun(1, 3, 0, 1000, "item", 0, 300)]
    assert run.type == "audio_run" == json.loads(encode_entry(run))["type"]
    assert log.read(growing=False) == []
    log.append(other())
    assert [entry.seq for entry in log.read(growing=False)] == [1, 4]


def test_the_place_of_an_item_that_goes_on_speaking_is_known_among_many_others() -> None:
    log = Log(Clock())
    for number in range(40):
        log.append(audio("long", 10))
        log.append(audio(f"item_{number}", 10))
    assert [run.offset_bytes for run in runs(log.read()) if run.item_id == "long"] == list(range(0, 400, 10))
    # Empty audio does not make it forget another item.
    log.append(audio("item_39", 0))
    log.append(audio("item_39", 0))
    log.append(audio("long", 10))
    assert runs(log.read())[-1].offset_bytes == 400


@given(st.integers(1, 10), st.integers(0, 40))
def test_the_log_is_bounded_and_counts_what_it_dropped(max_entries: int, appended: int) -> None:
    log = Log(Clock(), max_entries=max_entries)
    for _ in range(appended):
        log.append(other())
    assert len(log.read()) == min(max_entries, appended)
    assert log.dropped == max(0, appended - max_entries)
    assert [entry.seq for entry in log.read()] == list(range(log.dropped + 1, appended + 1))


@given(appends, st.integers(0, 60))
def test_reading_on_from_a_place_gives_everything_later(
    course: list[tuple[str | None, int, float]], after_seq: int
) -> None:
    log = Log(Clock())
    for item_id, n_bytes, _ in course:
        log.append(other() if item_id is None else audio(item_id, n_bytes))
    later = log.read(after_seq)
    assert later == [entry for entry in log.read() if last_seq_of(entry) > after_seq]
    assert bool(later) == (after_seq < len(course))


@given(st.integers(1, 10), st.integers(0, 40), st.integers(0, 45))
def test_the_log_knows_from_where_it_holds_everything(max_entries: int, appended: int, after_seq: int) -> None:
    log = Log(Clock(), max_entries=max_entries)
    for _ in range(appended):
        log.append(other())
    assert log.first_seq == max(0, appended - max_entries) + 1
    later = [entry.seq for entry in log.read(after_seq)]
    assert log.holds(after_seq) == (later == list(range(after_seq + 1, appended + 1)))


def test_reading_the_latest_does_not_look_at_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(Clock())
    for _ in range(1_000):
        log.append(other())
    looked_at: list[Entry] = []

    def look(entry: Entry) -> int:
        looked_at.append(entry)
        return last_seq_of(entry)

    monkeypatch.setattr("realtime.state.log.last_seq_of", look)
    assert [entry.seq for entry in log.read(997)] == [998, 999, 1000]
    assert [entry.seq for entry in looked_at] == [1000, 999, 998, 997]
    monkeypatch.setattr(zlib, "decompressobj", None)
    assert len(log.read(1_000 - KEPT_UNPACKED)) == KEPT_UNPACKED


@given(st.integers(60, 200), st.lists(st.booleans(), max_size=300), st.integers(0, 300))
def test_what_came_long_ago_is_packed_and_comes_back_as_it_was(
    max_entries: int, course: list[bool], after_seq: int
) -> None:
    log = Log(Clock(), max_entries=max_entries)
    kept: deque[Entry] = deque(maxlen=max_entries)
    for number, is_error in enumerate(course):
        event = s.AgentErrorEvent(error_type="x", code="half \ud800", message=f"{number}") if is_error else other()
        log.append(event)
        kept.append(event)
    assert log.read() == list(kept)
    assert log.read(after_seq) == [entry for entry in kept if entry.seq > after_seq]
    assert log.first_seq == (kept[0].seq if kept else 1)
    assert log.dropped == len(course) - len(kept)


def test_a_long_talk_holds_little_memory() -> None:
    tracemalloc.start()
    try:
        log = Log(Clock())
        before = tracemalloc.get_traced_memory()[0]
        for number in range(2_000):
            log.append(
                s.AgentResponseAudioTranscriptDeltaEvent(
                    response_id="".join("resp_0123456789abcdef"),
                    item_id="item_0123456789abcdef",
                    delta=f"word {number}",
                )
            )
            log.append(audio("item_0123456789abcdef", 1920))
        held_bytes = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(log.read()) == DEFAULT_MAX_ENTRIES
    assert held_bytes < 50 * DEFAULT_MAX_ENTRIES


def test_what_would_come_back_different_is_kept_as_it_is() -> None:
    """What cannot be packed, or would not be the same when it is unpacked; what is around it is not disturbed."""
    wrong_type: Any = 7
    odd: list[s.ServerEvent] = [s.AgentErrorEvent(error_type="x", code="x", message=wrong_type)]
    for value in (lambda: None, (1, 2), {3}, float("nan"), 2**70, "\ud800"):
        odd.append(s.ServerSessionUpdatedEvent(session_id="s", config={"value": value}))
    log, seen = Log(Clock(), max_entries=100), Seen()
    log.subscribe(seen.read)
    for number in range(150):
        log.append(odd[number - 60] if 60 <= number < 60 + len(odd) else other())
    assert seen.seqs == list(range(1, 151))
    entries = log.read()
    assert [entry.seq for entry in entries] == list(range(51, 151))
    for entry, event in zip(entries[10:], odd, strict=False):
        assert type(entry) is type(event)
        name = "message" if isinstance(event, s.AgentErrorEvent) else "config"
        assert getattr(entry, name) is getattr(event, name)


def test_long_texts_push_out_the_oldest_before_their_number_does() -> None:
    log = Log(Clock())
    random = Random(1)
    for _ in range(400):
        log.append(s.AgentErrorEvent(error_type="x", code="x", message=random.randbytes(50_000).hex()))
    entries = log.read()
    assert [entry.seq for entry in entries] == list(range(log.first_seq, 401))
    assert log.dropped == log.first_seq - 1
    assert 100 < len(entries) < 250
    assert not log.holds(log.first_seq - 2)


def test_what_is_large_is_not_compressed_and_comes_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """To compress megabytes would hold up all calls of the process for as long."""
    log = Log(Clock())
    with monkeypatch.context() as patched:
        patched.setattr(zlib, "compressobj", lambda **_: pytest.fail("compressed"))
        for number in range(60):
            log.append(s.AgentErrorEvent(error_type="x", code="x", message=f"{number}" + "x" * 50_000))
    assert [entry.seq for entry in log.read()] == list(range(1, 61))
    assert [int(entry.message[:2].rstrip("x")) for entry in log.read() if isinstance(entry, s.AgentErrorEvent)] == [
        *range(60)
    ]


def test_long_items_stay_as_they_are_and_are_bounded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding 32 of half a megabyte would delay all calls, and take their memory a second time."""
    log = Log(Clock())
    words = "x" * 500_000
    item = Item(id="long", role="user", content=(ContentPart(type="text", text=words),))
    with monkeypatch.context() as patched:
        patched.setattr(realtime.state.log, "_encode", lambda *_: pytest.fail("encoded"))
        for _ in range(100):
            log.append(s.AgentItemRetrievedEvent(item=item))
    entries = log.read()
    assert 0 < log.dropped < 100
    assert [entry.seq for entry in entries] == list(range(log.dropped + 1, 101))
    assert all(isinstance(entry, s.AgentItemRetrievedEvent) and entry.item is item for entry in entries)


def test_a_log_goes_on_after_a_stored_one() -> None:
    clock = Clock()
    log = Log(clock, last_seq=40, start_ms=61_234)
    assert (log.last_seq, log.first_seq, log.now_ms()) == (40, 41, 61_234)
    assert log.holds(40)
    assert not log.holds(39)
    assert log.read() == []
    clock.now += 0.5
    log.append(other())
    log.append(audio("item", 100))
    assert [(entry.seq, entry.ts_ms) for entry in log.read(40)] == [(41, 61_734), (42, 61_734)]
    assert log.now_ms() == 61_734
    assert log.holds(40)
    assert not log.holds(39)


def test_a_reader_that_fails_hurts_nobody_else_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    log, seen = Log(Clock()), Seen()

    def broken(event: s.ServerEvent) -> None:
        raise KeyboardInterrupt if event.seq == 2 else RuntimeError("the socket is gone")

    log.subscribe(broken)
    log.subscribe(seen.read)
    with caplog.at_level(logging.ERROR):
        log.append(other())
        with pytest.raises(KeyboardInterrupt):
            log.append(other())
        log.append(other())
    assert seen.seqs == [1, 3]
    assert [record.getMessage() for record in caplog.records] == [
        "a reader of the log failed at seq 1",
        "a reader of the log failed at seq 3",
    ]


def test_a_reader_gets_what_comes_between_subscribing_and_unsubscribing_and_no_audio_if_it_wants_none() -> None:
    log, seen, every = Log(Clock()), Seen(), Seen()
    log.append(other())
    unsubscribe = log.subscribe(seen.read, audio=False)
    log.subscribe(every.read)
    sound = audio("item", 100)
    for event in (other(), sound, other()):
        log.append(event)
    unsubscribe()
    unsubscribe()
    log.append(other())
    assert seen.seqs == [2, 4]
    assert every.seqs == [2, 3, 4, 5]
    assert every.events[1] == sound


def test_readers_that_come_and_go_while_an_event_is_delivered_begin_with_the_next_and_get_no_more() -> None:
    log, invited, removed = Log(Clock()), Seen(), Seen()

    def invite_and_remove(event: s.ServerEvent) -> None:
        if event.seq == 1:
            log.append(other())
            log.subscribe(invited.read)
            unsubscribe()

    log.subscribe(invite_and_remove)
    unsubscribe = log.subscribe(removed.read)
    log.append(other())
    log.append(other())
    assert invited.seqs == [3]
    assert removed.events == []


def test_readers_see_one_order_though_one_of_them_appends() -> None:
    log, first, second = Log(Clock()), Seen(), Seen()

    def answer(event: s.ServerEvent) -> None:
        if event.seq < 4:
            log.append(other())

    log.subscribe(first.read)
    log.subscribe(answer)
    log.subscribe(second.read)
    log.append(other())
    assert first.seqs == second.seqs == [1, 2, 3, 4]
