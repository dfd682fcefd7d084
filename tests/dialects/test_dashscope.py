"""The DashScope dialect by itself: what it makes of frames, what its clients heard, and that no frame breaks it."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.dialects.openai_family.dashscope_listener import DashScopeListener
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item, UsageDetail
from realtime.event.config import SessionConfig
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.runtime import Runtime
from tests.server.dashscope_sdk import check_frame

Json = dict[str, Any]
MODEL = "qwen3-omni-flash-realtime"
TOOL: Json = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
SECOND = bytes(48_000)
PLACE: Json = {"response_id": "resp_1", "item_id": "item_1"}
ENDINGS = [
    "response.audio_transcript.done",
    "response.audio.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.done",
]


class Call:
    """A dialect in a call, with the listener of its client. `now` is its clock in seconds."""

    def __init__(self, model: str = MODEL, *, voices: tuple[str, ...] = ()) -> None:
        self.now = 0.0
        runtime = Runtime.deterministic(lambda: self.now)
        self.dialect = DashScopeDialect(model, runtime)
        listener = self.dialect.listener(self, runtime, SessionConfig())
        assert isinstance(listener, DashScopeListener)
        self.listener = listener
        self.frames: list[Json] = []
        self.tell(
            s.ServerSessionCreatedEvent(session_id="s", call_id="call_9"), s.AgentReadyEvent(model={"voices": voices})
        )

    def write(self, frame: str) -> bool:
        """As the sink of its listener."""
        assert isinstance(frame, str)
        self.frames.append(json.loads(frame))
        check_frame(self.frames[-1])
        return True

    async def finish(self) -> None:
        raise NotImplementedError

    def close(self, code: int, reason: str) -> None:
        raise NotImplementedError

    def tell(self, *events: s.ServerEvent) -> list[str]:
        """The types of the frames that say it."""
        before = len(self.frames)
        for event in events:
            self.listener.deliver(event)
        return [frame["type"] for frame in self.frames[before:]]

    def say(self, kind: str, **fields: Any) -> Any:
        """The event of a client's frame; settings are taken as the call takes them."""
        event = self.dialect.decode(json.dumps({"event_id": "mine", "type": kind, **fields}))
        if isinstance(event, c.ClientSessionUpdateEvent):
            SessionConfig.from_dict(event.config)
            self.tell(s.ServerSessionUpdatedEvent(session_id="s", config=event.config))
        elif not isinstance(event, c.ClientEventBase):
            self.tell(event)
        return event

    def update(self, **session: Any) -> SessionConfig:
        return SessionConfig.from_dict(self.say("session.update", session=session).config)

    def append(self, n_bytes: int = 3_200) -> Any:
        return self.say("input_audio_buffer.append", audio=base64.b64encode(bytes(n_bytes)).decode())


def refused(call: Call, kind: str, **fields: Any) -> ClientError:
    with pytest.raises(ClientError) as error:
        call.say(kind, **fields)
    return error.value


def speak(call: Call, pcm: bytes = b"\x01\x00") -> list[str]:
    return call.tell(
        s.AgentResponseCreatedEvent(response_id="resp_1"),
        s.AgentItemAddedEvent(item=Item(id="item_1", role="assistant", status="in_progress")),
        s.AgentResponseAudioDeltaEvent(**PLACE, delta=pcm, format=AudioFormat.pcm16(24_000)),
    )


# -- settings ----------------------------------------------------------------------------------------------------------


def test_the_opening_leaves_the_voice_and_the_instructions_to_the_agent() -> None:
    config = SessionConfig.from_dict(Call().dialect.opening().config)
    assert (config.voice, config.instructions, config.tool_auto_response) == (None, None, False)
    assert (config.model, config.input_audio_format) == (MODEL, AudioFormat.pcm16(16_000))


