"""Frames at their limits, for each way in: what one client may do to all others, by `bench.stall`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bench.wire import BINARY, frame
from bench.work import encoded
from realtime.dialects.weight import MAX_PICTURE_CHARS, MAX_TEXT_CHARS, MAX_VALUES
from realtime.event.base import MAX_TOOLS
from realtime.server.settings import LONGEST_MESSAGE_BYTES, ServerSettings

BURST = 3_000
"""Frames sent at once."""
BAD_BURST = 90
"""Frames that cannot be read, sent at once: a few more and the socket is closed."""
CHUNK_BYTES = 1_280
"""40 ms of speech at 16 kHz."""
MARGIN = 200
"""Left of a limit for what stands around a long value."""
MAX_HISTORY = 1_000
"""Turns, and parts of all turns, that one message of a Gemini client may hold."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to a call: its path and subprotocol, what makes the call, and the word of the answer that it is there.

    `max_chars` is what a text frame may have.
    """

    name: str
    path: str
    subprotocol: str | None
    hello: Json
    ready: bytes
    max_chars: int = ServerSettings().max_text_chars


def _created(**config: Any) -> Json:
    return {"type": "client_session_create", "config": {"instructions": "Be brief.", **config}}


_PATH = "/ws/load/stall"
_GEMINI_PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=none"
_HELLO = {"type": "session.update", "session": {"type": "realtime", "instructions": "Be brief."}}
_READY = b"session.updated"
NATIVE = Way("native", _PATH, "realtime.v1", _created(), b"agent_ready")
DETECTED = Way("our detector", _PATH, "realtime.v1", _created(turn_detection={"authority": "server"}), b"agent_ready")
BINARY_FRAMES = Way("binary", _PATH, "realtime.v1", _created(audio_frames="binary"), b"agent_ready")
AGENTSCOPE = Way("agentscope", _PATH, None, _created(), b"agent_ready")
OPENAI = Way("openai", "/v1/realtime?model=gpt-realtime", None, _HELLO, _READY, LONGEST_MESSAGE_BYTES)
DASHSCOPE = Way(
    "dashscope", "/api-ws/v1/realtime?model=gpt-realtime", None, {"type": "session.update", "session": {}}, _READY
)
GEMINI = Way(
    "gemini", _GEMINI_PATH, None, {"setup": {"model": "models/a"}}, b"setupComplete", max_chars=LONGEST_MESSAGE_BYTES
)
WAYS = (NATIVE, DETECTED, BINARY_FRAMES, AGENTSCOPE, OPENAI, DASHSCOPE, GEMINI)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of frame at its limits, or a burst; `make` gives the bytes that are written at once."""

    way: Way
    name: str
    make: Callable[[], bytes]

    @property
    def title(self) -> str:
        """What it is, and which way it comes in."""
        return f"{self.way.name}: {self.name}"


def _text(event: Json) -> bytes:
    return frame(json.dumps(event, separators=(",", ":")).encode(), masked=True)


def _burst(events: Iterable[Json]) -> bytes:
    return b"".join(map(_text, events))


def _around(event: Json) -> tuple[str, str]:
    """What stands before and behind the value "*"."""
    head, tail = json.dumps(event, separators=(",", ":")).split('"*"')
    return head, tail


def _long(way: Way, name: str, event: Json, inside: Callable[[int], str], chars: int) -> Kind:
    """The event with a string for "*" that fills `chars`."""

    def make() -> bytes:
        head, tail = _around(event)
        return frame((head + inside(chars - len(head) - len(tail) - MARGIN) + tail).encode(), masked=True)

    return Kind(way, name, make)


