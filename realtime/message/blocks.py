"""Content blocks of messages, tool calls and tool results.

Frozen `msgspec` Structs with a `type` discriminator in JSON. The field names are those of AgentScope 2.x. Construction
checks the types of the fields; `type="text"` may be given if it is the right one, and what AgentScope 1.x writes is
taken: a `tool_use` with an object as its input, a URL without a media type, a source as a dict. Text, thinking, data
and hint blocks get a generated `id` where none is given; calls and results have that of the call. JSON omits
`created_at`, `finished_at` (ISO 8601, UTC) and `suggested_rules` where they are empty.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, get_args

import msgspec
import pybase64

from realtime.message.older import in_our_shape, media_type_of
from realtime.runtime import unique_id


class ToolCallState(StrEnum):
    """State of a tool call; each value equals its text."""

    PENDING = "pending"
    """Not checked yet."""
    ASKING = "asking"
    """Waits for the user's consent."""
    ALLOWED = "allowed"
    """Allowed; waits to run."""
    SUBMITTED = "submitted"
    """With an external executor."""
    FINISHED = "finished"
    """Has a result, good or bad."""


class ToolResultState(StrEnum):
    """Outcome of a tool call, or that it runs; each value equals its text."""

    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    """The user interrupted the reply."""
    DENIED = "denied"
    """The user or a rule refused it."""


class PermissionBehavior(StrEnum):
    """What a permission rule does with a tool call; each value equals its text."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


def _written_before(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor in our shape: AgentScope 1.x has fewer, and dicts among them."""
    match kind, fields:
        case ("tool_use", _):
            shaped = in_our_shape({"type": "tool_use", **fields})
            return {name: value for name, value in shaped.items() if name != "type"}
        case ("url", {"url": str(url)}) if "media_type" not in fields:
            return {**fields, "media_type": media_type_of(url)}
        case ("data", {"source": Mapping() as source}):
            return {**fields, "source": _source_of(source, "data")}
    return fields


class _BlockMeta(msgspec.StructMeta):
    """Checks field types at construction. Decoding bypasses it: it has checked the types already."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        config = cls.__struct_config__
        given = fields.pop("type", config.tag)
        if given != config.tag and not (config.tag == "tool_call" and given == "tool_use"):
            raise ValueError(f"the type of a {cls.__name__} is {config.tag!r}, not {given!r}")
        fields = _written_before(str(given), fields)
        if "extra" in cls.__struct_fields__:
            known = {name: fields.pop(name) for name in cls.__struct_fields__ if name in fields}
            fields = known | {"extra": {**known.get("extra", {}), **fields}}
        block = super().__call__(*args, **fields)
        block._check()
        return block


class _Checked(msgspec.Struct, metaclass=_BlockMeta, frozen=True, kw_only=True):
    """Base of structs checked at construction; `kinds` are the Python types of the fields."""

    kinds: ClassVar[Mapping[str, type | tuple[type, ...]]] = {}

    def _check(self) -> None:
        for name, kind in self.kinds.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                expected = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
                raise TypeError(f"{type(self).__name__}.{name} is {expected}, not {type(value).__name__}")


def settle_bytes(holder: msgspec.Struct, field: str) -> None:
    """Convert a bytes field from base64 text or another buffer.

    Raises ValueError for text that is not base64.
    """
    data: object = getattr(holder, field)
    if isinstance(data, str):
        try:
            data = pybase64.b64decode(data, validate=True)
        except ValueError as error:
            raise ValueError(f"not valid base64: {error}") from error
    elif isinstance(data, bytearray | memoryview):
        data = bytes(data)
    msgspec.structs.force_setattr(holder, field, data)


def settle_state(holder: msgspec.Struct, field: str, states: type[StrEnum]) -> None:
    """Convert a state field from its text.

    Raises ValueError for a text that is not in `states`.
    """
    given: Any = getattr(holder, field)
    try:
        msgspec.structs.force_setattr(holder, field, states(given))
    except ValueError:
        words = ", ".join(states)
        raise ValueError(f"{type(holder).__name__}.{field} is one of {words}, not {given!r}") from None


class Base64Source(_Checked, frozen=True, kw_only=True, tag_field="type", tag="base64"):
    """Binary content inside the message. `data` is base64 in JSON, bytes in Python; construction accepts both."""

    kinds = {"data": bytes, "media_type": str}

    data: bytes
    media_type: str

    def __post_init__(self) -> None:
        settle_bytes(self, "data")


# RFC 3986: a scheme, then only characters that a URI may hold, every % followed by two hex digits.
_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")


def check_uri(uri: str) -> None:
    """Raise ValueError for an invalid URI.

    A URI needs a scheme (RFC 3986), and with http(s) also a host.
    """
    _, _, rest = uri.partition(":")
    if not _URI.fullmatch(uri) or (re.match("https?:", uri, re.IGNORECASE) and not re.match(r"//[^/?#]", rest)):
        raise ValueError(f"not a valid URI with a scheme (RFC 3986): {uri[:80]!r}")


class URLSource(_Checked, frozen=True, kw_only=True, tag_field="type", tag="url"):
    """Binary content elsewhere: `url` is an RFC 3986 URI with a scheme (ValueError otherwise)."""

    kinds = {"url": str, "media_type": str}

    url: str
    media_type: str

    def __post_init__(self) -> None:
        if isinstance(self.url, str):
            check_uri(self.url)


class _Block(_Checked, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """Base of all blocks. The events that begin and end a block set `created_at` and `finished_at`."""

    created_at: str | None = None
    finished_at: str | None = None

    @property
    def type(self) -> str:
        """The block's type string, as in JSON."""
        return str(self.__struct_config__.tag)

    def model_dump(self) -> dict[str, Any]:
        """Return the block as JSON-safe builtins."""
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return dumped


