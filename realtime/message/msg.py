"""`Msg`: one complete turn of a conversation, built from the events of a reply."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, get_args, overload

import msgspec

from realtime.message import fold
from realtime.message.blocks import (
    BLOCK_CLASSES,
    Block,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    read_block,
)
from realtime.message.canonical import canonical_json
from realtime.message.content import Blocks, Content
from realtime.message.outcome import FinishedReason, Usage
from realtime.runtime import unique_id, wall_clock_iso

Role = Literal["user", "assistant", "system"]
BlockType = Literal["text", "thinking", "data", "hint", "tool_call", "tool_result"]
ContentLike = str | Block | Sequence[Block | Mapping[str, Any]] | None


class Msg:
    """A user's input, an assistant's complete reply, or a system prompt.

    `content`: text, which becomes one text block, or blocks. Times are ISO 8601 in UTC; `created_at` defaults to now.
    `usage` is for assistants only. Raises ValueError for an unknown role or one that may not hold a given block (user:
    text and data; system: text; assistant: all), TypeError for a field of another type. A message is mutable: hand out
    `copy()` or `frozen()`.
    """

    __slots__ = (
        "_content",
        "_frozen",
        "_metadata",
        "_seen",
        "_structured_output",
        "created_at",
        "error",
        "finished_at",
        "finished_reason",
        "id",
        "name",
        "role",
        "usage",
    )

    def __init__(
        self,
        name: str,
        content: ContentLike,
        role: Role,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_at: str | None = None,
        finished_at: str | None = None,
        usage: Usage | None = None,
        finished_reason: FinishedReason | None = None,
        structured_output: Mapping[str, Any] | None = None,
        error: str | None = None,
    ) -> None:
        if role not in get_args(Role):
            raise ValueError(f"a role is one of {', '.join(get_args(Role))}, not {role!r}")
        if finished_reason is not None and finished_reason not in get_args(FinishedReason):
            raise ValueError(f"finished_reason is one of {', '.join(get_args(FinishedReason))}: {finished_reason!r}")
        if usage is not None and role != "assistant":
            raise ValueError("only assistant messages have usage")
        self._frozen = False
        self.name = _text(name, "name")
        self.role: Role = role
        self.id = unique_id() if id is None else _text(id, "id")
        self._metadata = dict(metadata or {})
        self.created_at = wall_clock_iso() if created_at is None else _text(created_at, "created_at")
        self.finished_at = finished_at
        self.usage = usage
        self.finished_reason: FinishedReason | None = finished_reason
        self._structured_output = None if structured_output is None else dict(structured_output)
        self.error = error
        self._content = _content_of(role, content)
        self._seen: set[str] = set()

    @classmethod
    def from_events(cls, events: Iterable[Any]) -> Msg:
        """Build the message of one reply from its events. Events of other replies are skipped with a warning.

        Raises ValueError where no reply starts.
        """
        msg: Msg | None = None
        for event in events:
            if msg is not None:
                msg.append_event(event)
            elif event.type == "REPLY_START":
                msg = _started(event)
            elif event.reply_id:
                fold.warn_skipped(event, "its reply has not begun")
        if msg is None:
            raise ValueError("no event starts a reply")
        return msg

    def append_event(self, event: fold.FoldEvent) -> Self:
        """Apply one event of this message's reply.

        An event that was already applied is dropped by its id; one of another reply, or for a missing block, is skipped
        with a warning.
        """
        if self._frozen:
            raise TypeError("this message is frozen: append to a copy()")
        if event.reply_id != self.id:
            if event.reply_id:
                fold.warn_skipped(event, f"it is not of reply {self.id}")
            return self
        if event.id not in self._seen:
            self._seen.add(event.id)
            fold.apply(self, event)
        return self

    @property
    def growing_content(self) -> Content:
        """The content as the fold changes it."""
        return self._content

    @property
    def content(self) -> Blocks:
        """The blocks in order. A frozen message gives a copy, others the list itself.

        Text can be put before the words (`"[reviewed] " + msg.content`), and text can be assigned.
        """
        blocks = self._content.blocks()
        return copy.deepcopy(blocks) if self._frozen else blocks

    @content.setter
    def content(self, content: ContentLike) -> None:
        self._content = _content_of(self.role, content)

    @property
    def metadata(self) -> dict[str, Any]:
        """The program's notes on the message, JSON values by name. A frozen message gives a copy."""
        return copy.deepcopy(self._metadata) if self._frozen else self._metadata

    @metadata.setter
    def metadata(self, metadata: Mapping[str, Any]) -> None:
        self._metadata = dict(metadata)

    @property
    def structured_output(self) -> dict[str, Any] | None:
        """The answer as an object, where one was requested. A frozen message gives a copy."""
        return copy.deepcopy(self._structured_output) if self._frozen else self._structured_output

    @structured_output.setter
    def structured_output(self, output: Mapping[str, Any] | None) -> None:
        self._structured_output = None if output is None else dict(output)

    @property
    def timestamp(self) -> str:
        """`created_at` by its older name."""
        return self.created_at

    def get_text_content(self, separator: str = "\n") -> str | None:
        """Return all text blocks, joined; None where there is none."""
        texts = [block.text for block in self._content.blocks() if isinstance(block, TextBlock)]
        return separator.join(texts) if texts else None

    @overload
    def get_content_blocks(self, block_type: Literal["text"]) -> list[TextBlock]: ...
    @overload
    def get_content_blocks(self, block_type: Literal["thinking"]) -> list[ThinkingBlock]: ...
    @overload
    def get_content_blocks(self, block_type: Literal["data"]) -> list[DataBlock]: ...
    @overload
    def get_content_blocks(self, block_type: Literal["hint"]) -> list[HintBlock]: ...
    @overload
    def get_content_blocks(self, block_type: Literal["tool_call"]) -> list[ToolCallBlock]: ...
    @overload
    def get_content_blocks(self, block_type: Literal["tool_result"]) -> list[ToolResultBlock]: ...
    @overload
    def get_content_blocks(self, block_type: Sequence[BlockType] | None = None) -> list[Block]: ...

    def get_content_blocks(self, block_type: BlockType | Sequence[BlockType] | None = None) -> Sequence[Block]:
        """Return the blocks of these types, in order; without an argument all of them."""
        wanted = _types(block_type)
        return [block for block in self.content if block.type in wanted]

    def get_first_content_block(self, block_type: BlockType | Sequence[BlockType] | None = None) -> Block | None:
        """Return the first block of these types; None where there is none."""
        wanted = _types(block_type)
        return next((block for block in self.content if block.type in wanted), None)

    def has_content_blocks(self, block_type: BlockType | Sequence[BlockType] | None = None) -> bool:
        """Return whether there is a block of these types."""
        return self.get_first_content_block(block_type) is not None

    def check_pairs(self) -> list[str]:
        """Return one sentence for each unpaired tool call or result."""
        return check_pairs([self])

    def check_answers(self, event: Any) -> None:
        """Raise ValueError where `event` answers calls that do not wait for it.

        A UserConfirmResultEvent is for calls that are `asking`, an ExternalExecutionResultEvent for `submitted` ones.
        """
        if event.reply_id != self.id:
            raise ValueError(f"the answer is for reply {event.reply_id}, not for {self.id}")
        if event.type == "USER_CONFIRM_RESULT":
            ids, state = [result.tool_call.id for result in event.confirm_results], "asking"
        elif event.type == "EXTERNAL_EXECUTION_RESULT":
            ids, state = [result.id for result in event.execution_results], "submitted"
        else:
            raise ValueError(f"{event.type} is no answer to tool calls")
        waiting = {call.id for call in self.get_content_blocks("tool_call") if call.state == state}
        if strangers := [call_id for call_id in ids if call_id not in waiting]:
            raise ValueError(f"no tool call of these ids is {state}: {', '.join(strangers)}")

    def change(self, fields: Mapping[str, Any]) -> None:
        """Set fields to what they are in `fields`, as `model_dump` writes them; others stay.

        Raises ValueError with a sentence about what is wrong; then nothing changes.
        """
        given = {name: value for name, value in fields.items() if value is not None or name in _NULLABLE}
        fixed = {
            "name": self.name,
            "role": self.role,
            "content": self.content,
            "usage": msgspec.to_builtins(self.usage),
        }
        changed = Msg.model_validate({**fixed, **given})
        self.role, self._content, self.usage = changed.role, changed._content, changed.usage
        for name in (*_OPTIONAL, "name"):
            if name in given:
                setattr(self, name, copy.deepcopy(getattr(changed, name)))

    def model_dump(self) -> dict[str, Any]:
        """Return the message as JSON-safe builtins."""
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "content": [block.model_dump() for block in self._content.blocks()],
            "metadata": msgspec.to_builtins(self._metadata),
            "created_at": self.created_at,
            "finished_at": self.finished_at,
            "usage": msgspec.to_builtins(self.usage),
            "finished_reason": self.finished_reason,
            "structured_output": msgspec.to_builtins(self._structured_output),
            "error": self.error,
        }

    def to_json(self) -> bytes:
        """Return canonical JSON (RFC 8785): equal messages are equal bytes, in Python and in a browser."""
        return canonical_json(self.model_dump())

    @classmethod
    def model_validate(cls, data: Mapping[str, Any]) -> Msg:
        """Read the output of `model_dump`. Raises ValueError with a sentence about what is wrong."""
        if not isinstance(data, Mapping):
            raise ValueError(f"a message is a JSON object, not {type(data).__name__}")
        fields = {name: data[name] for name in _OPTIONAL if data.get(name) is not None}
        if "created_at" not in fields and data.get("timestamp") is not None:  # as AgentScope 1.x calls it
            fields["created_at"] = data["timestamp"]
        try:
            if "usage" in fields:
                fields["usage"] = msgspec.convert(fields["usage"], Usage)
            return cls(data["name"], data["content"], data["role"], **fields)
        except KeyError as error:
            raise ValueError(f"a message needs `{error.args[0]}`") from error
        except (TypeError, msgspec.ValidationError) as error:
            raise ValueError(f"this is no message: {error}") from error

    @classmethod
    def from_json(cls, data: bytes | str) -> Msg:
        """Read the output of `to_json`. Raises ValueError with a sentence about what is wrong."""
        try:
            return cls.model_validate(msgspec.json.decode(data))
        except msgspec.DecodeError as error:
            raise ValueError(f"a message is a JSON object: {error}") from error

    def copy(self) -> Msg:
        """Return an independent copy."""
        twin = Msg(
            self.name,
            copy.deepcopy(self._content.blocks()),
            self.role,
            id=self.id,
            metadata=copy.deepcopy(self._metadata),
            created_at=self.created_at,
            finished_at=self.finished_at,
            usage=self.usage,
            finished_reason=self.finished_reason,
            structured_output=copy.deepcopy(self._structured_output),
            error=self.error,
        )
        twin._seen = set(self._seen)
        return twin

    def frozen(self) -> Msg:
        """Return an immutable copy, for queues and stores."""
        twin = self.copy()
        twin._frozen = True
        return twin

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_frozen" and self._frozen:
            raise TypeError("this message is frozen: change a copy()")
        super().__setattr__(name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Msg:
        return self.frozen() if self._frozen else self.copy()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Msg) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kinds = ", ".join(block.type for block in self._content.blocks())
        return f"Msg(id={self.id!r}, name={self.name!r}, role={self.role!r}, content=[{kinds}])"


