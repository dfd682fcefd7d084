"""What is kept of a user, place by place: to forget it, or to write it down."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from realtime.call.recording.sound import RECORDING_FILE, Sound
from realtime.errors import ClientError, StoreError
from realtime.event import server as s
from realtime.memory.long_term import Memory, MemoryId
from realtime.memory.sqlite_long_term import SqliteLongTermMemory
from realtime.plan.storage import SqlitePlanStorage
from realtime.server.kept_rules import notes_of
from realtime.server.recordings import remove_recording
from realtime.state.log import Entry, last_seq_of
from realtime.state.sessions import StoredSession, check_id
from realtime.state.store import CallInfo, Store, encode_entry, is_call_id
from realtime.state.transcript import as_text, lines_of

_PAGE = 2_000
"""Entries or memories per read, so that a server can write meanwhile."""
_COPIED_BYTES = 1_000_000
_SHOWN = 3
"""Calls that a sentence names."""
_NOT_THEIRS = ("token_hash", "token_expires_at", "event_ids", "rules_note")
"""Fields of a call by which the server works; they say nothing of its user."""

Counts = dict[str, int]
"""How many things there are, by their kind in the plural."""


class Place(ABC):
    """Where things are kept of one user. Methods raise StoreError where the place as a whole fails."""

    def __init__(self, name: str, user: str) -> None:
        self.name = name
        self.user = user
        self.left: list[str] = []
        """Sentences: what could not be reached."""

    @abstractmethod
    async def found(self) -> Counts:
        """Count what there is."""

    @abstractmethod
    async def forget(self) -> Counts:
        """Delete it; return what is gone, and say in `left` what is not."""

    @abstractmethod
    async def export(self, folder: Path) -> Counts:
        """Write it below `folder`, as files that people can read; no file has the user's id in its path."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close what was opened."""


