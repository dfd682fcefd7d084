"""The OpenAI dialect by itself: what it makes of frames, and that no frame breaks it."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.audio.playback import KEPT_ITEMS
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import MAX_TOOLS, AudioFormat, Item, ResponseOverrides, UsageDetail
from realtime.event.config import SessionConfig
from realtime.message import ToolCallBlock
from realtime.runtime import Runtime

Json = dict[str, Any]
TOOL: Json = {"type": "function", "name": "look", "parameters": {"type": "object"}}


def dialect() -> OpenAIDialect:
    return OpenAIDialect("gpt-realtime", Runtime.deterministic(lambda: 0.0))


class Call:
    """A dialect in a call: what it is told it follows and encodes, as its listener does."""

    def __init__(self) -> None:
        self.dialect = dialect()
        self.frames: list[Json] = []
        self.tell(s.ServerSessionCreatedEvent(session_id="s", call_id="call_9"))

    def tell(self, *events: s.ServerEvent) -> list[str]:
        """The types of the frames that say it."""
        new = []
        for event in events:
            self.dialect.follow(event)
            new += [json.loads(frame) for frame in self.dialect.encode(event)]
        self.frames += new
        return [frame["type"] for frame in new]

    def say(self, kind: str, **fields: Any) -> Any:
        """The event of a client's frame; settings are taken as the call takes them."""
        event = self.dialect.decode(json.dumps({"type": kind, **fields}))
        if isinstance(event, c.ClientSessionUpdateEvent):
            SessionConfig.from_dict(event.config)
            self.tell(s.ServerSessionUpdatedEvent(session_id="s", config=event.config))
        return event


def refused(call: Call, kind: str, **fields: Any) -> str:
    with pytest.raises(ClientError) as error:
        call.say(kind, **fields)
    return error.value.code


def test_a_guess_at_the_users_words_is_no_delta() -> None:
    call = Call()
    call.say("session.update", session={"type": "realtime", "audio": {"input": {"transcription": {}}}})
    kind = "conversation.item.input_audio_transcription.delta"
    assert call.tell(s.AgentInputTranscriptionDeltaEvent(item_id="u", delta="", interim="what ti")) == []
    assert call.tell(s.AgentInputTranscriptionDeltaEvent(item_id="u", delta="what time")) == [kind]


def test_of_a_call_without_a_word_by_hand_only_as_many_answers_are_remembered_as_a_clock_knows() -> None:
    """Hands-free, nothing ever asks for what was said so far to be settled."""
    call = Call()
    where: dict[str, Any] = {"response_id": "r", "delta": bytes(2), "format": AudioFormat.pcm16(24_000)}
    for number in (*range(100), 98, 99, 98):
        call.dialect.follow(s.AgentResponseAudioDeltaEvent(item_id=f"i{number}", **where))
    assert call.dialect._voiced == [*(f"i{number}" for number in range(100 - KEPT_ITEMS, 98)), "i99", "i98"]


def test_the_opening_leaves_the_voice_and_the_instructions_to_the_agent() -> None:
    config = SessionConfig.from_dict(dialect().opening().config)
    assert (config.voice, config.instructions, config.tool_auto_response) == (None, None, False)
    assert config.model == "gpt-realtime"


def test_settings_reach_the_call_under_its_own_names() -> None:
    call = Call()
    event = call.say(
        "session.update",
        session={
            "type": "realtime",
            "max_output_tokens": 100,
            "tools": [TOOL],
            "audio": {
                "input": {"turn_detection": {"type": "semantic_vad", "eagerness": "low"}, "transcription": None},
                "output": {"voice": {"id": "voice_1"}},
            },
        },
    )
    config = SessionConfig.from_dict(event.config)
    assert not isinstance(config.turn_detection, str)
    assert config.turn_detection is not None
    assert (config.turn_detection.type, config.turn_detection.eagerness) == ("semantic_vad", "low")
    assert (config.max_output_tokens, config.voice, config.input_audio_transcription) == (100, "voice_1", False)
    assert config.tools is not None
    assert config.tools[0].name == "look"
    lifted = call.say("session.update", session={"type": "realtime", "max_output_tokens": "inf"})
    assert lifted.config == {"max_output_tokens": "inf"}