def test_settings_reach_the_call_under_its_own_names() -> None:
    config = Call().update(
        modalities=["audio", "text"],
        max_tokens=100,
        temperature=0.3,
        tools=[TOOL],
        turn_detection={"type": "semantic_vad", "threshold": -0.4, "silence_duration_ms": 100_000},
        input_audio_transcription=None,
        voice="Cherry",
        instructions="Be brief.",
    )
    assert not isinstance(config.turn_detection, str)
    assert config.turn_detection is not None
    detection = config.turn_detection
    assert (detection.type, detection.threshold, detection.silence_duration_ms) == ("semantic_vad", 0.0, 6_000)
    assert (config.max_output_tokens, config.temperature, config.voice) == (100, 0.3, "Cherry")
    assert (config.output_modalities, config.input_audio_transcription) == (("audio",), False)
    assert config.tools is not None
    assert config.tools[0].name == "look"
    assert config.instructions == "Be brief."


@pytest.mark.parametrize(
    ("voices", "wanted", "given"),
    [
        ((), "Cherry", "Cherry"),
        (("Cherry", "Ethan"), "my-cloned-voice", "my-cloned-voice"),
        (("marin", "cedar"), "Cherry", None),
        (("marin", "cedar"), "cedar", "cedar"),
    ],
)
def test_a_voice_that_only_the_service_has_leaves_another_model_its_own(
    voices: tuple[str, ...], wanted: str, given: str | None
) -> None:
    call = Call(voices=voices)
    assert call.update(voice=wanted).voice == given
    assert call.frames[-1]["session"]["voice"] == wanted


def test_null_clears_what_can_be_cleared() -> None:
    call = Call()
    call.update(instructions="Sing.", tools=[TOOL], temperature=0.1, voice="Ethan")
    config = call.say("session.update", session={"instructions": None, "tools": None, "temperature": None}).config
    assert config == {"instructions": "", "tools": []}
    session = call.frames[-1]["session"]
    assert (session["tools"], session["temperature"], session["voice"]) == ([], 0.9, "Ethan")


def test_a_detector_is_changed_key_by_key_and_switched_off_by_null() -> None:
    call = Call()
    call.update(turn_detection={"type": "semantic_vad", "threshold": 0.1})
    config = call.update(turn_detection={"silence_duration_ms": 500, "create_response": False})
    assert call.frames[-1]["session"]["turn_detection"] == {
        "type": "semantic_vad",
        "threshold": 0.1,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 500,
        "create_response": False,
        "interrupt_response": True,
    }
    detection = config.turn_detection
    assert not isinstance(detection, str)
    assert detection is not None
    assert (detection.threshold, detection.silence_duration_ms) == (0.1, 500), "what was chosen before still holds"
    assert (config.auto_response, detection.create_response, detection.interrupt_response) == (False, False, None)
    assert call.update(turn_detection=None).turn_detection == "none"


def test_unknown_keys_are_ignored_and_known_ones_without_effect_are_echoed() -> None:
    call = Call()
    call.update(top_p=0.3, smooth_output=True, mood={"glad": 1}, turn_detection={"type": "server_vad", "mood": 1})
    session = call.frames[-1]["session"]
    assert (session["top_p"], session["smooth_output"], "mood" in session) == (0.3, True, False)


def test_an_update_that_the_call_refuses_changes_nothing() -> None:
    call = Call()
    call.dialect.decode(json.dumps({"type": "session.update", "session": {"instructions": "No."}}))
    call.update(top_p=0.5)
    assert call.frames[-1]["session"]["instructions"] == ""


def test_formats_may_be_said_again_but_not_changed_once_audio_has_come() -> None:
    call = Call()
    call.append()
    call.update(input_audio_format="pcm16", output_audio_format="pcm24")
    nested = {"input": {"format": {"type": "pcm", "sample_rate": 8_000}}}
    assert refused(call, "session.update", session={"audio": nested}).code == "invalid_value"


@pytest.mark.parametrize(
    "session",
    [
        {"modalities": ["audio"]},
        {"modalities": []},
        {"input_audio_format": "opus"},
        {"audio": {"output": {"format": {"type": "wav"}}}},
        {"audio": {"input": {"format": {"sample_rate": 44_100}}}},
        {"turn_detection": {"type": "speaker_detection"}},
        {"tools": [{"type": "mcp", "server_label": "elsewhere"}]},
        {"tools": [{"type": "function", "name": "flat"}]},
        {"tool_choice": "sometimes"},
    ],
)
def test_what_is_not_served_is_refused(session: Json) -> None:
    assert refused(Call(), "session.update", session=session).code == "invalid_value"


