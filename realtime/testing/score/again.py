"""Decides a call again with other settings of turn detection.

The user's recorded audio is played to a server twice in virtual time: with the settings of the call, and with those
asked for. From the first decision that differs on, the user would have heard another call, so nothing behind it counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from realtime.errors import UsageError
from realtime.event import server as s
from realtime.event.config import TurnDetection
from realtime.event.decode import explain
from realtime.state.log import Entry
from realtime.state.store import Store
from realtime.testing.call import play
from realtime.testing.cases.case import CASE_FILE, LOG_FILE, Case, read_case
from realtime.testing.cases.export import export_call
from realtime.testing.cases.stored import read_log, record_of
from realtime.testing.client.steps import Send
from realtime.testing.clock import VirtualLoop
from realtime.testing.errors import RunFailure
from realtime.testing.record import write_log

NAMES = {"silence_ms": "silence_duration_ms"} | {
    name: name
    for name in (
        *("threshold", "expect", "create_response", "interrupt_response"),
        *("interruption", "min_speech_ms", "min_words", "backchannels", "protect_ms"),
    )
}
"""What can be set, with its field of `TurnDetection`: what the server and the stand-in of a case decide by."""
LATE_MS = 200
"""How far a faithful replay's decisions may be from the log's."""


class Decision(NamedTuple):
    """One decision about turns in a log."""

    ts_ms: int
    event: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.event}{self.detail and f' {self.detail}'} at {self.ts_ms:,} ms"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first decision that differs between two runs of a call."""

    first: Decision
    other: Decision | None
    """The next event of the same type in the other run; None: there is none."""
    is_new: bool
    """Whether `first` was decided with the new settings only."""

    def __str__(self) -> str:
        there = "in the call" if self.is_new else "with these settings"
        return f"{self.first}{'' if self.is_new else ' in the call'}; {there} {self.other or 'it does not happen'}"


@dataclass(frozen=True, slots=True)
class Again:
    """What other settings do to a call."""

    divergence: Divergence | None
    """None: all decisions are the same."""
    unfaithful: Divergence | None
    """Where the call's own settings leave its log before that.

    None: they do not, or there is no log.
    """

    def __str__(self) -> str:
        told = "decided the same to its end" if self.divergence is None else f"the same until {self.divergence}"
        if self.unfaithful is not None:
            told += f". Not reliable: played with its own settings, the call already differs: {self.unfaithful}"
        return told


def settings_in(words: Iterable[str]) -> dict[str, Any]:
    """Return fields of `TurnDetection` given as `name=value`. Raises UsageError for an unknown name or a bad value."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in NAMES or not equals:
            known = ", ".join(sorted(NAMES))
            raise UsageError(f"--set takes NAME=VALUE, not {word!r}; the names are {known}", code="unknown_setting")
        found[NAMES[name]] = [part.strip() for part in value.split(",")] if name == "backchannels" else value
    try:
        typed = msgspec.convert(found, TurnDetection, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"--set: {explain(error, TurnDetection)}", code="bad_setting") from error
    return {name: getattr(typed, name) for name in found}


def decide_folder_again(folder: Path, changes: dict[str, Any]) -> Iterator[tuple[str, Again]]:
    """Yield each case of a folder by name, with what `changes` do.

    The folder is a case or holds cases. See `decide_again`.
    """
    inside = sorted(file.parent for file in folder.glob(f"*/{CASE_FILE}"))
    for one in [folder] if (folder / CASE_FILE).is_file() or not inside else inside:
        yield one.name, decide_again(one, changes)


def decide_stored_again(store: Store, call_id: str, changes: dict[str, Any], *, recordings: Path) -> Again:
    """Decide a stored call again, from its recording. See `decide_again`."""
    with TemporaryDirectory() as made:
        folder = export_call(store, call_id, made, recordings=recordings)
        (folder / LOG_FILE).write_bytes(write_log(record_of(store, call_id).entries))
        return decide_again(folder, changes)


def decide_again(folder: Path, changes: dict[str, Any]) -> Again:
    """Play the case in a folder with and without `changes`.

    These are fields of `TurnDetection`. Pinned turns are found anew in the audio.

    Raises CaseError and RunFailure where the case cannot be played.
    """
    case = _unpinned(read_case(folder))
    before = _decisions(case, folder)
    divergence = first_difference(before, _decisions(_changed(case, changes), folder))
    log = folder / LOG_FILE
    stored = [*decisions_in(read_log(log))] if log.is_file() else before
    unfaithful = first_difference(stored, before, late_ms=LATE_MS)
    is_before = unfaithful and (divergence is None or unfaithful.first.ts_ms <= divergence.first.ts_ms)
    return Again(divergence, unfaithful if is_before else None)


def first_difference(call: Sequence[Decision], again: Sequence[Decision], *, late_ms: int = 0) -> Divergence | None:
    """Return where two runs first differ; the same decision up to `late_ms` apart is no difference."""
    same = 0
    for one, other in zip(call, again, strict=False):
        if one[1:] != other[1:] or abs(one.ts_ms - other.ts_ms) > late_ms:
            break
        same += 1
    rest, rest_again = call[same:], again[same:]
    if not rest and not rest_again:
        return None
    if rest and rest_again and rest[0].ts_ms == rest_again[0].ts_ms:
        is_new = rest_again[0] not in rest
    else:
        is_new = not rest or (bool(rest_again) and rest_again[0].ts_ms < rest[0].ts_ms)
    first, others = (rest_again[0], rest) if is_new else (rest[0], rest_again)
    return Divergence(first, next((other for other in others if other.event == first.event), None), is_new)


def decisions_in(entries: Iterable[Entry]) -> Iterator[Decision]:
    """Yield the decisions about turns in a log."""
    for entry in entries:
        match entry:
            case s.AgentInterruptionEvent():
                yield Decision(entry.ts_ms, _type(entry), f"{entry.state} {entry.reason}".rstrip())
            case s.ServerAudioFlushEvent():
                yield Decision(entry.ts_ms, _type(entry), entry.reason)
            case s.AgentInputStartedEvent() | s.AgentInputDoneEvent() | s.AgentResponseCreatedEvent():
                yield Decision(entry.ts_ms, _type(entry))
            case _:
                pass


def _type(event: s.ServerEvent) -> str:
    return str(event.__struct_config__.tag)


def _decisions(case: Case, folder: Path) -> list[Decision]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        try:
            entries = runner.run(play(case, folder=folder, frames=False)).entries
        except RunFailure as failure:
            # The user waits for what the call did; with other settings it may not come.
            if failure.record is None:
                raise
            entries = failure.record.entries
    return [*decisions_in(entries)]


def _unpinned(case: Case) -> Case:
    models = {
        name: msgspec.structs.replace(one, turns="detector") if one.turns == "positions" else one
        for name, one in case.models.items()
    }
    return msgspec.structs.replace(case, models=models)


def _changed(case: Case, changes: dict[str, Any]) -> Case:
    users = tuple(
        msgspec.structs.replace(
            user,
            steps=tuple(
                Send(event=step.event | {"config": _with(step.event["config"], changes)})
                if isinstance(step, Send) and "turn_detection" in step.event.get("config", {})
                else step
                for step in user.steps
            ),
        )
        for user in case.users
    )
    return msgspec.structs.replace(case, users=users, config=_with(case.config, changes))


def _with(config: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a call with changes; push-to-talk leaves nothing to decide."""
    detection = config.get("turn_detection") or {}
    return config if detection == "none" else config | {"turn_detection": detection | changes}