def test_who_answers_and_who_interrupts_is_handed_on() -> None:
    call = Call()

    def config(**detection: Any) -> Any:
        audio = {"input": {"turn_detection": {"type": "server_vad", **detection}}}
        return call.say("session.update", session={"type": "realtime", "audio": audio}).config

    by_default = config()
    assert (by_default["turn_detection"], by_default["auto_response"]) == ({"type": "server_vad"}, True)
    quiet = config(create_response=False, interrupt_response=False, threshold=0.7)
    assert quiet["turn_detection"] == {
        "type": "server_vad",
        "threshold": 0.7,
        "create_response": False,
        "interrupt_response": False,
    }
    assert quiet["auto_response"] is False
    assert config(silence_duration_ms=500)["turn_detection"] == quiet["turn_detection"] | {"silence_duration_ms": 500}


def test_null_clears_what_can_be_cleared() -> None:
    call = Call()
    call.say("session.update", session={"type": "realtime", "instructions": "Sing.", "tools": [TOOL]})
    event = call.say("session.update", session={"type": "realtime", "instructions": None, "tools": None})
    assert event.config == {"instructions": "", "tools": []}
    assert call.frames[-1]["session"]["tools"] == []


def test_an_update_that_the_call_refuses_changes_nothing() -> None:
    call = Call()
    call.dialect.decode(json.dumps({"type": "session.update", "session": {"type": "realtime", "instructions": "No."}}))
    call.say("session.update", session={"type": "realtime", "tracing": "auto"})
    assert call.frames[-1]["session"]["instructions"] == ""


def test_the_voice_is_fixed_once_it_was_heard() -> None:
    call = Call()
    speak(call)
    session = {"type": "realtime", "audio": {"output": {"voice": "ash"}}}
    assert refused(call, "session.update", session=session) == "cannot_update_voice"


def test_overrides_keep_references_and_out_of_band_responses() -> None:
    call = Call()
    call.tell(s.AgentItemAddedEvent(item=Item(id="item_1", role="user")))
    event = call.say(
        "response.create",
        response={
            "conversation": "none",
            "input": [{"type": "item_reference", "id": "item_1"}],
            "output_modalities": ["text"],
            "metadata": {"topic": "mood"},
        },
    )
    assert event.response == ResponseOverrides(
        conversation="none",
        input=(Item(id="item_1", role="user"),),
        output_modalities=("text",),
        metadata={"topic": "mood"},
    )


def test_what_is_appended_before_a_commit_is_told_belongs_to_the_next_turn() -> None:
    """A model behind a network tells later of a commit."""
    call = Call()
    call.say("session.update", session={"type": "realtime", "audio": {"input": {"turn_detection": None}}})
    audio = base64.b64encode(bytes(2 * 24 * 200)).decode()
    for _ in range(2):
        call.say("input_audio_buffer.append", audio=audio)
        assert isinstance(call.say("input_audio_buffer.commit"), c.ClientAudioCommitEvent)
        assert refused(call, "input_audio_buffer.commit") == "input_audio_buffer_commit_empty"
    call.say("input_audio_buffer.append", audio=audio)
    call.tell(s.AgentInputCommittedEvent(item_id="i1"), s.AgentInputCommittedEvent(item_id="i2"))
    assert isinstance(call.say("input_audio_buffer.commit"), c.ClientAudioCommitEvent)


def speak(call: Call) -> None:
    where: Json = {"response_id": "resp_1", "item_id": "item_1"}
    call.tell(
        s.AgentResponseCreatedEvent(response_id="resp_1"),
        s.AgentItemAddedEvent(item=Item(id="item_1", role="assistant", status="in_progress")),
        s.AgentResponseAudioDeltaEvent(**where, delta=b"\x01\x00", format=AudioFormat.pcm16(24_000)),
    )


def test_a_response_that_fails_closes_what_is_open_and_says_why() -> None:
    call = Call()
    speak(call)
    told = call.tell(
        s.AgentResponseDoneEvent(response_id="resp_1", status="failed", status_details={"reason": "connection_lost"})
    )
    assert told == [
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
        "rate_limits.updated",
    ]
    response = call.frames[-2]["response"]
    assert response["status_details"]["error"]["code"] == "connection_lost"
    assert response["output"][0]["status"] == "incomplete"


def test_usage_is_told_by_kind() -> None:
    call = Call()
    detail = UsageDetail(input_text_tokens=3, input_audio_tokens=7, input_cached_tokens=2, output_audio_tokens=20)
    call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseDoneEvent(response_id="r", input_tokens=10, output_tokens=20, usage_detail=detail),
    )
    usage = call.frames[-2]["response"]["usage"]
    assert (usage["total_tokens"], usage["input_token_details"]["audio_tokens"]) == (30, 7)
    assert usage["input_token_details"]["cached_tokens"] == 2
    assert usage["output_token_details"] == {"text_tokens": 0, "audio_tokens": 20}


