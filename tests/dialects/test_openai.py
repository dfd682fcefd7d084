"""What the OpenAI dialect alone makes of frames; `test_openai_family.py` has what it shares with its family."""

from typing import Any

from realtime.audio.playback import KEPT_ITEMS
from realtime.event import server as s
from realtime.event.base import MAX_TOOLS, AudioFormat, Item, ResponseOverrides
from realtime.event.config import SessionConfig
from tests.dialects.family import OpenAICall


def test_a_guess_at_the_users_words_is_no_delta() -> None:
    call = OpenAICall()
    call.update(audio={"input": {"transcription": {}}})
    kind = "conversation.item.input_audio_transcription.delta"
    assert call.tell(s.AgentInputTranscriptionDeltaEvent(item_id="u", delta="", interim="what ti")) == []
    assert call.tell(s.AgentInputTranscriptionDeltaEvent(item_id="u", delta="what time")) == [kind]


def test_of_a_call_without_a_word_by_hand_only_as_many_answers_are_remembered_as_a_clock_knows() -> None:
    """Hands-free, nothing ever asks for what was said so far to be settled."""
    call = OpenAICall()
    where: dict[str, Any] = {"response_id": "r", "delta": bytes(2), "format": AudioFormat.pcm16(24_000)}
    for number in (*range(100), 98, 99, 98):
        call.dialect.follow(s.AgentResponseAudioDeltaEvent(item_id=f"i{number}", **where))
    assert call.dialect._voiced == [*(f"i{number}" for number in range(100 - KEPT_ITEMS, 98)), "i99", "i98"]


def test_settings_reach_the_call_under_its_own_names() -> None:
    call = OpenAICall()
    event = call.say(
        "session.update",
        session={
            "type": "realtime",
            "max_output_tokens": 100,
            "tools": [call.tool],
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
    lifted = call.update(max_output_tokens="inf")
    assert lifted.config == {"max_output_tokens": "inf"}


def test_who_answers_and_who_interrupts_is_handed_on() -> None:
    call = OpenAICall()

    def config(**detection: Any) -> Any:
        audio = {"input": {"turn_detection": {"type": "server_vad", **detection}}}
        return call.update(audio=audio).config

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


def test_the_voice_is_fixed_once_it_was_heard() -> None:
    call = OpenAICall()
    call.speak()
    session = {"type": "realtime", "audio": {"output": {"voice": "ash"}}}
    assert call.refused("session.update", session=session).code == "cannot_update_voice"


def test_overrides_keep_references_and_out_of_band_responses() -> None:
    call = OpenAICall()
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


def test_a_call_of_a_tool_that_came_with_one_request_is_shown_to_the_client() -> None:
    call = OpenAICall()
    call.say("response.create", response={"tools": [call.tool]})
    assert "response.function_call_arguments.done" in call.call_tool("look")


def test_more_tools_than_a_call_takes_are_refused() -> None:
    call, tools = OpenAICall(), [{**OpenAICall.tool, "name": f"look{number}"} for number in range(MAX_TOOLS + 1)]
    assert call.update(tools=tools[1:]).config["tools"]
    assert call.refused("session.update", session={"type": "realtime", "tools": tools}).code == "invalid_value"
    assert call.refused("response.create", response={"tools": tools}).code == "invalid_value"
