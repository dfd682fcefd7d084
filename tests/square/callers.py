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
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from google.genai import errors, types
from openai import AsyncOpenAI
from websockets.exceptions import ConnectionClosed

from realtime.server.runner import TlsFiles
from tests.judges.openai_clients import SdkClient
from tests.judges.scenarios import Answer, Weather
from tests.server import dashscope_sdk, gemini_sdk
from tests.server.harness import PATIENCE_S, Client, Json, Place

CHUNK_MS = 100
OUTPUT_RATE_HZ = 24_000
NONSENSE = "nonsense"
"""A kind of frame that no protocol knows."""


class Caller(Protocol):
    """One session of a program that speaks the protocol of a dialect."""

    rate_hz: int
    survives_errors: bool
    """Whether the protocol lets a session go on after an error; where not, the error is the reason of the close."""

    async def type(self, text: str) -> None:
        """A typed turn that is to be answered."""
        ...

    async def talk(self, pcm: bytes) -> None:
        """Speech of the user."""
        ...

    async def press(self) -> None:
        """With push-to-talk: the turn begins."""
        ...

    async def release(self) -> None:
        """With push-to-talk: the turn ends, and is to be answered."""
        ...

    async def show(self, jpeg: bytes) -> None:
        """An image for the model."""
        ...

    async def begun(self) -> None:
        """Wait until an answer is heard."""
        ...

    async def listen(self, listens_ms: int) -> None:
        """Hear this much of an answer."""
        ...

    async def heard(self) -> str:
        """What the user said last, once the server told it."""
        ...

    async def silenced(self) -> None:
        """Wait until the protocol says that the answer is to be silent, and tell the server what was heard, where the
        protocol has words for it."""
        ...

    async def answer(self) -> Answer:
        """The next answer that came to its end; one that was cut or that only called functions is passed over."""
        ...

    async def blunder(self) -> None:
        """Send a frame that the protocol does not know."""
        ...

    @property
    def complaints(self) -> Collection[str]:
        """The errors that the server told."""
        ...

    async def complaint(self) -> str:
        """The next error that the server tells."""
        ...


Open = Callable[[Place, Weather | None, bool], AbstractAsyncContextManager[Caller]]
"""Opens a session, with transcripts on and, where given, the function declared; with push-to-talk where the last
argument says so. Leaving it closes the session."""


class Reader:
    """What every client below keeps of what it is told. `step` reads one frame."""

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
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await self.step()

    async def press(self) -> None:
        """Most protocols need no sign that a turn begins."""

    async def begun(self) -> None:
        await self.until(lambda: self.audio_bytes)

    async def listen(self, listens_ms: int) -> None:
        await self.begun()
        await asyncio.sleep(listens_ms / 1000)
        await self.until(lambda: self.played_ms >= listens_ms)

    async def heard(self) -> str:
        await self.until(lambda: self.said)
        return self.said.popleft()

    async def answer(self) -> Answer:
        await self.until(lambda: self.answers)
        return self.answers.popleft()

    async def complaint(self) -> str:
        await self.until(lambda: self.complaints)
        return self.complaints.popleft()

    async def silenced(self) -> None:
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


async def read_on(receive: Callable[[], Awaitable[object]], close: Callable[[], Awaitable[None]]) -> None:
    """Close as programs do that read in another task: an SDK that nobody reads from does not see the server's close."""

    async def read() -> None:
        with contextlib.suppress(ConnectionClosed, errors.APIError):
            while True:
                await receive()

    reading = asyncio.create_task(read())
    await close()
    await reading


def chunks(pcm: bytes, rate_hz: int) -> list[bytes]:
    """Speech as a microphone gives it."""
    size = rate_hz * 2 * CHUNK_MS // 1000
    return [pcm[at : at + size] for at in range(0, len(pcm), size)]


# -- native ------------------------------------------------------------------------------------------------------------


class NativeCaller(Reader):
    """A plain WebSocket with our own events."""

    rate_hz = 16_000
    survives_errors = True

    def __init__(self, client: Client, weather: Weather | None) -> None:
        super().__init__(weather)
        self.client = client
        self._item_id = ""

    async def type(self, text: str) -> None:
        await self.client.send({"type": "client_text_append", "text": text})

    async def talk(self, pcm: bytes) -> None:
        await self._acknowledge()
        for chunk in chunks(pcm, self.rate_hz):
            audio = base64.b64encode(chunk).decode()
            sent_format = {"type": "audio/pcm", "rate": self.rate_hz}
            await self.client.send({"type": "client_audio_append", "audio": audio, "format": sent_format})

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


# -- OpenAI ------------------------------------------------------------------------------------------------------------


