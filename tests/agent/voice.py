"""Calls of the embedded model whose language model is a thinking agent, for tests in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from realtime.agent import RealtimeAgent
from realtime.agent.base import AgentBase
from realtime.agent.partial_words import no_words
from realtime.event import ClientEvents, ServerEvents
from realtime.event import model as m
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.event.config import TurnDetection
from realtime.message import Msg
from realtime.model.base import ResponseCreate, SessionUpdate, Settings
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.speculation import DraftCounts, Mode
from realtime.runtime import Runtime
from tests.agent.thinking import shape
from tests.model.local.stand_ins import CHUNK_BYTES, RATE_HZ, Call, FakeRecognizer, stand_in_parts, typed

COSTS = {"FakeRecognizer.transcribe": 0.12, "FakeVoice.synthesize": 0.02}
SYNTHESIS_S = 0.02


class VoiceCall(Call[Any]):
    """A session with the embedded model, whose client speaks and listens."""

    drafts: DraftCounts

    async def ask(self, text: str, responses: int = 1, *, item_id: str = "typed") -> Any:
        """Type a line that is answered; returns the end of so many responses of the call."""
        self.send(typed(text, item_id), ResponseCreate())
        return await self.until(m.ModelResponseDoneEvent, responses)

    def first_sound_s(self, turn: int = 1) -> float:
        """Seconds from the end of a turn to the first sound after it."""
        ended = self.at(self.all(m.ModelInputDoneEvent)[turn - 1])
        return min(self.at(one) for one in self.all(m.ModelResponseAudioDeltaEvent) if self.at(one) >= ended) - ended

    def wait_for_silence(self, silence_ms: int) -> None:
        """Let a turn end only after so much silence."""
        detection = TurnDetection(silence_duration_ms=silence_ms)
        self.send(SessionUpdate(Settings(instructions="Be kind.", turn_detection=detection)))

    @property
    def said(self) -> list[str]:
        """What the agent said, by item."""
        return [one.transcript for one in self.all(m.ModelResponseAudioTranscriptDoneEvent)]


@asynccontextmanager
async def voice_call(
    agent: Any, *texts: str, mode: Mode = "speech", settings: Settings | None = None, history: Sequence[Item] = ()
) -> AsyncIterator[VoiceCall]:
    """A session whose user says `texts`, one a clip, the last one again and again."""
    engine = SpeechEngine(lambda progress: stand_in_parts())
    recognizer = (await engine.ready()).recognizer
    assert isinstance(recognizer, FakeRecognizer)
    recognizer.texts = [*(texts or ("hello there",))]
    call = VoiceCall(recognizer, agent)
    model = LocalRealtimeModel(language_model=agent, speculation=mode, engine=engine)
    call.drafts = model.drafts
    call.connection = await model.connect(
        settings=settings or Settings(instructions="Be kind."),
        on_event=call.hear,
        history=lambda: history,
        runtime=Runtime.deterministic(asyncio.get_running_loop().time),
    )
    try:
        yield call
    finally:
        await call.connection.close()
        engine.close()


class Talk:
    """A RealtimeAgent with a thinking agent behind it, and the events of its call."""

    def __init__(self, agent: RealtimeAgent) -> None:
        self.agent = agent
        self.events: list[Any] = []
        self._times: list[float] = []
        self._news = asyncio.Event()

    def hear(self, event: Any) -> None:
        self.events.append(event)
        self._times.append(asyncio.get_running_loop().time())
        self._news.set()

    async def type(self, text: str) -> None:
        await self.agent.handle_input(ClientEvents.ClientTextAppendEvent(session_id="s", text=text))

    async def ask(self, text: str, responses: int = 1) -> Any:
        """Type a line; returns the end of so many responses of the call."""
        await self.type(text)
        return await self.until(ServerEvents.AgentResponseDoneEvent, responses)

    async def speak(self, *pcm: bytes) -> None:
        """Speak in real time."""
        audio = b"".join(pcm)
        for start in range(0, len(audio), CHUNK_BYTES):
            chunk = audio[start : start + CHUNK_BYTES]
            pcm16 = AudioFormat.pcm16(RATE_HZ)
            await self.agent.handle_input(ClientEvents.ClientAudioAppendEvent(audio=chunk, format=pcm16))
            await asyncio.sleep(0.04)

    async def until(self, kind: type[Any], count: int = 1) -> Any:
        async with asyncio.timeout(120):
            while len(found := self.all(kind)) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]

    def at(self, event: Any) -> float:
        """Seconds since the call began."""
        return next(time for one, time in zip(self.events, self._times, strict=True) if one is event)

    def all(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def story(self) -> list[str]:
        """Words, tools and the ends of responses, in order."""
        lines = []
        for event in self.events:
            match event:
                case ServerEvents.AgentResponseAudioTranscriptDoneEvent():
                    lines.append(f"says {event.transcript}")
                case ServerEvents.AgentResponseToolUseDoneEvent():
                    lines.append(f"calls {event.tool_use.name}({event.tool_use.input})")
                case ServerEvents.AgentResponseToolResultEvent():
                    lines.append(f"{event.tool_result.state}: {event.tool_result.output_text()}")
                case ServerEvents.AgentToolProgressEvent():
                    lines.append(f"{event.kind}: {event.delta}")
                case ServerEvents.AgentResponseDoneEvent():
                    lines.append(event.status)
        return lines


@asynccontextmanager
async def talk(agent: Any, *texts: str, **options: Any) -> AsyncIterator[Talk]:
    """A RealtimeAgent that speaks for a thinking agent, and a user who says `texts`, one a clip; without fillers."""
    engine = SpeechEngine(lambda progress: stand_in_parts())
    recognizer = (await engine.ready()).recognizer
    assert isinstance(recognizer, FakeRecognizer)
    recognizer.texts = [*(texts or ("hello there",))]
    model = LocalRealtimeModel(language_model=agent, engine=engine)
    options = {"sys_prompt": "Speak English.", "fillers": (), "recognise": no_words} | options
    made = Talk(RealtimeAgent("Robin", model=model, **options))
    await made.agent.start(made.hear)
    try:
        yield made
    finally:
        await made.agent.stop()
        engine.close()


def typed_item(item_id: str, text: str) -> Item:
    return Item(id=item_id, role="user", content=(ContentPart(type="text", text=text),))


async def memory_of(agent: AgentBase) -> list[str]:
    """What the agent remembers, a line for each message."""
    messages: list[Msg] = await agent.memory.get_memory(prepend_summary=False)  # type: ignore[attr-defined]
    return [f"{msg.role}: {' | '.join(shape(msg.content)).replace('text: ', '')}" for msg in messages]
