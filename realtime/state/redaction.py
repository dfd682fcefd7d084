"""Takes secrets out of what is stored, by the program's function.

Words come in deltas, and a secret may be split over them. So deltas are stored without their words, and a second time
with those of the redacted whole once that is complete: entries of the same `seq` replace each other.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import logging
import queue
import re
import threading
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Literal

import msgspec

from realtime.errors import BadOption
from realtime.event import server as s
from realtime.event.base import Item
from realtime.message import Msg, ToolCallBlock
from realtime.permission.accepted import PERMISSION_UPDATED
from realtime.state.gist import Gist
from realtime.state.log import AudioRun, Entry
from realtime.state.restore import AGENT_CHANGED
from realtime.state.store import CallInfo, Change

logger = logging.getLogger(__name__)

Redact = Callable[[str], str]
"""Returns the text without what is not to be stored."""
MARK = "[not stored: it could not be redacted]"
"""Stands in the store for a text whose redaction failed."""
LIMIT_S = 1.0
"""Seconds that the function has for one text."""
IDLE_S = 0.1
"""Seconds after which its thread ends without a text."""
MAX_STUCK = 4
"""Threads that may be in it beyond that; then nothing is redacted, and no text stored."""
MAX_STREAMS = 64
"""Texts of a call that may grow at once."""
MAX_WHOLES = 32
"""Items of a call whose words may be cut later."""
MAX_ALIGNED_CHARS = 4_000
"""Longer texts are split by their share alone: comparing takes their length squared."""
_TECHNICAL = re.compile(
    r"(?:^|_)(?:ids?|names?|code|reason|role|status|type|token|language|voice|model|kind|source|state|data|url)$"
)
"""Fields that the program reads, or that name who spoke."""
_GROWING: dict[type, str] = {
    s.AgentResponseAudioTranscriptDeltaEvent: "spoken",
    s.AgentResponseTextDeltaEvent: "written",
    s.AgentResponseThinkingDeltaEvent: "thought",
    s.AgentInputTranscriptionDeltaEvent: "heard",
}
_WHOLE: dict[type, str] = {
    s.AgentResponseAudioTranscriptDoneEvent: "spoken",
    s.AgentResponseTextDoneEvent: "written",
    s.AgentResponseThinkingDoneEvent: "thought",
    s.AgentInputTranscriptionDoneEvent: "heard",
    s.AgentInputTranscriptionFailedEvent: "heard",
}
_Stream = tuple[str, str, int]


class Redaction:
    """Redacts what a store is to get. Blocks: use it in a thread.

    A text whose redaction raises, returns something else or takes longer than `limit_s` is stored as `MARK`.
    """

    def __init__(self, redact: Any, *, limit_s: float = LIMIT_S) -> None:
        """Raises BadOption for what is no function of a text."""
        if not callable(redact) or inspect.iscoroutinefunction(redact):
            raise BadOption("redact is a plain function that returns the text without its secrets", code="bad_redact")
        self._guard = _Guard(redact, limit_s)
        self._calls: dict[str, _Call] = {}

    def text(self, text: str) -> str:
        """Return the redacted text."""
        return self._guard.of(text)

    def items(self, items: Sequence[Item]) -> list[Item]:
        """Return items of a conversation without secrets."""
        return [_Walk(self.text).of(item, Item) for item in items]

    def message(self, msg: Msg) -> Msg:
        """Return a copy of a message without secrets."""
        walk, made = _Walk(self.text), msg.copy()
        made.content = [walk.of(block, type(block)) for block in made.content]
        made.metadata = walk.free(made.metadata)
        return made

    def value(self, value: Any, kept: Collection[str] = ()) -> Any:
        """Return a JSON value without secrets; what is under the keys `kept` stays."""
        return _Walk(self.text, kept).free(value)

    def apply(self, changes: Iterable[Change]) -> None:
        """Redact changes in place. Call `wrote` once the store has them."""
        for change in changes:
            call = self._calls.setdefault(change.call_id, _Call(self.text))
            change.entries = call.redacted(change.entries)
            if change.info is not None:
                change.info = call.described(change.info)

    def wrote(self, changes: Iterable[Change]) -> None:
        """Note that the store has these changes."""
        for change in changes:
            call = self._calls.get(change.call_id)
            if call is not None:
                call.wrote()
                if change.info is not None and change.info.ended_at is not None:
                    del self._calls[change.call_id]

    def forget(self, call_id: str) -> None:
        """Forget a call that was deleted."""
        self._calls.pop(call_id, None)


@dataclass(slots=True)
class _Call:
    """What is to be known of one call."""

    redact: Redact
    streams: dict[_Stream, dict[int, Any]] = field(default_factory=dict)
    """The deltas of texts that grow, by `seq`."""
    complete: list[_Stream] = field(default_factory=list)
    """Those that the present write completes."""
    wholes: dict[str, list[_Alignment]] = field(default_factory=dict)
    """The texts of the latest items that had secrets."""
    gist: Gist = field(default_factory=Gist)
    earlier_words: str = ""

    def redacted(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return what to store, in order of `seq`."""
        self.complete.clear()
        stored: dict[int, Entry] = {}
        for entry in entries:
            if isinstance(entry, AudioRun):
                stored[entry.seq] = entry
            elif (kind := _GROWING.get(type(entry))) is not None:
                stored[entry.seq] = self._held(kind, entry)
            else:
                if (kind := _WHOLE.get(type(entry))) is not None:
                    stored |= self._completed(kind, entry)
                stored[entry.seq] = event = self._event(entry)
                self.gist.take(event)
        return [stored[seq] for seq in sorted(stored)]

    def _held(self, kind: str, entry: Any) -> Any:
        """Hold the words of a delta back; return it without them."""
        stream = (kind, entry.item_id, entry.content_index)
        self.streams.setdefault(stream, {})[entry.seq] = entry
        while len(self.streams) > MAX_STREAMS:
            del self.streams[next(iter(self.streams))]
        return _without_words(entry)

    def _completed(self, kind: str, entry: Any) -> dict[int, Entry]:
        """Return the deltas of a complete text, with its redacted words."""
        stream = (kind, entry.item_id, entry.content_index)
        deltas = self.streams.get(stream)
        if deltas is None:
            return {}
        self.complete.append(stream)
        raw = "".join(one.delta for one in deltas.values())
        redacted = self.redact(raw)
        if redacted == MARK or isinstance(entry, s.AgentInputTranscriptionFailedEvent):
            return {}
        whole = _Alignment(raw, redacted)
        if redacted != raw:
            self.wholes.setdefault(entry.item_id, []).append(whole)
            while len(self.wholes) > MAX_WHOLES:
                del self.wholes[next(iter(self.wholes))]
        with_words: dict[int, Entry] = {}
        begin = end = 0
        for seq, one in deltas.items():
            end += len(one.delta)
            piece = redacted[whole.place(begin) : whole.place(end)]
            with_words[seq] = msgspec.structs.replace(_without_words(one), delta=piece)
            begin = end
        return with_words

    def _event(self, entry: Any) -> Any:
        """Return another event without secrets."""
        item = getattr(entry, "item", None)
        item_id = item.id if isinstance(item, Item) else getattr(entry, "item_id", None)
        walk = _Walk(functools.partial(self._text, self.wholes.get(item_id or "", ())))
        match entry:
            case s.AgentToolProgressEvent():
                return msgspec.structs.replace(entry, delta="")  # its whole is the result of the tool
            case s.AgentResponseToolUseDeltaEvent(tool_use=tool_use):
                return msgspec.structs.replace(entry, delta="", tool_use=msgspec.structs.replace(tool_use, input=""))
            case s.ServerCustomEvent(name=name) if name == AGENT_CHANGED:
                return entry
            case s.ServerCustomEvent(name=name, value=value) if name == PERMISSION_UPDATED:
                # A rule with a part of its pattern replaced would be another rule.
                return entry if walk.free(value) == value else msgspec.structs.replace(entry, value={})
            case s.ServerSessionUpdatedEvent(config=config) if config:
                return msgspec.structs.replace(entry, config=_configured(config, self.redact))
            case _:
                return walk.of(entry, type(entry))

    def _text(self, wholes: Sequence[_Alignment], text: str) -> str:
        """Return a text without secrets; one that was cut in a secret ends with all that stands for it."""
        for whole in wholes:
            if whole.raw.startswith(text):
                return whole.redacted[: whole.place(len(text))]
        return self.redact(text)

    def described(self, info: CallInfo) -> CallInfo:
        """Return the description of the call without secrets."""
        if info.last_seq and not self.earlier_words:
            self.earlier_words = self.redact(info.first_words or "")
        words = self.earlier_words or self.gist.first_words
        known = words if info.first_words is not None else None
        return msgspec.structs.replace(info, first_words=known, config=_configured(info.config, self.redact))

    def wrote(self) -> None:
        for stream in self.complete:
            self.streams.pop(stream, None)
        self.complete.clear()


