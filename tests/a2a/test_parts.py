"""Messages of ours as messages of Agent to Agent, and back."""

from typing import Any

import pytest
from a2a.compat.v0_3 import types as old
from a2a.compat.v0_3.conversions import to_compat_message, to_core_message
from a2a.types import Message
from google.protobuf.json_format import ParseDict

from realtime.a2a.parts import JSON_TYPE, blocks_of, message_of, msg_of
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    URLSource,
)

PNG = b"\x89PNG\r\n\x1a\n"
RESULT = ToolResultBlock(id="c1", name="book", output="Room 7.", state=ToolResultState.ERROR)
BLOCKS: list[Block] = [
    TextBlock(text="A room, please.", id="1"),
    DataBlock(source=URLSource(url="https://h.example/a.png", media_type="image/png"), id="2", name="a.png"),
    DataBlock(source=Base64Source(data=PNG, media_type="image/png"), id="3"),
    DataBlock(source=Base64Source(data=b'{"beds":2,"near":[59.9]}', media_type=JSON_TYPE), id="4", name="wish.json"),
    ToolCallBlock(id="c1", name="book", input='{"room_no": 7}'),
    RESULT,
]


def dumped(blocks: list[Block]) -> list[dict[str, Any]]:
    """Blocks without the ids that are made here."""
    dumps = [block.model_dump() for block in blocks]
    return [{**one, "id": ""} if one["type"] in ("text", "data", "thinking") else one for one in dumps]


def sent() -> dict[str, Any]:
    return message_of(BLOCKS, message_id="m1", role="ROLE_AGENT", context_id="ctx", task_id="task")


def over_the_old_wire(message: dict[str, Any]) -> Message:
    old_json = to_compat_message(ParseDict(message, Message())).model_dump_json(by_alias=True, exclude_none=True)
    return to_core_message(old.Message.model_validate_json(old_json))


@pytest.mark.parametrize(
    "wire",
    [
        lambda message: message,
        lambda message: ParseDict(message, Message()),
        over_the_old_wire,
        lambda message: to_compat_message(ParseDict(message, Message())),
        lambda message: to_compat_message(ParseDict(message, Message())).model_dump(mode="json", by_alias=True),
        lambda message: to_compat_message(ParseDict(message, Message())).model_dump(mode="json", by_alias=False),
    ],
    ids=["1.0 JSON", "1.0 message", "0.3 and back", "0.3 object", "0.3 JSON", "0.3 in snake_case"],
)
def test_a_message_comes_back_over_each_wire_as_it_was(wire: Any) -> None:
    """A2A-09: text, file by URL, file by bytes, data parts and tool blocks, both ways."""
    read = msg_of(wire(sent()), "Office")
    assert read.faults == []
    assert _without_names_of_json(read.msg.content) == _without_names_of_json(BLOCKS)
    assert (read.msg.name, read.msg.role) == ("Office", "assistant")
    kept = read.msg.metadata["a2a"]
    assert (kept["contextId"], kept["taskId"], kept["messageId"]) == ("ctx", "task", "m1")


def _without_names_of_json(blocks: list[Block]) -> list[dict[str, Any]]:
    """Blocks without the names of JSON, for which 0.3 has no place."""
    dumps = dumped(blocks)
    for one in dumps:
        if one["type"] == "data" and one["source"]["media_type"] == JSON_TYPE:
            del one["name"]
    return dumps


def test_thinking_stays_here_and_hints_are_text_only_for_a_remote_model() -> None:
    blocks: list[Block] = [ThinkingBlock(thinking="hm"), HintBlock(hint="It rains."), TextBlock(text="")]
    assert message_of(blocks, message_id="m")["parts"] == [{"text": "It rains."}]
    assert message_of(blocks, message_id="m", hints=False)["parts"] == []


def test_a_local_file_is_named_and_not_sent() -> None:
    block = DataBlock(source=URLSource(url="file:///etc/passwd", media_type="text/plain"), name="list")
    assert message_of([block], message_id="m")["parts"] == [{"text": "[list, text/plain, which cannot be read]"}]