# -- turns -------------------------------------------------------------------------------------------------------------


def test_audio_goes_on_at_the_rate_that_the_client_named() -> None:
    call = Call()
    assert call.append().format == AudioFormat.pcm16(16_000)
    call = Call()
    call.update(audio={"input": {"format": {"type": "pcm", "sample_rate": 48_000}}})
    assert call.append().format == AudioFormat.pcm16(48_000)


def test_a_commit_needs_audio_that_was_not_committed() -> None:
    call = Call()
    call.update(turn_detection=None)
    call.append(3_198)
    assert refused(call, "input_audio_buffer.commit").code == "invalid_value"
    call.append(2)
    assert isinstance(call.say("input_audio_buffer.commit"), c.ClientAudioCommitEvent)
    assert refused(call, "input_audio_buffer.commit").code == "invalid_value"
    call.append(3_200)  # before the model has told of the commit
    call.tell(s.AgentInputCommittedEvent(item_id="item_u"))
    assert isinstance(call.say("input_audio_buffer.commit"), c.ClientAudioCommitEvent)
    call.tell(s.AgentInputCommittedEvent(item_id="item_v"))
    assert refused(call, "input_audio_buffer.commit").code == "invalid_value"


def test_a_picture_comes_after_audio_and_has_no_item() -> None:
    call = Call()
    picture = base64.b64encode(b"\xff\xd8").decode()
    assert refused(call, "input_image_buffer.append", image=picture).code == "image_before_audio"
    call.append()
    event = call.say("input_image_buffer.append", image=picture)
    assert (event.image, event.format.media_type) == (b"\xff\xd8", "image/jpeg")
    item = Item(id="item_p", role="user", content=(ContentPart(type="image", image=b"\xff\xd8"),))
    assert call.tell(s.AgentItemAddedEvent(item=item), s.AgentItemDoneEvent(item=item)) == []


def test_the_words_of_a_turn_grow_and_end_behind_its_commit() -> None:
    call = Call()
    kind = "conversation.item.input_audio_transcription"
    where: Json = {"item_id": "item_u"}
    told = call.tell(
        s.AgentInputTranscriptionDeltaEvent(**where, delta="what"),
        s.AgentInputTranscriptionDeltaEvent(**where, delta=" time"),
        s.AgentInputTranscriptionDoneEvent(**where, transcript="what time"),
        s.AgentInputCommittedEvent(item_id="item_u"),
    )
    committed = ["input_audio_buffer.committed", "conversation.item.created"]
    assert told == [f"{kind}.delta", f"{kind}.delta", *committed, f"{kind}.completed"]
    assert [frame["text"] for frame in call.frames if frame["type"] == f"{kind}.delta"] == ["what", "what time"]
    told = call.tell(
        s.AgentInputTranscriptionDeltaEvent(**where, delta=" is it"),
        s.AgentInputTranscriptionDoneEvent(**where, transcript="what time is it"),
        s.AgentInputTranscriptionFailedEvent(**where, code="unclear", message="It was not understood."),
    )
    assert told == [f"{kind}.delta", f"{kind}.completed", f"{kind}.failed"]
    assert call.frames[-3]["text"] == "what time is it"


def test_a_guess_at_the_words_that_follow_is_told_as_such() -> None:
    call = Call()
    call.tell(
        s.AgentInputTranscriptionDeltaEvent(item_id="item_u", delta="what"),
        s.AgentInputTranscriptionDeltaEvent(item_id="item_u", delta="", interim=" time"),
    )
    assert [(frame["text"], frame["stash"]) for frame in call.frames[-2:]] == [("what", ""), ("what", " time")]