def _lists(way: Way, name: str, event: Json, cell: str, most: int = MAX_VALUES) -> list[Kind]:
    """The event with a list for "*": as long as it is taken, and as long as a frame can be."""
    head, tail = _around(event)
    values = 1 + sum(map(cell.count, ",:[{"))

    def make(count: int) -> bytes:
        cells = ",".join(cell.replace("#", str(number)) for number in range(count))
        return frame(f"{head}[{cells}]{tail}".encode(), masked=True)

    taken = min(most, (MAX_VALUES - MARGIN) // values)
    too_many = (way.max_chars - len(head) - len(tail) - MARGIN) // (len(cell) + 5)
    return [
        Kind(way, f"{name}, as many as are taken", lambda: make(taken)),
        Kind(way, f"{name}, too many", lambda: make(too_many)),
    ]


def _words(room: int) -> str:
    return '"' + "a, b" * (room // 4) + '"'


def _base64(room: int) -> str:
    return '"' + encoded(bytes(room // 4 * 3 // 2 * 2)).decode() + '"'


def _picture_url(room: int) -> str:
    return '"data:image/jpeg;base64,' + "A" * ((room - 30) // 4 * 4) + '"'


def _tool(kind: str | None = None) -> str:
    """A tool with a schema of many properties."""
    schema = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(40)}}
    tool = {**({"type": kind} if kind else {}), "name": "a#", "description": "Look.", "parameters": schema}
    return json.dumps(tool, separators=(",", ":"))


def _ours(way: Way) -> list[Kind]:
    """Our own events."""

    def text_item(number: int) -> Json:
        content = [{"type": "text", "text": "Hello."}]
        return {"type": "client_item_create", "item": {"id": f"item{number}", "role": "user", "content": content}}

    part, text = '{"type":"text","text":"a"}', {"type": "text", "text": "*"}
    item: Json = {"type": "client_item_create", "item": {"id": "long", "role": "user", "content": "*"}}
    long_item: Json = {"type": "client_item_create", "item": {"id": "long", "role": "user", "content": [text]}}
    settings: Json = {"type": "client_session_update", "config": {"voice": "ash"}}
    tools: Json = {"type": "client_session_update", "config": {"tools": "*"}}
    extra: Json = {"type": "client_session_update", "config": {"extra": {"a": "*"}}}
    ask = {"type": "client_item_retrieve", "item_id": "long"}
    a_long_item = _long(way, "a long item", long_item, _words, MAX_TEXT_CHARS)
    return [
        *_speech(way),
        _long(way, "a long text", {"type": "client_text_append", "text": "*"}, _words, MAX_TEXT_CHARS),
        _long(way, "a text too long", {"type": "client_text_append", "text": "*"}, _words, way.max_chars),
        a_long_item,
        _long(way, "a long picture", {"type": "client_image_append", "image": "*"}, _base64, MAX_PICTURE_CHARS),
        *_lists(way, "parts of an item", item, part),
        *_lists(way, "tools", tools, '{"name":"a#"}', MAX_TOOLS),
        *_lists(way, "tools with parameters", tools, _tool(), MAX_TOOLS),
        *_lists(way, "settings", extra, "[]"),
        *_lists(way, "results", {"type": "client_tool_result", "id": "a", "name": "a", "output": "*"}, part),
        *_lists(way, "a context", {"type": "client_response_create", "response": {"input": "*"}}, '{"id":"a"}'),
        *_lists(way, "unknown values", {"type": "client_audio_commit", "unknown": "*"}, "{}"),
        *_lists(way, "an unknown event", {"type": "unknown", "value": "*"}, "[]"),
        Kind(way, "a burst of items", lambda: _burst(map(text_item, range(BURST)))),
        Kind(way, "a burst of settings", lambda: _text(settings) * BURST),
        Kind(way, "a burst of bad frames", lambda: _text({"type": "unknown"}) * BAD_BURST),
        Kind(way, "a burst of empty frames", lambda: frame(b"", masked=True) * BAD_BURST),
        Kind(way, "a burst of questions", lambda: a_long_item.make() + _text(ask) * BAD_BURST),
        Kind(
            way,
            "a burst of deletions",
            lambda: (
                _burst(map(text_item, range(BURST)))
                + _burst({"type": "client_item_delete", "item_id": f"item{number}"} for number in range(BURST))
            ),
        ),
        Kind(
            way,
            "a burst of acknowledgements",
            lambda: _burst({"type": "client_playback_ack", "item_id": "a", "played_ms": n} for n in range(BURST)),
        ),
    ]


def _speech(way: Way) -> list[Kind]:
    chunk = {"type": "client_audio_append", "audio": encoded(bytes(CHUNK_BYTES)).decode()}
    return [
        _long(way, "a long append", {"type": "client_audio_append", "audio": "*"}, _base64, way.max_chars),
        Kind(way, "a burst of speech", lambda: _text(chunk) * BURST),
    ]


def _binary() -> list[Kind]:
    header = bytes((1, 0, 0, 0)) + bytes(4)

    def speech(n_bytes: int, offset_samples: int) -> bytes:
        return frame(header + offset_samples.to_bytes(8, "little") + bytes(n_bytes), opcode=BINARY, masked=True)

    step = ServerSettings().max_binary_bytes - MARGIN
    chunks = range(0, BURST * CHUNK_BYTES // 2, CHUNK_BYTES // 2)
    return [
        Kind(BINARY_FRAMES, "long appends", lambda: b"".join(speech(step, n * step // 2) for n in range(20))),
        Kind(BINARY_FRAMES, "a burst of speech", lambda: b"".join(speech(CHUNK_BYTES, at) for at in chunks)),
        Kind(BINARY_FRAMES, "a hole", lambda: speech(CHUNK_BYTES, 0) + speech(CHUNK_BYTES, 16_000 * 9)),
    ]


def _family(way: Way) -> list[Kind]:
    """OpenAI's events, which DashScope has too."""

    def text_item(number: int) -> Json:
        content = [{"type": "input_text", "text": "Hello."}]
        item = {"id": f"item{number}", "type": "message", "role": "user", "content": content}
        return {"type": "conversation.item.create", "item": item}

    def message(content: Any) -> Json:
        return {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}}

    def update(**changes: Any) -> Json:
        return {"type": "session.update", "session": {**({"type": "realtime"} if way is OPENAI else {}), **changes}}

    chunk = {"type": "input_audio_buffer.append", "audio": encoded(bytes(CHUNK_BYTES)).decode()}
    words = [{"type": "input_text", "text": "*"}]
    picture = [{"type": "input_image", "image_url": "*"}]
    context = {"type": "response.create", "response": {"input": "*"}}
    entry = '{"type":"message","role":"user","content":[]}'
    unknown_item = {"type": "conversation.item.delete", "item_id": "none"}
    return [
        _long(way, "a long append", {"type": "input_audio_buffer.append", "audio": "*"}, _base64, way.max_chars),
        _long(way, "a long item", message(words), _words, MAX_TEXT_CHARS),
        _long(way, "an item too long", message(words), _words, way.max_chars),
        _long(way, "a long picture", message(picture), _picture_url, MAX_PICTURE_CHARS),
        _long(way, "long instructions", update(instructions="*"), _words, MAX_TEXT_CHARS),
        *_lists(way, "parts of an item", message("*"), '{"type":"input_text","text":"a"}'),
        *_lists(way, "tools", update(tools="*"), '{"type":"function","name":"a#"}', MAX_TOOLS),
        *_lists(way, "tools with parameters", update(tools="*"), _tool("function"), MAX_TOOLS),
        *_lists(way, "a context", context, entry),
        *_lists(way, "an unknown event", {"type": "unknown", "value": "*"}, "[]"),
        Kind(way, "a burst of speech", lambda: _text(chunk) * BURST),
        Kind(way, "a burst of items", lambda: _burst(map(text_item, range(BURST)))),
        Kind(way, "a burst of settings", lambda: _text(update(instructions="A")) * BURST),
        Kind(way, "a burst of bad frames", lambda: _text(unknown_item) * BAD_BURST),
    ]


def _gemini() -> list[Kind]:
    def turns(*given: Json) -> Json:
        return {"clientContent": {"turns": [*given]}}

    def blob(kind: str) -> Json:
        return {"data": "*", "mimeType": kind}

    chunk = {"realtimeInput": {"audio": {"data": encoded(bytes(CHUNK_BYTES)).decode(), "mimeType": "audio/pcm"}}}
    declarations = {"contextUpdate": {"tools": {"tools": [{"functionDeclarations": "*"}]}}}
    picture = turns({"parts": [{"inlineData": blob("image/jpeg")}]})
    history = {"clientContent": {"turns": "*"}}
    small_blob = '{"data":"AAAA","mimeType":"audio/pcm"}'
    short_turn = turns({"parts": [{"text": "a"}]})
    way = GEMINI
    return [
        _long(way, "a long append", {"realtimeInput": {"audio": blob("audio/pcm")}}, _base64, way.max_chars),
        _long(way, "a long turn", turns({"parts": [{"text": "*"}]}), _words, MAX_TEXT_CHARS),
        _long(way, "a turn too long", turns({"parts": [{"text": "*"}]}), _words, way.max_chars),
        _long(way, "a long picture", picture, _base64, MAX_PICTURE_CHARS),
        *_lists(way, "turns", history, '{"parts":[{"text":"a"}]}', MAX_HISTORY),
        *_lists(way, "empty turns", history, "{}", MAX_HISTORY),
        *_lists(way, "parts of a turn", turns({"parts": "*"}), '{"text":"a"}', MAX_HISTORY),
        *_lists(way, "chunks", {"realtimeInput": {"mediaChunks": "*"}}, small_blob),
        *_lists(way, "results", {"toolResponse": {"functionResponses": "*"}}, '{"id":"a","response":{}}'),
        *_lists(way, "tools", declarations, '{"name":"a#"}', MAX_TOOLS),
        *_lists(way, "tools with parameters", declarations, _tool(), MAX_TOOLS),
        *_lists(way, "an unknown message", {"unknown": "*"}, "{}"),
        Kind(way, "a burst of speech", lambda: _text(chunk) * BURST),
        Kind(way, "a burst of turns", lambda: _text(short_turn) * BURST),
    ]


def kinds() -> list[Kind]:
    """All of them."""
    return [
        *_ours(NATIVE),
        *_speech(DETECTED),
        *_binary(),
        *_ours(AGENTSCOPE),
        *_family(OPENAI),
        *_family(DASHSCOPE),
        *_gemini(),
    ]


def samples() -> list[Kind]:
    """The first of each way."""
    return [next(kind for kind in kinds() if kind.way is way) for way in WAYS]