def test_an_answer_withdrawn_unheard_can_still_be_named_by_the_client() -> None:
    call = Call()
    speak(call)
    assert call.tell(s.AgentItemDeletedEvent(item_id="item_1")) == []
    words = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "So?"}]}
    behind = call.say("conversation.item.create", previous_item_id="item_1", item=words)
    assert isinstance(behind, c.ClientItemCreateEvent)
    assert behind.previous_item_id is None, "at the end, where it stood"
    for kind, more in (("truncate", {"audio_end_ms": 5}), ("retrieve", {}), ("delete", {})):
        answer = call.say(f"conversation.item.{kind}", item_id="item_1", **more)
        assert call.tell(answer) == [f"conversation.item.{kind}d"]
    assert refused(call, "conversation.item.delete", item_id="item_1") == "item_delete_invalid_item_id"


def test_a_response_held_for_a_tool_of_ours_ends_with_the_interruption() -> None:
    call = Call()
    tool = ToolCallBlock(id="call_1", name="secret", input="{}")
    told = call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseToolUseDoneEvent(response_id="r", item_id="i", tool_use=tool),
        s.AgentResponseDoneEvent(response_id="r"),
    )
    assert told == ["response.created"]
    assert refused(call, "response.create") == "conversation_already_has_active_response"
    assert call.tell(s.ServerAudioFlushEvent(reason="cancel")) == ["response.done", "rate_limits.updated"]
    assert call.frames[-2]["response"]["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
    assert isinstance(call.say("response.create"), c.ClientResponseCreateEvent)


def test_arguments_that_came_at_once_are_told_as_one_delta() -> None:
    call = Call()
    call.say("session.update", session={"type": "realtime", "tools": [TOOL]})
    tool = ToolCallBlock(id="call_1", name="look", input='{"at": 1}')
    told = call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseToolUseDoneEvent(response_id="r", item_id="i", tool_use=tool),
    )
    assert told[1:] == [
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "conversation.item.done",
        "response.output_item.done",
    ]
    result = call.say(
        "conversation.item.create", item={"type": "function_call_output", "call_id": "call_1", "output": "a fox"}
    )
    assert result == c.ClientToolResultEvent(id="call_1", name="look", output="a fox")


def test_a_call_of_a_tool_that_came_with_one_request_is_shown_to_the_client() -> None:
    call = Call()
    call.say("response.create", response={"tools": [TOOL]})
    tool = ToolCallBlock(id="call_1", name="look", input="{}")
    told = call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseToolUseDoneEvent(response_id="r", item_id="i", tool_use=tool),
    )
    assert "response.function_call_arguments.done" in told


def test_every_server_event_is_told_without_words_that_the_service_does_not_have() -> None:
    call = Call()
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
    assert call.tell(*quiet) == []


WORDS = st.sampled_from(
    [
        "session.update",
        "input_audio_buffer.append",
        "input_audio_buffer.commit",
        "conversation.item.create",
        "conversation.item.retrieve",
        "conversation.item.truncate",
        "response.create",
        "response.cancel",
        "x",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["realtime", "message", "user"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "role", "content", "audio", "input", "tools", "text"]), inner)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["session", "audio", "item", "item_id", "audio_end_ms", "response", "event_id", "response_id"])


@given(st.lists(st.tuples(WORDS, st.dictionaries(KEYS, VALUES, max_size=4)), max_size=6))
def test_no_frame_breaks_it(frames: list[tuple[str, Json]]) -> None:
    call = Call()
    for kind, fields in frames:
        try:
            call.say(kind, **fields)
        except ClientError as error:
            told = s.AgentErrorEvent(error_type="client_error", code=error.code, message=error.message)
            assert call.tell(told) == ["error"]


@given(st.text() | st.binary())
def test_garbage_is_refused(frame: str | bytes) -> None:
    with pytest.raises(ClientError):
        dialect().decode(frame)


def test_what_is_sent_is_json_in_text_frames() -> None:
    call = Call()
    speak(call)
    for event in (s.AgentResponseDoneEvent(response_id="resp_1"), s.AgentInputClearedEvent()):
        for frame in call.dialect.encode(event):
            assert isinstance(frame, str)
            assert msgspec.json.decode(frame)["event_id"]


def test_more_tools_than_a_call_takes_are_refused() -> None:
    call, tools = Call(), [{**TOOL, "name": f"look{number}"} for number in range(MAX_TOOLS + 1)]
    assert call.say("session.update", session={"type": "realtime", "tools": tools[1:]}).config["tools"]
    assert refused(call, "session.update", session={"type": "realtime", "tools": tools}) == "invalid_value"
    assert refused(call, "response.create", response={"tools": tools}) == "invalid_value"
