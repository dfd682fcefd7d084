"""Content blocks: their wire form and what they refuse."""

from typing import Any

import msgspec
import pytest

from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    URLSource,
)

WIRE: list[tuple[Block, dict[str, Any]]] = [
    (TextBlock(text="Hello", id="b1"), {"type": "text", "text": "Hello", "id": "b1"}),
    (
        DataBlock(source=Base64Source(data=b"\x89PNG", media_type="image/png"), id="b2", name="radar"),
        {
            "type": "data",
            "source": {"type": "base64", "data": "iVBORw==", "media_type": "image/png"},
            "id": "b2",
            "name": "radar",
        },
    ),
    (
        DataBlock(source=URLSource(url="https://example.org/a.wav", media_type="audio/wav"), id="b3"),
        {
            "type": "data",
            "source": {"type": "url", "url": "https://example.org/a.wav", "media_type": "audio/wav"},
            "id": "b3",
            "name": None,
        },
    ),
    (
        ToolCallBlock(id="call_1", name="weather", input='{"city":"Oslo"}'),
        {"type": "tool_call", "id": "call_1", "name": "weather", "input": '{"city":"Oslo"}', "state": "pending"},
    ),
    (
        ToolResultBlock(id="call_1", name="weather", output="rain"),
        {"type": "tool_result", "id": "call_1", "name": "weather", "output": "rain", "state": "success"},
    ),
]


@pytest.mark.parametrize(("block", "wire"), WIRE, ids=[wire["type"] for _, wire in WIRE])
def test_a_block_is_written_and_read_by_its_type(block: Block, wire: dict[str, Any]) -> None:
    assert msgspec.to_builtins(block) == wire
    assert msgspec.convert(wire, Block, builtin_types=()) == block


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "tool_use", "id": "call_1", "name": "weather"},
        {"type": "tool_call", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}},
        {"type": "tool_call", "id": "call_1", "name": "weather", "state": "done"},
        {"type": "tool_result", "id": "call_1", "name": "weather", "state": "ok"},
        {"type": "data", "source": {"type": "base64", "data": "iVBORw==", "media_type": None}},
        {"type": "data", "source": {"type": "base64", "data": "?", "media_type": "image/png"}},
        {"type": "text"},
    ],
)
def test_a_block_of_another_shape_is_refused(wire: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wire, Block, builtin_types=())


def test_a_result_of_text_is_its_own_text() -> None:
    assert ToolResultBlock(id="call_1", name="weather", output="rain").output_text() == "rain"


def test_the_text_of_a_result_of_blocks_is_that_of_its_text_blocks() -> None:
    picture = DataBlock(source=URLSource(url="https://example.org/radar.png", media_type="image/png"))
    result = ToolResultBlock(
        id="call_1", name="weather", output=[TextBlock(text="rain"), picture, TextBlock(text="12 °C")]
    )
    assert result.output_text() == "rain\n12 °C"
    assert result.output_text(names_media=True) == "rain\n12 °C\n[image/png, which cannot be shown to you]"
