"""What an application and a client need not know: which of the three providers is behind."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from realtime.agent import RealtimeAgent
from realtime.event import ClientEvents, ServerEvents
from realtime.event.base import AudioFormat, Event
from realtime.model.base import RealtimeModel, ResponseCreate, ToolResult
from realtime.model.scripted import PROFILE, CallTools, Expect, ScriptedModel, Speak, Step
from realtime.tool import Toolkit
from tests.real_loop import settled
from tests.server.harness import WITHOUT_GRACE, Client, Json, serving
from tests.square.chain import provider_model
from tests.square.scenarios import JPEG, SCENARIOS, spoken
from tests.square.table import MODELS
from tests.volumes import HANG_S

RATE_HZ = 16_000
every_provider = pytest.mark.parametrize("provider", MODELS)


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"grey in {city}"


# -- the application ---------------------------------------------------------------------------------------------------


REPLY = (
    ServerEvents.AgentReadyEvent,
    ServerEvents.AgentResponseCreatedEvent,
    ServerEvents.AgentResponseToolUseDoneEvent,
    ServerEvents.AgentResponseToolResultEvent,
    ServerEvents.AgentResponseAudioTranscriptDoneEvent,
    ServerEvents.AgentResponseDoneEvent,
    ServerEvents.AgentEndedEvent,
)
INPUT = (
    ServerEvents.AgentInputStartedEvent,
    ServerEvents.AgentInputDoneEvent,
    ServerEvents.AgentInputCommittedEvent,
    ServerEvents.AgentInputTranscriptionDoneEvent,
)
"""What happens to a turn of the user. Providers transcribe beside their answer, at their own pace."""


@dataclass
class Outcome:
    """What the application learns, in the order in which it does."""

    reply: list[str] = field(default_factory=list)
    input: list[str] = field(default_factory=list)
    audio_bytes: int = 0

    def note(self, event: Event) -> None:
        name = type(event).__name__.removeprefix("Agent").removesuffix("Event")
        match event:
            case ServerEvents.AgentResponseAudioDeltaEvent(delta=pcm):
                self.audio_bytes += len(pcm)
            case ServerEvents.AgentResponseAudioTranscriptDoneEvent(transcript=words):
                self.reply.append(words)
            case ServerEvents.AgentInputTranscriptionDoneEvent(transcript=words):
                self.input.append(words)
            case ServerEvents.AgentResponseToolResultEvent(tool_result=result):
                self.reply.append(result.output_text())
            case ServerEvents.AgentResponseDoneEvent(status=status):
                self.reply.append(f"{name} {status}")
            case ServerEvents.AgentErrorEvent(message=message):
                raise AssertionError(message)
            case _ if isinstance(event, REPLY):
                self.reply.append(name)
            case _ if isinstance(event, INPUT):
                self.input.append(name)


async def application(model: RealtimeModel) -> Outcome:
    """A typed turn, a turn with a tool, a spoken turn. Names no provider."""
    outcome, queue = Outcome(), asyncio.Queue[Any]()
    agent = RealtimeAgent("Friday", "You are Friday.", model, toolkit=Toolkit([get_weather]))

    async def answered() -> None:
        async with asyncio.timeout(HANG_S):
            while True:
                event = await queue.get()
                outcome.note(event)
                if isinstance(event, ServerEvents.AgentResponseAudioTranscriptDoneEvent):
                    break
            while not isinstance(event, ServerEvents.AgentResponseDoneEvent):
                event = await queue.get()
                outcome.note(event)

    await agent.start(queue)
    await agent.handle_input(ClientEvents.ClientTextAppendEvent(text="Hello there, who are you?"))
    await answered()
    await agent.handle_input(ClientEvents.ClientTextAppendEvent(text="What is the weather in Oslo?"))
    await answered()
    pcm = spoken("twelve_times_seven.wav", RATE_HZ)
    for at in range(0, len(pcm), 3_200):
        audio_format = AudioFormat.pcm16(RATE_HZ)
        await agent.handle_input(ClientEvents.ClientAudioAppendEvent(audio=pcm[at : at + 3_200], format=audio_format))
    await answered()
    await agent.stop()
    while not queue.empty():
        outcome.note(queue.get_nowait())
    return outcome


TYPED: tuple[Step, ...] = (
    Expect(ResponseCreate),
    Speak("I am Friday.", 0.4),
    Expect(ResponseCreate),
    CallTools((("get_weather", {"city": "Oslo"}),)),
    Expect(ToolResult),
    Expect(ResponseCreate),
    Speak("It is grey in Oslo.", 0.4),
)


@every_provider
async def test_the_same_application_runs_on_each_provider(provider: str) -> None:
    """RTA-02: the same code, three providers: the same words, the same sound, the same kinds of events."""
    script = (*TYPED, *SCENARIOS["voice turn"].script_for(provider))
    far_model = ScriptedModel(script, profile=PROFILE, strict=False)
    async with serving(lambda: RealtimeAgent("Far", "Be far.", far_model), WITHOUT_GRACE) as far:
        outcome = await application(provider_model(provider, far.url))
        await settled(lambda: not far.calls.running)
    assert outcome == Outcome(
        reply=[
            "Ready",
            *("ResponseCreated", "I am Friday.", "ResponseDone completed"),
            *("ResponseCreated", "ResponseToolUseDone", "ResponseDone completed", "grey in Oslo"),
            *("ResponseCreated", "It is grey in Oslo.", "ResponseDone completed"),
            *("ResponseCreated", "It is 84.", "ResponseDone completed"),
            "Ended",
        ],
        input=["InputStarted", "InputDone", "InputCommitted", "what is twelve times seven"],
        audio_bytes=round((0.4 + 0.4 + 0.6) * 48_000),
    )
    far_model.assert_finished()


# -- the client --------------------------------------------------------------------------------------------------------


def rows() -> Iterator[tuple[str, Json, dict[str, list[str]]]]:
    """A client event, its fields, and what each provider is sent for it: of an image Gemini is sent nothing before the
    turn that it belongs to, and of an item before the next turn; its settings are those of a connection, made anew."""
    text = (Path(__file__).parent / "client_events.jsonl").read_text(encoding="utf-8")
    text = text.replace("<audio>", base64.b64encode(bytes(6_400)).decode())
    for line in text.replace("<jpeg>", base64.b64encode(JPEG).decode()).splitlines():
        kind, fields, *by_provider = json.loads(line)
        yield kind, fields, dict(zip(MODELS, by_provider, strict=True))


SCRIPT = (
    *(Expect(ResponseCreate), Speak("One.", 0.2)),
    *(Expect(ResponseCreate), CallTools((("get_weather", {"city": "Oslo"}),))),
    *(Expect(ToolResult), Expect(ResponseCreate), Speak("Grey.", 0.2)),
    *(Expect(ResponseCreate), Speak("One two three four five six.", 4.0, pace=1.0)),
)


def told(frame: str | bytes) -> str:
    """What a frame to a provider is, in a few words."""
    fields: Json = json.loads(frame)
    if "type" in fields:
        return " ".join((fields["type"], *([fields["item"]["type"]] if "item" in fields else ())))
    ((kind, inner),) = fields.items()
    return f"{kind}.{next(iter(inner))}" if kind == "realtimeInput" else str(kind)


@every_provider
async def test_each_client_event_becomes_the_providers_message(provider: str) -> None:
    """RTA-12: a table of client events and what each provider is sent for them; what it lacks is refused by name."""
    sent: list[str] = []

    def tap(direction: str, frame: str | bytes, _: int) -> None:
        if direction == "sent":
            sent.append(told(frame))

    far_model = ScriptedModel(SCRIPT, profile=PROFILE, strict=False)
    async with serving(lambda: RealtimeAgent("Far", "Be far.", far_model)) as far:
        model = provider_model(provider, far.url, tap=tap)
        async with serving(lambda: RealtimeAgent("Near", "Be near.", model)) as near, near.client() as client:
            await client.make_call(turn_detection="none", tools=[{"name": "get_weather"}])
            reader = PageReader(client)
            assert sent == ["setup" if provider == "gemini" else "session.update"]
            for kind, fields, by_provider in rows():
                expected = by_provider[provider]
                sent.clear()
                if kind == "client_tool_result":
                    fields = fields | {"id": reader.call_id}
                await client.send({"type": kind, **fields})
                if expected and expected[0].startswith("cannot"):
                    assert expected[0] in (await client.until("agent_error"))["message"]
                    assert sent == []
                    continue
                await settled(lambda: len(sent) >= len(expected))  # noqa: B023
                await reader.settle(kind)
                assert sent == expected, kind


class PageReader:
    """Waits for what follows an event, as a page does, and says that it was heard."""

    AFTER: ClassVar = {
        "client_audio_commit": "agent_response_done",
        "client_text_append": "agent_response_done",
        "client_tool_result": "agent_response_done",
        "client_response_create": "agent_response_audio_delta",
        "client_response_cancel": "agent_response_done",
        "client_image_append": "agent_item_done",
        "client_item_create": "agent_item_done",
    }

    def __init__(self, client: Client) -> None:
        self._client = client
        self.call_id = ""

    async def settle(self, kind: str) -> None:
        if kind not in self.AFTER:
            return
        seen = len(self._client.events)
        await self._client.until(self.AFTER[kind])
        for event in self._client.events[seen:]:
            if event["type"] == "agent_response_tool_use_done":
                self.call_id = event["tool_use"]["id"]
            elif event["type"] == "agent_response_audio_done":
                ack = {"type": "client_playback_ack", "item_id": event["item_id"], "played_ms": 200}
                await self._client.send(ack)
