"""A call with a thinking agent behind the embedded voice, and a client that says what it has played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from realtime.agent import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback, PlaybackClock
from realtime.call.limits import Limits
from realtime.call.listener import Listener
from realtime.call.session import Session
from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.runtime import Runtime
from tests.agent.fakes import ListSink, listener_into
from tests.model.local.stand_ins import stand_in_parts

T = TypeVar("T")


@dataclass
class Spoken:
    """One call, its client, and all that happened."""

    session: Session
    listener: Listener
    agent: RealtimeAgent
    log: list[s.ServerEvent] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, event: s.ServerEvent) -> None:
        self.log.append(event)
        self._news.set()

    def receive(self, event: c.ClientEvent) -> None:
        self.session.receive(event, self.listener)

    def type(self, text: str) -> None:
        self.receive(c.ClientTextAppendEvent(text=text))

    def play(self, played_ms: int, item: int = -1) -> None:
        """The client has played so much of an item of the agent."""
        item_ids = [*dict.fromkeys(event.item_id for event in self.of(s.AgentResponseAudioDeltaEvent))]
        self.receive(c.ClientPlaybackAckEvent(item_id=item_ids[item], played_ms=played_ms))

    async def until(self, kind: type[T], count: int = 1) -> T:
        async with asyncio.timeout(100):
            while len(found := self.of(kind)) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.log if isinstance(event, kind)]

    @property
    def hints(self) -> list[str]:
        """The texts of the hints in the conversation."""
        return [item.text for item in self.session.conversation.items() if item.role == "system"]

    def said(self) -> list[str]:
        """What the agent said, by item."""
        return [event.transcript for event in self.of(s.AgentResponseAudioTranscriptDoneEvent)]


@asynccontextmanager
async def spoken(
    agent: Any, *, clock: PlaybackClock | None = None, grace_s: float = 0.0, **options: Any
) -> AsyncIterator[Spoken]:
    """A call; without a `clock`, the client acknowledges what it plays (`Spoken.play`)."""
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    engine = SpeechEngine(lambda progress: stand_in_parts())
    voice = RealtimeAgent(
        "Robin",
        "Speak English.",
        LocalRealtimeModel(language_model=agent, engine=engine),
        **{"fillers": ()} | options,
    )
    session = Session(participant=voice.run(), runtime=runtime, session_id="s", limits=Limits(grace_s=grace_s))
    may_return = {"resumes_with": NativeDialect()} if grace_s else {}
    listener = listener_into(ListSink(), runtime, clock=clock or AcknowledgedPlayback(24_000), **may_return)
    session.attach(listener)
    made = Spoken(session, listener, voice)
    session.log.subscribe(made.hear)
    await session.start(SessionConfig())
    try:
        yield made
    finally:
        await session.end("test_over")
        session.detach(listener)
        engine.close()
