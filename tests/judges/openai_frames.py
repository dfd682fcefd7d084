"""What the OpenAI SDK's own types say of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from openai.types.realtime import RealtimeServerEvent
from pydantic import BaseModel

from tests.server.harness import Json

_UNION = get_args(RealtimeServerEvent)[0]
TYPES: dict[str, type[BaseModel]] = {get_args(one.model_fields["type"].annotation)[0]: one for one in get_args(_UNION)}


def check_frames(frames: Sequence[Json]) -> None:
    """Every frame satisfies the SDK's type of that name, and no two have the same id."""
    for frame in frames:
        assert frame["type"] in TYPES, f"the SDK knows no {frame['type']}"
        TYPES[frame["type"]].model_validate(frame)
    ids = [frame["event_id"] for frame in frames]
    assert len(ids) == len({*ids})
    assert not frames or frames[0]["type"] == "session.created"
