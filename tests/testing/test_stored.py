"""A call that was kept becomes a record: its log, its words, its sound."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from realtime.audio.files import read_pcm16, write_flac
from realtime.errors import UsageError
from realtime.state.log import Entry
from realtime.state.memory import MemoryStore
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change, Store
from realtime.testing.cases.stored import read_log, record_of
from realtime.testing.errors import CaseError
from realtime.testing.record import CallRecord, Lane, Played, write_log
from realtime.testing.report.story import tell
from tests.testing.report_calls import IN_HZ, OUT_HZ, interrupted_call, short_call


def keep(store: Store, record: CallRecord) -> None:
    store.write([Change("call_1", CallInfo(call_id="call_1", agent_name="Anna"), record.entries)])


def keep_sound(folder: Path, input_pcm: bytes, output_pcm: bytes, items: Sequence[dict[str, Any]] = ()) -> None:
    """A recording as the server writes it."""
    folder.mkdir(parents=True)
    write_flac(folder / "input.flac", input_pcm, IN_HZ)
    write_flac(folder / "output.flac", output_pcm, OUT_HZ)
    about = {"version": 1, "call_id": "call_1", "input_hz": IN_HZ, "output_hz": OUT_HZ, "items": [*items]}
    (folder / "recording.json").write_text(json.dumps(about))


@pytest.mark.parametrize("scheme", ["sqlite", "file"])
def test_a_call_of_a_store_is_found_by_the_stores_url(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}:{tmp_path / 'calls'}"
    store = open_store(url)
    keep(store, interrupted_call())
    store.close()
    record = record_of(url, "call_1")
    assert record.name == "call_1"
    assert record.log_bytes() == interrupted_call().log_bytes()
    assert (record.lanes, record.frames, record.marks, record.played) == ((), (), (), ())


def test_a_record_of_an_open_store_tells_the_words_that_were_heard() -> None:
    store = MemoryStore()
    keep(store, interrupted_call())
    story = tell(record_of(store, "call_1"))
    captions = [(caption.heard, caption.unheard.split(" ")[:2]) for caption in story.captions if caption.unheard]
    assert captions == [("I would like to plan a trip, perhaps to the", ["", "mountains,"])]
    assert [turn.who for turn in story.turns] == ["", "user", "user", "user"]


def test_a_recorded_call_has_its_sound_and_what_was_heard_when(tmp_path: Path) -> None:
    store = MemoryStore()
    made = short_call()
    keep(store, made)
    human, agent = made.lanes
    keep_sound(tmp_path / "call_1", human.pcm, agent.pcm, [{"item_id": "a1", "start_ms": 2_470, "heard_ms": 2_469}])
    record = record_of(store, "call_1", recordings=tmp_path)
    assert record.lanes == (Lane("user", "human", IN_HZ, human.pcm), Lane("Anna", "agent", OUT_HZ, agent.pcm))
    assert record.played == (Played("user", "a1", 0.0, 2_470.0, 2_469.0),)
    assert record.folder == tmp_path / "call_1"
    assert tell(record).turns[0].latency_ms == pytest.approx(tell(made).turns[0].latency_ms, abs=60)


def test_a_call_that_went_on_after_its_server_was_lost_has_the_sound_of_both_parts(tmp_path: Path) -> None:
    store = MemoryStore()
    keep(store, short_call())
    first, second = b"\x01\x00" * 100, bytes(300) + b"\x02\x00" * 100
    keep_sound(tmp_path / "call_1", first, first)
    keep_sound(tmp_path / "call_1" / "2", second, second)
    record = record_of(store, "call_1", recordings=tmp_path)
    assert [lane.pcm for lane in record.lanes] == [first + bytes(100) + second[300:]] * 2


def test_a_folder_with_an_accepted_log_is_a_record(tmp_path: Path) -> None:
    made = interrupted_call()
    (tmp_path / "refund").mkdir()
    (tmp_path / "refund" / "log.jsonl").write_bytes(made.log_bytes())
    record = record_of(tmp_path / "refund")
    assert (record.name, record.log_bytes(), record.folder) == ("refund", made.log_bytes(), tmp_path / "refund")


def test_a_recording_without_a_log_is_sound_alone(tmp_path: Path) -> None:
    keep_sound(tmp_path / "call_1", b"\x01\x00" * 160, b"\x02\x00" * 240)
    record = record_of(tmp_path / "call_1")
    assert record.entries == ()
    assert [(lane.speaker, len(lane.pcm)) for lane in record.lanes] == [("user", 320), ("agent", 480)]
    assert read_pcm16(tmp_path / "call_1" / "input.flac", IN_HZ) == record.lanes[0].pcm


def test_the_last_line_of_a_log_does_not_count_where_a_crash_has_cut_it(tmp_path: Path) -> None:
    entries: tuple[Entry, ...] = short_call().entries
    (tmp_path / "log.jsonl").write_bytes(write_log(entries)[:-30])
    assert read_log(tmp_path / "log.jsonl") == [*entries[:-1]]


def test_a_line_that_is_no_entry_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(write_log(short_call().entries[:2]) + b"{}\n" + write_log(short_call().entries[2:]))
    with pytest.raises(CaseError, match="line 3") as caught:
        read_log(log)
    assert str(log) in str(caught.value)


@pytest.mark.parametrize("call_id", ["nobody", "../etc", ""])
def test_a_call_that_a_store_does_not_have_is_named(call_id: str) -> None:
    with pytest.raises(CaseError, match="no call"):
        record_of(MemoryStore(), call_id)


def test_a_folder_without_a_call_and_a_url_without_a_store_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no call in it"):
        record_of(tmp_path)
    with pytest.raises(UsageError, match="unknown store"):
        record_of("nonsense", "call_1")
    with pytest.raises(CaseError, match="no call is named"):
        record_of(MemoryStore())


@pytest.mark.parametrize("name", ["recording.json", "input.flac"])
def test_a_broken_recording_is_named_with_its_remedy(name: str, tmp_path: Path) -> None:
    store = MemoryStore()
    keep(store, short_call())
    keep_sound(tmp_path / "call_1", bytes(320), bytes(480))
    (tmp_path / "call_1" / name).write_bytes(b"not this")
    with pytest.raises(CaseError) as caught:
        record_of(store, "call_1", recordings=tmp_path)
    assert str(tmp_path / "call_1" / name) in str(caught.value)
    assert "without sound" in caught.value.remedy
    assert str(tmp_path) not in caught.value.problem, "a client is told the problem alone"
