"""A thread of another project as what a call begins with."""

import msgspec

from realtime.interop import items_of, load
from realtime.message import (
    AssistantMsg,
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    ThinkingBlock,
    ToolCallBlock,
    UserMsg,
)

THREAD = [
    {"role": "USER", "name": "Ann", "id": "m1", "content": [{"type": "text", "text": "Weather?"}]},
    {
        "role": "ASSISTANT",
        "name": "Friday",
        "id": "m2",
        "content": [
            {"type": "thinking", "thinking": "Hm"},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "c", "name": "weather", "input": {"city": "Oslo"}},
        ],
    },
    {"role": "TOOL", "id": "m3", "content": [{"type": "tool_result", "toolUseId": "c", "output": "Sunny"}]},
    {"role": "ASSISTANT", "name": "Friday", "id": "m4", "content": "Sunny."},
]


def test_a_thread_becomes_items_in_order_with_calls_and_results() -> None:
    items = items_of(load(THREAD, "java1"))
    assert [(one.id, one.type, one.role, one.text) for one in items] == [
        ("m1", "message", "user", "Weather?"),
        ("m2", "message", "assistant", "Let me see."),
        ("m2_2", "tool_call", None, ""),
        ("m2_3", "tool_result", None, ""),
        ("m4", "message", "assistant", "Sunny."),
    ]
    call, result = items[2].tool_call, items[3].tool_result
    assert call is not None
    assert result is not None
    assert (call.input, result.name, result.output) == ('{"city": "Oslo"}', "weather", "Sunny")


def test_pictures_and_hints_are_taken_and_what_models_refuse_is_not() -> None:
    picture, sound = (DataBlock(source=Base64Source(data=b"x", media_type=kind)) for kind in ("image/png", "audio/wav"))
    blocks: list[Block] = [ThinkingBlock(thinking="Hm"), HintBlock(hint="Be quick"), ToolCallBlock(id="c", name="f")]
    items = items_of([UserMsg("Ann", [picture, sound], id="a"), AssistantMsg("Friday", blocks, id="b")])
    assert [[msgspec.to_builtins(part) for part in one.content] for one in items] == [
        [{"type": "image", "image": "eA==", "media_type": "image/png"}],
        [{"type": "text", "text": "<system-reminder>\nBe quick\n</system-reminder>"}],
    ]
    assert [one.role for one in items] == ["user", "system"]