def _without_words(entry: Any) -> Any:
    more = {"interim": None} if isinstance(entry, s.AgentInputTranscriptionDeltaEvent) else {}
    return msgspec.structs.replace(entry, delta="", **more)


def _configured(config: Mapping[str, Any], redact: Redact) -> dict[str, Any]:
    """Return settings with redacted instructions; the others are read when the call goes on."""
    instructions = config.get("instructions")
    return {**config, **({"instructions": redact(instructions)} if isinstance(instructions, str) else {})}


class _Alignment:
    """Where the places of a text are in its redacted form."""

    def __init__(self, raw: str, redacted: str) -> None:
        self.raw, self.redacted = raw, redacted
        self._codes: Sequence[tuple[str, int, int, int, int]] = ()
        if raw == redacted:
            self._codes = [("equal", 0, len(raw), 0, len(raw))]
        elif max(len(raw), len(redacted)) <= MAX_ALIGNED_CHARS:
            self._codes = difflib.SequenceMatcher(None, raw, redacted, autojunk=False).get_opcodes()

    def place(self, at: int) -> int:
        """Return the place in the redacted text; within what was replaced, the end of what replaces it."""
        if not self._codes:
            return len(self.redacted) * at // max(1, len(self.raw))
        place = 0
        for tag, i1, i2, j1, j2 in self._codes:
            if at < i1 or (at == i1 and i2 > i1):
                break
            place = j1 + (at - i1) if tag == "equal" and at <= i2 else j2
        return place


