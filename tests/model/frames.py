"""What the tests of the codecs share: a codec of each provider, its frames, and short ways to let either side speak.

Frames come from recordings of the real services (`recorded`), or are our own in `fixtures/models`: those of OpenAI and
Gemini in the types of their SDKs, those of DashScope as documented and as public clients handle them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import yaml

from realtime.event import ModelEvent
from realtime.event.base import ContentPart, Item
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.base import Codec, ModelInput, Settings
from realtime.model.gemini.model import GeminiCodec
from realtime.model.gemini.model import profile_of as gemini_profile_of
from realtime.model.openai_family.dashscope import DashScopeCodec
from realtime.model.openai_family.dashscope import profile_of as dashscope_profile_of
from realtime.model.openai_family.openai import OpenAICodec
from realtime.model.openai_family.openai import profile_of as openai_profile_of

T = TypeVar("T")
Json = dict[str, Any]
KEY = "sk-fixture-key"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "models"
RECORDINGS = ("text_in_audio_out_turn", "tool_call_round", "message_history_seeding")
GEMINI_MODEL = "gemini-2.5-flash-native-audio-preview-09-2025"
PLACE = {"response_id": "r", "item_id": "i", "output_index": 1, "content_index": 0}
PCM = b"\x01\x02" * 160

HELLO = Item(id="item_h", role="user", content=(ContentPart(type="text", text="hello"),))
CALL = Item(id="item_c", type="tool_call", tool_call=ToolCallBlock(id="call_1", name="f", input='{"a":1}'))
RESULT = Item(id="item_r", type="tool_result", tool_result=ToolResultBlock(id="call_1", name="f", output="2"))
PHOTO = Item(id="item_p", role="user", content=(ContentPart(type="image", image=b"\xff\xd8", media_type="image/jpeg"),))
SPOKEN = Item(id="item_s", role="assistant", content=(ContentPart(type="audio", transcript="Good day."),))
RULES = Item(id="item_y", role="system", content=(ContentPart(type="text", text="Be kind."),))
SILENT = Item(id="item_e", role="user", content=(ContentPart(type="audio"),))


def openai(model: str = "gpt-realtime-2.1", **options: Any) -> OpenAICodec:
    return OpenAICodec(openai_profile_of(model), url="wss://x/v1/realtime", api_key=KEY, **options)


def dashscope(model: str = "qwen3.5-omni-flash-realtime", **options: Any) -> DashScopeCodec:
    return DashScopeCodec(dashscope_profile_of(model), url="wss://x/api-ws/v1/realtime", api_key=KEY, **options)


def responding(response_id: str = "r", **options: Any) -> DashScopeCodec:
    """A codec of DashScope whose service is answering."""
    codec = dashscope(**options)
    one(codec, "response.created", response={"id": response_id, "status": "in_progress"})
    return codec


def gemini(settings: Settings | None = None, history: Sequence[Item] = (), **options: Any) -> GeminiCodec:
    """A codec whose setup has been sent and confirmed."""
    codec = fresh_gemini(**options)
    codec.opening(settings or Settings(), history)
    hear(codec, setupComplete={})
    return codec


def opened_gemini() -> GeminiCodec:
    """A codec whose setup has been sent."""
    codec = fresh_gemini()
    codec.opening(Settings(), ())
    return codec


def fresh_gemini(*, model: str = GEMINI_MODEL, **options: Any) -> GeminiCodec:
    numbers = count(1)
    new_id: Callable[[str], str] = lambda prefix: f"{prefix}_{next(numbers)}"  # noqa: E731
    return GeminiCodec(gemini_profile_of(model), url="wss://x/ws", api_key=KEY, new_id=new_id, **options)


def fixture_rows(provider: str, name: str) -> list[tuple[str, Json]]:
    """Who said it (`sent` or `received`), and the frame."""
    lines = (FIXTURES / provider / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["direction"], row["data"]) for row in map(json.loads, lines)]


@functools.cache
def _interactions(file: Path) -> list[Json]:
    rows: list[Json] = yaml.load(file.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))[
        "interactions"
    ]
    return rows


def recorded(recordings_dir: Path, provider: str, name: str) -> list[tuple[str, Json]]:
    """A session of the real service. Each row is used by several tests: none may change it."""
    rows = _interactions(recordings_dir / "recordings" / f"{provider}-{name}.yaml")
    return [(row["direction"], row["data"]) for row in rows]


def received(rows: Sequence[tuple[str, Json]]) -> list[Json]:
    return [frame for direction, frame in rows if direction == "received"]


def dump(frame: Json) -> str:
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False)


def wired(frame: Json) -> bytes:
    """As Gemini writes it: indented by two, with a final newline, in a binary frame."""
    return (json.dumps(frame, indent=2, ensure_ascii=False) + "\n").encode()


def decode_all(codec: Codec, frames: Sequence[Json]) -> list[ModelEvent]:
    write = wired if isinstance(codec, GeminiCodec) else dump
    return [event for frame in frames for event in codec.decode(write(frame))]


def one(codec: Codec, kind: str, **fields: Any) -> list[ModelEvent]:
    """What a frame of OpenAI or DashScope tells, its first keys in the order of that service."""
    head = {"type": kind, "event_id": "event_1"}
    if isinstance(codec, DashScopeCodec):
        head = {"event_id": "event_1", "type": kind}
    return codec.decode(dump(head | fields))


def hear(codec: GeminiCodec, **keys: Any) -> list[ModelEvent]:
    return codec.decode(wired(keys))


def content(codec: GeminiCodec, **keys: Any) -> list[ModelEvent]:
    return hear(codec, serverContent=keys)


def only(events: Sequence[ModelEvent], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def types(events: Sequence[ModelEvent]) -> list[str]:
    return [event.type.removeprefix("model_") for event in events]


def say(codec: Codec, *messages: ModelInput) -> list[Json]:
    frames = [frame for message in messages for frame in codec.encode(message)]
    assert all(isinstance(frame, str) for frame in frames), "each of the protocols has text frames only"
    return [json.loads(frame) for frame in frames]
