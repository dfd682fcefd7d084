"""The settings of a call: what a client may say, and what it changes."""

import re
from typing import Any

import pytest

from realtime.errors import BadOption
from realtime.event import AudioFormat, SessionConfig, ToolDeclaration, TurnDetection
from realtime.event.base import MAX_TOOLS, ResponseOverrides


def test_everything_not_said_is_null() -> None:
    config = SessionConfig.from_dict({})
    assert all(getattr(config, name) is None for name in config.__struct_fields__)


def test_settings_are_read_into_their_types() -> None:
    config = SessionConfig.from_dict(
        {
            "instructions": "Be brief.",
            "turn_detection": {"authority": "server", "silence_duration_ms": 400},
            "output_modalities": ["audio", "text"],
            "input_audio_format": {"type": "audio/pcm", "rate": 16_000},
            "tools": [{"name": "weather", "parameters": {"type": "object"}}],
        }
    )
    assert config == SessionConfig(
        instructions="Be brief.",
        turn_detection=TurnDetection(authority="server", silence_duration_ms=400),
        output_modalities=("audio", "text"),
        input_audio_format=AudioFormat(type="audio/pcm", rate=16_000),
        tools=(ToolDeclaration(name="weather", parameters={"type": "object"}),),
    )


def test_push_to_talk_is_said_by_a_word_and_unknown_settings_are_ignored() -> None:
    assert SessionConfig.from_dict({"turn_detection": "none"}).turn_detection == "none"
    assert SessionConfig.from_dict({"colour": "blue"}) == SessionConfig()


def test_a_wrong_setting_is_named() -> None:
    for config, sentence in (
        ({"voice": 3}, "Expected `str | null`, got `int` at `voice`"),
        ({"turn_detection": "vad"}, "Invalid enum value 'vad' at `turn_detection`"),
        ({"turn_detection": {"silence_ms": 3}}, "Object contains unknown field `silence_ms` at `turn_detection`"),
        ({"tools": [{}]}, "Object missing required field `name` at `tools[0]`"),
        ({"audio_frames": "opus"}, "Invalid enum value 'opus' at `audio_frames`"),
        ({"audio": {"echo_cancellation": "moon"}}, "Invalid enum value 'moon' at `audio.echo_cancellation`"),
    ):
        with pytest.raises(ValueError, match=f"^config: {re.escape(sentence)}$"):
            SessionConfig.from_dict(config)


def test_reply_events_are_not_sent_on_a_socket_and_who_asks_for_them_learns_where_they_are() -> None:
    """AMB-57"""
    for events in (["realtime", "agent"], ["agent"], [], "agent"):
        with pytest.raises(ValueError, match=r"^config\.events: .*events\?vocabulary=reply"):
            SessionConfig.from_dict({"events": events})
    for allowed in (["realtime"], None):
        assert SessionConfig.from_dict({"events": allowed}) == SessionConfig()


def test_a_change_keeps_what_it_does_not_mention() -> None:
    before = SessionConfig(instructions="Be brief.", voice="heart", text_auto_response=True)
    after = before.merged(SessionConfig(voice="puck", text_auto_response=False))
    assert after == SessionConfig(instructions="Be brief.", voice="puck", text_auto_response=False)


def test_what_is_nested_deeper_than_any_setting_is_refused() -> None:
    schema: Any = {"type": "string"}
    for _ in range(20):
        schema = {"type": "array", "items": schema}
    assert SessionConfig.from_dict({"tools": [{"name": "t", "parameters": schema}]}).tools is not None
    deep: Any = 1
    for _ in range(700):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        SessionConfig.from_dict({"extra": deep})


@pytest.mark.parametrize("silence_ms", [0, -1])
def test_a_turn_that_ends_after_no_silence_is_refused_by_name(silence_ms: int) -> None:
    with pytest.raises(ValueError, match="silence_duration_ms"):
        SessionConfig.from_dict({"turn_detection": {"silence_duration_ms": silence_ms}})
    with pytest.raises(ValueError, match="silence_duration_ms"):
        TurnDetection(silence_duration_ms=silence_ms)


def test_more_tools_than_a_model_can_choose_among_are_refused() -> None:
    tools = [{"name": f"tool{number}"} for number in range(MAX_TOOLS + 1)]
    assert len(SessionConfig.from_dict({"tools": tools[1:]}).tools or ()) == MAX_TOOLS
    with pytest.raises(ValueError, match=r"^config: 513 tools, at most 512 are taken$"):
        SessionConfig.from_dict({"tools": tools})
    with pytest.raises(ValueError, match=r"^513 tools, at most 512 are taken$"):
        ResponseOverrides(tools=tuple(tools))


def test_the_audio_settings_are_merged_one_by_one() -> None:
    config = SessionConfig.from_dict({"audio": {"echo_cancellation": "server"}})
    merged = config.merged(SessionConfig.from_dict({"audio": {"cancels_echo": False}}))
    assert merged.audio is not None
    assert (merged.audio.echo_cancellation, merged.audio.cancels_echo) == ("server", False)
    assert config.merged(SessionConfig()).audio == config.audio


def test_a_program_gives_settings_as_an_object_or_by_their_names() -> None:
    settings = SessionConfig(output_modalities=("text",))
    assert SessionConfig.of({"output_modalities": ["text"]}) == SessionConfig.of(settings) == settings
    assert SessionConfig.of(None) == SessionConfig()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"output_modalites": ["text"]}, "config has no 'output_modalites': its fields are "),
        ({"output_modalities": "loud"}, "config: "),
        ("text", "config is a SessionConfig or a mapping of its fields, not 'text'"),
    ],
)
def test_settings_that_are_none_are_refused_by_name(given: Any, sentence: str) -> None:
    with pytest.raises(BadOption) as caught:
        SessionConfig.of(given)
    assert sentence in caught.value.message
