"""Messages of ours and of Agent to Agent: the one place that turns one into the other.

The inner form is the JSON of protocol 1.0. Readers take it, the JSON of 0.3 and 0.2, in camelCase and snake_case, and
the objects of either SDK, by their fields. What cannot be read is one sentence with the path to the field, and nothing
beside it is lost. Nothing is fetched, and the SDK is not imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import msgspec
import pybase64

from realtime.formatter.media import part_of
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    URLSource,
    read_block,
)
from realtime.message.older import UNKNOWN_TYPE, media_type_of

Part = dict[str, Any]
"""A part in the JSON of 1.0: one of `text`, `raw`, `url`, `data`, and what describes it."""
WireRole = Literal["ROLE_USER", "ROLE_AGENT"]

JSON_TYPE = "application/json"
"""The media type of data parts that are no block of ours."""
TOO_DEEP = "it is nested too deeply"
MAX_QUOTED_CHARS = 60
"""Characters of foreign input that a sentence about it repeats."""
_CONTENTS = ("text", "raw", "url", "data")
_THOUGHTS = ("thought", "adk_thought")
"""Keys of a part's metadata that mark it as thinking."""
_EXACT = 2.0**53
"""Below this, a float without a fraction is one integer."""


class ReadParts(NamedTuple):
    """What parts hold, and a sentence per part that cannot be read."""

    blocks: list[Block]
    faults: list[str]


class ReadMessage(NamedTuple):
    """A message, and a sentence per part that cannot be read."""

    msg: Msg
    faults: list[str]


# -- out ---------------------------------------------------------------------------------------------------------------


def parts_of(blocks: Iterable[Block], *, hints: bool = True) -> list[Part]:
    """Return blocks as parts.

    Thinking stays here, and so do hints unless `hints`: then they are text. Tool calls and results are data, as
    AgentScope 1.x writes them. A local file is named and not read.
    """
    parts: list[Part] = []
    for block in blocks:
        match block:
            case TextBlock(text=text):
                parts += [{"text": text}] if text else []
            case DataBlock():
                parts.append(_data_part(block))
            case ToolCallBlock(id=call_id, name=name):
                given = block.arguments
                parts.append(
                    {"data": {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}}
                )
            case ToolResultBlock():
                parts.append({"data": _result_data(block)})
            case HintBlock(hint=hint) if hints:
                parts += parts_of([TextBlock(text=hint)] if isinstance(hint, str) else hint)
            case HintBlock() | ThinkingBlock():
                continue
    return parts


def message_of(
    blocks: Iterable[Block],
    *,
    message_id: str,
    role: WireRole = "ROLE_USER",
    context_id: str = "",
    task_id: str = "",
    hints: bool = True,
) -> dict[str, Any]:
    """Return blocks as one message. Ids that are "" are left out."""
    ids = {"contextId": context_id, "taskId": task_id}
    return {
        "messageId": message_id,
        "role": role,
        "parts": parts_of(blocks, hints=hints),
        **{name: value for name, value in ids.items() if value},
    }


def _data_part(block: DataBlock) -> Part:
    source = block.source
    named = {"filename": block.name} if block.name else {}
    if isinstance(source, URLSource):
        if source.url[:5].lower() == "file:":
            return {"text": str(part_of(block, {}))}
        return {"url": source.url, "mediaType": source.media_type, **named}
    if source.media_type == JSON_TYPE:
        try:
            return {"data": msgspec.json.decode(source.data), **named}
        except msgspec.DecodeError:
            pass
    return {"raw": pybase64.b64encode_as_string(source.data), "mediaType": source.media_type, **named}


def _result_data(block: ToolResultBlock) -> dict[str, Any]:
    output = block.output if isinstance(block.output, str) else [one.model_dump() for one in block.output]
    state = {} if block.state is ToolResultState.SUCCESS else {"state": str(block.state)}
    return {"type": "tool_result", "id": block.id, "name": block.name, "output": output, **state}


# -- in ----------------------------------------------------------------------------------------------------------------


