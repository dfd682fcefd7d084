"""The conformance check for stores; run it on your own:

def test_my_store(tmp_path):
    check_store(lambda: MyStore(tmp_path / "calls"))
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from random import Random

import msgspec

from realtime.event.base import ContentPart, Item
from realtime.event.server import (
    AgentErrorEvent,
    AgentInputClearedEvent,
    AgentItemAddedEvent,
    AgentResponseAudioTranscriptDeltaEvent,
    AgentResponseToolResultEvent,
    ServerSessionCreatedEvent,
    ServerSessionUpdatedEvent,
)
from realtime.message import ToolResultBlock
from realtime.state.log import AudioRun, Entry, last_seq_of
from realtime.state.store import CallInfo, Change, PageCursor, Store

TEXTS = (
    "",
    "Good morning.",
    'say "hi"\n\\ and\ttab',
    "Grüße, 今日は, 👋🏽",
    "\u2028\u2029\x00\x7f",
    "{not json",
    "x" * 70_000,
)
"""Texts that have broken files before."""


def check_store(open_store: Callable[[], Store], *, durable: bool = True, seed: int = 0) -> None:
    """Raise AssertionError, with the expectation, where a store breaks `Store`'s contract.

    `open_store` opens the same, initially empty, store each time; it is opened several times one after the other. A
    store that is not `durable` may forget everything when it is closed. All calls of the check have ids `check_*`.
    """
    store = open_store()
    try:
        _check_infos(store)
        _check_entries(store, Random(seed))
        _check_reading_from(store, Random(seed))
        _check_growing_runs(store)
        _check_batches(store)
        _check_deleting(store)
        _check_notes(store)
        _check_claims(store)
        _check_threads(store)
    finally:
        store.close()
        store.close()
    if durable:
        _check_reopening(open_store, Random(seed))


def _check_claims(store: Store) -> None:
    info = CallInfo(call_id="check_claims")
    store.write([Change("check_claims", info)])
    assert store.claim("check_claims"), "a call that this process writes is its own"
    store.write([Change("check_claims", msgspec.structs.replace(info, ended_at="2026-01-01T00:00:00.000Z"))])
    assert store.claim("check_claims"), "an ended call can be taken"
    store.release("check_claims")
    store.release("check_claims")
    assert store.claim("check_claims"), "a call that was given free can be taken again"
    store.release("check_unknown")
    store.delete("check_claims")


def some_entries(random: Random, count: int, *, after_seq: int = 0) -> list[Entry]:
    """Return `count` log entries of many kinds that follow `after_seq`."""
    entries: list[Entry] = []
    seq, ts_ms = after_seq, after_seq * 10
    for _ in range(count):
        seq, ts_ms = seq + 1, ts_ms + random.randrange(100)
        entry = _some_entry(random, seq, ts_ms)
        entries.append(entry)
        seq = last_seq_of(entry)
    return entries


def _some_entry(random: Random, seq: int, ts_ms: int) -> Entry:
    text = random.choice(TEXTS[:-1]) if random.random() < 0.98 else TEXTS[-1]
    match random.randrange(8):
        case 0 | 1:
            length = random.randrange(40)
            return AudioRun(seq, seq + length, ts_ms, ts_ms + 40 * length, "item_1", 960 * seq, 960 * (length + 1))
        case 2:
            return ServerSessionCreatedEvent(session_id=text, call_id="check", seq=seq, ts_ms=ts_ms)
        case 3:
            config = {"voice": text, "n": [1, 2.5, None, True, {"deep": text}], "big": 2**53}
            return ServerSessionUpdatedEvent(session_id="s", config=config, seq=seq, ts_ms=ts_ms)
        case 4:
            picture = ContentPart(type="image", image=random.randbytes(50), media_type="image/png")
            item = Item(id="item_2", role="user", content=(picture, ContentPart(type="text", text=text)))
            return AgentItemAddedEvent(item=item, seq=seq, ts_ms=ts_ms)
        case 5:
            result = ToolResultBlock(id="call_1", name="look", output=text)
            return AgentResponseToolResultEvent(tool_result=result, seq=seq, ts_ms=ts_ms)
        case 6:
            return AgentErrorEvent(error_type="server_error", code="odd", message=text, seq=seq, ts_ms=ts_ms)
        case _:
            return AgentResponseAudioTranscriptDeltaEvent(
                response_id="response_1", item_id="item_1", delta=text, seq=seq, ts_ms=ts_ms
            )


def _event(seq: int) -> Entry:
    return AgentInputClearedEvent(seq=seq, ts_ms=10 * seq)


def _expect(what: str, got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"{what}: got {str(got)[:500]}, expected {str(expected)[:500]}")


def _expect_unknown(store: Store, call_id: str) -> None:
    _expect(f"the unknown or impossible call {call_id[:20]!r}", store.call(call_id), None)
    _expect(f"the log of the unknown or impossible call {call_id[:20]!r}", store.read(call_id), [])
    _expect(f"deleting the unknown or impossible call {call_id[:20]!r}", store.delete(call_id), False)


def _write(store: Store, call_id: str, entries: Sequence[Entry] = (), *, new: bool = False) -> None:
    store.write([Change(call_id, CallInfo(call_id=call_id) if new else None, entries)])


def _check_infos(store: Store) -> None:
    for name in ("check_nobody", "", "..", "../check", "check/1", "check\x00", "C:\\check", "x" * 5_000, "ü"):
        _expect_unknown(store, name)
    full = CallInfo(
        call_id="check_full",
        owner="anna@example.org",
        session_id="Grüße/../'; DROP TABLE calls",
        agent_name="Émile",
        created_at="2026-01-01T00:00:00.000Z",
        ended_at="2026-01-01T01:00:00.000Z",
        ended_reason="idle",
        token_hash="ab" * 32,
        token_expires_at="2026-01-02T00:00:00.000Z",
        gaps=((3, 9), (12, 12)),
        config={"voice": "Marin", "tools": [{"name": "look"}], "temperature": 0.7, "nothing": None},
    )
    bare = CallInfo(call_id="check_full")
    for info in (full, bare, full):
        store.write([Change(info.call_id, info)])
        _expect("what is known of a call, written and read", store.call(info.call_id), info)
    store.write([Change(full.call_id, msgspec.structs.replace(full, last_seq=99), [_event(1), _event(2)])])
    _expect(
        "last_seq, which the store knows itself", store.call(full.call_id), msgspec.structs.replace(full, last_seq=2)
    )
    days = (2, 5, 1, 4, 3)
    for day in days:
        for owner in ("check_bert", "check_carl"):
            info = CallInfo(call_id=f"{owner}_{day}", owner=owner, created_at=f"2026-01-0{day}T00:00:00.000Z")
            store.write([Change(info.call_id, info, [_event(seq) for seq in range(1, day + 1)])])
    got = [(info.call_id, info.last_seq) for info in store.calls("check_bert")]
    _expect("the calls of an owner, newest first", got, [(f"check_bert_{day}", day) for day in (5, 4, 3, 2, 1)])
    _expect("the calls of an owner without any", store.calls("check_bert_"), [])
    _check_pages(store, [f"check_bert_{day}" for day in sorted(days)])
    _expect("whether room is counted", store.n_bytes() >= 0, True)


def _check_pages(store: Store, oldest_first: list[str]) -> None:
    """Check a list's pages in both directions, and all owners' list."""
    for backwards in (False, True):
        ids: list[str] = []
        after: PageCursor | None = None
        while found := store.calls("check_bert", after=after, limit=2, oldest_first=backwards):
            ids += [info.call_id for info in found]
            after = found[-1].cursor
        _expect("the calls of an owner, in pages of two", ids, oldest_first if backwards else oldest_first[::-1])
    every = [info.cursor for info in store.calls(oldest_first=True)]
    _expect("the calls of all owners, the oldest first", every, sorted(every))
    _expect("whether the calls of an owner are among them", set(oldest_first) <= {place[1] for place in every}, True)
    _expect("the first of them", [info.cursor for info in store.calls(limit=1, oldest_first=True)], every[:1])
    _expect("none of them", store.calls(limit=0), [])


def _check_entries(store: Store, random: Random) -> None:
    entries = some_entries(random, 400)
    _write(store, "check_entries", new=True)
    _expect("the log of a call without one", store.read("check_entries"), [])
    at = 0
    while at < len(entries):
        count = random.randrange(60)
        _write(store, "check_entries", entries[at : at + count])
        at += count
    _expect("everything that was written piece by piece", store.read("check_entries"), entries)
    _write(store, "check_entries", entries[-300:])
    _expect("the log after the same was written again", store.read("check_entries"), entries)


def _check_reading_from(store: Store, random: Random) -> None:
    entries = some_entries(random, 120)
    _write(store, "check_reading", entries, new=True)
    last_seq = last_seq_of(entries[-1])
    for after_seq in {0, 1, last_seq - 1, last_seq, last_seq + 7, *random.sample(range(last_seq), 20)}:
        later = [entry for entry in entries if last_seq_of(entry) > after_seq]
        _expect(f"what comes after seq {after_seq}", store.read("check_reading", after_seq), later)
        for limit in (0, 1, 7, 1_000):
            _expect(
                f"{limit} entries after seq {after_seq}", store.read("check_reading", after_seq, limit), later[:limit]
            )
    pages: list[Entry] = []
    while page := store.read("check_reading", last_seq_of(pages[-1]) if pages else 0, 13):
        pages += page
    _expect("the log read in pages", pages, entries)


def _check_growing_runs(store: Store) -> None:
    short, grown, longest = (AudioRun(2, last, 20, 10 * last, "item", 0, 100 * last) for last in (2, 5, 9))
    _write(store, "check_runs", [_event(1), short], new=True)
    _expect("a run of audio", store.read("check_runs"), [_event(1), short])
    _write(store, "check_runs", [grown])
    _expect("the run after it grew", store.read("check_runs"), [_event(1), grown])
    _expect("a run that began before the place and ends after it", store.read("check_runs", 3), [grown])
    _write(store, "check_runs", [longest, _event(10)])
    _write(store, "check_runs", [short])
    _expect("the run after a shorter one was written", store.read("check_runs"), [_event(1), longest, _event(10)])
    info = store.call("check_runs")
    _expect("the last seq", info and info.last_seq, 10)


def _check_batches(store: Store) -> None:
    store.write([])
    one, two = CallInfo(call_id="check_one"), CallInfo(call_id="check_two")
    store.write(
        [
            Change("check_one", one, [_event(1)]),
            Change("check_two", two, [_event(1), _event(2)]),
            Change("check_unknown", None, [_event(1)]),
            Change("check_one", None, [_event(2), _event(3)]),
            Change("check_one", msgspec.structs.replace(one, ended_reason="idle")),
        ]
    )
    _expect("the first of two calls in one batch", store.read("check_one"), [_event(1), _event(2), _event(3)])
    _expect("the second of two calls in one batch", store.read("check_two"), [_event(1), _event(2)])
    _expect("entries of a call that the store does not have", store.call("check_unknown"), None)
    info = store.call("check_one")
    _expect("the latest that is known of a call", info and info.ended_reason, "idle")
    many = [Change(f"check_many_{n}", CallInfo(call_id=f"check_many_{n}"), [_event(1), _event(2)]) for n in range(300)]
    store.write(many)
    for n in (0, 137, 299):
        _expect("one of many calls", store.read(f"check_many_{n}"), [_event(1), _event(2)])


def _check_deleting(store: Store) -> None:
    _write(store, "check_gone", [_event(1)], new=True)
    _write(store, "check_stays", [_event(1)], new=True)
    _expect("deleting a call", store.delete("check_gone"), True)
    _expect_unknown(store, "check_gone")
    _write(store, "check_gone", [_event(2)])
    _expect_unknown(store, "check_gone")
    _expect("the log of another call", store.read("check_stays"), [_event(1)])
    _write(store, "check_gone", [_event(3)], new=True)
    _expect("a call made again under its id", store.read("check_gone"), [_event(3)])


def _check_notes(store: Store) -> None:
    key, other = "0" * 64, "1" * 64
    _expect("the note of an unknown session", store.note(key), None)
    _expect("dropping notes where there are none", store.drop_notes("2027-01-01T00:00:00.000Z"), 0)
    for note in (b"[1]", TEXTS[3].encode("utf-8", "replace"), b""):
        store.put_note(key, "2026-01-02T00:00:00.000Z", note)
        _expect("a note that was replaced", store.note(key), note)
    store.put_note(other, "2026-01-01T00:00:00.000Z", b"old\nnote")
    _expect("a note with a line break", store.note(other), b"old\nnote")
    _expect("dropping old notes", store.drop_notes("2026-01-02T00:00:00.000Z"), 1)
    _expect("a dropped note", store.note(other), None)
    _expect("a note that is not old", store.note(key), b"")
    store.put_note(key, "2026-01-02T00:00:00.000Z", None)
    _expect("a note that was forgotten", store.note(key), None)
    store.put_note("2" * 64, "2026-01-02T00:00:00.000Z", b"stays")
    _expect("the keys of notes", store.note_keys(""), ["2" * 64])
    _expect("the keys of notes that begin so", store.note_keys("22"), ["2" * 64])
    _expect("the keys of notes that begin otherwise", store.note_keys("3"), [])
    store.scrub()
    _expect("a note beside what was cleared", store.note("2" * 64), b"stays")
    _expect("calls beside notes", [one.call_id for one in store.calls() if not one.call_id.startswith("check_")], [])


def _check_threads(store: Store) -> None:
    """Check one writing and several reading threads: each reads a complete prefix of the log."""
    entries = [_event(seq) for seq in range(1, 201)]
    _write(store, "check_threads", new=True)
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            got = store.read("check_threads")
            _expect("a log that is being written", got, entries[: len(got)])

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for at in range(0, len(entries), 10):
                _write(store, "check_threads", entries[at : at + 10])
        finally:
            done.set()
    _expect("what the readers met", [repr(error) for one in readers if (error := one.exception())], [])
    _expect("the log that was written while others read", store.read("check_threads"), entries)


def _check_reopening(open_store: Callable[[], Store], random: Random) -> None:
    """Check that pieces written by separate openings of the store are kept."""
    entries = some_entries(random, 60)
    for at in range(0, len(entries), 20):
        with closing(open_store()) as store:
            _expect("a call after the store was closed and opened", store.read("check_again"), entries[:at])
            _write(store, "check_again", entries[at : at + 20], new=at == 0)
    with closing(open_store()) as store:
        _expect("the whole log after the last opening", store.read("check_again"), entries)
        info = store.call("check_again")
        _expect("its last seq", info and info.last_seq, last_seq_of(entries[-1]))
        _expect("a note after the store was closed and opened", store.note("2" * 64), b"stays")
        calls = [info.call_id for info in store.calls("check_bert")]
        _expect("the calls of an owner after the last opening", calls, [f"check_bert_{day}" for day in (5, 4, 3, 2, 1)])