# JSON always contains fields with a `default_factory`; the others only where they differ from their default.


class TextBlock(_Block, frozen=True, kw_only=True, tag="text"):
    """A piece of text."""

    kinds = {"text": str, "id": str}

    text: str
    id: str = msgspec.field(default_factory=unique_id)


class ThinkingBlock(_Block, frozen=True, kw_only=True, tag="thinking"):
    """A model's thinking. Unknown fields (a provider's `signature`) are kept in `extra`.

    They are given as keywords, stand beside the others in `model_dump()`, and `read_block` reads them back.
    """

    kinds = {"thinking": str, "id": str, "extra": dict}

    thinking: str
    id: str = msgspec.field(default_factory=unique_id)
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def model_dump(self) -> dict[str, Any]:
        """Return the block as JSON-safe builtins, extra fields beside the known ones."""
        dumped = super().model_dump()
        extra = dumped.pop("extra", {})
        return {**extra, **dumped}


class DataBlock(_Block, frozen=True, kw_only=True, tag="data"):
    """Image, audio, video or other binary content."""

    kinds = {"source": (Base64Source, URLSource), "id": str, "name": (str, type(None))}

    source: Base64Source | URLSource
    id: str = msgspec.field(default_factory=unique_id)
    name: str | None = msgspec.field(default_factory=lambda: None)


def _check_parts(parts: object, where: str) -> None:
    """Raise TypeError unless `parts` is text or a list of text/data blocks."""
    if not isinstance(parts, str | list) or not all(isinstance(part, str | TextBlock | DataBlock) for part in parts):
        raise TypeError(f"{where} is text or a list of text and data blocks")


class HintBlock(_Block, frozen=True, kw_only=True, tag="hint"):
    """A message to the model during its work.

    Examples: a scheduled trigger, a team message, a background tool's result. `source` names its origin, as a name or
    as JSON that a page shows as a label.
    """

    kinds = {"id": str, "source": (str, type(None))}

    hint: str | list[TextBlock | DataBlock]
    id: str = msgspec.field(default_factory=unique_id)
    source: str | None = msgspec.field(default_factory=lambda: None)

    def _check(self) -> None:
        super()._check()
        _check_parts(self.hint, "HintBlock.hint")


INTERRUPTED_BY_USER = "interrupted by the user"
"""The result of a tool call without one whose reply was interrupted."""


def system_reminder(text: str) -> str:
    """Wrap `text` in a system reminder, the recommended form of a hint."""
    return f"<system-reminder>\n{text}\n</system-reminder>"


_RESULT = "Its result:\n"


def result_reminder(told: str, result: str) -> str:
    """Wrap a sentence about a tool, and its result, in a reminder."""
    return system_reminder(f"{told} {_RESULT}{result}")


def result_in(reminder: str) -> str | None:
    """Return the result in a reminder of `result_reminder`; None for any other text."""
    _, found, result = reminder.removesuffix(system_reminder("").strip().partition("\n")[2]).partition(f" {_RESULT}")
    return result.strip() if found else None


class PermissionRule(_Checked, frozen=True, kw_only=True):
    """Whether a tool may run without a question. `rule_content`: a pattern for its arguments; None: all arguments.

    `source`: where the rule comes from, such as `user`. What patterns mean is in `realtime.permission`.
    """

    kinds = {"tool_name": str, "rule_content": (str, type(None)), "source": str}

    tool_name: str
    rule_content: str | None = None
    behavior: PermissionBehavior = PermissionBehavior.ASK
    source: str = ""

    def _check(self) -> None:
        super()._check()
        settle_state(self, "behavior", PermissionBehavior)


