"""The rules that the classes of the vocabulary keep: names, types, shared fields, what can be built in Python."""

import base64
import inspect
import json
import re
from pathlib import Path

import msgspec
import pytest

import realtime
from realtime.event import (
    AudioFormat,
    ClientEvent,
    ClientEvents,
    Event,
    ModelEvent,
    ModelEvents,
    ServerEvent,
    ServerEvents,
)
from realtime.event.schema import event_classes

ROOT = Path(__file__).resolve().parents[2]
CLIENT, MODEL, SERVER = (event_classes(union) for union in (ClientEvent, ModelEvent, ServerEvent))
SPEAKER_AND_PLACE = ("agent_id", "agent_name", "seq", "ts_ms")

DIRECT = [
    *("ResponseCreated", "ResponseDone", "ResponseAudioDelta", "ResponseAudioDone", "ResponseAudioTranscriptDelta"),
    *("ResponseAudioTranscriptDone", "ResponseToolUseDelta", "ResponseToolUseDone", "InputTranscriptionDelta"),
    *("InputTranscriptionDone", "InputStarted", "InputDone", "Error"),
]
"""The thirteen that the documentation lists as model events and, renamed, as server events."""


def event_type(event: type[Event]) -> str:
    return str(event.__struct_config__.tag)


def of_agent(model_class: type[Event]) -> type[Event]:
    found: type[Event] = getattr(ServerEvents, model_class.__name__.replace("Model", "Agent", 1))
    return found


def test_an_agent_event_is_the_model_event_with_its_speaker_and_its_place() -> None:
    """SEV-20: ModelX -> AgentX, `model_` -> `agent_`, plus agent_id and agent_name, for the thirteen direct ones; so is
    what `ServerEvents.from_model_event(event, agent_id, agent_name)` gives."""
    golden = {event.type: event for event in golden_model_events()}
    for meaning in DIRECT:
        model, agent = getattr(ModelEvents, f"Model{meaning}Event"), getattr(ServerEvents, f"Agent{meaning}Event")
        assert event_type(agent) == event_type(model).replace("model_", "agent_", 1)
        assert agent.__struct_fields__ == (*model.__struct_fields__, *SPEAKER_AND_PLACE)
        event = golden[event_type(model)]
        told = ServerEvents.from_model_event(event, "agent_1", "Friday").model_dump()
        who = {"type": event_type(agent), "agent_id": "agent_1", "agent_name": "Friday"}
        assert {name: told[name] for name in told if name not in ("seq", "ts_ms")} == event.model_dump() | who


OF_THE_CALL: dict[type, tuple[str, ...]] = {
    ServerEvents.AgentInputClearedEvent: ("item_id",),
    ServerEvents.AgentInputCommittedEvent: ("audio_end_ms",),
}
"""What a model does not know: whose turn it was in a room, and where in the client's audio a commit stands."""


def test_every_model_event_but_those_of_the_connection_has_its_agent_event() -> None:
    for model in MODEL:
        if model in (ModelEvents.ModelSessionCreatedEvent, ModelEvents.ModelSessionEndedEvent):
            continue
        agent = of_agent(model)
        assert agent in SERVER
        own = OF_THE_CALL.get(agent, ())
        assert agent.__struct_fields__ == (*model.__struct_fields__, *own, *SPEAKER_AND_PLACE)
        assert agent.__struct_defaults__[: len(model.__struct_defaults__)] == model.__struct_defaults__


def test_every_event_says_what_is_needed_to_place_it() -> None:
    """RTA-14: agent_id and agent_name on each agent event."""
    agent_events = [event for event in SERVER if event_type(event).startswith("agent_")]
    assert len(agent_events) == 34
    assert [event for event in agent_events if not {"agent_id", "agent_name"} <= {*event.__struct_fields__}] == []
    assert {event.__struct_fields__[-2:] for event in SERVER} == {("seq", "ts_ms")}
    assert {event.__struct_fields__[:2] for event in CLIENT} == {("session_id", "event_id")}
    of_responses = [event for event in (*MODEL, *SERVER) if re.match(r"(model|agent)_response_", event_type(event))]
    assert [event for event in of_responses if "response_id" not in event.__struct_fields__] == []


def test_a_type_string_is_the_class_name_in_snake_case_with_its_sender_in_front() -> None:
    for event in (*CLIENT, *MODEL, *SERVER):
        name = event.__name__.removesuffix("Event")
        assert event_type(event) == re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    for events, senders in ((CLIENT, ("client_",)), (MODEL, ("model_",)), (SERVER, ("server_", "agent_"))):
        assert all(event_type(event).startswith(senders) for event in events)


def test_a_union_holds_every_event_class_of_its_module() -> None:
    for module, union in ((ClientEvents, CLIENT), (ModelEvents, MODEL), (ServerEvents, SERVER)):
        classes = [value for value in vars(module).values() if inspect.isclass(value) and issubclass(value, Event)]
        homes = (module.__name__, "realtime.event.call") if module is ServerEvents else (module.__name__,)
        at_home = {event for event in classes if event.__struct_config__.tag is not None and event.__module__ in homes}
        assert {event for event in at_home if event.__name__ != "ClientEventBase"} == {*union}


