"""Random streams of reply events and random messages as JSON, as other programs may have written them."""

from __future__ import annotations

import base64
import copy
import random
from collections.abc import Sequence
from typing import Any

from realtime.event.decode import classes_by_type
from realtime.event.reply import AgentEvent

Json = dict[str, Any]
KINDS = tuple(classes_by_type(AgentEvent))
WORDS = (
    *("", "Good day", "👩‍🚀", "שלום", '{"city":', '"Oslo"}', '\u2028\x00\x7f\\"', "e\u0301", "\U0010ffff", "\x1f\n\t"),
)
KEYS = (*WORDS, "__proto__", "toString", "constructor", "10", "9")
NUMBERS = (0, -0.0, 1e21, 1e-7, 0.1, 2**53)
NAMES = ("Ada", "Ben", "Friday", "a]\n[b", "", "שלום")
TYPES = ("image/png", "image/bmp", "audio/wav", "audio/pcm;rate=16000", "application/pdf", "text/x", "x")
URLS = ("https://example.org/a", "file:///etc/hostname", "data:,x", "data:x;base64,?", "gs://a", "urn:a:b")
MAY_HOLD = {
    "user": ("text", "data"),
    "system": ("text",),
    "assistant": ("text", "data", "thinking", "hint", "tool_call", "tool_result"),
}
STATES = ("running", "success", "error", "interrupted", "denied", "SUCCESS", "Denied")