class OpenAICaller(SdkClient):
    """The official OpenAI SDK, by its typed events."""

    rate_hz = OUTPUT_RATE_HZ
    survives_errors = True

    async def press(self) -> None:
        """The protocol needs no sign that a turn begins."""

    async def release(self) -> None:
        await self.sdk.input_audio_buffer.commit()
        await self.create_response()

    async def show(self, jpeg: bytes) -> None:
        url = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
        content = [{"type": "input_image", "image_url": url}]
        await self.create_item({"type": "message", "role": "user", "content": content})

    async def listen(self, listens_ms: int) -> None:
        await self.begun()
        await asyncio.sleep(listens_ms / 1000)
        while self._audio_bytes * 500 // OUTPUT_RATE_HZ < listens_ms:
            await self._next()

    async def blunder(self) -> None:
        await self.sdk.send_raw(json.dumps({"type": NONSENSE}))

    async def complaint(self) -> str:
        while not self.complaints:
            await self._next()
        return self.complaints.pop(0)


@asynccontextmanager
async def openai(place: Place, weather: Weather | None, push_to_talk: bool) -> AsyncIterator[Caller]:
    """The OpenAI Realtime protocol."""
    client = AsyncOpenAI(api_key="sk-anything", base_url=f"{place.url}/v1")
    async with client, client.realtime.connect(model="gpt-realtime") as connection:
        caller = OpenAICaller(connection, weather)
        await caller.begin()
        if push_to_talk:
            await caller.update({"type": "realtime", "audio": {"input": {"turn_detection": None}}})
            while (await caller._next()).type not in ("session.updated", "error"):
                pass
        yield caller
        await read_on(connection.recv_bytes, connection.close)


# -- Gemini ------------------------------------------------------------------------------------------------------------


class GeminiCaller(Reader):
    """The official google-genai SDK. Every error of this protocol closes the socket and is the reason of the close."""

    rate_hz = 16_000
    survives_errors = False

    def __init__(self, ear: gemini_sdk.Ear, weather: Weather | None) -> None:
        super().__init__(weather)
        self.ear = ear
        self._words = ""

    async def type(self, text: str) -> None:
        await self.ear.say(text)

    async def talk(self, pcm: bytes) -> None:
        for chunk in chunks(pcm, self.rate_hz):
            await self.ear.speak(chunk)

    async def press(self) -> None:
        await self.ear.sdk.send_realtime_input(activity_start=types.ActivityStart())

    async def release(self) -> None:
        await self.ear.sdk.send_realtime_input(activity_end=types.ActivityEnd())

    async def show(self, jpeg: bytes) -> None:
        await self.ear.sdk.send_realtime_input(video=types.Blob(data=jpeg, mime_type="image/jpeg"))

    async def heard(self) -> str:
        # The protocol does not say where the words of a turn end: all of them are there once the answer begins.
        await self.until(lambda: self._words and (self.audio_bytes or self.answers))
        return self._words

    async def blunder(self) -> None:
        await self.ear.sdk._ws.send(json.dumps({NONSENSE: {}}))

    async def step(self) -> None:
        try:
            async for message in self.ear.sdk.receive():
                await self._note(message)
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
        results = [
            types.FunctionResponse(id=call.id, name=call.name, response=json.loads(self.weather(**(call.args or {}))))
            for call in calls
        ]
        await self.ear.sdk.send_tool_response(function_responses=results)


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


# -- DashScope ---------------------------------------------------------------------------------------------------------


class DashScopeCaller(Reader):
    """The official DashScope SDK, in its second style."""

    rate_hz = 16_000
    survives_errors = True

    def __init__(self, ear: dashscope_sdk.Ear, weather: Weather | None) -> None:
        super().__init__(weather)
        self.ear = ear
        self.is_set_up = False

    async def type(self, text: str) -> None:
        await self.ear.say(text)
        await self.ear.do("respond")

    async def talk(self, pcm: bytes) -> None:
        for chunk in chunks(pcm, self.rate_hz):
            await self.ear.do("append", chunk)

    async def release(self) -> None:
        await self.ear.do("commit")
        await self.ear.do("respond")

    async def show(self, jpeg: bytes) -> None:
        await self.ear.do("image", jpeg)

    async def blunder(self) -> None:
        await self.ear.do("raw", json.dumps({"type": NONSENSE}))

    async def step(self) -> None:
        event = await self.ear.next()
        match event["type"]:
            case "session.updated":
                self.is_set_up = True
            case "response.created":
                self.begin_answer()
            case "response.audio.delta":
                self.note_audio(base64.b64decode(event["delta"]))
            case "response.audio_transcript.delta" | "response.text.delta":
                self.text += event["delta"]
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


@asynccontextmanager
async def dashscope(place: Place, weather: Weather | None, push_to_talk: bool) -> AsyncIterator[Caller]:
    """DashScope's omni realtime protocol."""
    async with dashscope_sdk.sdk(place, "newest") as ear:
        caller = DashScopeCaller(ear, weather)
        settings: Json = {"tools": [dashscope_sdk.TOOL]} if weather is not None else {}
        if push_to_talk:
            settings["enable_turn_detection"] = False
        await ear.do("update", **settings)
        await caller.until(lambda: caller.is_set_up or caller.complaints)
        yield caller
