"""The agent's own voice in the microphone: no interruption, and no turn; a user who talks over it is heard."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import numpy as np
import pytest

from realtime.agent.echo_watch import EVERY_MS, MOST_LOOKS, EchoWatch
from realtime.agent.interruptions import MARGIN_MS
from realtime.agent.run import AgentRun
from realtime.audio import echo as echo_module
from realtime.audio.endpoint import SpeechStarted, TurnEnded
from realtime.audio.far_end import FarEnd
from realtime.audio.playback import AcknowledgedPlayback, WallClockPlayback
from realtime.audio.resample import resampled
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import AudioSettings, InterruptionMode, SessionConfig, TurnDetection
from realtime.model import base
from tests.agent.fakes import NO_DETECTOR, PROFILE, Call, FakeDetector, call
from tests.audio.rooms import RATE_HZ, Samples, agent_speech, echo_of, level_db, noise, pcm, voiced

pytestmark = pytest.mark.virtual_time

SECONDS = 6
ONSET_MS = 1_000
KEEPS_ECHO = AudioSettings(echo_cancellation="off")
STARTED = (1_100, SpeechStarted(ONSET_MS))


def by_server(*found: tuple[int, SpeechStarted | TurnEnded]) -> AbstractAsyncContextManager[Call]:
    """A call in which our detector finds these things, and neither recogniser nor canceller helps."""
    return call(
        profile=NO_DETECTOR,
        config=SessionConfig(
            turn_detection=TurnDetection(authority="server", interruption="selective"), audio=KEEPS_ECHO
        ),
        make_detector=lambda _: FakeDetector(*found),
        recognise=lambda pcm, hz, then: then(None),
    )


def say(made: Call, speech: Samples, *, response_id: str = "") -> None:
    """The agent says this, in one burst."""
    where = {"response_id": response_id or made.link.begin(), "item_id": "reply_1"}
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
    async with by_server(*found) as made:
        assert isinstance(made.agent, AgentRun)
        made.receive(c.ClientTextAppendEvent(text="Where can I eat?"))
        say(made, agent_speech(SECONDS))
        await hear(made, microphone)
        return [(event.state, event.reason) for event in made.of(s.AgentInterruptionEvent)]


def echo(seconds: float, gain_db: float = -12.0) -> Samples:
    heard = echo_of(agent_speech(SECONDS), delay_ms=120, gain_db=gain_db, decay_s=0.3)
    return (heard + noise(len(heard)))[: int(seconds * RATE_HZ)]


def with_voice(microphone: Samples, at_s: int, seconds: float) -> Samples:
    """A user speaks over what the microphone hears."""
    voice = np.resize(voiced("barge_in.wav"), int(seconds * RATE_HZ))
    microphone[at_s * RATE_HZ :][: len(voice)] += voice
    return microphone


POSSIBLE, ECHO, SPEECH = ("possible", ""), ("dismissed", "echo"), ("confirmed", "speech")


@pytest.mark.parametrize(
    ("microphone", "found", "decided"),
    [
        (lambda: echo(4), [STARTED, (3_800, TurnEnded(ONSET_MS, 3_300, b""))], [POSSIBLE, ECHO]),
        (lambda: echo(4, -40.0), [STARTED, (3_800, TurnEnded(ONSET_MS, 3_300, b""))], [POSSIBLE, ECHO]),
        (lambda: with_voice(echo(4), 2, 1.5), [STARTED], [POSSIBLE, ECHO, POSSIBLE, SPEECH]),
        (lambda: with_voice(noise(4 * RATE_HZ), 1, 2), [STARTED], [POSSIBLE, SPEECH]),
    ],
    ids=["an echo", "an echo as quiet as the room", "a user over the echo", "a user without an echo"],
)
async def test_an_echo_does_not_interrupt_and_is_no_turn_and_a_user_interrupts(
    microphone: Callable[[], Samples], found: list[Any], decided: list[tuple[str, str]]
) -> None:
    assert await talk(microphone(), *found) == decided


@pytest.mark.parametrize(
    ("mode", "microphone"),
    [("selective", lambda: noise(10 * RATE_HZ, -60.0)), ("off", lambda: with_voice(noise(10 * RATE_HZ), 0, 10))],
    ids=["a silent user", "interruption off"],
)
async def test_where_nothing_depends_on_it_nothing_is_transformed_and_nothing_correlated(
    mode: InterruptionMode, microphone: Callable[[], Samples], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("work for nothing")

    for module, name in ((np.fft, "rfft"), (np.fft, "irfft"), (np, "correlate"), (np, "convolve")):
        monkeypatch.setattr(module, name, never)
    monkeypatch.setattr(echo_module, "rises_alike", never)
    config = SessionConfig(turn_detection=TurnDetection(interruption=mode))
    async with call(config=config) as made:
        made.receive(c.ClientTextAppendEvent(text="Where can I eat?"))
        say(made, np.tile(agent_speech(5), 2))
        await hear(made, microphone())
        assert made.link.heard_bytes()
        assert made.of(s.AgentErrorEvent) == []


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


def told(made: Call) -> list[Any]:
    return [event.config for event in made.of(s.ServerSessionUpdatedEvent)]


async def converse(made: Call, microphone: Samples) -> None:
    made.receive(c.ClientTextAppendEvent(text="Where can I eat?"))
    say(made, agent_speech(SECONDS))
    await hear(made, microphone)


@pytest.mark.parametrize("cancels", [None, True])
async def test_the_canceller_switches_itself_on_where_the_microphone_hears_the_reply(cancels: bool | None) -> None:
    config = SessionConfig(audio=AudioSettings(cancels_echo=cancels)) if cancels else SessionConfig()
    async with call(config=config) as made:
        microphone = echo(SECONDS)
        await converse(made, microphone)
        assert [config["audio"]["echo_cancellation"] for config in told(made)] == ["server"]
        newest = made.link.heard_bytes()[-RATE_HZ:]
        assert level_db(pcm(microphone)[-RATE_HZ:]) - level_db(newest) > 15
        assert made.link.got(base.SessionUpdate) == []


@pytest.mark.parametrize("wants_its_echo", [False, True])
async def test_a_microphone_without_the_reply_or_of_a_client_that_wants_its_echo_is_left_alone(
    wants_its_echo: bool,
) -> None:
    config = SessionConfig(audio=KEEPS_ECHO) if wants_its_echo else SessionConfig()
    voice = with_voice(noise(SECONDS * RATE_HZ), 0, SECONDS)
    microphone = echo(SECONDS) if wants_its_echo else voice
    async with call(config=config) as made:
        await converse(made, microphone)
        assert told(made) == []
        assert made.link.heard_bytes() == pcm(microphone)


TAIL_MS = SECONDS * 1000 + 50
"""A detector finds the last of the echo, which is 120 ms late, when the reply has been played."""


async def test_the_last_of_an_echo_is_no_turn_where_this_server_detects() -> None:
    microphone = np.concatenate([echo(SECONDS + 0.3), noise(RATE_HZ)])
    found = (
        (TAIL_MS + 30, SpeechStarted(TAIL_MS - 250)),
        (TAIL_MS + 700, TurnEnded(TAIL_MS - 250, TAIL_MS + 100, b"")),
    )
    async with by_server(*found) as made:
        await converse(made, microphone)
        assert made.of(s.AgentInputStartedEvent) == []
        assert made.link.heard_bytes() == b""
        assert [(event.state, event.reason) for event in made.of(s.AgentInterruptionEvent)] == [("dismissed", "echo")]
        gains = [event.gain_db for event in made.of(s.ServerAudioGainEvent)]
        assert gains == [-15.0, 0.0], "for its first sound, when nothing was known of an echo"


async def test_the_last_of_an_echo_is_deleted_where_the_provider_detects() -> None:
    microphone = np.concatenate([echo(SECONDS + 0.3), noise(RATE_HZ)])
    profile = msgspec.structs.replace(PROFILE, leaves_responses=True)
    config = SessionConfig(turn_detection=TurnDetection(interruption="selective"), audio=KEEPS_ECHO)
    async with call(profile=profile, config=config, recognise=lambda pcm, hz, then: then(None)) as made:
        await converse(made, microphone[: (TAIL_MS + 30) * 16])
        made.link.hear_start("item_echo", TAIL_MS - 250)
        await hear(made, microphone[(TAIL_MS + 30) * 16 : (TAIL_MS + 600) * 16])
        made.link.hear_end("item_echo", TAIL_MS + 100, "the last of it")
        await hear(made, noise(RATE_HZ // 5))
        assert made.of(s.AgentInputStartedEvent) == []
        assert made.of(s.AgentInputTranscriptionDoneEvent) == []
        assert made.link.got(base.ItemDelete) == [base.ItemDelete("item_echo")]
        assert len(made.link.got(base.ResponseCreate)) == 1, "for the typed question"


async def test_a_user_who_answers_at_once_has_a_turn_without_the_echo_before_it() -> None:
    microphone = np.concatenate([echo(SECONDS + 0.3), noise(2 * RATE_HZ)])
    voice = voiced("barge_in.wav")[:RATE_HZ]
    begin_ms = SECONDS * 1000 + 400
    microphone[begin_ms * 16 :][: len(voice)] += voice
    found = ((begin_ms + 100, SpeechStarted(begin_ms)), (begin_ms + 1_600, TurnEnded(begin_ms, begin_ms + 1_000, b"")))
    async with by_server(*found) as made:
        await converse(made, microphone)
        started = made.of(s.AgentInputStartedEvent)
        assert [event.audio_start_ms for event in started] == [begin_ms]
        assert len(made.link.got(base.AudioCommit)) == 1
        assert made.of(s.AgentInterruptionEvent) == []
        before_ms = begin_ms - MARGIN_MS
        assert made.link.heard_bytes().startswith(pcm(microphone[before_ms * 16 : begin_ms * 16]))


async def test_words_of_the_echo_before_an_interruption_are_not_the_users() -> None:
    profile = msgspec.structs.replace(PROFILE, leaves_responses=True)
    config = SessionConfig(turn_detection=TurnDetection(interruption="selective"), audio=KEEPS_ECHO)
    microphone = echo(4)
    voice = voiced("barge_in.wav")[: RATE_HZ * 3 // 2]
    microphone[2 * RATE_HZ :][: len(voice)] += 2 * voice
    async with call(profile=profile, config=config, recognise=lambda pcm, hz, then: then(None)) as made:
        made.receive(c.ClientTextAppendEvent(text="Where can I eat?"))
        response_id = made.link.begin()
        words = "The market is open until six and the cafe behind it is the best of all places in town."
        where = {"response_id": response_id, "item_id": "reply_1"}
        made.link.say(m.ModelResponseAudioTranscriptDeltaEvent(delta=words, **where))
        say(made, agent_speech(SECONDS), response_id=response_id)
        await hear(made, microphone[: RATE_HZ // 2])
        made.link.hear_start("item_both", 300)
        await hear(made, microphone[RATE_HZ // 2 : 7 * RATE_HZ // 2])
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="item_both", delta="The market is open"))
        made.link.hear_end("item_both", 3_500, "The market is open. Stop, please, that is enough.")
        told = [event.transcript for event in made.of(s.AgentInputTranscriptionDoneEvent)]
        assert told == ["Stop, please, that is enough."]
        assert made.of(s.AgentInputTranscriptionDeltaEvent) == []
        started = made.of(s.AgentInputStartedEvent)[-1]
        assert 1_700 <= started.audio_start_ms <= 2_400, "where the user began, not the echo"


@pytest.mark.parametrize("interrupts", [False, True], ids=["all echo", "a user over it"])
async def test_pieces_of_an_echo_are_no_turn_however_slow_recognition_is(interrupts: bool) -> None:
    """A busy computer still recognises the one before when the provider finds the next."""
    profile = msgspec.structs.replace(PROFILE, leaves_responses=True)
    config = SessionConfig(turn_detection=TurnDetection(interruption="selective"), audio=KEEPS_ECHO)
    microphone = echo(SECONDS)
    if interrupts:
        voice = voiced("barge_in.wav")[: RATE_HZ * 3 // 2]
        microphone[3 * RATE_HZ :][: len(voice)] += 2 * voice
    async with call(profile=profile, config=config, recognise=lambda pcm, hz, then: None) as made:
        made.receive(c.ClientTextAppendEvent(text="Where can I eat?"))
        say(made, agent_speech(SECONDS))
        await hear(made, microphone[:RATE_HZ])
        made.link.hear_start("first", 300)
        await hear(made, microphone[RATE_HZ : 2 * RATE_HZ])
        made.link.hear_end("first", 1_900)
        await hear(made, microphone[2 * RATE_HZ : RATE_HZ * 5 // 2])
        made.link.hear_start("second", 2_300)
        made.link.say(m.ModelInputTranscriptionDoneEvent(item_id="first", transcript="The market is open"))
        await hear(made, microphone[RATE_HZ * 5 // 2 : RATE_HZ * 5])
        made.link.hear_end("second", 4_900, "Stop, please." if interrupts else "until six.")
        await hear(made, noise(RATE_HZ * 4))
        assert [message.item_id for message in made.link.got(base.ItemDelete)] == [
            "first",
            *["second"] * (not interrupts),
        ]
        said = [words for who, words in made.transcript() if who == "user"]
        assert said == ["Where can I eat?", *["Stop, please."] * interrupts]
        assert len(made.of(s.AgentInputStartedEvent)) == len(made.of(s.AgentInputDoneEvent)) == interrupts


async def test_a_report_about_the_microphone_does_not_reach_the_model() -> None:
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"audio": {"cancels_echo": False}}))
        assert made.link.got(base.SessionUpdate) == []
        made.receive(c.ClientSessionUpdateEvent(config={"audio": {"cancels_echo": True}, "voice": None}))
        assert made.link.got(base.SessionUpdate) == []
        assert len(made.of(s.ServerSessionUpdatedEvent)) == 2


async def test_a_client_that_reports_late_what_it_plays_hears_itself_all_the_same() -> None:
    """A busy computer: the microphone's audio comes, and what was played meanwhile is reported seconds later."""
    words = [f"word{number}" for number in range(15)]
    late_ms, heard = 2_500, "word8 word9 word10"
    config = SessionConfig(turn_detection=TurnDetection(interruption="selective"), audio=KEEPS_ECHO)
    profile = msgspec.structs.replace(PROFILE, leaves_responses=True)
    clock = AcknowledgedPlayback(24_000)
    async with call(profile=profile, config=config, recognise=lambda pcm, hz, then: then(heard), clock=clock) as made:
        made.receive(c.ClientTextAppendEvent(text="Please count."))
        response_id = made.link.begin()
        where = {"response_id": response_id, "item_id": "reply_1"}
        made.link.say(m.ModelResponseAudioTranscriptDeltaEvent(delta=" ".join(words), **where))
        say(made, agent_speech(SECONDS), response_id=response_id)
        microphone = echo(SECONDS)
        for at_ms in range(0, late_ms, 100):
            made.receive(c.ClientPlaybackAckEvent(item_id="reply_1", played_ms=at_ms))
            await hear(made, microphone[at_ms * 16 :][:1_600])
        await hear(made, microphone[late_ms * 16 :][: RATE_HZ * 3 // 2])
        # Only the words of a voice that begins here tell that it is the reply: its echo comes too late to be found.
        made.link.hear_start("item_echo", 4_000)
        await hear(made, voiced("barge_in.wav")[: RATE_HZ * 3 // 4])
        told = [(event.state, event.reason) for event in made.of(s.AgentInterruptionEvent)]
        assert told == [("possible", ""), ("dismissed", "echo_words")]
        assert made.of(s.ServerAudioFlushEvent) == []


ECHO, OTHER = 0.9, 0.1


def taken(watch: EchoWatch, *found: float, start: int = 1) -> None:
    for at, likeness in enumerate(found, start=start):
        watch.take(at * EVERY_MS, likeness)


def watching() -> tuple[EchoWatch, list[bool]]:
    told: list[bool] = []
    return EchoWatch(lambda: told.append(True)), told


def test_three_of_five_looks_that_find_the_reply_are_enough_and_told_once() -> None:
    """Those that are further apart, or at the same audio, do not add up."""
    watch, told = watching()
    taken(watch, *[ECHO, OTHER, OTHER, OTHER, OTHER] * 5)
    assert (told, watch.seen) == ([], True)
    watch, told = watching()
    for position_ms in range(EVERY_MS, EVERY_MS + 400, 100):
        watch.take(position_ms, ECHO)
    assert told == []
    watch, told = watching()
    taken(watch, ECHO, OTHER, ECHO, OTHER)
    assert told == []
    taken(watch, ECHO, ECHO, ECHO, start=5)
    assert told == [True]


def test_a_voice_that_was_the_users_begins_the_count_again() -> None:
    watch, told = watching()
    taken(watch, ECHO, ECHO)
    watch.contradict()
    taken(watch, ECHO, ECHO, start=3)
    assert told == []
    taken(watch, ECHO, start=5)
    assert told == [True]


def test_it_looks_a_limited_number_of_times() -> None:
    watch, told = watching()
    far_end = FarEnd(WallClockPlayback(24_000), lambda: 0.0, 24_000)
    looks = 0
    sound = pcm(with_voice(noise(60 * RATE_HZ), 0, 60))
    for position_ms in range(200, 60_000, 20):
        heard = sound[: position_ms * 32]
        if watch.is_due(position_ms):
            watch.look(position_ms, heard[-800 * 32 :], RATE_HZ, far_end)
            looks += 1
    assert (looks, told) == (MOST_LOOKS, [])