_NULLABLE = ("finished_at", "usage", "finished_reason", "structured_output", "error")
_OPTIONAL = (
    "id",
    "metadata",
    "created_at",
    "finished_at",
    "usage",
    "finished_reason",
    "structured_output",
    "error",
)


def UserMsg(name: str, content: ContentLike = None, **fields: Any) -> Msg:
    """Make a user's message: text and data blocks. `fields` are the keywords of `Msg`."""
    return Msg(name, content, "user", **fields)


def AssistantMsg(name: str, content: ContentLike = None, **fields: Any) -> Msg:
    """Make an assistant's message: any blocks. `fields` are the keywords of `Msg`."""
    return Msg(name, content, "assistant", **fields)


def SystemMsg(name: str, content: ContentLike = None, **fields: Any) -> Msg:
    """Make a system prompt: text blocks. `fields` are the keywords of `Msg`."""
    return Msg(name, content, "system", **fields)


def fold_messages(events: Iterable[Any]) -> list[Msg]:
    """Build the messages of all replies that start in `events`, in order.

    Replies may interleave. Events of replies that never start are skipped with a warning.
    """
    messages: dict[str, Msg] = {}
    for event in events:
        msg = messages.get(event.reply_id)
        if msg is not None:
            msg.append_event(event)
        elif event.type == "REPLY_START":
            messages[event.reply_id] = _started(event)
        elif event.reply_id:
            fold.warn_skipped(event, "its reply has not begun")
    return list(messages.values())


