"""fixtures/messages: streams and the messages they fold into, read by the browser's tests too."""

import importlib.util
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from realtime.event import AgentEvent, read_reply_event
from realtime.message import AssistantMsg, Msg, canonical_json, fold_messages

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "fixtures" / "messages").glob("*.json"))


def read(path: Path) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return whole


def test_the_files_are_what_the_generator_makes() -> None:
    spec = importlib.util.spec_from_file_location("make_message_fixtures", ROOT / "tools" / "make_message_fixtures.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    made = {scenario.__name__: generator.fixture(scenario) for scenario in generator.SCENARIOS}
    assert {path.stem: path.read_text(encoding="utf-8") for path in FILES} == made, (
        "out of date: run `python tools/make_message_fixtures.py`"
    )


def test_every_class_of_event_occurs() -> None:
    types = {event["type"] for path in FILES for event in read(path)["events"]}
    assert types == {event.__struct_config__.tag for event in get_args(AgentEvent)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_events_alone_give_the_stored_messages_also_from_any_checkpoint(path: Path) -> None:
    """REC-01: rebuild equals the stored Msg, byte for byte. REC-25: for every prefix k: snapshot at k +
    replay(k..end) == full rebuild."""
    whole = read(path)
    events = [read_reply_event(event) for event in whole["events"]]
    assert [read_reply_event(json.dumps(event)).model_dump() for event in whole["events"]] == whole["events"]
    assert written(fold_messages(events)) == whole["canonical"]
    assert [canonical_json(message).decode() for message in whole["messages"]] == whole["canonical"]
    assert written([Msg.from_json(text) for text in whole["canonical"]]) == whole["canonical"]
    events = list({event.id: event for event in events}.values())
    for cut in range(len(events) + 1):
        messages = [Msg.from_json(message.to_json()) for message in fold_messages(events[:cut])]
        started = {message.id for message in messages}
        for message in messages:
            for event in events[cut:]:
                if event.reply_id == message.id:
                    message.append_event(event)
        messages += fold_messages([event for event in events[cut:] if event.reply_id not in started])
        assert written(messages) == whole["canonical"]


def written(messages: list[Msg]) -> list[str]:
    return [message.to_json().decode() for message in messages]


def test_every_event_can_be_applied() -> None:
    """REC-03: apply one event of every class, none raises."""
    events = {event["type"]: read_reply_event(event) for path in FILES for event in read(path)["events"]}
    for event in events.values():
        message = AssistantMsg("Friday", [], id=event.reply_id)
        assert message.append_event(event) is message
