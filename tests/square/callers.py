"""A client of each dialect, seen the same way: the native one on a plain WebSocket, the others by their official SDK.

Nothing here knows which model is behind. Speech is pcm16 mono at `rate_hz` of the client.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed

from realtime.server.runner import TlsFiles
from tests.server import dashscope_sdk, ears, gemini_sdk, openai_sdk
from tests.server.harness import Client, Json, Place, audio_append
from tests.server.steps import passed
from tests.volumes import HANG_S

if TYPE_CHECKING:
    from google.genai import types

CHUNK_MS = 100
OUTPUT_RATE_HZ = 24_000
NONSENSE = "nonsense"
"""A kind of frame that no protocol knows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer as the SDK gave it to its user."""

    text: str
    audio_ms: float


@dataclass(slots=True)
class Weather:
    """A function of the client's program, to be offered to the model as `get_weather`."""

    calls: list[str] = field(default_factory=list)

    name = "get_weather"
    description = "The weather of a city."
    parameters = ears.WEATHER_SCHEMA

    def __call__(self, city: str) -> str:
        self.calls.append(city)
        return '{"sky": "grey"}'


class Caller:
    """One session of a program that speaks the protocol of a dialect, and what it keeps of what it is told."""

    rate_hz = 16_000
    survives_errors = True
    """Whether the protocol lets a session go on after an error; where not, the error is the reason of the close."""

    def __init__(self, weather: Weather | None) -> None:
        self.weather = weather
        self.text = ""
        self.audio_bytes = 0
        self.began_s = 0.0
        self.answers: deque[Answer] = deque()
        self.said: deque[str] = deque()
        self.complaints: deque[str] = deque()
        self.is_silenced = False

    async def step(self) -> None:
        """Read the next frame and note what it says."""
        raise NotImplementedError

    async def until(self, condition: Callable[[], object]) -> None:
        """Read on until the condition holds."""
        async with asyncio.timeout(HANG_S):
            while not condition():
                await self.step()

    # What its user does:

    async def type(self, text: str) -> None:
        """A typed turn that is to be answered."""
        raise NotImplementedError

    async def talk(self, pcm: bytes) -> None:
        """Speech of the user."""
        size = self.rate_hz * 2 * CHUNK_MS // 1000
        for at in range(0, len(pcm), size):
            await self.send_speech(pcm[at : at + size])

    async def send_speech(self, pcm: bytes) -> None:
        raise NotImplementedError

    async def press(self) -> None:
        """With push-to-talk: the turn begins. Most protocols need no sign of that."""

    async def release(self) -> None:
        """With push-to-talk: the turn ends, and is to be answered."""
        raise NotImplementedError

    async def show(self, jpeg: bytes) -> None:
        """An image for the model."""
        raise NotImplementedError

    async def blunder(self) -> None:
        """Send a frame that the protocol does not know."""
        raise NotImplementedError

    # What it learns:

    async def begun(self) -> None:
        """Wait until an answer is heard."""
        await self.until(lambda: self.audio_bytes)

    async def listen(self, listens_ms: int) -> None:
        """Hear this much of an answer, which goes on for longer."""
        await self.begun()
        await passed(listens_ms / 1000)
        await self.until(lambda: self.audio_bytes * 500 // OUTPUT_RATE_HZ >= listens_ms)

    async def heard(self) -> str:
        """What the user said last, once the server told it."""
        await self.until(lambda: self.said)
        return self.said.popleft()

    async def answer(self) -> Answer:
        """The next answer that came to its end; one that was cut or that only called functions is passed over."""
        await self.until(lambda: self.answers)
        return self.answers.popleft()

    async def complaint(self) -> str:
        """The next error that the server tells."""
        await self.until(lambda: self.complaints)
        return self.complaints.popleft()

    async def silenced(self) -> None:
        """Wait until the protocol says that the answer is to be silent, and tell the server what was heard, where the
        protocol has words for it."""
        await self.until(lambda: self.is_silenced)

    @property
    def played_ms(self) -> int:
        """What a speaker can have played of the answer by now."""
        whole_ms = self.audio_bytes * 500 // OUTPUT_RATE_HZ
        return min(whole_ms, round((time.monotonic() - self.began_s) * 1000))

    def note_audio(self, pcm: bytes) -> None:
        if not self.audio_bytes:
            self.began_s = time.monotonic()
        self.audio_bytes += len(pcm)

    def begin_answer(self) -> None:
        self.text, self.audio_bytes = "", 0

    def silence(self) -> None:
        # All of the answer may have been made, and told, before the user had heard it.
        self.answers.clear()
        self.is_silenced = True

    def end_answer(self) -> None:
        self.answers.append(Answer(self.text, self.audio_bytes * 500 / OUTPUT_RATE_HZ))


Open = Callable[[Place, Weather | None, bool], AbstractAsyncContextManager[Caller]]
"""Opens a session, with transcripts on and, where given, the function declared; with push-to-talk where the last
argument says so. Leaving it closes the session."""


async def read_on(receive: Callable[[], Awaitable[object]], close: Callable[[], Awaitable[None]]) -> None:
    """Close as programs do that read in another task: an SDK that nobody reads from does not see the server's close."""
    from google.genai.errors import APIError

    async def read() -> None:
        with contextlib.suppress(ConnectionClosed, APIError):
            while True:
                await receive()

    reading = asyncio.create_task(read())
    await close()
    await reading


# -- native ------------------------------------------------------------------------------------------------------------


class NativeCaller(Caller):
    """A plain WebSocket with our own events."""

    def __init__(self, client: Client, weather: Weather | None) -> None:
        super().__init__(weather)
        self.client = client
        self._item_id = ""

    async def type(self, text: str) -> None:
        await self.client.send({"type": "client_text_append", "text": text})

    async def talk(self, pcm: bytes) -> None:
        await self._acknowledge()
        await super().talk(pcm)

    async def send_speech(self, pcm: bytes) -> None:
        await self.client.send(audio_append(pcm))

    async def release(self) -> None:
        await self.client.send({"type": "client_audio_commit"})

    async def show(self, jpeg: bytes) -> None:
        image = base64.b64encode(jpeg).decode()
        await self.client.send({"type": "client_image_append", "image": image, "format": {"type": "image/jpeg"}})

    async def silenced(self) -> None:
        await super().silenced()
        await self._acknowledge(flushed=True)

    async def blunder(self) -> None:
        await self.client.send({"type": NONSENSE})

    async def _acknowledge(self, **more: bool) -> None:
        if self._item_id:
            ack = {"type": "client_playback_ack", "item_id": self._item_id, "played_ms": self.played_ms}
            await self.client.send(ack | more)

    async def step(self) -> None:
        event = await self.client.next()
        match event["type"]:
            case "agent_response_created":
                self.begin_answer()
            case "agent_response_audio_delta":
                self._item_id = event["item_id"]
                self.note_audio(base64.b64decode(event["delta"]))
            case "agent_response_audio_transcript_delta" | "agent_response_text_delta":
                self.text += event["delta"]
            case "agent_response_tool_use_done":
                call = event["tool_use"]
                assert self.weather is not None
                output = self.weather(**json.loads(call["input"]))
                result = {"type": "client_tool_result", "id": call["id"], "name": call["name"], "output": output}
                await self.client.send(result)
            case "agent_input_transcription_done":
                self.said.append(event["transcript"])
            case "agent_response_done" if event["status"] == "completed" and self.text:
                self.end_answer()
            case "server_audio_flush":
                self.silence()
            case "agent_error":
                self.complaints.append(event["message"])


@asynccontextmanager
async def native(place: Place, weather: Weather | None, push_to_talk: bool) -> AsyncIterator[Caller]:
    """Our own protocol."""
    tools = []
    if weather is not None:
        tools = [{"name": weather.name, "description": weather.description, "parameters": weather.parameters}]
    async with place.client() as client:
        await client.make_call(tools=tools, turn_detection="none" if push_to_talk else None)
        yield NativeCaller(client, weather)
        await client.send({"type": "client_session_end"})
        await client.until("server_session_ended")


# -- OpenAI and DashScope ----------------------------------------------------------------------------------------------


class FamilyCaller(Caller):
    """An SDK of the OpenAI family: everything that frameworks do by themselves, it does by hand."""

    sound, words = "response.output_audio.delta", "response.output_audio_transcript.delta"

    def __init__(self, ear: ears.Ear, weather: Weather | None) -> None:
        super().__init__(weather)
        self.ear = ear
        self.rate_hz = ear.rate_hz
        self.is_set_up = False

    async def type(self, text: str) -> None:
        await self.ear.say(text)
        await self.ear.do("respond")

    async def send_speech(self, pcm: bytes) -> None:
        await self.ear.do("append", pcm)

    async def release(self) -> None:
        await self.ear.do("commit")
        await self.ear.do("respond")

    async def blunder(self) -> None:
        await self.ear.do("raw", json.dumps({"type": NONSENSE}))

    async def step(self) -> None:
        event = await self.ear.next()
        kind = event["type"]
        if kind == self.sound:
            self.note_audio(base64.b64decode(event["delta"]))
        elif kind == self.words:
            self.text += event["delta"]
        match kind:
            case "session.updated":
                self.is_set_up = True
            case "response.created":
                self.begin_answer()
            case "response.output_item.added":
                self.item_id = event["item"]["id"]
            case "conversation.item.input_audio_transcription.completed":
                self.said.append(event["transcript"])
            case "input_audio_buffer.speech_started":
                self.silence()
            case "response.done":
                await self._finish(event["response"])
            case "error":
                self.complaints.append(event["error"]["message"])

    async def _finish(self, done: Json) -> None:
        calls: list[Any] = [item for item in done["output"] if item["type"] == "function_call"]
        for call in calls:
            assert self.weather is not None
            output = self.weather(**json.loads(call["arguments"]))
            await self.ear.do("item", {"type": "function_call_output", "call_id": call["call_id"], "output": output})
        if calls:
            await self.ear.do("respond")
        elif done["status"] == "completed":
            self.end_answer()

    async def begin(self, **settings: Any) -> None:
        """Take part: the settings are given, and taken or refused."""
        self.is_set_up = False
        await self.ear.do("update", **settings)
        await self.until(lambda: self.is_set_up or self.complaints)


class OpenAICaller(FamilyCaller):
    """The official OpenAI SDK."""

    async def show(self, jpeg: bytes) -> None:
        url = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
        content = [{"type": "input_image", "image_url": url}]
        await self.ear.do("item", {"type": "message", "role": "user", "content": content})

    async def silenced(self) -> None:
        await super().silenced()
        item_id, played_ms = self.item_id, self.played_ms
        truncation = {"item_id": item_id, "content_index": 0, "audio_end_ms": played_ms}
        await self.ear.do("raw", json.dumps({"type": "conversation.item.truncate", **truncation}))
        await self.until(lambda: self.ear.only("conversation.item.truncated"))
        (truncated,) = self.ear.only("conversation.item.truncated")
        assert truncated["item_id"] == item_id
        assert truncated["audio_end_ms"] <= played_ms


@asynccontextmanager
async def openai(place: Place, weather: Weather | None, push_to_talk: bool) -> AsyncIterator[Caller]:
    """The OpenAI Realtime protocol."""
    async with openai_sdk.sdk(place) as ear:
        caller = OpenAICaller(ear, weather)
        heard: Json = {"transcription": {"model": "gpt-4o-mini-transcribe"}}
        tools = [openai_sdk.TOOL] if weather is not None else []
        await caller.begin(instructions="You are brief.", tools=tools, audio={"input": heard})
        if push_to_talk:
            await caller.begin(audio={"input": {"turn_detection": None}})
        yield caller
        await read_on(ear.sdk.recv_bytes, ear.sdk.close)


class DashScopeCaller(FamilyCaller):
    """The official DashScope SDK, in its second style."""

    sound, words = "response.audio.delta", "response.audio_transcript.delta"

    async def show(self, jpeg: bytes) -> None:
        await self.ear.do("image", jpeg)


@asynccontextmanager
async def dashscope(place: Place, weather: Weather | None, push_to_talk: bool) -> AsyncIterator[Caller]:
    """DashScope's omni realtime protocol."""
    async with dashscope_sdk.sdk(place, "newest") as ear:
        caller = DashScopeCaller(ear, weather)
        settings: Json = {"tools": [dashscope_sdk.TOOL]} if weather is not None else {}
        await caller.begin(**settings, **({"enable_turn_detection": False} if push_to_talk else {}))
        yield caller


# -- Gemini ------------------------------------------------------------------------------------------------------------


class GeminiCaller(Caller):
    """The official google-genai SDK. An error closes the socket and is the reason of the close; a warning does not."""

    survives_errors = False

    def __init__(self, ear: gemini_sdk.Ear, weather: Weather | None) -> None:
        super().__init__(weather)
        self.ear = ear
        self._words = ""

    async def type(self, text: str) -> None:
        await self.ear.say(text)

    async def send_speech(self, pcm: bytes) -> None:
        await self.ear.speak(pcm)

    async def press(self) -> None:
        await self.ear.press()

    async def release(self) -> None:
        await self.ear.release()

    async def show(self, jpeg: bytes) -> None:
        await self.ear.show(jpeg)

    async def heard(self) -> str:
        # The protocol does not say where the words of a turn end: all of them are there once the answer begins.
        await self.until(lambda: self._words and (self.audio_bytes or self.answers))
        return self._words

    async def blunder(self) -> None:
        await self.ear.sdk._ws.send(json.dumps({NONSENSE: {}}))

    async def step(self) -> None:
        from google.genai import errors

        try:
            async for message in self.ear.sdk.receive():
                await self._note(message)
                if (warning := self.ear.frames[-1].get("warning")) is not None:
                    self.complaints.append(warning["message"])
                break
        except errors.APIError as error:
            self.complaints.append(str(error))

    async def _note(self, message: types.LiveServerMessage) -> None:
        if message.tool_call is not None:
            await self._call(message.tool_call.function_calls or [])
        content = message.server_content
        if content is None:
            return
        if content.input_transcription is not None:
            self._words += content.input_transcription.text or ""
        if content.output_transcription is not None:
            self.text += content.output_transcription.text or ""
        for part in (content.model_turn.parts if content.model_turn else None) or ():
            if part.inline_data is not None:
                self.note_audio(part.inline_data.data or b"")
        if content.interrupted:
            self.silence()
            self.begin_answer()
            self._words = ""
        if content.generation_complete and self.text:
            # The turn itself lasts until it was heard.
            self.end_answer()
            self.begin_answer()

    async def _call(self, calls: list[types.FunctionCall]) -> None:
        assert self.weather is not None
        for call in calls:
            await self.ear.return_(str(call.id), json.loads(self.weather(**(call.args or {}))))


def gemini(tls: TlsFiles) -> Open:
    """The Gemini Live protocol, over TLS."""

    @asynccontextmanager
    async def opened(place: Place, weather: Weather | None, push_to_talk: bool) -> AsyncIterator[Caller]:
        config: Json = {"tools": [{"function_declarations": [gemini_sdk.WEATHER]}]} if weather is not None else {}
        if push_to_talk:
            config["realtime_input_config"] = {"automatic_activity_detection": {"disabled": True}}
        async with gemini_sdk.sdk(place, tls, config) as ear:
            yield GeminiCaller(ear, weather)
            await read_on(ear.sdk._receive, ear.sdk.close)

    return opened
