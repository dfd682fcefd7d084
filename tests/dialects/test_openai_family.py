"""The dialects of OpenAI and DashScope: what they make of frames, and what is told.

`openai_exchanges.jsonl` and `dashscope_exchanges.jsonl` hold whole exchanges.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.audio.playback import KEPT_ITEMS
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import MAX_TOOLS, AudioFormat
from realtime.event.config import SessionConfig
from tests.dialects.exchanges import differing
from tests.dialects.family import Call, DashScopeCall, Json, OpenAICall

each = pytest.mark.parametrize("kind", [OpenAICall, DashScopeCall])


@pytest.mark.parametrize(
    ("kind", "name"), [(OpenAICall, "openai_exchanges.jsonl"), (DashScopeCall, "dashscope_exchanges.jsonl")]
)
def test_each_exchange_goes_as_written(kind: type[Call], name: str) -> None:
    assert differing(name, lambda setup: kind(**setup)) == {}


@each
def test_the_opening_leaves_the_voice_and_the_instructions_to_the_agent(kind: type[Call]) -> None:
    call = kind()
    config = SessionConfig.from_dict(call.dialect.opening().config)
    assert (config.voice, config.instructions, config.tool_auto_response) == (None, None, False)
    assert config.model == ("gpt-realtime" if kind is OpenAICall else "qwen3-omni-flash-realtime")


@each
def test_an_update_that_the_call_refuses_changes_nothing(kind: type[Call]) -> None:
    call = kind()
    call.dialect.decode('{"type": "session.update", "session": {"type": "realtime", "instructions": "No."}}')
    call.update(**({"tracing": "auto"} if kind is OpenAICall else {"top_p": 0.5}))
    assert call.frames[-1]["session"]["instructions"] == ""


REFUSED_CLEAR = s.AgentErrorEvent(error_type="client_error", code="unsupported_audio_clear", message="no")


@pytest.mark.parametrize(
    ("kind", "detection"),
    [(OpenAICall, {"audio": {"input": {"turn_detection": None}}}), (DashScopeCall, {"turn_detection": None})],
)
@pytest.mark.parametrize(
    ("before", "answer", "behind", "told", "is_enough"),
    [
        (9_600, s.AgentInputClearedEvent(), 0, "input_audio_buffer.cleared", False),
        (9_600, s.AgentInputClearedEvent(), 9_600, "input_audio_buffer.cleared", True),
        (9_600, REFUSED_CLEAR, 0, "error", True),
        (2_400, REFUSED_CLEAR, 3_200, "error", True),
    ],
)
def test_a_clear_empties_what_was_appended_before_it_unless_it_is_refused(
    kind: type[Call], detection: Json, before: int, answer: s.ServerEvent, behind: int, told: str, is_enough: bool
) -> None:
    call = kind()
    call.update(**detection)
    call.append(before)
    call.say("input_audio_buffer.clear")
    call.append(behind)
    assert call.tell(answer) == [told]
    if is_enough:
        assert isinstance(call.say("input_audio_buffer.commit"), c.ClientAudioCommitEvent)
    else:
        call.refused("input_audio_buffer.commit")


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


def test_of_a_call_without_a_word_by_hand_only_as_many_answers_are_remembered_as_a_clock_knows() -> None:
    """Hands-free, nothing ever asks for what was said so far to be settled."""
    call = OpenAICall()
    where: dict[str, Any] = {"response_id": "r", "delta": bytes(2), "format": AudioFormat.pcm16(24_000)}
    for number in (*range(100), 98, 99, 98):
        call.dialect.follow(s.AgentResponseAudioDeltaEvent(item_id=f"i{number}", **where))
    assert call.dialect._voiced == [*(f"i{number}" for number in range(100 - KEPT_ITEMS, 98)), "i99", "i98"]


def test_more_tools_than_a_call_takes_are_refused() -> None:
    call, tools = OpenAICall(), [{**OpenAICall.tool, "name": f"look{number}"} for number in range(MAX_TOOLS + 1)]
    assert call.update(tools=tools[1:]).config["tools"]
    assert call.refused("session.update", session={"type": "realtime", "tools": tools}).code == "invalid_value"
    assert call.refused("response.create", response={"tools": tools}).code == "invalid_value"


# Anything at all.

FRAMES = st.sampled_from(
    [
        *("session.update", "session.finish", "input_audio_buffer.append", "input_audio_buffer.commit", "x"),
        *("input_image_buffer.append", "conversation.item.create", "conversation.item.retrieve"),
        *("conversation.item.delete", "conversation.item.truncate", "response.create", "response.cancel"),
    ]
)
WORDS = st.sampled_from(
    ["pcm", "text", "audio", "message", "user", "server_vad", "function_call_output", "AAAA", "mcp", "realtime"]
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