class _Walk:
    """Redacts the texts within a value."""

    def __init__(self, redact: Redact, kept: Collection[str] = ()) -> None:
        self._redact = redact
        self._kept = kept

    def of(self, value: Any, hint: Any) -> Any:
        """Return a value of this type; texts that only certain words may be stay as they are."""
        made = value
        if type(value) is str:
            made = self._redact(value) if _takes_text(hint) else value
        elif isinstance(value, ToolCallBlock):
            made = msgspec.structs.replace(value, input=self._arguments(value.input))
        elif isinstance(value, msgspec.Struct):
            hints = _hints(type(value))
            fields = {name: getattr(value, name) for name in value.__struct_fields__ if not _TECHNICAL.search(name)}
            found = {name: self.of(one, hints.get(name, Any)) for name, one in fields.items()}
            changed = {name: one for name, one in found.items() if one is not fields[name]}
            made = msgspec.structs.replace(value, **changed) if changed else value
        elif isinstance(value, list | tuple) and value:
            parts = [self.of(one, hint) for one in value]
            made = type(value)(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
        elif isinstance(value, dict) and _takes_text(hint):
            made = self.free(value)
        return made

    def free(self, value: Any) -> Any:
        """Return a JSON value without secrets, also in its keys."""
        match value:
            case str():
                return self._redact(value) if type(value) is str else value
            case dict():
                return {self.free(key): one if key in self._kept else self.free(one) for key, one in value.items()}
            case list() | tuple():
                return type(value)(self.free(one) for one in value)
            case msgspec.Struct():
                return self.of(value, type(value))
            case _:
                return value

    def _arguments(self, written: str) -> str:
        """Redact the arguments of a tool, which stay JSON."""
        try:
            return json.dumps(self.free(json.loads(written)), ensure_ascii=False)
        except (ValueError, RecursionError):
            return self._redact(written)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _takes_text(hint: Any) -> bool:
    """Whether any text may stand there."""
    if typing.get_origin(hint) is Literal:
        return False
    if hint in (str, Any, object):
        return True
    return (isinstance(hint, UnionType) and any(map(_takes_text, hint.__args__))) or any(
        map(_takes_text, typing.get_args(hint))
    )


class _Guard:
    """Calls the program's function: in a thread, for a limited time."""

    def __init__(self, redact: Redact, limit_s: float) -> None:
        self._redact = redact
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._stuck: list[_Worker] = []
        self._told: set[str] = set()

    def of(self, text: str) -> str:
        """Return the redacted text, or `MARK`."""
        if not text.strip():
            return text
        with self._lock:
            self._stuck = [one for one in self._stuck if one.thread.is_alive()]
            if len(self._stuck) >= MAX_STUCK:
                return self._failed("it is stuck in earlier texts")
            answers = self._worker.ask(text) if self._worker is not None else None
            if self._worker is None or answers is None:
                self._worker = _Worker(self._redact)
                answers = self._worker.ask(text)
            assert answers is not None
            try:
                found = answers.get(timeout=self._limit_s)
            except queue.Empty:
                self._worker.dismiss()
                self._stuck.append(self._worker)
                self._worker = None
                return self._failed(f"it took longer than {self._limit_s:g} s")
        if isinstance(found, str):
            return str(found)
        kind = type(found).__name__
        return self._failed(f"it raised {kind}" if isinstance(found, BaseException) else f"it returned {kind}")

    def _failed(self, why: str) -> str:
        if why not in self._told:
            self._told.add(why)
            logger.error("texts are not stored, for they cannot be redacted: %s", why)
        return MARK


class _Worker:
    """A thread that redacts texts, until there are none for `IDLE_S`.

    As a daemon, it keeps no process from ending.
    """

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._lock = threading.Lock()
        self._is_over = False
        self._asked: queue.SimpleQueue[tuple[str, queue.SimpleQueue[Any]] | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="redaction", daemon=True)
        self.thread.start()

    def ask(self, text: str) -> queue.SimpleQueue[Any] | None:
        """Return where the answer will be: the text, or an exception; None if the thread has ended."""
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            if self._is_over:
                return None
            self._asked.put((text, answers))
        return answers

    def dismiss(self) -> None:
        """End after the present text."""
        self._asked.put(None)

    def _run(self) -> None:
        while (asked := self._next()) is not None:
            text, answers = asked
            try:
                answers.put(self._redact(text))
            except BaseException as error:  # of the program's function: anything
                answers.put(error)

    def _next(self) -> tuple[str, queue.SimpleQueue[Any]] | None:
        try:
            return self._asked.get(timeout=IDLE_S)
        except queue.Empty:
            with self._lock:
                self._is_over = self._asked.empty()
            return None if self._is_over else self._asked.get()
