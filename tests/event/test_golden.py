"""The golden frames of fixtures/protocol: one per event, as they stand on the wire, read by the page's tests too."""

import json
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from realtime.dialects.base import encode_json
from realtime.event import ClientEvent, ClientEvents, ModelEvent, ModelEvents, ServerEvent, ServerEvents
from realtime.event.decode import classes_by_type

PROTOCOL = Path(__file__).resolve().parents[2] / "fixtures" / "protocol"
UNIONS: list[tuple[str, ModuleType, Any]] = [
    ("client", ClientEvents, ClientEvent),
    ("model", ModelEvents, ModelEvent),
    ("server", ServerEvents, ServerEvent),
]


def read(name: str) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = json.loads((PROTOCOL / f"{name}.json").read_text(encoding="utf-8"))
    return frames


@pytest.mark.parametrize(("name", "events", "union"), UNIONS)
def test_every_event_has_one_golden_frame_which_is_read_and_written_back_to_the_byte(
    name: str, events: ModuleType, union: Any
) -> None:
    """In the order of its union; the fast encoder writes the same."""
    assert [frame["type"] for frame in read(name)] == [*classes_by_type(union)]
    read_back = [events.from_json(frame) for frame in read(name)]
    assert [type(event) for event in read_back] == [*classes_by_type(union).values()]
    written = json.dumps([event.model_dump() for event in read_back], indent=2, ensure_ascii=False) + "\n"
    assert written == (PROTOCOL / f"{name}.json").read_text(encoding="utf-8")
    encode: Any = encode_json if name == "server" else msgspec.json.encode
    assert [json.loads(encode(event)) for event in read_back] == read(name)


def test_every_server_event_prints_its_type_and_dumps_json_safe_builtins() -> None:
    """RTA-09: `.type` and `json.dumps(ev.model_dump())` for all."""
    for frame in read("server"):
        event = ServerEvents.from_json(frame)
        assert f"{event.type}" == frame["type"]
        assert json.loads(json.dumps(event.model_dump())) == frame


def test_frames_of_one_side_are_refused_by_the_others() -> None:
    for name, stranger in (("client", ServerEvents), ("server", ModelEvents), ("model", ClientEvents)):
        for frame in read(name):
            with pytest.raises(ValueError, match=f"unknown event type '{frame['type']}'"):
                stranger.from_json(frame)


def test_golden_binary_frames_are_a_16_byte_little_endian_header_and_pcm() -> None:
    for frame in read("binary"):
        raw = bytes.fromhex(frame["frame_hex"])
        header = struct.unpack("<BBHIQ", raw[:16])
        assert header == tuple(frame[key] for key in ("kind", "flags", "stream", "item_index", "sample_offset"))
        played = struct.pack("<I", frame["played_ms"]) if "played_ms" in frame else b""
        assert raw[16:] == played + bytes.fromhex(frame["pcm_hex"])


def test_golden_binary_frames_need_every_width_of_the_header() -> None:
    frames = read("binary")
    assert {frame["kind"] for frame in frames} == {1, 2}
    assert max(frame["sample_offset"] for frame in frames) > 2**32
    assert max(frame["item_index"] for frame in frames) > 2**16
