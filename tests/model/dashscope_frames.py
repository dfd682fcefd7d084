"""What the tests of the DashScope codec share: a codec, our frames, and short ways to let either side speak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from realtime.event import ModelEvent
from realtime.model.base import ModelInput
from realtime.model.openai_family.dashscope import DashScopeCodec, profile_of

Json = dict[str, Any]
KEY = "sk-fixture-key"
WITH_TOOLS = "qwen3.5-omni-flash-realtime"
PLACE = {"response_id": "r", "item_id": "i", "output_index": 1, "content_index": 0}


def make_codec(model: str = WITH_TOOLS, **options: Any) -> DashScopeCodec:
    return DashScopeCodec(profile_of(model), url="wss://x/api-ws/v1/realtime", api_key=KEY, **options)


def responding(response_id: str = "r", **options: Any) -> DashScopeCodec:
    """A codec whose service is answering."""
    codec = make_codec(**options)
    one(codec, "response.created", response={"id": response_id, "status": "in_progress"})
    return codec


def received(fixtures_dir: Path, name: str) -> list[bytes]:
    lines = (fixtures_dir / "models" / "dashscope" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [dump(json.loads(line)["data"]).encode() for line in lines]


def decode_all(codec: DashScopeCodec, frames: list[bytes]) -> list[ModelEvent]:
    return [event for frame in frames for event in codec.decode(frame)]


def one(codec: DashScopeCodec, kind: str, **fields: Any) -> list[ModelEvent]:
    return codec.decode(dump({"event_id": "event_1", "type": kind} | fields))


def say(codec: DashScopeCodec, message: ModelInput) -> list[Json]:
    frames = codec.encode(message)
    assert all(isinstance(frame, str) for frame in frames), "the protocol has text frames only"
    return [json.loads(frame) for frame in frames]


def dump(frame: Json) -> str:
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