def blocks_of(parts: Any, path: str = "parts", *, tools: bool = True, thoughts: bool = True) -> ReadParts:
    """Return the blocks that parts hold, in order.

    Data is the block that it describes (`tool_use`, `tool_result`), else JSON as a DataBlock; a part that is marked as
    a thought is thinking. Without `tools`, all data is JSON: where a tool call could run, a stranger gives none.
    Without `thoughts`, thinking is left out. A user's message holds neither.
    """
    if parts is None:
        return ReadParts([], [])
    if isinstance(parts, str | bytes) or not isinstance(parts, Sequence):
        return ReadParts([], [f"{path}: parts are a list, not {kind_of(parts)}"])
    blocks: list[Block] = []
    faults: list[str] = []
    for place, given in enumerate(parts):
        try:
            block = _block_of(plain(given), tools=tools, thoughts=thoughts)
        except _Fault as fault:
            faults.append(f"{path}[{place}]{fault.field}: {fault.sentence}")
        except RecursionError:
            faults.append(f"{path}[{place}]: {TOO_DEEP}")
        else:
            blocks += [] if block is None else [block]
    return ReadParts(blocks, faults)


def msg_of(message: Any, name: str, path: str = "message") -> ReadMessage:
    """Return a message of the protocol as ours, said by `name`.

    Its role is `user` or `assistant`; its ids and what else it carries stand in `metadata["a2a"]`.
    """
    faults: list[str] = []
    try:
        fields = plain(message)
    except RecursionError:
        fields = _readable(message, path, faults)
    if not isinstance(fields, Mapping):
        return ReadMessage(Msg(name, None, "assistant"), [f"{path}: a message is an object, not {kind_of(fields)}"])
    is_user = str(fields.get("role", "")).lower() in ("user", "role_user")
    read = blocks_of(fields.get("parts"), f"{path}.parts", tools=not is_user, thoughts=not is_user)
    kept = {key: value for key, value in fields.items() if key not in ("kind", "role", "parts") and value}
    of_parts = {
        str(place): part["metadata"]
        for place, part in enumerate(fields.get("parts") or ())
        if isinstance(part, Mapping) and part.get("metadata")
    }
    metadata = {**kept, **({"partMetadata": of_parts} if of_parts else {})}
    msg = Msg(name, read.blocks, "user" if is_user else "assistant", metadata={"a2a": metadata} if metadata else None)
    return ReadMessage(msg, [*faults, *read.faults])


def _readable(thing: Any, path: str, faults: list[str]) -> Any:
    """Return the fields of a message that are not too deep."""
    if not isinstance(thing, Mapping):
        return thing
    fields: dict[str, Any] = {}
    for name, value in thing.items():
        try:
            fields[camel(name)] = plain(value)
        except RecursionError:
            if name == "parts" and isinstance(value, list):
                fields[name] = [_readable(part, f"{path}.parts[{at}]", faults) for at, part in enumerate(value)]
            elif name in ("data", "file"):
                # Who reads its part tells it.
                fields[name] = value
            else:
                faults.append(f"{path}.{name}: {TOO_DEEP}")
    return fields


def plain(thing: Any) -> Any:
    """Return an object of the protocol as JSON builtins with camelCase names.

    Takes messages of protobuf, models of pydantic (also within lists and mappings), and JSON in either case.
    """
    if hasattr(thing, "DESCRIPTOR"):
        from google.protobuf.json_format import MessageToDict

        return _camel(MessageToDict(thing))
    dump: Callable[..., Any] | None = getattr(thing, "model_dump", None)
    if dump is not None:
        return _camel(dump(mode="json", by_alias=True, exclude_none=True))
    return _camel(thing)