def test_a_client_that_wants_no_words_gets_none() -> None:
    call = Call()
    call.update(input_audio_transcription=None)
    assert call.tell(s.AgentInputTranscriptionDoneEvent(item_id="item_u", transcript="what")) == []


def test_a_response_is_refused_while_the_user_speaks() -> None:
    call = Call()
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    assert refused(call, "response.create").message == "Cannot create response while user is speaking."
    call.update(turn_detection=None)
    assert isinstance(call.say("response.create"), c.ClientResponseCreateEvent)


def test_the_tool_choice_of_the_session_goes_with_each_request() -> None:
    call = Call()
    assert call.say("response.create", response={"instructions": None}).response is None
    call.update(tool_choice="required")
    response = call.say("response.create", response={"modalities": ["text"], "mood": 1}).response
    assert (response.tool_choice, response.output_modalities) == ("required", ("text",))


def test_a_voice_whose_end_nobody_will_tell_blocks_no_response() -> None:
    call = Call()
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    call.tell(s.AgentReconnectingEvent(attempt=1, retry_after_ms=1, reason="lost"))
    assert isinstance(call.say("response.create"), c.ClientResponseCreateEvent)


# -- answers -----------------------------------------------------------------------------------------------------------


def test_words_are_told_to_be_complete_before_the_sound_is() -> None:
    call = Call()
    speak(call)
    assert call.tell(s.AgentResponseAudioDoneEvent(**PLACE)) == []
    told = call.tell(s.AgentResponseAudioTranscriptDoneEvent(**PLACE, transcript="Yes."))
    assert told == ENDINGS[:3]
    assert call.frames[-1]["part"] == {"type": "audio", "text": "Yes."}


def test_what_comes_behind_the_end_of_a_part_is_not_told() -> None:
    call = Call()
    speak(call)
    call.tell(
        s.AgentResponseAudioTranscriptDoneEvent(**PLACE, transcript="Yes."), s.AgentResponseAudioDoneEvent(**PLACE)
    )
    late = s.AgentResponseAudioDeltaEvent(**PLACE, delta=b"\x01\x00", format=AudioFormat.pcm16(24_000))
    assert call.tell(late, s.AgentResponseAudioTranscriptDeltaEvent(**PLACE, delta="No.")) == []


def test_a_response_that_fails_closes_what_is_open_and_says_why() -> None:
    call = Call()
    speak(call)
    lost = {"reason": "connection_lost"}
    assert call.tell(s.AgentResponseDoneEvent(response_id="resp_1", status="failed", status_details=lost)) == ENDINGS
    response = call.frames[-1]["response"]
    error = {"type": "server_error", "code": "connection_lost"}
    assert response["status_details"] == {"type": "failed", "error": error}
    assert response["output"][0]["status"] == "incomplete"
    assert "usage" not in response


def test_the_end_of_the_session_closes_what_is_open() -> None:
    call = Call()
    speak(call)
    assert call.tell(s.ServerSessionEndedEvent(session_id="s", reason="shutdown")) == ENDINGS
    assert call.dialect.farewell() == (1013, "shutdown")


def test_usage_is_told_by_kind() -> None:
    call = Call()
    detail = UsageDetail(input_text_tokens=3, input_audio_tokens=7, input_image_tokens=4, output_audio_tokens=20)
    call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseDoneEvent(response_id="r", input_tokens=14, output_tokens=20, usage_detail=detail),
    )
    assert call.frames[-1]["response"]["usage"] == {
        "total_tokens": 34,
        "input_tokens": 14,
        "output_tokens": 20,
        "input_tokens_details": {"text_tokens": 3, "audio_tokens": 7, "image_tokens": 4},
        "output_tokens_details": {"text_tokens": 0, "audio_tokens": 20},
    }


def test_a_response_held_for_a_tool_of_ours_ends_with_the_interruption() -> None:
    call = Call()
    tool = ToolCallBlock(id="call_1", name="secret", input="{}")
    told = call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseToolUseDoneEvent(response_id="r", item_id="i", tool_use=tool),
        s.AgentResponseDoneEvent(response_id="r"),
    )
    assert told == ["response.created"]
    assert refused(call, "response.create").message == "Conversation already has an active response"
    assert call.tell(s.ServerAudioFlushEvent(reason="barge_in")) == ["response.done"]
    assert call.frames[-1]["response"]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert isinstance(call.say("response.create"), c.ClientResponseCreateEvent)