class CallsPlace(Place):
    """Calls of a store, their recordings, and rules accepted for later calls."""

    def __init__(self, store: Store | None, recordings: Path | None, user: str) -> None:
        super().__init__("calls", user)
        self._store = store
        self._recordings = recordings

    async def found(self) -> Counts:
        """See `Place.found`."""
        calls = self._calls()
        counts = {"calls": len(calls)} if self._store is not None else {}
        if self._recordings is not None:
            counts["recordings"] = sum(map(self._is_recorded, self._call_ids(calls)))
        if self._store is not None:
            counts["accepted rules"] = len(self._notes(calls))
        return counts

    async def forget(self) -> Counts:
        """See `Place.forget`. A recording goes before its call, by which it can be found again."""
        calls = self._calls()
        counts = dict.fromkeys(await self.found(), 0)
        notes = [] if self._store is None else self._notes(calls)
        stored = {info.call_id for info in calls}
        busy: list[str] = []
        was_in_room = False
        for call_id in self._call_ids(calls):
            store = self._store if call_id in stored else None
            if store is not None and not store.claim(call_id):
                busy.append(call_id)
                continue
            try:
                was_in_room = was_in_room or self._was_in_room(call_id)
                self._delete(call_id, counts)
            except StoreError as error:
                self.left.append(f"call {call_id}: {error.message}")
            finally:
                if store is not None:
                    store.release(call_id)
        if busy:
            shown = ", ".join(busy[:_SHOWN]) + (", ..." if len(busy) > _SHOWN else "")
            self.left.append(
                f"calls that a running server has, with what it keeps when they end: {len(busy)} ({shown}); delete "
                "them there (DELETE /api/calls/ID), or run this again when they, or the server, have ended"
            )
        if was_in_room:
            self.left.append("what the user said in rooms, in the calls of the others who were there")
        self.left += self._unknown(calls)
        if self._store is not None:
            try:
                for key in notes:
                    self._store.put_note(key, "", None)
                    counts["accepted rules"] += 1
                self._store.scrub()
            except StoreError as error:
                self.left.append(f"accepted rules, or what is left in files of what was deleted: {error.message}")
        return counts

    def _delete(self, call_id: str, counts: Counts) -> None:
        if self._is_recorded(call_id):
            assert self._recordings is not None
            if not remove_recording(self._recordings / call_id):
                self.left.append(f"the recording of call {call_id}, and the call by which it can be found")
                return
            counts["recordings"] += 1
        if self._store is not None and self._store.delete(call_id):
            counts["calls"] += 1

    async def export(self, folder: Path) -> Counts:
        """See `Place.export`: a folder for each call, and `rules.json`."""
        calls = self._calls()
        counts = dict.fromkeys(await self.found(), 0)
        about = {info.call_id: info for info in calls}
        for call_id in self._call_ids(calls):
            into = folder / "calls" / call_id
            try:
                if self._is_recorded(call_id):
                    assert self._recordings is not None
                    _copy_sound(self._recordings / call_id, into / "sound.wav")
                    counts["recordings"] += 1
            except OSError as error:
                self.left.append(f"the recording of call {call_id}: {error.strerror or error}")
            if (info := about.get(call_id)) is None:
                continue
            counts["calls"] += 1
            try:
                self._export_call(info, into)
            except StoreError as error:
                self.left.append(f"the words of call {call_id}: {error.message}")
        if self._store is not None and (notes := self._notes(calls)):
            kept = [self._store.note(key) for key in notes]
            _write(folder / "rules.json", _pretty([_decoded(note) for note in kept if note is not None]))
            counts["accepted rules"] = len(kept)
        self.left += self._unknown(calls)
        return counts

    async def aclose(self) -> None:
        """See `Place.aclose`."""
        if self._store is not None:
            self._store.close()

    def _export_call(self, info: CallInfo, into: Path) -> None:
        told = {key: value for key, value in msgspec.to_builtins(info).items() if key not in _NOT_THEIRS}
        _write(into / "call.json", _pretty(told))
        entries = [*self._entries(info.call_id)]
        _write(into / "events.jsonl", b"".join(encode_entry(one) + b"\n" for one in entries))
        _write(into / "transcript.txt", as_text(lines_of(entries)).encode("utf-8", "replace"))

    def _calls(self) -> list[CallInfo]:
        return [] if self._store is None else self._store.calls(self.user)

    def _call_ids(self, calls: Sequence[CallInfo]) -> list[str]:
        """Return the user's calls: those of the store, then those that are recorded only."""
        known = [info.call_id for info in calls]
        strangers = [name for name in self._recorded() if name not in {*known} and self._owner(name) == self.user]
        return [*known, *strangers]

    def _recorded(self) -> list[str]:
        """Return the calls that the folder of recordings has. Raises StoreError."""
        if self._recordings is None:
            return []
        try:
            return sorted(filter(is_call_id, os.listdir(self._recordings)))
        except OSError as error:
            raise StoreError(f"{self._recordings}: {error.strerror}") from error

    def _is_recorded(self, call_id: str) -> bool:
        return self._recordings is not None and (self._recordings / call_id).is_dir()

    def _owner(self, call_id: str) -> str:
        """Return the user whose recording it is, as it says itself; "" where it does not."""
        assert self._recordings is not None
        try:
            about = json.loads((self._recordings / call_id / RECORDING_FILE).read_bytes())
        except (OSError, ValueError):
            return ""
        return str(about.get("owner", "")) if isinstance(about, dict) else ""

    def _unknown(self, calls: Sequence[CallInfo]) -> Iterator[str]:
        """Yield what there is of users who are not known: it may be of this one."""
        known, store = {info.call_id for info in calls}, self._store
        if store is not None and (n := sum(one.unreadable and not one.owner for one in store.calls())):
            yield f"calls with damaged descriptions, so that whose they are is not known: {n}"
        n = sum(
            self._is_recorded(name)
            and name not in known
            and not self._owner(name)
            and (store is None or store.call(name) is None)
            for name in self._recorded()
        )
        if n:
            yield f"recordings that name no user and have no stored call: {n}"

    def _notes(self, calls: Sequence[CallInfo]) -> list[str]:
        assert self._store is not None
        keys = dict.fromkeys(self._store.note_keys(notes_of(self.user)))
        keys |= dict.fromkeys(info.rules_note for info in calls if info.rules_note is not None)
        return [key for key in keys if self._store.note(key) is not None]

    def _was_in_room(self, call_id: str) -> bool:
        try:
            return any(isinstance(entry, s.ServerRoomJoinedEvent) for entry in self._entries(call_id))
        except StoreError:
            return False  # a damaged log is deleted like any other

    def _entries(self, call_id: str) -> Iterator[Entry]:
        after_seq = 0
        while self._store is not None and (page := self._store.read(call_id, after_seq, _PAGE)):
            yield from page
            after_seq = last_seq_of(page[-1])


