"""What a DashScope client heard, and when it falls silent; `test_openai_family.py` has what is said and told."""

import base64

from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from tests.dialects.family import PLACE, SECOND, DashScopeCall


def test_clients_speak_at_16_khz_unless_they_say_otherwise() -> None:
    config = SessionConfig.from_dict(DashScopeCall().dialect.opening().config)
    assert config.input_audio_format == AudioFormat.pcm16(16_000)


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