def check_pairs(messages: Iterable[Msg]) -> list[str]:
    """Return one sentence per unpaired tool call or result of a history.

    A result needs a call of its id before it; a call that is `finished` needs a result after it.
    """
    calls: dict[str, ToolCallBlock] = {}
    results: set[str] = set()
    wrong = []
    for message in messages:
        for block in message.get_content_blocks(("tool_call", "tool_result")):
            if isinstance(block, ToolCallBlock):
                calls[block.id] = block
            elif block.id not in calls:
                wrong.append(f"result {block.id} has no call before it")
            else:
                results.add(block.id)
    orphans = [call.id for call in calls.values() if call.state == "finished" and call.id not in results]
    return wrong + [f"call {call_id} is finished and has no result" for call_id in orphans]


def _started(event: Any) -> Msg:
    return Msg(event.name, None, event.role, id=event.reply_id, created_at=event.created_at)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{where} of a message is text, not {type(value).__name__}")
    return value


def _content_of(role: Role, content: ContentLike) -> Content:
    blocks = _blocks(content)
    for block in blocks:
        if block.type not in fold.ALLOWED_BLOCKS[role]:
            raise ValueError(f"a {role} message holds no {block.type} block")
    return Content(blocks)


def _blocks(content: Any) -> list[Block]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextBlock(text=content)]
    if isinstance(content, Block):
        return [content]
    if not isinstance(content, Sequence):
        raise TypeError(f"content of a message is text or blocks, not {type(content).__name__}")
    return [_block(entry) for entry in content]


def _block(entry: Any) -> Block:
    if isinstance(entry, Mapping):
        return read_block(entry)
    if not isinstance(entry, Block):
        raise TypeError(f"content of a message is text or blocks, not {type(entry).__name__}")
    return entry


def _types(block_type: str | Sequence[str] | None) -> tuple[str, ...]:
    wanted = tuple(BLOCK_CLASSES) if block_type is None else block_type
    wanted = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    wanted = tuple("tool_call" if name == "tool_use" else name for name in wanted)  # as AgentScope 1.x calls it
    if unknown := [name for name in wanted if name not in BLOCK_CLASSES]:
        raise ValueError(f"unknown block type {unknown[0]!r}: one of {', '.join(BLOCK_CLASSES)}")
    return wanted