ELICITATION = "elicitation"
"""Name of the call that shows a tool's question to the user: no remote tool may have it."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def read_json(text: str) -> Any:
    """Return what JSON of a model holds.

    Models also write it in a code fence, behind a BOM, with line breaks within texts, a comma behind the last entry,
    half a character, or as Python prints it. Raises ValueError, which says "not valid JSON", for everything else.
    """
    text = text.strip().removeprefix("\ufeff").lstrip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.partition("\n")[2].removesuffix("```").strip()
    try:
        return msgspec.json.decode(text)
    except UnicodeEncodeError:
        return read_json(_HALF.sub(_LOST, text))
    except (msgspec.DecodeError, RecursionError) as error:
        for read in (_lenient, partial(_lenient, comma=""), ast.literal_eval):
            if not isinstance(error, msgspec.DecodeError) or not text.startswith(("{", "[")):
                break
            try:
                # Encoded, since Python takes what is no JSON, such as sets.
                return msgspec.json.decode(msgspec.json.encode(whole(read(text))))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError):
                continue
        raise ValueError(f"not valid JSON: {error}") from error


_HALF = re.compile("[\ud800-\udfff]")
_LOST = "\N{REPLACEMENT CHARACTER}"
_TEXT_OR_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*"?)|,(?=\s*[}\]])', re.DOTALL)


def _lenient(text: str, comma: str = ",") -> Any:
    """Return what Python's reader makes of JSON.

    An empty `comma` drops those behind a last entry.
    """
    if not comma:
        text = _TEXT_OR_LAST_COMMA.sub(lambda found: found[1] or "", text)
    return json.loads(text, strict=False, parse_constant=_refuse)


def whole(value: Any) -> Any:
    """Return JSON with the replacement character for each half of a character."""
    match value:
        case str():
            return _HALF.sub(_LOST, value)
        case list():
            return [*map(whole, value)]
        case dict():
            return {whole(name): whole(one) for name, one in value.items()}
    return value


def read_input(text: str) -> Any:
    """Return the arguments that the input of a tool call holds: an object where they are right.

    Models write None, an empty text or an empty array for none, and put the object into a text or an array. Raises
    ValueError for what is not JSON.
    """
    value = read_json(text) if text.strip() else None
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(one, dict):
        return one
    if isinstance(one, str):
        with suppress(ValueError):
            if isinstance(meant := read_input(one), dict):
                return meant
    return {} if value is None or value == [] else value


class ToolCallBlock(_Block, frozen=True, kw_only=True, tag="tool_call"):
    """A model's request to run a tool. `input` is the arguments as a JSON string, as far as received.

    `suggested_rules`: rules that the user may accept together with the call, to avoid further questions.
    """

    kinds = {"id": str, "name": str, "input": str, "suggested_rules": list}

    id: str
    name: str
    input: str = msgspec.field(default_factory=str)
    state: ToolCallState = msgspec.field(default_factory=lambda: ToolCallState.PENDING)
    suggested_rules: list[PermissionRule] = []

    def _check(self) -> None:
        super()._check()
        settle_state(self, "state", ToolCallState)
        if not all(isinstance(rule, PermissionRule) for rule in self.suggested_rules):
            raise TypeError("ToolCallBlock.suggested_rules is a list of PermissionRule")

    @property
    def may_run(self) -> bool:
        """Whether the tool may begin: the call waits for no consent, and is not denied."""
        return self.state not in (ToolCallState.ASKING, ToolCallState.FINISHED)

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments; None while `input` is not a JSON object. See `read_input`."""
        try:
            parsed = read_input(self.input)
        except ValueError:
            return None
        return parsed if isinstance(parsed, dict) else None


ToolUseBlock = ToolCallBlock

ToolOutput = str | list[TextBlock | DataBlock]


class ToolResultBlock(_Block, frozen=True, kw_only=True, tag="tool_result"):
    """The outcome of the tool call with the same `id`."""

    kinds = {"id": str, "name": str}

    id: str
    name: str
    output: ToolOutput = msgspec.field(default_factory=str)
    state: ToolResultState = msgspec.field(default_factory=lambda: ToolResultState.SUCCESS)

    def _check(self) -> None:
        super()._check()
        _check_parts(self.output, "ToolResultBlock.output")
        settle_state(self, "state", ToolResultState)

    @classmethod
    def error(cls, id: str, message: str, *, name: str = "") -> ToolResultBlock:
        """Make the result of a call that failed; `message` is what the model reads."""
        return cls(id=id, name=name, output=message, state=ToolResultState.ERROR)

    def output_text(self, *, names_media: bool = False) -> str:
        """Return the output as text, for models without other results.

        `names_media`: the text also names other content, so that the model does not take it for nothing.
        """
        if isinstance(self.output, str):
            return self.output
        parts = [*self.texts]
        if names_media:
            parts += [f"[{block.source.media_type}, which cannot be shown to you]" for block in self.media]
        return "\n".join(parts)

    @property
    def texts(self) -> list[str]:
        """The non-empty texts of the output."""
        if isinstance(self.output, str):
            return [self.output] if self.output else []
        return [block.text for block in self.output if isinstance(block, TextBlock) and block.text]

    @property
    def media(self) -> list[DataBlock]:
        """The output that is not text."""
        return [] if isinstance(self.output, str) else [block for block in self.output if isinstance(block, DataBlock)]


