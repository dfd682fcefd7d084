"""A call whose provider drops the socket, at every frame of a turn: over real loopback sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import pybase64
import pytest
from websockets.exceptions import ConnectionClosed

from realtime.agent.realtime import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback, PlaybackClock
from realtime.call.session import Session as CallSession
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import InterruptionMode, SessionConfig, TurnDetection
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import WireLimits
from realtime.runtime import Runtime
from tests.agent.fakes import ListSink, listener_into
from tests.model.emulator import BYTES_PER_MS, CHUNK_MS, Emulator, Json, Session
from tests.volumes import HANG_S

LIMITS = WireLimits(first_delay_s=0.01, max_delay_s=0.02, open_timeout_s=HANG_S, session_timeout_s=HANG_S)
QUESTION = "what time is"
ANSWER = "it is half past nine"
ANSWERS = {QUESTION: ANSWER, "still there": "yes"}
FRAMES = 30
"""Of the whole turn: what the service says of the question, and the answer."""
ENOUGH_SILENCE_MS = 200
VOICE_MS = 400


class Dropped(Exception):
    """The socket was dropped."""


class Service(Session):
    """A session of a service that hears, remembers and answers like one: the same question gets the same answer, and
    what the context says was answered already is not said again."""

    def __init__(self, socket: Any, number: int, *, drop_after: int | None, words_late: bool) -> None:
        super().__init__(socket, number)
        self.drop_after = drop_after
        self.words_late = words_late
        self.said_frames = 0
        self.context: list[tuple[str, str]] = []
        self._to_do: asyncio.Queue[Json] = asyncio.Queue()
        self._input = bytearray()
        self._heard_until = 0
        self._answered = 0
        self._creates = True
        self._words_owed: list[tuple[str, Json]] = []

    async def update(self, frame: Json) -> None:
        detection = frame["session"].get("audio", {}).get("input", {}).get("turn_detection") or {}
        self._creates = detection.get("create_response", True)
        await super().update(frame)

    async def send(self, kind: str, **fields: Any) -> None:
        if kind not in ("session.created", "session.updated"):
            if self.said_frames == self.drop_after:
                await (await self.socket.ping())  # the client has read everything so far
                self.drop()
                raise Dropped
            self.said_frames += 1
        await super().send(kind, **fields)

    async def note(self, frame: Json) -> None:
        await super().note(frame)
        self._to_do.put_nowait(frame)

    async def live(self) -> None:
        """React to what comes, in order; reading goes on meanwhile."""
        while True:
            frame = await self._to_do.get()
            match frame["type"]:
                case "conversation.item.create" if frame["item"]["type"] == "message":
                    self.context.append((frame["item"]["role"], frame["item"]["content"][0]["text"]))
                case "input_audio_buffer.append":
                    self._input += pybase64.b64decode(frame["audio"])
                    await self._listen()
                case "response.create":
                    await self._answer()
                    await self._say(self._words_owed)

    async def _listen(self) -> None:
        """Voice is everything but zeros; a turn is over after enough silence."""
        audio = self._input
        voice = [at for at in range(self._heard_until, len(audio), 2 * BYTES_PER_MS) if any(audio[at : at + 2])]
        if not voice or len(audio) - voice[-1] < ENOUGH_SILENCE_MS * BYTES_PER_MS:
            return
        self._heard_until = len(audio)
        start_ms, end_ms = voice[0] // BYTES_PER_MS, voice[-1] // BYTES_PER_MS + 2
        whole = end_ms - start_ms >= VOICE_MS - 10
        words = QUESTION if whole else "(half a question)"
        self.context.append(("user", words))
        item_id = f"item_u{self.number}_{self._count}"
        if not self.words_late:
            await self.hear(item_id, start_ms=start_ms, end_ms=end_ms, transcript=words)
            if self._creates:
                await self._answer()
            return
        frames: list[tuple[str, Json]] = []
        plain, self.send = self.send, lambda kind, **fields: _keep(frames, kind, fields)  # type: ignore[method-assign]
        await self.hear(item_id, start_ms=start_ms, end_ms=end_ms, transcript=words)
        self.send = plain  # type: ignore[method-assign]
        self._words_owed = frames[5:]
        await self._say(frames[:5])
        if self._creates:
            await self._answer()
        if self._creates or self.number > 1:
            # What was answered before the drop is not asked for again.
            await self._say(self._words_owed)

    async def _say(self, frames: list[tuple[str, Json]]) -> None:
        while frames:
            kind, fields = frames.pop(0)
            await self.send(kind, **fields)

    async def _answer(self) -> None:
        self._answered += 1
        question = next(text for role, text in reversed(self.context) if role == "user")
        goes_on = any(role == "system" for role, _ in self.context)
        said = [text for role, text in self.context if role == "assistant"] if goes_on else []
        self.context = [one for one in self.context if one[0] != "system"]
        words = ANSWERS[question].removeprefix(" ".join(said)).strip()
        name = f"{self.number}_{self._answered}"
        pcm = b"\1\0" * (6 * CHUNK_MS * BYTES_PER_MS // 2)
        await self.speak(f"resp_{name}", f"item_a{name}", words, pcm)
        self.context.append(("assistant", words))


async def _keep(frames: list[tuple[str, Json]], kind: str, fields: Json) -> None:
    frames.append((kind, fields))


class DroppingEmulator(Emulator):
    """Its first session loses the socket after so many frames of the turn."""

    def __init__(self, drop_after: int | None, *, words_late: bool = False, drops: int = 1) -> None:
        super().__init__()
        self._drop_after = drop_after
        self._words_late = words_late
        self._drops = drops

    async def _serve(self, socket: Any) -> None:
        number = len(self.sessions) + 1
        drop_after = self._drop_after if number <= self._drops else None
        session = Service(socket, number, drop_after=drop_after, words_late=self._words_late)
        async with self._opened:
            self.sessions.append(session)
            self._opened.notify_all()
        try:
            async with asyncio.TaskGroup() as group:
                await session.greet()
                acting = group.create_task(session.live())
                async for frame in socket:
                    await session.note(json.loads(frame))
                acting.cancel()
        except* (ConnectionClosed, Dropped):
            pass


class Log:
    """What the call said, and a way to wait for it."""

    def __init__(self) -> None:
        self.events: list[s.ServerEvent] = []
        self._said = asyncio.Event()

    def note(self, event: s.ServerEvent) -> None:
        self.events.append(event)
        self._said.set()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(HANG_S):
            while not holds():
                self._said.clear()
                await self._said.wait()


@asynccontextmanager
async def in_call(
    agent: RealtimeAgent, config: SessionConfig, clock: PlaybackClock | None = None
) -> AsyncIterator[tuple[CallSession, Log]]:
    """A call with this agent, in real time; its client acknowledges what it plays."""
    runtime = Runtime()
    session = CallSession(participant=agent.run(), runtime=runtime, session_id="session1")
    view = listener_into(ListSink(), runtime, clock=clock or AcknowledgedPlayback(24_000))
    session.attach(view)
    log = Log()
    session.log.subscribe(log.note)
    await session.start(config)
    try:
        yield session, log
    finally:
        await session.end("test_over")
        session.detach(view)


@asynccontextmanager
async def talk(
    provider: Emulator, limits: WireLimits = LIMITS, interruption: InterruptionMode | None = None
) -> AsyncIterator[tuple[CallSession, Log]]:
    model = OpenAIRealtimeModel(api_key="sk-test", base_url=provider.base_url, limits=limits)
    config = SessionConfig(turn_detection=TurnDetection(interruption=interruption))
    async with in_call(RealtimeAgent("Friday", "Be nice.", model), config) as made:
        yield made


def ask(session: CallSession) -> None:
    """The question, spoken: a moment of silence, voice, and silence."""
    pcm = bytes(300 * BYTES_PER_MS) + b"\1\0" * (VOICE_MS * BYTES_PER_MS // 2) + bytes(300 * BYTES_PER_MS)
    step = 100 * BYTES_PER_MS
    for at in range(0, len(pcm), step):
        session.receive(c.ClientAudioAppendEvent(audio=pcm[at : at + step], format=AudioFormat.pcm16(24_000)))


def hear_all(session: CallSession) -> None:
    """Whatever was answered is heard to its end."""
    (view,) = session.listeners
    for item in session.conversation.items():
        if item.role == "assistant":
            session.receive(c.ClientPlaybackAckEvent(item_id=item.id, played_ms=60_000), view)


def said(session: CallSession) -> list[tuple[str | None, str]]:
    """(who, words) of the call; neighbouring items of one speaker as one."""
    turns: list[tuple[str | None, str]] = []
    for item in session.conversation.items():
        if turns and turns[-1][0] == item.role:
            turns[-1] = (item.role, f"{turns[-1][1]} {item.text}".strip())
        else:
            turns.append((item.role, item.text.strip()))
    return turns


async def test_the_turn_has_the_stated_number_of_frames() -> None:
    async with DroppingEmulator(None) as provider, talk(provider) as (session, log):
        ask(session)
        await log.until(lambda: log.of(s.AgentResponseDoneEvent) != [])
        (service,) = provider.sessions
        hear_all(session)
        session.receive(c.ClientTextAppendEvent(text="still there"))
        await log.until(lambda: len(log.of(s.AgentResponseDoneEvent)) == 2)
        assert isinstance(service, Service)
        assert said(session)[:2] == [("user", QUESTION), ("assistant", ANSWER)]
        frames_of_second = FRAMES - 9 - 4
        assert service.said_frames == FRAMES + frames_of_second


@pytest.mark.parametrize("drop_after", range(18, 21))
async def test_an_answer_that_is_broken_off_goes_on_after_the_heard_part(drop_after: int) -> None:
    async with DroppingEmulator(drop_after) as provider, talk(provider) as (session, log):
        ask(session)
        await log.until(lambda: said(session) == [("user", QUESTION), ("assistant", ANSWER)])
        first, second = [item for item in session.conversation.items() if item.role == "assistant"]
        await log.until(lambda: len(log.of(s.AgentResponseDoneEvent)) == 2)
        assert first.text, "some of it was heard"
        assert f"{first.text} {second.text}" == ANSWER
        assert [event.status for event in log.of(s.AgentResponseDoneEvent)] == ["failed", "completed"]
        again = provider.sessions[1]
        restored = [frame["item"] for frame in again.sent("conversation.item.create")]
        assert [item["role"] for item in restored] == ["user", "assistant", "system"]
        assert restored[1]["content"] == [{"type": "output_text", "text": first.text}]
        assert log.of(s.ServerAudioFlushEvent) == []


async def test_a_provider_that_stays_away_ends_the_answer_and_the_call_with_its_reason() -> None:
    limits = WireLimits(first_delay_s=0.01, max_delay_s=0.02, attempts=3)
    async with DroppingEmulator(21) as provider, talk(provider, limits) as (session, log):
        ask(session)
        await provider.session()
        provider.refuse = (HTTPStatus.SERVICE_UNAVAILABLE, {})
        await log.until(lambda: log.of(s.AgentEndedEvent) != [])
        (done,) = log.of(s.AgentResponseDoneEvent)
        assert (done.status, done.status_details) == ("failed", {"type": "failed", "reason": "link_lost"})
        assert len(log.of(s.AgentReconnectingEvent)) == 3
        (error,) = log.of(s.AgentErrorEvent)
        assert error.code == log.of(s.AgentEndedEvent)[0].reason == "provider_unavailable"
        assert said(session)[0] == ("user", QUESTION)
        assert said(session)[1][1], "the heard part stays"


async def test_a_provider_that_drops_again_and_again_is_left_in_the_end() -> None:
    limits = WireLimits(first_delay_s=0.01, max_delay_s=0.02, attempts=3)
    async with DroppingEmulator(3, drops=9) as provider, talk(provider, limits) as (session, log):
        ask(session)
        await log.until(lambda: log.of(s.AgentEndedEvent) != [])
        assert len(provider.sessions) == 4
        assert [event.code for event in log.of(s.AgentErrorEvent)] == ["link_lost"]
        assert len(log.of(s.AgentInputStartedEvent)) == 1


@pytest.mark.parametrize("words_late", [False, True], ids=["words first", "words last"])
@pytest.mark.parametrize("drop_after", range(FRAMES))
@pytest.mark.parametrize("interruption", ["selective", pytest.param("immediate", marks=pytest.mark.night)])
async def test_a_socket_dropped_at_any_frame_costs_no_word_and_doubles_none(
    drop_after: int, words_late: bool, interruption: InterruptionMode
) -> None:
    """RTA-25: the fake server kills the socket; it is told, dialled again, and the conversation goes on as if not.

    Where interruptions are immediate, the service creates the responses by itself.
    """
    emulator = DroppingEmulator(drop_after, words_late=words_late)
    async with emulator as provider, talk(provider, interruption=interruption) as (session, log):
        ask(session)
        await log.until(lambda: log.of(s.AgentReconnectedEvent) != [])
        await log.until(lambda: said(session) == [("user", QUESTION), ("assistant", ANSWER)])
        hear_all(session)
        session.receive(c.ClientTextAppendEvent(text="still there"))
        await log.until(lambda: said(session)[-1] == ("assistant", "yes"))
        assert said(session)[:3] == [("user", QUESTION), ("assistant", ANSWER), ("user", "still there")]
        assert len(said(session)) == 4
        assert [event.attempt for event in log.of(s.AgentReconnectingEvent)] == [1]
        for kind in (s.AgentInputStartedEvent, s.AgentInputDoneEvent, s.AgentInputCommittedEvent):
            assert len(log.of(kind)) == 1, kind
        assert [event.transcript for event in log.of(s.AgentInputTranscriptionDoneEvent)] == [QUESTION]
        (started,), (done,) = log.of(s.AgentInputStartedEvent), log.of(s.AgentInputDoneEvent)
        assert (started.audio_start_ms, done.audio_end_ms) == (300, 300 + VOICE_MS)
        seqs = [event.seq for event in log.events]
        assert seqs == [*range(1, len(seqs) + 1)]
        assert log.of(s.AgentErrorEvent) == []
        assert len(provider.sessions) == 2
