"""What is generated from messages and reply events: the checked-in schema and TypeScript, which are complete."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from realtime.event.decode import classes_by_type
from realtime.event.reply import AgentEvent
from realtime.event.reply_schema import MsgData, messages_schema, messages_typescript
from realtime.event.schema import main, messages_schema_text
from realtime.message import BlockType, ContentBlock, Msg, Role, ThinkingBlock, ToolCallState, ToolResultState

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = sorted((ROOT / "fixtures/messages").glob("*.json"))
AGAIN = (
    "out of date: run `python -m realtime.event.schema --messages-json docs/messages.schema.json"
    " --messages-typescript web/packages/messages/src/types.generated.ts`"
)


def checked_in(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def union(name: str, module: str) -> set[str]:
    """The strings of a TypeScript union of literals."""
    found = re.search(rf"^export type {name} = ([^;]*);$", module, re.MULTILINE)
    assert found
    return set(re.findall(r'"(\w+)"', found[1]))


def test_the_checked_in_schema_is_what_the_generator_gives() -> None:
    assert checked_in("docs/messages.schema.json") == messages_schema_text(), f"the schema is {AGAIN}"


def test_the_typescript_module_has_the_words_of_python_and_is_what_the_generator_gives() -> None:
    """TS-06."""
    module = checked_in("web/packages/messages/src/types.generated.ts")
    assert module == messages_typescript(), f"the TypeScript is {AGAIN}"
    for name, words in {
        "Role": get_args(Role),
        "BlockType": get_args(BlockType),
        "ToolCallState": ToolCallState,
        "ToolResultState": ToolResultState,
    }.items():
        assert union(name, module) == set(words)
    types = {*classes_by_type(AgentEvent)}
    listed = module.partition("export const AGENT_EVENT_TYPES = [")[2].partition("]")[0]
    assert set(re.findall(r'"(\w+)"', listed)) == types
    assert {*types, *get_args(BlockType)} <= set(re.findall(r'^  type: "(\w+)";$', module, re.MULTILINE))


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    files = [tmp_path / "messages.json", tmp_path / "types.ts"]
    main(["--messages-json", str(files[0]), "--messages-typescript", str(files[1])])
    assert [file.read_bytes() for file in files] == [messages_schema_text().encode(), messages_typescript().encode()]


def test_the_schema_describes_each_block_and_each_event_with_its_fields() -> None:
    definitions = messages_schema()["$defs"]
    for cls in (*get_args(ContentBlock), *get_args(AgentEvent)):
        described = definitions[cls.__name__]
        assert described["description"]
        beside = ("extra",) if cls is ThinkingBlock else ()
        assert [*described["properties"]] == ["type", *(name for name in cls.__struct_fields__ if name not in beside)]
        required = [field.name for field in msgspec.structs.fields(cls) if field.required]
        assert described["required"] == ["type", *required]


@pytest.mark.parametrize("path", FIXTURES, ids=[path.stem for path in FIXTURES])
def test_the_described_message_is_what_messages_write(path: Path) -> None:
    fixture: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for message in fixture["messages"]:
        assert set(Msg.model_validate(message).model_dump()) == set(MsgData.__struct_fields__)
        described = msgspec.convert(message, MsgData, builtin_types=())
        assert [block.type for block in described.content] == [block["type"] for block in message["content"]]