class SessionsPlace(Place):
    """Saved states of the program's modules."""

    def __init__(self, session: StoredSession, user: str) -> None:
        super().__init__("sessions", user)
        self._session = session

    async def found(self) -> Counts:
        """See `Place.found`."""
        return {"sessions": len(await self._states())}

    async def forget(self) -> Counts:
        """See `Place.forget`."""
        if not self._can_be_user():
            return {"sessions": 0}
        n_sessions = await self._session.forget_user(self.user)
        await self._look_for_doubtful()
        return {"sessions": n_sessions}

    async def export(self, folder: Path) -> Counts:
        """See `Place.export`: a file for each session."""
        states = await self._states()
        for session_id, state in states.items():
            told = {"session_id": session_id, "state": _decoded(state)}
            _write(_free(folder / "sessions" / f"{_file_name(session_id)}.json"), _pretty(told))
        if self._can_be_user():
            await self._look_for_doubtful()
        return {"sessions": len(states)}

    async def _states(self) -> dict[str, bytes]:
        return await self._session.sessions_of(self.user) if self._can_be_user() else {}

    async def _look_for_doubtful(self) -> None:
        self.left += [f"{one}: its name may be that of another user" for one in await self._session.doubtful(self.user)]

    def _can_be_user(self) -> bool:
        """Whether a session can have this user: all stores of sessions refuse ids that could lead elsewhere."""
        try:
            check_id(self.user, "user id")
        except ClientError:
            return False
        return True

    async def aclose(self) -> None:
        """See `Place.aclose`."""
        await self._session.aclose()


class MemoriesPlace(Place):
    """What the long-term memory `path` has of the user."""

    def __init__(self, path: Path, user: str) -> None:
        super().__init__("long-term memories", user)
        self._memory = SqliteLongTermMemory(path, user)

    async def found(self) -> Counts:
        """See `Place.found`."""
        return {self.name: len([one async for one in self._memories()])}

    async def forget(self) -> Counts:
        """See `Place.forget`."""
        n_memories = await self._memory.forget("all")
        await self._memory.scrub()
        return {self.name: n_memories}

    async def export(self, folder: Path) -> Counts:
        """See `Place.export`: one file."""
        memories = [one._asdict() async for one in self._memories()]
        if memories:
            _write(_free(folder / "memories.json"), _pretty(memories))
        return {self.name: len(memories)}

    async def _memories(self) -> AsyncIterator[Memory]:
        before_id: MemoryId | None = None
        while page := await self._memory.remembered(_PAGE, before_id):
            for one in page:
                yield one
            before_id = page[-1].id

    async def aclose(self) -> None:
        """See `Place.aclose`."""
        await self._memory.aclose()


class PlansPlace(Place):
    """The plans that the file `path` has of the user."""

    def __init__(self, path: Path, user: str) -> None:
        super().__init__("plans", user)
        self._storage = SqlitePlanStorage(path, user)

    async def found(self) -> Counts:
        """See `Place.found`."""
        return {"plans": len(await self._storage.get_plans())}

    async def forget(self) -> Counts:
        """See `Place.forget`."""
        return {"plans": await self._storage.forget()}

    async def export(self, folder: Path) -> Counts:
        """See `Place.export`: one file."""
        plans = [plan.model_dump() for plan in await self._storage.get_plans()]
        if plans:
            _write(_free(folder / "plans.json"), _pretty(plans))
        return {"plans": len(plans)}

    async def aclose(self) -> None:
        """See `Place.aclose`: each use opens the file anew."""


def _copy_sound(recording: Path, to: Path) -> None:
    """Write a recording as one WAV. Raises OSError."""
    sound = Sound(recording)
    _write(to, b"")
    with to.open("ab") as file:
        for start in range(0, sound.n_bytes, _COPIED_BYTES):
            file.write(sound.read(start, start + _COPIED_BYTES))


def _write(path: Path, data: bytes) -> None:
    """Write a new file, readable by its owner only. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)


def _pretty(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n"


def _decoded(data: bytes) -> Any:
    """Return stored JSON; what is none, as a text."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _file_name(session_id: str) -> str:
    """Return a name for a session's file: another program may have saved it under any id."""
    try:
        return check_id(session_id, "session id")
    except ClientError:
        return "session"


def _free(path: Path) -> Path:
    """Return the path, or the first like it that is free."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free