def test_a_result_is_acknowledged_under_the_name_that_the_client_gave_it() -> None:
    call = Call()
    call.update(tools=[TOOL])
    tool = ToolCallBlock(id="call_1", name="look", input='{"at": 1}')
    told = call.tell(
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseToolUseDoneEvent(response_id="r", item_id="i", tool_use=tool),
        s.AgentResponseDoneEvent(response_id="r"),
    )
    assert told == [
        "response.created",
        "response.output_item.added",
        "conversation.item.created",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.done",
    ]
    output = {"type": "function_call_output", "id": "item_mine", "call_id": "call_1", "output": "a fox"}
    result = call.say("conversation.item.create", item=output)
    assert result == c.ClientToolResultEvent(
        id="call_1", name="look", output="a fox", item_id="item_mine", event_id="mine"
    )
    block = ToolResultBlock(id="call_1", name="look", output="a fox")
    call.tell(s.AgentResponseToolResultEvent(tool_result=block, item_id="item_mine"))
    assert (call.frames[-1]["type"], call.frames[-1]["item"]["id"]) == ("conversation.item.created", "item_mine")
    call.say("conversation.item.retrieve", item_id="item_mine")
    assert call.frames[-1]["item"]["output"] == "a fox"
    again = {name: value for name, value in output.items() if name != "id"}
    assert refused(call, "conversation.item.create", item=again).message == "Unknown function call id: call_1"


def test_a_result_under_the_id_of_one_that_is_on_its_way_is_refused_and_its_call_stays_open() -> None:
    call = Call()
    call.update(tools=[TOOL])
    call.tell(s.AgentResponseCreatedEvent(response_id="r"))
    for call_id in ("call_1", "call_2"):
        tool = ToolCallBlock(id=call_id, name="look", input="{}")
        call.tell(s.AgentResponseToolUseDoneEvent(response_id="r", item_id=f"use_{call_id}", tool_use=tool))
    call.tell(s.AgentResponseDoneEvent(response_id="r"))
    first, second = (
        {"type": "function_call_output", "id": "mine", "call_id": call_id, "output": "a fox"}
        for call_id in ("call_1", "call_2")
    )
    assert isinstance(call.say("conversation.item.create", item=first), c.ClientToolResultEvent)
    told = refused(call, "conversation.item.create", item=second)
    assert told.message == "An item with id 'mine' already exists."
    result = call.say("conversation.item.create", item=second | {"id": "mine_too"})
    assert (result.id, result.item_id) == ("call_2", "mine_too")


def test_an_answer_withdrawn_unheard_can_still_be_named_by_the_client() -> None:
    call = Call()
    speak(call)
    assert call.tell(s.AgentItemDeletedEvent(item_id="item_1")) == []
    for kind in ("retrieve", "delete"):
        call.say(f"conversation.item.{kind}", item_id="item_1")
        assert call.frames[-1]["type"] == f"conversation.item.{kind}d"
    assert refused(call, "conversation.item.delete", item_id="item_1").code == "invalid_value"


# -- what was heard ----------------------------------------------------------------------------------------------------


def test_heard_is_what_had_time_to_be_played() -> None:
    call = Call()
    speak(call, SECOND)
    call.now = 0.5
    assert call.listener.clock.played_ms("item_1", call.now) == 500
    call.now = 5.0
    assert call.listener.clock.played_ms("item_1", call.now) == 1_000


def test_the_client_falls_silent_when_it_is_told_of_the_users_voice() -> None:
    call = Call()
    speak(call, SECOND)
    call.now = 0.5
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    call.now = 5.0
    assert call.listener.clock.played_ms("item_1", call.now) == 500
    assert call.listener.unplayed_ms(call.now) == 0


