"""What the tests of the OpenAI codec share: a codec, our frames, and short ways to let either side speak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from realtime.event import ModelEvent
from realtime.model.base import ModelInput
from realtime.model.openai_family.openai import OpenAICodec, profile_of

T = TypeVar("T")
Json = dict[str, Any]
KEY = "sk-fixture-key"
PLACE = {"response_id": "r", "item_id": "i", "output_index": 1, "content_index": 0}


def make_codec(**options: Any) -> OpenAICodec:
    return OpenAICodec(profile_of("gpt-realtime-2.1"), url="wss://x/v1/realtime", api_key=KEY, **options)


def received(fixtures_dir: Path, name: str) -> list[bytes]:
    lines = (fixtures_dir / "models" / "openai" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [dump(row["data"]).encode() for row in rows if row["direction"] == "received"]


def decode_all(codec: OpenAICodec, frames: list[bytes]) -> list[ModelEvent]:
    return [event for frame in frames for event in codec.decode(frame)]


def one(codec: OpenAICodec, kind: str, **fields: Any) -> list[ModelEvent]:
    return codec.decode(dump({"type": kind, "event_id": "event_1"} | fields))


def only(events: list[ModelEvent], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def types(events: list[ModelEvent]) -> list[str]:
    return [event.type.removeprefix("model_") for event in events]


def say(codec: OpenAICodec, message: ModelInput) -> list[Json]:
    frames = codec.encode(message)
    assert all(isinstance(frame, str) for frame in frames), "the protocol has text frames only"
    return [json.loads(frame) for frame in frames]


def dump(frame: Json) -> str:
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
