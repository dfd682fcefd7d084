"""What a remote agent answers to one message, folded from its events: pure, whatever their order.

What it says is said once: artifacts as they grow, the message that ends a task, a message on its own. What it says
while it works is progress and no answer, unless nothing else comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from realtime.a2a.parts import JSON_TYPE, blocks_of
from realtime.message import Base64Source, Block, DataBlock, TextBlock

DONE = ("completed", "failed", "canceled", "rejected")
"""States with which a task is over."""
ASKS = ("input-required", "auth-required")
"""States in which a task waits for the user."""
MESSAGE = "message"
"""The state of a message on its own, without a task."""
MAX_SPOKEN_JSON_CHARS = 2_000
"""Data that is all of an answer is its text, so far."""


@dataclass(frozen=True, slots=True)
class Words:
    """Text of the answer. `goes_on`: it continues the text before it."""

    text: str
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """What the remote agent says while it works."""

    text: str
    state: str


Piece = Words | Block | Progress


@dataclass(slots=True)
class _Artifact:
    """What was told of an artifact."""

    text: str = ""
    n_others: int = 0


@dataclass(slots=True)
class Answer:
    """The answer so far. `task_id` and `context_id` are "" until they are known."""

    task_id: str = ""
    context_id: str = ""
    state: str = ""
    """`working`, `completed`, ..., or `message`; "" before the first event."""
    reason: str = ""
    """What the remote agent said of a task that failed."""
    faults: list[str] = field(default_factory=list)
    _artifacts: dict[str, _Artifact] = field(default_factory=dict)
    _growing: str | None = None
    """The artifact whose text was the last piece."""
    _said: set[str] = field(default_factory=set)
    _progress: str = ""
    _data: list[DataBlock] = field(default_factory=list)
    _history: list[Any] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes: it has ended, or waits for the user."""
        return self.state in (*DONE, *ASKS, MESSAGE)

    @property
    def has_words(self) -> bool:
        """Whether it has said anything."""
        return bool(self._said)

    def take(self, event: Mapping[str, Any]) -> Iterator[Piece]:
        """Take an event in the JSON of 1.0; yield what it adds. Those of other tasks and late ones add nothing."""
        if self.is_over:
            return
        match event:
            case {"message": Mapping() as message}:
                self.context_id = _id(message, "contextId") or self.context_id
                yield from self._whole(self._read(message, "message"))
                self.state = MESSAGE
            case {"task": Mapping() as task}:
                if self._is_ours(_id(task, "id"), task, "task"):
                    yield from self._snapshot(task)
            case {"statusUpdate": Mapping() as update}:
                if self._is_ours(_id(update, "taskId"), update, "statusUpdate"):
                    yield from self._status(update.get("status"), "statusUpdate.status")
            case {"artifactUpdate": Mapping() as update}:
                if self._is_ours(_id(update, "taskId"), update, "artifactUpdate"):
                    append = update.get("append") is True
                    yield from self._artifact(update.get("artifact"), "artifactUpdate.artifact", append=append)
            case _:
                self.faults.append(f"event: it holds none of task, message, statusUpdate, artifactUpdate: {[*event]}")

    def rest(self) -> list[Block]:
        """Return what an answer without words says in the end.

        It is what it has in its history, its data as text, or the last progress.
        """
        if self._said:
            return []
        said = [piece for one in self._history for piece in self._whole(self._read(one, "task.history"))]
        if not said and self._data:
            texts = [_json_text(block) for block in self._data]
            said = [Words(text) for text in texts if text]
        if not said and self._progress and self.state == "completed":
            said = [Words(self._progress)]
        whole = [one for one in said if not isinstance(one, Progress)]
        return [TextBlock(text=one.text) if isinstance(one, Words) else one for one in whole]

    # -- inside --------------------------------------------------------------------------------------------------------

    def _is_ours(self, task_id: str, event: Mapping[str, Any], path: str) -> bool:
        if task_id and self.task_id and task_id != self.task_id:
            self.faults.append(f"{path}: it is of another task, which was not asked")
            return False
        self.task_id = self.task_id or task_id
        self.context_id = _id(event, "contextId") or self.context_id
        return True

    def _snapshot(self, task: Mapping[str, Any]) -> Iterator[Piece]:
        history = task.get("history")
        is_reply = False
        self._history = []
        for one in history if isinstance(history, list) else ():
            role = str(one.get("role", "")).upper() if isinstance(one, Mapping) else ""
            is_reply = role.endswith("AGENT")
            # What was said before our message is no answer to it.
            self._history = [*self._history, one] if is_reply else []
        status = self._status(task.get("status"), "task.status")
        yield from status
        artifacts = task.get("artifacts")
        for place, one in enumerate(artifacts if isinstance(artifacts, list) else ()):
            yield from self._artifact(one, f"task.artifacts[{place}]", append=False)

    def _status(self, status: Any, path: str) -> Iterator[Piece]:
        if not isinstance(status, Mapping):
            return
        state = _state(status)
        self.state = state or self.state
        message = status.get("message")
        if not isinstance(message, Mapping):
            return
        blocks = self._read(message, f"{path}.message")
        text = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        if state == "failed":
            self.reason = text
        elif state in (*DONE, *ASKS):
            yield from self._whole(blocks)
        elif text:
            self._progress = text
            yield Progress(text, state)

    def _artifact(self, artifact: Any, path: str, *, append: bool) -> Iterator[Piece]:
        if not isinstance(artifact, Mapping):
            self.faults.append(f"{path}: an artifact is an object with `parts`")
            return
        key = _id(artifact, "artifactId")
        told = self._artifacts.setdefault(key, _Artifact())
        blocks = self._read(artifact, path)
        whole = "".join(block.text for block in blocks if isinstance(block, TextBlock))
        if not append and told.text and whole.startswith(told.text):
            # All of it again: what is new is its end.
            rest = [TextBlock(text=whole[len(told.text) :])] if len(whole) > len(told.text) else []
            others = [block for block in blocks if not isinstance(block, TextBlock)]
            blocks, goes_on, whole = (
                [*rest, *others[told.n_others :]],
                self._growing == key,
                rest[0].text if rest else "",
            )
        else:
            goes_on = append and self._growing == key
            told.text = told.text if append else ""
        told.text += whole
        told.n_others += sum(not isinstance(block, TextBlock) for block in blocks)
        if told.text.strip():
            self._said.add(told.text.strip())
        before = ""
        for block in blocks:
            if isinstance(block, TextBlock):
                yield Words(block.text, goes_on or _belongs_to(before, block.text))
                self._growing, goes_on, before = key, False, block.text
            else:
                self._growing, goes_on, before = None, False, ""
                yield from self._kept(block)

    def _whole(self, blocks: Iterable[Block]) -> Iterator[Piece]:
        """Yield what a message says, without what was said already."""
        self._growing = None
        for block in blocks:
            if not isinstance(block, TextBlock):
                yield from self._kept(block)
            elif block.text.strip() not in self._said:
                self._said.add(block.text.strip())
                yield Words(block.text)

    def _kept(self, block: Block) -> Iterator[Piece]:
        if isinstance(block, DataBlock):
            self._data.append(block)
        yield block

    def _read(self, holder: Mapping[str, Any], path: str) -> list[Block]:
        read = blocks_of(holder.get("parts"), f"{path}.parts", tools=False)
        self.faults += read.faults
        return read.blocks


