"""The agent's own voice in the microphone: no interruption, and no turn; a user who talks over it is heard."""

import asyncio

import numpy as np
import pytest

from realtime.agent import settings
from realtime.agent.run import AgentRun
from realtime.audio.echo_canceller import is_installed
from realtime.audio.endpoint import SpeechStarted, TurnEnded
from realtime.audio.resample import resampled
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import AudioSettings, SessionConfig, TurnDetection
from realtime.model import base
from tests.agent.fakes import NO_DETECTOR, Call, FakeDetector, call
from tests.audio.rooms import RATE_HZ, Samples, agent_speech, echo_of, level_db, noise, pcm, voiced

pytestmark = pytest.mark.virtual_time

SECONDS = 6
ONSET_MS = 1_000
STARTED = (1_100, SpeechStarted(ONSET_MS))


def say(made: Call, speech: Samples) -> None:
    """The agent says this, in one burst."""
    where = {"response_id": made.link.begin(), "item_id": "reply_1"}
    sound = resampled(pcm(speech), RATE_HZ, 24_000)
    for at in range(0, len(sound), 9_600):
        delta = sound[at : at + 9_600]
        made.link.say(m.ModelResponseAudioDeltaEvent(delta=delta, format=AudioFormat.pcm16(24_000), **where))


async def hear(made: Call, microphone: Samples) -> None:
    """The microphone sends 20 ms at a time, as time passes."""
    sound = pcm(microphone)
    for at in range(0, len(sound), 640):
        made.receive(c.ClientAudioAppendEvent(audio=sound[at : at + 640], format=AudioFormat.pcm16(RATE_HZ)))
        await asyncio.sleep(0.02)


async def talk(microphone: Samples, *found: tuple[int, SpeechStarted | TurnEnded]) -> list[tuple[str, str]]:
    """The decisions of a call whose agent speaks from the first moment on; no recogniser helps it."""
    detection = TurnDetection(authority="server", interruption="selective")
    async with call(
        profile=NO_DETECTOR,
        config=SessionConfig(turn_detection=detection),
        make_detector=lambda _: FakeDetector(*found),
        recognise=lambda pcm, hz, then: then(None),
    ) as made:
        assert isinstance(made.agent, AgentRun)
        made.receive(c.ClientTextAppendEvent(text="Where can I eat?"))
        say(made, agent_speech(SECONDS))
        await hear(made, microphone)
        return [(event.state, event.reason) for event in made.of(s.AgentInterruptionEvent)]


def echo(seconds: float, gain_db: float = -12.0) -> Samples:
    heard = echo_of(agent_speech(SECONDS), delay_ms=120, gain_db=gain_db, decay_s=0.3)
    return (heard + noise(len(heard)))[: int(seconds * RATE_HZ)]


async def test_an_echo_does_not_interrupt_and_is_no_turn() -> None:
    decided = await talk(echo(4), STARTED, (3_800, TurnEnded(ONSET_MS, 3_300, b"")))
    assert decided == [("possible", ""), ("dismissed", "echo")]


async def test_a_user_who_talks_over_the_echo_interrupts() -> None:
    microphone = echo(4)
    voice = voiced("barge_in.wav")[: RATE_HZ * 3 // 2]
    microphone[2 * RATE_HZ : 2 * RATE_HZ + len(voice)] += voice
    decided = await talk(microphone, STARTED)
    assert decided == [("possible", ""), ("dismissed", "echo"), ("confirmed", "speech")]


@pytest.mark.skipif(not is_installed(), reason="the extra echo is not installed")
async def test_the_model_gets_a_microphone_without_the_echo() -> None:
    config = SessionConfig(audio=AudioSettings(echo_cancellation="server"))
    async with call(config=config) as made:
        made.receive(c.ClientTextAppendEvent(text="Where can I eat?"))
        say(made, agent_speech(SECONDS))
        microphone = echo(SECONDS)
        await hear(made, microphone)
        newest = made.link.heard_bytes()[-2 * RATE_HZ :]
        assert level_db(pcm(microphone)[-2 * RATE_HZ :]) - level_db(newest) > 15
        made.receive(c.ClientSessionUpdateEvent(config={"audio": {"echo_cancellation": "off"}}))
        made.receive(c.ClientAudioAppendEvent(audio=pcm(microphone[:320]), format=AudioFormat.pcm16(RATE_HZ)))
        assert made.link.heard_bytes().endswith(pcm(microphone[:320]))


async def test_a_server_without_the_extra_refuses_to_remove_echoes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "is_installed", lambda: False)
    async with call() as made:
        with pytest.raises(ClientError) as refused:
            made.agent.configure(SessionConfig(audio=AudioSettings(echo_cancellation="server")))
        assert refused.value.code == "echo_unavailable"


async def test_a_user_without_an_echo_interrupts() -> None:
    microphone = noise(4 * RATE_HZ)
    voice = np.resize(voiced("barge_in.wav"), 2 * RATE_HZ)
    microphone[RATE_HZ : RATE_HZ + len(voice)] += voice
    assert await talk(microphone, STARTED) == [("possible", ""), ("confirmed", "speech")]


async def test_a_report_about_the_microphone_does_not_reach_the_model() -> None:
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"audio": {"cancels_echo": False}}))
        assert made.link.got(base.SessionUpdate) == []
        made.receive(c.ClientSessionUpdateEvent(config={"audio": {"cancels_echo": True}, "voice": None}))
        assert made.link.got(base.SessionUpdate) == []
        assert len(made.of(s.ServerSessionUpdatedEvent)) == 2