class ConfirmResult(_Checked, frozen=True, kw_only=True):
    """The user's decision on one call. `tool_call` is the call as it shall run: name and input may be changed.

    `rules`: the suggested rules that the user accepted with it.
    """

    kinds = {"confirmed": bool, "tool_call": ToolCallBlock, "rules": (list, type(None))}

    confirmed: bool
    tool_call: ToolCallBlock
    rules: list[PermissionRule] | None = None


Block = TextBlock | ThinkingBlock | DataBlock | HintBlock | ToolCallBlock | ToolResultBlock
ContentBlock = Block

BLOCK_CLASSES: dict[str, type[Block]] = {str(cls.__struct_config__.tag): cls for cls in get_args(Block)}
"""The block classes by their `type`."""


def read_block(data: Mapping[str, Any]) -> Block:
    """Return a block from its JSON object. Raises ValueError for another `type` or a wrong field.

    States are read in either case, and shapes of other versions (`realtime.message.older`): a `tool_use`, a source
    without a media type.
    """
    fields = lower_state(in_our_shape(data))
    kind = fields.get("type")
    cls = BLOCK_CLASSES.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise ValueError(f"unknown block type {str(kind)[:64]!r}: one of {', '.join(BLOCK_CLASSES)}")
    try:
        if cls is ThinkingBlock:
            extra = {name: value for name, value in fields.items() if name not in (*cls.__struct_fields__, "type")}
            known = {name: value for name, value in fields.items() if name not in extra and name != "extra"}
            return msgspec.convert({**known, "extra": extra}, ThinkingBlock, builtin_types=())
        block: Block = msgspec.convert(fields, cls, builtin_types=())
    except msgspec.ValidationError as error:
        raise ValueError(f"{cls.__name__}: {error}") from error
    return block


def lower_state(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with its `state` in lower case: existing tables print it in upper case."""
    state = data.get("state")
    return {**data, "state": state.lower()} if isinstance(state, str) else dict(data)


Source = Base64Source | URLSource


def _source_of(source: Mapping[str, Any], kind: str) -> Source:
    """Return the source that a dict describes. Raises ValueError for another one."""
    shaped = in_our_shape({"type": kind, "source": source})["source"]
    try:
        read: Source = msgspec.convert(shaped, Source, builtin_types=())
    except msgspec.ValidationError as error:
        raise ValueError(f"the source of a block: {error}") from error
    return read


def _media_block(kind: str, source: Source | Mapping[str, Any], fields: dict[str, Any]) -> DataBlock:
    given = fields.pop("type", kind)
    if given not in (kind, "data"):
        raise ValueError(f"the type of {kind} content is {kind!r}, not {given!r}")
    if isinstance(source, Mapping):
        source = _source_of(source, kind)
    if isinstance(source, URLSource) and not source.media_type.startswith(_MEDIA):
        # An address may end in anything.
        guessed = source.media_type == media_type_of(source.url)
        source = msgspec.structs.replace(source, media_type=media_type_of(source.url, kind=kind)) if guessed else source
    if source.media_type.partition("/")[0] != kind:
        raise ValueError(f"{source.media_type!r} is no {kind}")
    return DataBlock(source=source, **fields)


_MEDIA = ("image/", "audio/", "video/")


def ImageBlock(*, source: Source | Mapping[str, Any], **fields: Any) -> DataBlock:
    """Make a DataBlock that holds an image. Raises ValueError for another media type."""
    return _media_block("image", source, fields)


def AudioBlock(*, source: Source | Mapping[str, Any], **fields: Any) -> DataBlock:
    """Make a DataBlock that holds audio. Raises ValueError for another media type."""
    return _media_block("audio", source, fields)


def VideoBlock(*, source: Source | Mapping[str, Any], **fields: Any) -> DataBlock:
    """Make a DataBlock that holds video. Raises ValueError for another media type."""
    return _media_block("video", source, fields)