def test_every_event_is_explained() -> None:
    for event in (*CLIENT, *MODEL, *SERVER):
        assert (inspect.getdoc(event) or "").endswith(".")


def test_client_events_are_built_in_python_as_the_documented_room_sample_builds_one() -> None:
    """CEV-12: `ClientEvents.<Name>(...)`."""
    event = ClientEvents.ClientTextAppendEvent(session_id="session1", text="Hello everyone!")
    assert event.type == "client_text_append"
    assert event.model_dump() == {
        "type": "client_text_append",
        "session_id": "session1",
        "event_id": None,
        "text": "Hello everyone!",
    }


def test_audio_is_given_as_bytes_or_as_base64_text_in_python() -> None:
    pcm = b"\x01\x00\xff\x7f"
    from_text = ClientEvents.ClientAudioAppendEvent(audio=base64.b64encode(pcm).decode())  # type: ignore[arg-type]
    assert from_text.audio == pcm
    assert from_text == ClientEvents.ClientAudioAppendEvent(audio=pcm)
    with pytest.raises(ValueError, match="not valid base64"):
        ClientEvents.ClientAudioAppendEvent(audio="%")  # type: ignore[arg-type]


def test_the_three_vocabularies_are_imported_from_the_package_itself() -> None:
    """CEV-13: `from ...realtime import ClientEvents`, ServerEvents and ModelEvents alike."""
    assert (realtime.ClientEvents, realtime.ModelEvents, realtime.ServerEvents) == (
        ClientEvents,
        ModelEvents,
        ServerEvents,
    )


def test_events_cannot_be_changed() -> None:
    event = ClientEvents.ClientTextAppendEvent(text="Hello")
    with pytest.raises(AttributeError):
        event.text = "Bye"  # type: ignore[misc]


def test_the_end_of_a_spoken_answer_carries_its_full_text() -> None:
    for events in (
        ModelEvents.ModelResponseAudioTranscriptDoneEvent,
        ServerEvents.AgentResponseAudioTranscriptDoneEvent,
    ):
        done = events(response_id="resp_1", item_id="item_1", transcript="Twelve degrees.")
        assert done.model_dump()["transcript"] == "Twelve degrees."


def test_both_spellings_of_an_audio_format_and_mixtures_mean_the_same() -> None:
    for spelling in (
        {"type": "audio/pcm", "rate": 16000},
        {"encoding": "pcm16", "sample_rate": 16000},
        {"type": "audio/pcm", "sample_rate": 16000},
        {"encoding": "PCM16", "rate": 16000},
        {"type": "audio/pcm", "rate": 16000, "encoding": "pcm16", "sample_rate": 16000},
        {"rate": 16000},
    ):
        assert msgspec.convert(spelling, AudioFormat).rate_hz(default_hz=24_000) == 16_000, spelling
    assert AudioFormat().rate_hz(default_hz=24_000) == 24_000, "a format that names no rate"


def test_an_outgoing_format_carries_all_four_keys() -> None:
    assert msgspec.to_builtins(AudioFormat.pcm16(24_000)) == {
        "type": "audio/pcm",
        "rate": 24_000,
        "encoding": "pcm16",
        "sample_rate": 24_000,
    }


def test_an_audio_format_that_cannot_be_is_refused() -> None:
    for audio_format, reason in (
        (AudioFormat(encoding="opus"), "'opus' is not supported"),
        (AudioFormat(type="audio/mpeg"), "'audio/mpeg' is not supported"),
        (AudioFormat(rate=16_000, sample_rate=24_000), "rate 16000 and sample_rate 24000"),
        (AudioFormat(rate=7_999), "7999 Hz is not served: use one of 8000, "),
        (AudioFormat(sample_rate=192_000), "192000 Hz is not served"),
        (AudioFormat(rate=0), "0 Hz is not served"),
    ):
        with pytest.raises(ValueError, match=reason):
            audio_format.rate_hz(default_hz=16_000)


def test_the_beginning_and_the_end_of_a_models_session_are_those_of_its_agent() -> None:
    """RTA-15: mapping test."""
    created = ModelEvents.ModelSessionCreatedEvent(session_id="sess_1")
    ended = ModelEvents.ModelSessionEndedEvent(session_id="sess_1", reason="lost")
    ready = ServerEvents.from_model_event(created, "agent_1", "Friday")
    gone = ServerEvents.from_model_event(ended, agent_id="agent_1", agent_name="Friday")
    assert ready == ServerEvents.AgentReadyEvent(agent_id="agent_1", agent_name="Friday")
    assert gone == ServerEvents.AgentEndedEvent(reason="lost", agent_id="agent_1", agent_name="Friday")


def golden_model_events() -> list[ModelEvent]:
    frames = json.loads((ROOT / "fixtures/protocol/model.json").read_text(encoding="utf-8"))
    return [ModelEvents.from_json(frame) for frame in frames]
