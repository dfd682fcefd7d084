"""fixtures/messages: streams and the messages they fold into, read by the browser's tests too."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from realtime.event import AgentEvent, read_reply_event
from realtime.message import AssistantMsg, Msg, canonical_json, fold_messages

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "fixtures" / "messages").glob("*.json"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def read(path: Path) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return whole


@pytest.fixture
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_message_fixtures", ROOT / "tools" / "make_message_fixtures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_what_the_generator_makes(generator: ModuleType) -> None:
    made = {scenario.__name__: generator.fixture(scenario) for scenario in generator.SCENARIOS}
    assert {path.stem: path.read_text(encoding="utf-8") for path in FILES} == made, (
        "out of date: run `python tools/make_message_fixtures.py`"
    )


def test_every_class_of_event_occurs() -> None:
    types = {event["type"] for path in FILES for event in read(path)["events"]}
    assert types == {event.__struct_config__.tag for event in get_args(AgentEvent)}


@each_file
def test_the_events_alone_give_the_stored_messages(path: Path) -> None:
    """REC-01: rebuild equals the stored Msg, byte for byte."""
    whole = read(path)
    messages = fold_messages([read_reply_event(event) for event in whole["events"]])
    assert [message.to_json().decode() for message in messages] == whole["canonical"]
    assert [canonical_json(message).decode() for message in whole["messages"]] == whole["canonical"]


@each_file
def test_a_replay_from_any_checkpoint_gives_the_stored_messages(path: Path) -> None:
    """REC-25: for every prefix k: snapshot at k + replay(k..end) == full rebuild."""
    whole = read(path)
    events = list({event["id"]: read_reply_event(event) for event in whole["events"]}.values())
    for cut in range(len(events) + 1):
        messages = [Msg.from_json(message.to_json()) for message in fold_messages(events[:cut])]
        started = {message.id for message in messages}
        for message in messages:
            for event in events[cut:]:
                if event.reply_id == message.id:
                    message.append_event(event)
        messages += fold_messages([event for event in events[cut:] if event.reply_id not in started])
        assert [message.to_json().decode() for message in messages] == whole["canonical"]


def test_every_event_can_be_applied() -> None:
    """REC-03: apply one event of every class, none raises."""
    events = {event["type"]: read_reply_event(event) for path in FILES for event in read(path)["events"]}
    for event in events.values():
        message = AssistantMsg("Friday", [], id=event.reply_id)
        assert message.append_event(event) is message


@each_file
def test_stored_messages_load_and_are_written_to_the_byte(path: Path) -> None:
    for text in read(path)["canonical"]:
        assert Msg.from_json(text).to_json().decode() == text


@each_file
def test_events_are_written_as_they_were_read(path: Path) -> None:
    for event in read(path)["events"]:
        assert read_reply_event(json.dumps(event)).model_dump() == event
