"""What the tests of the Gemini codec share: a codec, our frames, and short ways to let either side speak."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from realtime.event import Item, ModelEvent
from realtime.model.base import ModelInput, Settings
from realtime.model.gemini.model import GeminiCodec, profile_of

T = TypeVar("T")
Json = dict[str, Any]
KEY = "gemini-fixture-key"
MODEL = "gemini-2.5-flash-native-audio-preview-09-2025"


def make_codec(
    settings: Settings | None = None, history: Sequence[Item] = (), *, model: str = MODEL, **options: Any
) -> GeminiCodec:
    """A codec whose setup has been sent and confirmed."""
    codec = fresh_codec(model=model, **options)
    codec.opening(settings or Settings(), history)
    hear(codec, setupComplete={})
    return codec


def fresh_codec(*, model: str = MODEL, **options: Any) -> GeminiCodec:
    numbers = count(1)
    return GeminiCodec(
        profile_of(model), url="wss://x/ws", api_key=KEY, new_id=lambda prefix: f"{prefix}_{next(numbers)}", **options
    )


def rows(fixtures_dir: Path, name: str) -> list[tuple[str, Json]]:
    lines = (fixtures_dir / "models" / "gemini" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["direction"], row["data"]) for row in map(json.loads, lines)]


def received(fixtures_dir: Path, name: str) -> list[bytes]:
    return [wired(frame) for direction, frame in rows(fixtures_dir, name) if direction == "received"]


def wired(frame: Json) -> bytes:
    """As the service writes it: indented by two, with a final newline, in a binary frame."""
    return (json.dumps(frame, indent=2, ensure_ascii=False) + "\n").encode()


def decode_all(codec: GeminiCodec, frames: list[bytes]) -> list[ModelEvent]:
    return [event for frame in frames for event in codec.decode(frame)]


def hear(codec: GeminiCodec, **keys: Any) -> list[ModelEvent]:
    return codec.decode(wired(keys))


def content(codec: GeminiCodec, **keys: Any) -> list[ModelEvent]:
    return hear(codec, serverContent=keys)


def only(events: Sequence[ModelEvent], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def types(events: Sequence[ModelEvent]) -> list[str]:
    return [event.type.removeprefix("model_") for event in events]


def say(codec: GeminiCodec, *messages: ModelInput) -> list[Json]:
    return [json.loads(frame) for message in messages for frame in codec.encode(message)]
