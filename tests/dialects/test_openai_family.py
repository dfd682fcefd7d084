"""What the dialects of OpenAI's family have in common, a row for each: what they make of frames, and what is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import UsageDetail
from realtime.event.config import SessionConfig
from tests.dialects.family import Call, DashScopeCall, Json, OpenAICall

each = pytest.mark.parametrize("kind", [OpenAICall, DashScopeCall])
FAILED = s.AgentResponseDoneEvent(response_id="resp_1", status="failed", status_details={"reason": "connection_lost"})


@each
def test_the_opening_leaves_the_voice_and_the_instructions_to_the_agent(kind: type[Call]) -> None:
    call = kind()
    config = SessionConfig.from_dict(call.dialect.opening().config)
    assert (config.voice, config.instructions, config.tool_auto_response) == (None, None, False)
    assert config.model == ("gpt-realtime" if kind is OpenAICall else "qwen3-omni-flash-realtime")


@each
def test_null_clears_what_can_be_cleared(kind: type[Call]) -> None:
    call = kind()
    own: Json = {} if kind is OpenAICall else {"temperature": 0.1, "voice": "Ethan"}
    call.update(instructions="Sing.", tools=[call.tool], **own)
    nulls = dict.fromkeys(("instructions", "tools", *(["temperature"] if own else [])))
    assert call.update(**nulls).config == {"instructions": "", "tools": []}
    session = call.frames[-1]["session"]
    assert session["tools"] == []
    assert kind is OpenAICall or (session["temperature"], session["voice"]) == (0.9, "Ethan")


@each
def test_an_update_that_the_call_refuses_changes_nothing(kind: type[Call]) -> None:
    call = kind()
    call.dialect.decode('{"type": "session.update", "session": {"type": "realtime", "instructions": "No."}}')
    call.update(**({"tracing": "auto"} if kind is OpenAICall else {"top_p": 0.5}))
    assert call.frames[-1]["session"]["instructions"] == ""


@pytest.mark.parametrize(
    ("kind", "detection", "hundred_ms", "code"),
    [
        (OpenAICall, {"audio": {"input": {"turn_detection": None}}}, 4_800, "input_audio_buffer_commit_empty"),
        (DashScopeCall, {"turn_detection": None}, 3_200, "invalid_value"),
    ],
)
def test_a_commit_needs_audio_that_was_not_committed(
    kind: type[Call], detection: Json, hundred_ms: int, code: str
) -> None:
    """What is appended before a commit is told belongs to the next turn: a model behind a network tells it later."""
    call = kind()
    call.update(**detection)

    def commit() -> str | None:
        try:
            assert isinstance(call.say("input_audio_buffer.commit"), c.ClientAudioCommitEvent)
        except ClientError as error:
            return error.code
        return None

    call.append(hundred_ms - 2)
    assert commit() == code
    call.append(2)
    assert [commit(), commit()] == [None, code]
    call.append(hundred_ms)
    assert [commit(), commit()] == [None, code]
    call.append(hundred_ms)
    call.tell(s.AgentInputCommittedEvent(item_id="i1"), s.AgentInputCommittedEvent(item_id="i2"))
    assert commit() is None
    call.tell(s.AgentInputCommittedEvent(item_id="i3"))
    assert commit() == code


ENDINGS: dict[type[Call], list[str]] = {
    OpenAICall: [
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
        "rate_limits.updated",
    ],
    DashScopeCall: [
        "response.audio_transcript.done",
        "response.audio.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ],
}


def response_told(call: Call) -> Any:
    """The latest response of which the client was told that it is over."""
    return [frame["response"] for frame in call.frames if frame["type"] == "response.done"][-1]


@each
def test_a_response_that_fails_closes_what_is_open_and_says_why(kind: type[Call]) -> None:
    call = kind()
    call.speak()
    assert call.tell(FAILED) == ENDINGS[kind]
    response = response_told(call)
    assert response["status_details"]["error"]["code"] == "connection_lost"
    assert response["output"][0]["status"] == "incomplete"
    if kind is DashScopeCall:
        error = {"type": "server_error", "code": "connection_lost"}
        assert response["status_details"] == {"type": "failed", "error": error}
        assert "usage" not in response


USAGE: dict[type[Call], tuple[UsageDetail, Json, Json]] = {
    OpenAICall: (
        UsageDetail(input_text_tokens=3, input_audio_tokens=7, input_cached_tokens=2, output_audio_tokens=20),
        {"audio_tokens": 7, "cached_tokens": 2},
        {"text_tokens": 0, "audio_tokens": 20},
    ),
    DashScopeCall: (
        UsageDetail(input_text_tokens=3, input_audio_tokens=7, input_image_tokens=4, output_audio_tokens=20),
        {"text_tokens": 3, "audio_tokens": 7, "image_tokens": 4},
        {"text_tokens": 0, "audio_tokens": 20},
    ),
}


@each
def test_usage_is_told_by_kind(kind: type[Call]) -> None:
    call = kind()
    detail, given, said = USAGE[kind]
    call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseDoneEvent(response_id="r", input_tokens=14, output_tokens=20, usage_detail=detail),
    )
    usage = response_told(call)["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (14, 20, 34)
    plural = "token" if kind is OpenAICall else "tokens"
    assert usage[f"input_{plural}_details"].items() >= given.items()
    assert usage[f"output_{plural}_details"] == said


@each
def test_an_answer_withdrawn_unheard_can_still_be_named_by_the_client(kind: type[Call]) -> None:
    call = kind()
    call.speak()
    assert call.tell(s.AgentItemDeletedEvent(item_id="item_1")) == []
    if kind is OpenAICall:
        words = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "So?"}]}
        behind = call.say("conversation.item.create", previous_item_id="item_1", item=words)
        assert isinstance(behind, c.ClientItemCreateEvent)
        assert behind.previous_item_id is None, "at the end, where it stood"
        call.say("conversation.item.truncate", item_id="item_1", audio_end_ms=5)
        assert call.frames[-1]["type"] == "conversation.item.truncated"
    for verb in ("retrieve", "delete"):
        call.say(f"conversation.item.{verb}", item_id="item_1")
        assert call.frames[-1]["type"] == f"conversation.item.{verb}d"
    code = "item_delete_invalid_item_id" if kind is OpenAICall else "invalid_value"
    assert call.refused("conversation.item.delete", item_id="item_1").code == code


@pytest.mark.parametrize(
    ("kind", "reason", "told", "why"),
    [
        (OpenAICall, "cancel", ["response.done", "rate_limits.updated"], "client_cancelled"),
        (DashScopeCall, "barge_in", ["response.done"], "turn_detected"),
    ],
)
def test_a_response_held_for_a_tool_of_ours_ends_with_the_interruption(
    kind: type[Call], reason: str, told: list[str], why: str
) -> None:
    call = kind()
    assert call.call_tool("secret") == ["response.created"]
    assert call.refused("response.create").message.startswith("Conversation already has an active response")
    assert call.tell(s.ServerAudioFlushEvent(reason=reason)) == told
    assert response_told(call)["status_details"] == {"type": "cancelled", "reason": why}
    assert isinstance(call.say("response.create"), c.ClientResponseCreateEvent)


CALLED: dict[type[Call], list[str]] = {
    OpenAICall: [
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "conversation.item.done",
        "response.output_item.done",
    ],
    DashScopeCall: [
        "response.output_item.added",
        "conversation.item.created",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ],
}


@each
def test_arguments_that_came_at_once_are_told_as_one_delta_and_the_result_is_that_of_the_call(kind: type[Call]) -> None:
    call = kind()
    call.update(tools=[call.tool])
    assert call.call_tool("look", '{"at": 1}', done=False)[1:] == CALLED[kind]
    output = {"type": "function_call_output", "call_id": "call_1", "output": "a fox"}
    result = call.say("conversation.item.create", item=output)
    assert (result.id, result.name, result.output, result.event_id) == ("call_1", "look", "a fox", "mine")


@each
def test_what_the_service_has_no_words_for_is_not_told(kind: type[Call]) -> None:
    quiet: list[s.ServerEvent] = [
        s.AgentReadyEvent(),
        s.AgentEndedEvent(),
        s.ServerGoodbyeEvent(reason="idle"),
        s.ServerLatencyEvent(response_id="r", turn_end_to_audio_ms=1),
        s.ServerPlaybackEvent(item_id="i", played_ms=1),
        s.AgentReconnectedEvent(gap_ms=3),
        s.AgentSessionUpdatedEvent(settings={}),
        s.AgentItemTruncatedEvent(item_id="i"),
        s.ServerAudioFlushEvent(),
    ]
    if kind is DashScopeCall:
        quiet += [
            s.AgentReconnectingEvent(attempt=1, retry_after_ms=1, reason="lost"),
            s.AgentResponseCreatedEvent(response_id="beside", conversation="none"),
            s.AgentResponseTextDeltaEvent(response_id="beside", item_id="x", delta="y"),
            s.AgentErrorEvent(error_type="server_error", code="unsupported_tools", message="the agent goes without"),
        ]
    assert kind().tell(*quiet) == []


# Anything at all.

FRAMES = st.sampled_from(
    [
        *("session.update", "session.finish", "input_audio_buffer.append", "input_audio_buffer.commit", "x"),
        *("input_image_buffer.append", "conversation.item.create", "conversation.item.retrieve"),
        *("conversation.item.delete", "conversation.item.truncate", "response.create", "response.cancel"),
    ]
)
WORDS = st.sampled_from(
    [
        *("pcm", "text", "audio", "message", "user", "server_vad", "function_call_output", "AAAA", "mcp", "realtime"),
    ]
)
FIELDS = st.sampled_from(
    [
        *("type", "role", "content", "audio", "input", "output", "format", "sample_rate", "voice", "tools", "text"),
        *("turn_detection", "modalities", "input_audio_transcription", "threshold", "function", "model", "name"),
        *("silence_duration_ms", "call_id", "instructions", "temperature"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        *("session", "audio", "image", "item", "item_id", "previous_item_id", "audio_end_ms", "response", "event_id"),
        "response_id",
    ]
)


@each
@given(frames=st.lists(st.tuples(FRAMES, st.dictionaries(KEYS, VALUES, max_size=4)), max_size=6))
def test_no_frame_breaks_it(kind: type[Call], frames: list[tuple[str, Json]]) -> None:
    call = kind()
    for frame, fields in frames:
        try:
            call.say(frame, **fields)
        except ClientError as error:
            told = s.AgentErrorEvent(
                error_type="client_error", code=error.code, message=error.message, client_event_id=error.client_event_id
            )
            assert call.tell(told) == ["error"]


@each
@given(frame=st.text() | st.binary())
def test_garbage_is_refused(kind: type[Call], frame: str | bytes) -> None:
    with pytest.raises(ClientError):
        kind().dialect.decode(frame)
