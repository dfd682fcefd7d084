"""Spoken calls for the tests of MCP: the embedded voice with stand-ins for ears and mouth, on a real event loop.

What the caller says decides which tool the language model calls: "call NAME {arguments}". Anything else it says again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from realtime.agent import RealtimeAgent
from realtime.agent.partial_words import no_words
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import TurnDetection
from realtime.message import ToolResultBlock
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.tool import Toolkit
from tests.model.local.stand_ins import CHUNK_BYTES, RATE_HZ, FakeRecognizer, silence, speech, stand_in_parts
from tests.volumes import HANG_S

E = TypeVar("E", bound=s.ServerEvent)
TURN = speech(400) + silence(1_300)
"""A turn, and so much silence that the next one is not taken for the rest of it."""


class Obedient:
    """A language model that calls the tool it is told to call, and tells the result."""

    name = "obedient"
    takes_images = False

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        last = prompt.history[-1] if prompt.history else None
        if last is None:
            yield ReplyText("Hello.")
        elif last.tool_result is not None:
            yield ReplyText("That was it.")
        elif last.text.startswith("call "):
            _, name, arguments = last.text.split(" ", 2)
            yield ReplyToolCall(name, arguments)
        else:
            yield ReplyText(f"You said: {last.text}")


class Caller:
    """Somebody who speaks in a call, and all that comes back."""

    def __init__(self, agent: RealtimeAgent, ears: FakeRecognizer) -> None:
        self.agent = agent
        self.events: list[s.ServerEvent] = []
        self.answers: Callable[[s.ServerEvent], c.ClientEvent | None] = lambda event: None
        """What the caller's page sends at an event."""
        self._ears = ears
        self._news = asyncio.Event()
        self._answering: set[asyncio.Task[None]] = set()

    def hear(self, event: s.ServerEvent) -> None:
        self.events.append(event)
        self._news.set()
        if (answer := self.answers(event)) is not None:
            task = asyncio.get_running_loop().create_task(self.agent.handle_input(answer))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def say(self, words: str) -> None:
        """Speak a turn, as fast as it can be sent, once the last answer was heard for a while."""
        await self.until(lambda: len(self.of(s.AgentResponseAudioTranscriptDoneEvent)) == len(self.said))
        self._ears.texts = [words]
        pcm16 = AudioFormat.pcm16(RATE_HZ)
        for start in range(0, len(TURN), CHUNK_BYTES):
            chunk = TURN[start : start + CHUNK_BYTES]
            await self.agent.handle_input(c.ClientAudioAppendEvent(audio=chunk, format=pcm16))
            await asyncio.sleep(0)

    async def type(self, words: str) -> None:
        """Type a turn."""
        await self.agent.handle_input(c.ClientTextAppendEvent(text=words))

    async def call_tool(self, name: str, /, *, aloud: bool = True, **arguments: Any) -> ToolResultBlock:
        """Have a tool called by a turn, and wait until the agent tells of it; its result."""
        before, told = len(self.events), len(self.said)
        await (self.say if aloud else self.type)(f"call {name} {json.dumps(arguments)}")
        await self.until(lambda: len(self.said) > told)
        results = [event.tool_result for event in self.events[before:] if hasattr(event, "tool_result")]
        # A question of a server is a call within the call, and has a result of its own.
        (result,) = [one for one in results if one.name == name]
        return result

    async def is_answered(self) -> bool:
        """Say something that needs no tool: whether the agent answers, which it does while the call goes on."""
        told = len(self.said)
        await self.type("are you there")
        await self.until(lambda: len(self.said) > told)
        return self.said[-1] == "You said: are you there"

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(HANG_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def said(self) -> list[str]:
        """What the agent began to say, by item: nobody waits until it was heard."""
        words: dict[str, str] = {}
        for event in self.of(s.AgentResponseAudioTranscriptDeltaEvent):
            words[event.item_id] = words.get(event.item_id, "") + event.delta
        return [*words.values()]


def answering(accepts: bool, **content: Any) -> Callable[[s.ServerEvent], c.ClientEvent | None]:
    """What a page sends for the card of a question: whether the user accepts, and the answers of the form."""

    def answer(event: s.ServerEvent) -> c.ClientEvent | None:
        if not isinstance(event, s.AgentResponseToolUseDoneEvent) or event.tool_use.state != "asking":
            return None
        call = event.tool_use
        given = json.loads(call.input)
        if call.name == "elicitation":
            given["content"] = {**given["content"], **content}
        changed = msgspec.structs.replace(call, input=json.dumps(given))
        return c.ClientToolResultEvent(
            id=call.id, name=call.name, output="", confirmed=accepts, tool_call=changed if accepts else None
        )

    return answer


@asynccontextmanager
async def spoken_call(toolkit: Toolkit, *, tool_timeout_s: float = 30.0, **options: Any) -> AsyncIterator[Caller]:
    """A call with an agent that has these tools."""
    engine = SpeechEngine(lambda progress: stand_in_parts())
    ears = (await engine.ready()).recognizer
    assert isinstance(ears, FakeRecognizer)
    model = LocalRealtimeModel(language_model=Obedient(), engine=engine, **options)
    detection = TurnDetection(silence_duration_ms=300)
    agent = RealtimeAgent(
        "Robin",
        "Speak English.",
        model,
        toolkit=toolkit,
        tool_timeout_s=tool_timeout_s,
        turn_detection=detection,
        fillers=(),
        recognise=no_words,
    )
    caller = Caller(agent, ears)
    await agent.start(caller.hear)
    try:
        yield caller
    finally:
        await agent.stop()
        engine.close()