class Streams:
    """Everything that it makes comes from the seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._count = 0

    def stream(self) -> list[Json]:
        """Interleaved, repeated, torn, in part not understandable."""
        frames: list[Json] = []
        for _ in range(self._chance.randint(1, 90)):
            if frames and self._chance.random() < 0.08:
                frames.append(copy.deepcopy(self._pick(frames)))
            else:
                starts = not frames or self._chance.random() < 0.03
                frames.append(self._spoiled(self.frame("REPLY_START" if starts else self._pick(KINDS))))
        return frames

    def frame(self, kind: str = "") -> Json:
        """One event of this type, or of any."""
        kind = kind or self._pick(KINDS)
        self._count += 1
        head = {"type": kind, "id": f"ev_{self._count}", "created_at": self._time(), "reply_id": self._id("reply", 2)}
        return head | self._fields(kind)

    def message(self, role: str = "") -> Json:
        """A stored message of this role, or of any."""
        role = role or self._pick([*MAY_HOLD])
        makers: list[Any] = [self._call, self._result, self._part, self._thought, self._named_hint]
        blocks = [make() for make in self._chance.choices(makers, k=self._chance.randint(0, 8))]
        optional: Json = {
            "metadata": {"a": self._value(3)},
            "finished_at": self._time(),
            "usage": {"input_tokens": 3, "output_tokens": 4} if role == "assistant" else None,
            "finished_reason": "interrupted",
            "structured_output": {"b": self._value(3)},
            "error": self._text(),
        }
        chosen = {name: self._pick([value, value, None]) for name, value in optional.items() if self._pick([0, 1])}
        content = [block for block in blocks if block["type"] in MAY_HOLD[role]]
        message = {"id": "m", "name": self._pick(NAMES), "role": role, "content": content, "created_at": self._time()}
        return message | chosen

    def values(self, count: int) -> list[Any]:
        """Any JSON."""
        return [self._value(3) for _ in range(count)]

    def _spoiled(self, frame: Json) -> Json:
        spoiled = self._chance.random()
        if spoiled < 0.04:
            del frame[self._pick([name for name in frame if name not in ("id", "created_at")])]
        elif spoiled < 0.08:
            frame[self._pick([name for name in frame if name != "id"])] = self._pick([7, 1.5, None, [], {}, "x"])
        elif spoiled < 0.12:
            frame["some_new_field"] = {"any": [1]}
        return frame

    def _fields(self, kind: str) -> Json:
        block, call = {"block_id": self._id("block")}, {"tool_call_id": self._id("call")}
        delta, data, url = {"delta": self._text()}, {"data": self._base64()}, {"url": "https://example.org/a%20b.png"}
        calls = {"tool_calls": [self._call() for _ in range(self._chance.randint(0, 2))]}
        answers = [{"confirmed": self._pick([True, False]), "tool_call": self._call()} for _ in range(2)]
        correction = {"reply_id": self._id("reply", 2), **block, "text": self._text()}
        role, reason = (
            self._pick(["assistant"] * 3 + ["user", "system"]),
            self._pick(["completed", "interrupted", "error"]),
        )
        fields: dict[str, Json] = {
            "REPLY_START": {"session_id": "s", "name": self._text(), "role": role},
            "REPLY_END": {"session_id": "s", "finished_reason": reason, "error": self._pick([None, "lost"])}
            | self._pick([{}, {"message": self._changed()}]),
            "EXCEED_MAX_ITERS": {"name": "Friday"},
            "MODEL_CALL_START": {"model_name": "m"},
            "MODEL_CALL_END": {name: self._chance.randint(0, 99) for name in ("input_tokens", "output_tokens")},
            "TEXT_BLOCK_DELTA": block | delta,
            "THINKING_BLOCK_DELTA": block | delta,
            "TEXT_BLOCK_END": block | {"text": self._pick([None, None, self._text()])},
            "THINKING_BLOCK_END": block | self._pick([{}, {"extra": {"signature": self._text(), "id": "no"}}]),
            "DATA_BLOCK_START": block
            | {"media_type": "audio/pcm;rate=24000", "url": self._pick([None, None, *URLS]), "name": "a"},
            "DATA_BLOCK_DELTA": block | data,
            "HINT_BLOCK": block | {"hint": self._hint(), "source": self._pick([None, "team"])},
            "TOOL_CALL_START": call | {"tool_call_name": "look"},
            "TOOL_RESULT_START": call | {"tool_call_name": "look"},
            "TOOL_CALL_DELTA": call | delta,
            "TOOL_RESULT_TEXT_DELTA": call | delta,
            "TOOL_CALL_END": call,
            "TOOL_RESULT_DATA_DELTA": {**call, **block, "media_type": "image/png"}
            | self._pick([data, data, data | {"url": None}, data | {"url": None}, url, url, url | data]),
            "TOOL_RESULT_END": call | {"state": self._pick(STATES)},
            "REQUIRE_USER_CONFIRM": calls,
            "REQUIRE_EXTERNAL_EXECUTION": calls,
            "USER_CONFIRM_RESULT": {"confirm_results": answers},
            "EXTERNAL_EXECUTION_RESULT": {
                "execution_results": [self._result(named=False) for _ in range(self._chance.randint(0, 2))]
            },
            "CUSTOM": self._pick(
                [{"name": "text_corrected", "value": correction}, {"name": "x", "value": {"y": self._value(2)}}]
            ),
            "REQUEST_STOP": {"source": "hook"},
            "USER_INTERRUPT": {},
        }
        return fields.get(kind, block)

    def _changed(self) -> Json:
        """Some fields of a message, which may not fit its role."""
        message = self.message()
        return {name: message[name] for name in message if self._pick([0, 1])} | self._pick([{}, {"unknown": 1}])

    def _value(self, depth: int) -> Any:
        number = self._pick([*NUMBERS, self._chance.random() * 10 ** self._chance.randint(-30, 30)])
        if depth == 0 or self._chance.random() < 0.4:
            return self._pick([None, True, False, number, self._text(), self._chance.randint(-(2**40), 2**40)])
        if self._chance.random() < 0.5:
            return {key: self._value(depth - 1) for key in self._chance.sample(KEYS, 4)}
        return [self._value(depth - 1) for _ in range(3)]

    def _call(self) -> Json:
        call = {"type": "tool_call", "id": self._id("call"), "name": self._pick(["look", "go"])}
        rules = [{"tool_name": "look"}] * self._chance.randint(0, 2)
        return call | self._pick([{}, *[{"input": self._text(), "suggested_rules": rules}] * 2])

    def _result(self, *, named: bool = True) -> Json:
        result: Json = {"type": "tool_result", "id": self._id("call"), "name": "look"}
        output, state = {"output": self._hint(named=named)}, {"state": self._pick(STATES)}
        return result | self._pick([{}, output, *[output | state] * 3, state])

    def _thought(self) -> Json:
        signatures = {"signature": self._text(), "thought_signature": self._text(), "note": self._value(2)}
        return {"type": "thinking", "thinking": self._text(), "id": self._id("think")} | self._pick([{}, signatures])

    def _named_hint(self) -> Json:
        return {"type": "hint", "hint": self._hint(named=True), "id": self._id("hint")}

    def _hint(self, *, named: bool = False) -> Any:
        return self._pick([self._text(), [self._part(named=named), self._part(named=named)]])

    def _part(self, *, named: bool = True) -> Json:
        inside = {"type": "base64", "data": self._base64(), "media_type": self._pick(TYPES)}
        outside = {"type": "url", "url": self._pick(URLS), "media_type": self._pick(TYPES)}
        data = {"type": "data", "source": self._pick([inside, outside])}
        part: Json = self._pick([{"type": "text", "text": self._text()}, data])
        # Where it has none, it gets one from its event; a stored message brings its own.
        return part | {"id": self._id("part", 9)} if named or self._pick([True, False]) else part

    def _pick(self, options: Sequence[Any]) -> Any:
        return self._chance.choice(options)

    def _id(self, kind: str, count: int = 3) -> str:
        return f"{kind}_{self._chance.randint(1, count)}"

    def _text(self) -> str:
        return "".join(self._chance.choices(WORDS, k=self._chance.randint(0, 2)))

    def _base64(self) -> str:
        return base64.b64encode(self._chance.randbytes(self._chance.randint(0, 9))).decode()

    def _time(self) -> str:
        return f"2026-01-01T00:{self._chance.randint(0, 59):02}:00.000Z"
