"""Loads a stored call as a record: from a store, with its recording if any, or from a folder.

Unknown parts stay empty: such a record has no frames and no marks, and its lanes are those of the recording: one for
the client's audio, one for the audio it played.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from realtime.audio.files import read_pcm16
from realtime.audio.mix import mix
from realtime.call.recording.sound import RECORDING_FILE, recorded_parts
from realtime.errors import StoreError
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, DEFAULT_OUTPUT_RATE_HZ
from realtime.state.log import Entry, last_seq_of
from realtime.state.open import open_store
from realtime.state.restore import restore
from realtime.state.store import Store, decode_entry, is_call_id
from realtime.testing.check.turns import USER
from realtime.testing.errors import CaseError
from realtime.testing.record import CallRecord, Lane, Played
from realtime.texts import as_utf8

LOG_FILES = ("log.jsonl", "events.jsonl")
"""The log's name: in a case's folder, and in a `file:` store's."""
_PAGE = 5_000
"""Entries per read: a store may serve others meanwhile."""


def record_of(
    source: Store | str | PathLike[str], call_id: str | None = None, *, recordings: str | PathLike[str] | None = None
) -> CallRecord:
    """Load the call `call_id` from a store, or a call's folder.

    `source` is a store, its URL, or without `call_id` a folder. The folder is a case with its accepted log, or a call
    or a recording as the server wrote it. `recordings` is the folder of all recordings of the server, or that of this
    call.

    Raises CaseError where there is no such call or a file cannot be read; UsageError for a URL that names no store.
    """
    if call_id is None:
        if not isinstance(source, str | PathLike):
            raise CaseError("the store", "no call is named", "Give the id of one.")
        return _of_folder(Path(source), recordings)
    if not isinstance(source, str | PathLike):
        return _of_store(source, call_id, recordings)
    with closing(open_store(str(source))) as store:
        return _of_store(store, call_id, recordings)


def is_recorded(recordings: str | PathLike[str], call_id: str) -> bool:
    """Whether a folder of all recordings, or of one, has this call."""
    return (_folder_of(Path(recordings), call_id) / RECORDING_FILE).is_file()


def _of_store(store: Store, call_id: str, recordings: str | PathLike[str] | None) -> CallRecord:
    try:
        info = store.call(call_id)
        if info is None:
            raise CaseError("the store", f"it has no call {call_id[:140]!r}", "`realtime calls` lists them.")
        entries = [*_entries(store, call_id)]
    except StoreError as error:
        raise CaseError("the store", error.message, "Look whether the server that writes it is well.") from error
    return _record(call_id, entries, None if recordings is None else Path(recordings), agent=info.agent_name)


def _entries(store: Store, call_id: str) -> Iterator[Entry]:
    after_seq = 0
    while page := store.read(call_id, after_seq, _PAGE):
        yield from page
        after_seq = last_seq_of(page[-1])


def _of_folder(folder: Path, recordings: str | PathLike[str] | None) -> CallRecord:
    log = next((folder / name for name in LOG_FILES if (folder / name).is_file()), None)
    if log is None and not (folder / RECORDING_FILE).is_file():
        remedy = f"Name a folder with {' or '.join(LOG_FILES)}, or a recording ({RECORDING_FILE})."
        raise CaseError(folder, "there is no call in it", remedy)
    entries = [] if log is None else read_log(log)
    return _record(folder.name, entries, folder if recordings is None else Path(recordings), folder=folder)


def read_log(path: str | PathLike[str]) -> list[Entry]:
    """Read a log written as JSON lines. Ignores a last line that a crash has cut.

    Raises CaseError where the file cannot be read, or another line is no entry.
    """
    try:
        lines = as_utf8(Path(path).read_bytes()).splitlines(keepends=True)
    except OSError as error:
        raise CaseError(Path(path), error.strerror or str(error), "Give the log of a call.") from error
    except ValueError as error:
        raise CaseError(Path(path), "it is no text", "Give the log of a call.") from error
    entries: list[Entry] = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(decode_entry(line))
        except StoreError as error:
            if number == len(lines) and not line.endswith(b"\n"):
                break
            remedy = "Write the log anew: it is made by a program."
            raise CaseError(Path(path), error.message, remedy, place=f"line {number}") from error
    return entries


def _record(
    name: str, entries: Sequence[Entry], recordings: Path | None, *, agent: str = "", folder: Path | None = None
) -> CallRecord:
    items = restore(entries).conversation.items()
    human = next((item.name for item in items if item.role == "user" and item.name), USER)
    agents = dict.fromkeys(entry.agent_name for entry in entries if isinstance(entry, s.AgentReadyEvent))
    agent = " and ".join(filter(None, agents)) or agent or "agent"
    parts = [] if recordings is None else [*_parts(recordings, name)]
    lanes = [
        _lane(parts, "input", human, "human", DEFAULT_INPUT_RATE_HZ),
        _lane(parts, "output", agent, "agent", DEFAULT_OUTPUT_RATE_HZ),
    ]
    played = [
        Played(human, item["item_id"], 0.0, float(item["start_ms"]), float(item["heard_ms"]))
        for _, about in parts
        for item in about.get("items", ())
    ]
    return CallRecord(
        name=name,
        entries=tuple(entries),
        items=items,
        lanes=tuple(lane for lane in lanes if lane.pcm),
        played=tuple(played),
        folder=folder or (parts[0][0] if parts else None),
    )


def _parts(recordings: Path, call_id: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    folder = _folder_of(recordings, call_id)
    try:
        yield from recorded_parts(folder)
    except OSError as error:
        file = Path(error.filename or folder)
        raise CaseError(file, "this is no recording", "Remove the folder to do without sound.") from error


def _folder_of(recordings: Path, call_id: str) -> Path:
    return recordings / call_id if is_call_id(call_id) and (recordings / call_id).is_dir() else recordings


def _lane(
    parts: Sequence[tuple[Path, dict[str, Any]]], name: str, speaker: str, kind: Literal["human", "agent"], hz: int
) -> Lane:
    rate_hz = next((about[f"{name}_hz"] for _, about in parts if about.get(f"{name}_hz")), hz)
    pcm = b""
    for folder, _ in parts:
        file = folder / f"{name}.flac"
        if not file.is_file():
            continue
        try:
            # One after the other: each part is as long as the call until then.
            pcm = mix([pcm, read_pcm16(file, rate_hz)])
        except (OSError, ValueError) as error:
            problem = f"the recording's {file.name} cannot be read"
            raise CaseError(file, problem, "Remove the folder to do without sound.") from error
    return Lane(speaker, kind, rate_hz, pcm)