def test_a_client_that_is_not_interrupted_plays_on() -> None:
    call = Call()
    call.update(turn_detection={"type": "server_vad", "interrupt_response": False})
    speak(call, SECOND)
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    call.now = 5.0
    assert call.listener.clock.played_ms("item_1", call.now) == 1_000


def test_asking_for_more_counts_what_was_said_as_heard() -> None:
    call = Call()
    speak(call, SECOND)
    call.tell(s.AgentResponseDoneEvent(response_id="resp_1"))
    call.say("response.create")
    assert call.listener.clock.played_ms("item_1", call.now) == 1_000


def test_speech_goes_out_at_the_rate_that_the_client_chose() -> None:
    call = Call()
    call.update(audio={"output": {"format": {"type": "pcm", "sample_rate": 48_000}}})
    speak(call, SECOND)
    call.tell(s.AgentResponseAudioDoneEvent(**PLACE))
    spoken = [frame["delta"] for frame in call.frames if frame["type"] == "response.audio.delta"]
    assert sum(len(base64.b64decode(delta)) for delta in spoken) == 96_000
    assert call.listener.clock.sent_ms("item_1") == 1_000
    other = {"output": {"format": {"type": "pcm", "sample_rate": 8_000}}}
    assert refused(call, "session.update", session={"audio": other}).code == "invalid_value"


# -- anything at all ---------------------------------------------------------------------------------------------------


def test_what_the_service_has_no_words_for_is_not_told() -> None:
    quiet: list[s.ServerEvent] = [
        s.AgentEndedEvent(),
        s.ServerGoodbyeEvent(reason="idle"),
        s.ServerLatencyEvent(response_id="r", turn_end_to_audio_ms=1),
        s.ServerPlaybackEvent(item_id="i", played_ms=1),
        s.AgentReconnectingEvent(attempt=1, retry_after_ms=1, reason="lost"),
        s.AgentReconnectedEvent(gap_ms=3),
        s.AgentSessionUpdatedEvent(settings={}),
        s.AgentItemTruncatedEvent(item_id="i"),
        s.ServerAudioFlushEvent(),
        s.AgentResponseCreatedEvent(response_id="beside", conversation="none"),
        s.AgentResponseTextDeltaEvent(response_id="beside", item_id="x", delta="y"),
        s.AgentErrorEvent(error_type="server_error", code="unsupported_tools", message="the agent goes without"),
    ]
    assert Call().tell(*quiet) == []


WORDS = st.sampled_from(
    [
        "session.update",
        "session.finish",
        "input_audio_buffer.append",
        "input_audio_buffer.commit",
        "input_image_buffer.append",
        "conversation.item.create",
        "conversation.item.retrieve",
        "conversation.item.delete",
        "response.create",
        "response.cancel",
        "x",
    ]
)
TEXTS = st.sampled_from(
    ["pcm", "text", "audio", "message", "user", "server_vad", "function_call_output", "AAAA", "mcp"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "role", "content", "audio", "input", "output", "format", "sample_rate", "voice", "tools"),
                    *("text", "turn_detection", "modalities", "input_audio_transcription", "threshold", "function"),
                    *("silence_duration_ms", "name", "call_id", "instructions", "temperature", "model", "sample_rate"),
                ]
            ),
            inner,
        )
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["session", "audio", "image", "item", "item_id", "previous_item_id", "response", "event_id"])


@given(st.lists(st.tuples(WORDS, st.dictionaries(KEYS, VALUES, max_size=4)), max_size=6))
def test_no_frame_breaks_it(frames: list[tuple[str, Json]]) -> None:
    call = Call()
    for kind, fields in frames:
        try:
            call.say(kind, **fields)
        except ClientError as error:
            told = s.AgentErrorEvent(
                error_type="client_error", code=error.code, message=error.message, client_event_id=error.client_event_id
            )
            assert call.tell(told) == ["error"]


@given(st.text() | st.binary())
def test_garbage_is_refused(frame: str | bytes) -> None:
    with pytest.raises(ClientError):
        Call().dialect.decode(frame)