def _belongs_to(before: str, text: str) -> bool:
    """Whether two texts of an artifact are pieces of one: it may have come in the smallest of pieces."""
    return bool(before) and (before[-1].isspace() or text[0].isspace() or before[-1] not in _ENDS)


_ENDS = ".!?…:;。！？"


def state_of(event: Mapping[str, Any]) -> str:
    """Return the state that an event tells; "" where it tells none."""
    match event:
        case {"message": Mapping()}:
            return MESSAGE
        case {"task": {"status": Mapping() as status}} | {"statusUpdate": {"status": Mapping() as status}}:
            return _state(status)
    return ""


def context_of(event: Mapping[str, Any]) -> str:
    """Return the conversation that an event belongs to; "" where it names none."""
    return next((_id(one, "contextId") for one in event.values() if isinstance(one, Mapping)), "")


def _state(status: Mapping[str, Any]) -> str:
    state = str(status.get("state", "")).lower().removeprefix("task_state_").replace("_", "-")
    return "" if state in ("unspecified", "unknown") else state


def _id(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _json_text(block: DataBlock) -> str:
    source = block.source
    if isinstance(source, Base64Source) and source.media_type == JSON_TYPE:
        return source.data.decode(errors="replace")[:MAX_SPOKEN_JSON_CHARS]
    return ""