def camel(name: str) -> str:
    """Return a name of the protocol in camelCase."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


_UNDERSCORE = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")
_FREE = ("data", "metadata", "header", "params", "schemes", "securitySchemes", "security")
"""Fields whose keys are names of their own."""


def _camel(value: Any) -> Any:
    """Return JSON with the protocol's names in camelCase; free objects keep their keys."""
    if isinstance(value, Mapping):
        named = {camel(key) if isinstance(key, str) else str(key): one for key, one in value.items()}
        return {key: _whole_numbers(one) if key in _FREE else _camel(one) for key, one in named.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return plain(value) if hasattr(value, "DESCRIPTOR") or hasattr(value, "model_dump") else value


def _whole_numbers(value: Any) -> Any:
    """Return free JSON with whole numbers as integers: protobuf makes each number a float."""
    match value:
        case float() if value.is_integer() and abs(value) < _EXACT:
            return int(value)
        case dict():
            return {key: _whole_numbers(one) for key, one in value.items()}
        case list():
            return [_whole_numbers(one) for one in value]
    return value


class _Fault(Exception):
    """A part cannot be read: the field within it, and a sentence."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence


def _block_of(part: Any, *, tools: bool, thoughts: bool) -> Block | None:
    """Return what a part holds; None for text without characters."""
    if not isinstance(part, Mapping):
        raise _Fault("", f"a part is an object, not {kind_of(part)}")
    part = _flat(part)
    held = [one for one in _CONTENTS if one in part and (part[one] is not None or one == "data")]
    if len(held) != 1:
        has = f"several: {', '.join(held)}" if held else f"none of them, only {_names(part)}"
        raise _Fault("", f"a part holds one of {', '.join(_CONTENTS)}; this one has {has}")
    (kind,) = held
    value = part[kind]
    if kind == "data":
        return _data_block(value, part, tools=tools)
    if not isinstance(value, str):
        raise _Fault(f".{kind}", f"it is text, not {kind_of(value)}")
    if kind == "text":
        return _text_block(value, part, thoughts=thoughts)
    source = _url_source(value, part) if kind == "url" else _raw_source(value, part)
    return DataBlock(source=source, name=_filename(part))


def _flat(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part in the shape of 1.0."""
    kind = part.get("kind", part.get("type"))
    file = part.get("file")
    if kind == "file" and not isinstance(file, Mapping):
        raise _Fault(".file", f"it is an object with `bytes` or `uri`, not {kind_of(file)}")
    if isinstance(file, Mapping):
        names: dict[Any, str] = {"bytes": "raw", "uri": "url", "mimeType": "mediaType", "name": "filename"}
        found = {names.get(key, str(key)): value for key, value in file.items() if value is not None}
        rest = {key: value for key, value in part.items() if key != "file"}
        return {**rest, **found}
    return part


def _text_block(text: str, part: Mapping[str, Any], *, thoughts: bool) -> Block | None:
    metadata = part.get("metadata")
    is_thought = isinstance(metadata, Mapping) and any(metadata.get(key) is True for key in _THOUGHTS)
    if not text or (is_thought and not thoughts):
        return None
    return ThinkingBlock(thinking=text) if is_thought else TextBlock(text=text)


def _data_block(value: Any, part: Mapping[str, Any], *, tools: bool) -> Block:
    match value:
        case {"type": "tool_use" | "tool_call", "id": str(), "name": str(), "input": _} if tools:
            return _tool_block(value)
        case {"type": "tool_result", "id": str(), "name": str(), "output": _} if tools:
            return _tool_block(value)
    try:
        # Objects of protobuf have no order.
        encoded = msgspec.json.encode(value, order="sorted")
    except (TypeError, ValueError, RecursionError) as error:
        raise _Fault(".data", f"it is no JSON ({type(error).__name__})") from None
    return DataBlock(source=Base64Source(data=encoded, media_type=JSON_TYPE), name=_filename(part))


def _tool_block(value: Mapping[str, Any]) -> Block:
    try:
        return read_block(value)
    except (ValueError, TypeError) as error:
        raise _Fault(".data", f"it is no {value['type']}: {str(error)[:200]}") from None


def _url_source(url: str, part: Mapping[str, Any]) -> URLSource:
    media_type = _media_type(part) or media_type_of(url)
    # Senders leave blanks and letters with accents as they are.
    for written in (url, quote(url.strip(), safe="%:/?#[]@!$&'()*+,;=-._~")):
        try:
            return URLSource(url=written, media_type=media_type)
        except ValueError:
            continue
    raise _Fault(".url", f"it is no address with a scheme: {url[:MAX_QUOTED_CHARS]!r}")


def _raw_source(encoded: str, part: Mapping[str, Any]) -> Base64Source:
    text = "".join(encoded.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        data = pybase64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise _Fault(".raw", "it is not valid base64") from None
    name = _filename(part) or ""
    by_name = media_type_of(f"file:{quote(name)}") if name else UNKNOWN_TYPE
    guessed = by_name if by_name != UNKNOWN_TYPE else media_type_of(encoded=pybase64.b64encode_as_string(data[:24]))
    return Base64Source(data=data, media_type=_media_type(part) or guessed)


def _media_type(part: Mapping[str, Any]) -> str:
    given = part.get("mediaType", part.get("mimeType"))
    return given.strip() if isinstance(given, str) else ""


def _filename(part: Mapping[str, Any]) -> str | None:
    given = part.get("filename")
    return given if isinstance(given, str) and given else None


def _names(part: Mapping[str, Any]) -> str:
    shown = ", ".join(repr(str(name)[:MAX_QUOTED_CHARS]) for name in [*part][:5])
    kind = part.get("kind")
    return f"the kind {kind[:MAX_QUOTED_CHARS]!r}" if isinstance(kind, str) else shown or "nothing"


_KINDS = {dict: "an object", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}


def kind_of(value: Any) -> str:
    """Return what kind of JSON a value is, in words."""
    return "nothing" if value is None else _KINDS.get(type(value), f"a {type(value).__name__}")
