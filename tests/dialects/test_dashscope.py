"""What the DashScope dialect alone makes of frames, what its clients heard, and when they fall silent.

`test_openai_family.py` has what it shares with its family.
"""

import base64

import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.event.config import SessionConfig
from realtime.message import ToolResultBlock
from tests.dialects.family import PLACE, SECOND, DashScopeCall, Json
from tests.dialects.test_openai_family import ENDINGS

# -- settings ----------------------------------------------------------------------------------------------------------


def test_clients_speak_at_16_khz_unless_they_say_otherwise() -> None:
    config = SessionConfig.from_dict(DashScopeCall().dialect.opening().config)
    assert config.input_audio_format == AudioFormat.pcm16(16_000)


def test_settings_reach_the_call_under_its_own_names() -> None:
    config = DashScopeCall().config(
        modalities=["audio", "text"],
        max_tokens=100,
        temperature=0.3,
        tools=[DashScopeCall.tool],
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
    call = DashScopeCall(voices=voices)
    assert call.config(voice=wanted).voice == given
    assert call.frames[-1]["session"]["voice"] == wanted


def test_a_detector_is_changed_key_by_key_and_switched_off_by_null() -> None:
    call = DashScopeCall()
    call.update(turn_detection={"type": "semantic_vad", "threshold": 0.1})
    config = call.config(turn_detection={"silence_duration_ms": 500, "create_response": False})
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
    assert call.config(turn_detection=None).turn_detection == "none"


def test_unknown_keys_are_ignored_and_known_ones_without_effect_are_echoed() -> None:
    call = DashScopeCall()
    call.update(top_p=0.3, smooth_output=True, mood={"glad": 1}, turn_detection={"type": "server_vad", "mood": 1})
    session = call.frames[-1]["session"]
    assert (session["top_p"], session["smooth_output"], "mood" in session) == (0.3, True, False)


def test_formats_may_be_said_again_but_not_changed_once_audio_has_come() -> None:
    call = DashScopeCall()
    call.append(3_200)
    call.update(input_audio_format="pcm16", output_audio_format="pcm24")
    nested = {"input": {"format": {"type": "pcm", "sample_rate": 8_000}}}
    assert call.refused("session.update", session={"audio": nested}).code == "invalid_value"


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
    assert DashScopeCall().refused("session.update", session=session).code == "invalid_value"


# -- turns -------------------------------------------------------------------------------------------------------------


def test_audio_goes_on_at_the_rate_that_the_client_named() -> None:
    call = DashScopeCall()
    assert call.append(3_200).format == AudioFormat.pcm16(16_000)
    call = DashScopeCall()
    call.update(audio={"input": {"format": {"type": "pcm", "sample_rate": 48_000}}})
    assert call.append(3_200).format == AudioFormat.pcm16(48_000)


def test_a_picture_comes_after_audio_and_has_no_item() -> None:
    call = DashScopeCall()
    picture = base64.b64encode(b"\xff\xd8").decode()
    assert call.refused("input_image_buffer.append", image=picture).code == "image_before_audio"
    call.append(3_200)
    event = call.say("input_image_buffer.append", image=picture)
    assert (event.image, event.format.media_type) == (b"\xff\xd8", "image/jpeg")
    item = Item(id="item_p", role="user", content=(ContentPart(type="image", image=b"\xff\xd8"),))
    assert call.tell(s.AgentItemAddedEvent(item=item), s.AgentItemDoneEvent(item=item)) == []


def test_the_words_of_a_turn_grow_and_end_behind_its_commit() -> None:
    call = DashScopeCall()
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
    call = DashScopeCall()
    call.tell(
        s.AgentInputTranscriptionDeltaEvent(item_id="item_u", delta="what"),
        s.AgentInputTranscriptionDeltaEvent(item_id="item_u", delta="", interim=" time"),
    )
    assert [(frame["text"], frame["stash"]) for frame in call.frames[-2:]] == [("what", ""), ("what", " time")]


def test_a_client_that_wants_no_words_gets_none() -> None:
    call = DashScopeCall()
    call.update(input_audio_transcription=None)
    assert call.tell(s.AgentInputTranscriptionDoneEvent(item_id="item_u", transcript="what")) == []


def test_a_response_is_refused_while_the_user_speaks() -> None:
    call = DashScopeCall()
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    assert call.refused("response.create").message == "Cannot create response while user is speaking."
    call.update(turn_detection=None)
    assert isinstance(call.say("response.create"), c.ClientResponseCreateEvent)


def test_the_tool_choice_of_the_session_goes_with_each_request() -> None:
    call = DashScopeCall()
    assert call.say("response.create", response={"instructions": None}).response is None
    call.update(tool_choice="required")
    response = call.say("response.create", response={"modalities": ["text"], "mood": 1}).response
    assert (response.tool_choice, response.output_modalities) == ("required", ("text",))


def test_a_voice_whose_end_nobody_will_tell_blocks_no_response() -> None:
    call = DashScopeCall()
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    call.tell(s.AgentReconnectingEvent(attempt=1, retry_after_ms=1, reason="lost"))
    assert isinstance(call.say("response.create"), c.ClientResponseCreateEvent)


# -- answers -----------------------------------------------------------------------------------------------------------


def test_words_are_told_to_be_complete_before_the_sound_is() -> None:
    call = DashScopeCall()
    call.speak()
    assert call.tell(s.AgentResponseAudioDoneEvent(**PLACE)) == []
    told = call.tell(s.AgentResponseAudioTranscriptDoneEvent(**PLACE, transcript="Yes."))
    assert told == ENDINGS[DashScopeCall][:3]
    assert call.frames[-1]["part"] == {"type": "audio", "text": "Yes."}


def test_what_comes_behind_the_end_of_a_part_is_not_told() -> None:
    call = DashScopeCall()
    call.speak()
    call.tell(
        s.AgentResponseAudioTranscriptDoneEvent(**PLACE, transcript="Yes."), s.AgentResponseAudioDoneEvent(**PLACE)
    )
    late = s.AgentResponseAudioDeltaEvent(**PLACE, delta=b"\x01\x00", format=AudioFormat.pcm16(24_000))
    assert call.tell(late, s.AgentResponseAudioTranscriptDeltaEvent(**PLACE, delta="No.")) == []


def test_the_end_of_the_session_closes_what_is_open() -> None:
    call = DashScopeCall()
    call.speak()
    assert call.tell(s.ServerSessionEndedEvent(session_id="s", reason="shutdown")) == ENDINGS[DashScopeCall]
    assert call.dialect.farewell() == (1013, "shutdown")


def test_a_result_is_acknowledged_under_the_name_that_the_client_gave_it() -> None:
    call = DashScopeCall()
    call.update(tools=[call.tool])
    call.call_tool("look", '{"at": 1}')
    output = {"type": "function_call_output", "id": "item_mine", "call_id": "call_1", "output": "a fox"}
    assert call.say("conversation.item.create", item=output).item_id == "item_mine"
    block = ToolResultBlock(id="call_1", name="look", output="a fox")
    call.tell(s.AgentResponseToolResultEvent(tool_result=block, item_id="item_mine"))
    assert (call.frames[-1]["type"], call.frames[-1]["item"]["id"]) == ("conversation.item.created", "item_mine")
    call.say("conversation.item.retrieve", item_id="item_mine")
    assert call.frames[-1]["item"]["output"] == "a fox"
    again = {name: value for name, value in output.items() if name != "id"}
    assert call.refused("conversation.item.create", item=again).message == "Unknown function call id: call_1"


def test_a_result_under_the_id_of_one_that_is_on_its_way_is_refused_and_its_call_stays_open() -> None:
    call = DashScopeCall()
    call.update(tools=[DashScopeCall.tool])
    call.call_tool("look", done=False)
    call.call_tool("look", call_id="call_2")
    first, second = (
        {"type": "function_call_output", "id": "mine", "call_id": call_id, "output": "a fox"}
        for call_id in ("call_1", "call_2")
    )
    assert isinstance(call.say("conversation.item.create", item=first), c.ClientToolResultEvent)
    told = call.refused("conversation.item.create", item=second)
    assert told.message == "An item with id 'mine' already exists."
    result = call.say("conversation.item.create", item=second | {"id": "mine_too"})
    assert (result.id, result.item_id) == ("call_2", "mine_too")


# -- what was heard ----------------------------------------------------------------------------------------------------


def test_heard_is_what_had_time_to_be_played() -> None:
    call = DashScopeCall()
    call.speak(SECOND)
    call.now = 0.5
    assert call.listener.clock.played_ms("item_1", call.now) == 500
    call.now = 5.0
    assert call.listener.clock.played_ms("item_1", call.now) == 1_000


def test_the_client_falls_silent_when_it_is_told_of_the_users_voice() -> None:
    call = DashScopeCall()
    call.speak(SECOND)
    call.now = 0.5
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    call.now = 5.0
    assert call.listener.clock.played_ms("item_1", call.now) == 500
    assert call.listener.unplayed_ms(call.now) == 0


def test_a_client_that_is_not_interrupted_plays_on() -> None:
    call = DashScopeCall()
    call.update(turn_detection={"type": "server_vad", "interrupt_response": False})
    call.speak(SECOND)
    call.tell(s.AgentInputStartedEvent(item_id="item_u", audio_start_ms=10))
    call.now = 5.0
    assert call.listener.clock.played_ms("item_1", call.now) == 1_000


def test_asking_for_more_counts_what_was_said_as_heard() -> None:
    call = DashScopeCall()
    call.speak(SECOND)
    call.tell(s.AgentResponseDoneEvent(response_id="resp_1"))
    call.say("response.create")
    assert call.listener.clock.played_ms("item_1", call.now) == 1_000


def test_speech_goes_out_at_the_rate_that_the_client_chose() -> None:
    call = DashScopeCall()
    call.update(audio={"output": {"format": {"type": "pcm", "sample_rate": 48_000}}})
    call.speak(SECOND)
    call.tell(s.AgentResponseAudioDoneEvent(**PLACE))
    spoken = [frame["delta"] for frame in call.frames if frame["type"] == "response.audio.delta"]
    assert sum(len(base64.b64decode(delta)) for delta in spoken) == 96_000
    assert call.listener.clock.sent_ms("item_1") == 1_000
    other = {"output": {"format": {"type": "pcm", "sample_rate": 8_000}}}
    assert call.refused("session.update", session={"audio": other}).code == "invalid_value"