def test_a_part_marked_as_a_thought_is_thinking() -> None:
    parts = [{"text": "hm", "metadata": {"adk_thought": True}}, {"text": "Yes."}]
    assert dumped(blocks_of(parts).blocks) == dumped([ThinkingBlock(thinking="hm"), TextBlock(text="Yes.")])
    assert dumped(blocks_of(parts, thoughts=False).blocks) == dumped([TextBlock(text="Yes.")])


CALL = {"data": {"type": "tool_use", "id": "c", "name": "pay", "input": {"sum": 3}}}


def test_a_stranger_gives_no_tool_calls() -> None:
    (block,) = blocks_of([CALL], tools=False).blocks
    assert isinstance(block, DataBlock)
    (block,) = msg_of({"role": "user", "messageId": "m", "parts": [CALL]}, "Eve").msg.content
    assert isinstance(block, DataBlock)


DEEP: Any = []
for _ in range(100_000):
    DEEP = [DEEP]

FAULTS = {
    "parts[0]: a part holds one of text, raw, url, data; this one has none of them, only the kind 'video'": {
        "kind": "video",
        "x": 1,
    },
    "parts[0]: a part holds one of text, raw, url, data; this one has none of them, only nothing": {},
    "parts[0]: a part holds one of text, raw, url, data; this one has several: text, url": {"text": "a", "url": "b"},
    "parts[0]: a part is an object, not a number": 3,
    "parts[0].text: it is text, not a number": {"text": 1},
    "parts[0].raw: it is not valid base64": {"raw": "@@"},
    "parts[0].url: it is no address with a scheme: 'nowhere'": {"url": "nowhere"},
    "parts[0].file: it is an object with `bytes` or `uri`, not nothing": {"kind": "file"},
    "parts[0]: it is nested too deeply": {"data": DEEP},
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_what_cannot_be_read_is_one_sentence_and_the_rest_stays(sentence: str) -> None:
    read = blocks_of([FAULTS[sentence], {"text": "the rest"}])
    assert read.faults == [sentence]
    assert dumped(read.blocks) == dumped([TextBlock(text="the rest")])


def test_a_cycle_in_a_message_costs_its_part_alone() -> None:
    cycle: dict[str, Any] = {}
    cycle["itself"] = cycle
    parts = [{"data": cycle}, {"text": "the", "metadata": cycle}, 7, {"text": "rest", "metadata": {"x": 1}}]
    read = msg_of({"messageId": "m", "metadata": cycle, "parts": parts}, "Eve")
    assert read.faults == [
        "message.metadata: it is nested too deeply",
        "message.parts[1].metadata: it is nested too deeply",
        "message.parts[0]: it is nested too deeply",
        "message.parts[2]: a part is an object, not a number",
    ]
    assert read.msg.get_text_content(separator=" ") == "the rest"
    assert read.msg.metadata == {"a2a": {"messageId": "m", "partMetadata": {"3": {"x": 1}}}}


@pytest.mark.parametrize("given", ["text", {"text": "a"}, 7])
def test_parts_that_are_no_list_are_one_sentence(given: Any) -> None:
    (fault,) = blocks_of(given).faults
    assert fault.startswith("parts: parts are a list, not ")
    assert msg_of(7, "x").faults == ["message: a message is an object, not a number"]


SLOPPY = {
    "blanks in an address": ({"url": " https://h.example/a b.png"}, "https://h.example/a%20b.png", "image/png"),
    "letters in an address": ({"url": "https://h.example/é.wav"}, "https://h.example/%C3%A9.wav", "audio/x-wav"),
}


@pytest.mark.parametrize("case", SLOPPY)
def test_an_address_is_read_as_senders_write_it(case: str) -> None:
    part, url, media_type = SLOPPY[case]
    (block,) = blocks_of([part]).blocks
    assert isinstance(block, DataBlock)
    assert isinstance(block.source, URLSource)
    assert (block.source.url, block.source.media_type) == (url, media_type)


@pytest.mark.parametrize("encoded", ["iVBORw0KGgo=", "iVBORw0KGgo", "iVBORw0K\nGgo="])
def test_base64_is_read_as_senders_write_it_and_its_type_is_guessed(encoded: str) -> None:
    (block,) = blocks_of([{"raw": encoded}]).blocks
    assert isinstance(block, DataBlock)
    assert block.source == Base64Source(data=PNG, media_type="image/png")
