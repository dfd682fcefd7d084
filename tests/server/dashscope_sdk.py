"""The official DashScope SDK as a client of our endpoint, in both of its styles: each frame that it gets is checked.

The SDK ships no types: the fields of a frame are those that the protocol's documentation prints, no more and no less,
and most frames satisfy the types that the openai SDK has of the protocol's ancestor, OpenAI's beta.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, get_args
from unittest import mock

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.scripted import PROFILE, ScriptedModel, Step
from realtime.server.dashscope_endpoint import PATH
from realtime.tool import Toolkit
from tests.server import ears
from tests.server.cases import FOLDER
from tests.server.harness import Json, Place, serving
from tests.volumes import HANG_S

if TYPE_CHECKING:
    from pydantic import BaseModel

FLASH = "qwen3-omni-flash-realtime"
NEWEST = "qwen3.8-omni-flash-realtime"
STYLES = ["callbacks", "session", "newest"]
"""Version 1 of the SDK, version 2 with the older models, version 2 with the newest."""
KEY = "sk-anything"
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": ears.WEATHER_SCHEMA,
    },
}

# -- what a frame may hold -----------------------------------------------------------------------------------------

_FIELDS: Json = json.loads((FOLDER / "dashscope_fields.json").read_text(encoding="utf-8"))
"""The fields of a frame by its type, and of what stands in it, as the documentation prints them."""
_TRANSCRIPTION = "conversation.item.input_audio_transcription"


@functools.cache
def ancestors() -> dict[str, type[BaseModel]]:
    """The types of the protocol that this one was derived from, for the frames in which both agree."""
    from openai.types.beta.realtime import RealtimeServerEvent

    union = get_args(RealtimeServerEvent)[0]
    named = {get_args(one.model_fields["type"].annotation)[0]: one for one in get_args(union)}
    apart = ("session.", "response.created", "response.done", f"{_TRANSCRIPTION}.")
    return {name: one for name, one in named.items() if not name.startswith(apart)}


def check_frame(frame: Json) -> None:
    """Fail unless the frame has exactly the documented fields, in the documented order at its head."""
    kind = frame["type"]
    assert kind in _FIELDS["frames"], f"the service has no {kind}"
    if kind in ancestors():
        ancestors()[kind].model_validate(frame)
    assert [*frame][:2] == ["event_id", "type"]
    assert {*frame} == {"event_id", "type", *_FIELDS["frames"][kind]}, frame
    if "session" in frame:
        assert {*frame["session"]} >= {*_FIELDS["session"]}
        assert frame["session"]["object"] == "realtime.session"
    if "response" in frame:
        _check_response(frame["response"], done=kind == "response.done")
    if "item" in frame:
        _check_item(frame["item"])
    if "part" in frame:
        assert {*frame["part"]} == {"type", "text"}
    if kind == "error":
        assert {*frame["error"]} - {"event_id"} == {"type", "code", "message", "param"}
        assert all(isinstance(value, str) for value in frame["error"].values())
    elif "error" in frame:
        assert {*frame["error"]} == {"code", "message", "param"}


def _check_response(response: Json, *, done: bool) -> None:
    more = {*response} - {*_FIELDS["response"]}
    assert {*response} >= {*_FIELDS["response"]}
    assert more <= ({"status_details", "usage"} if done else set())
    assert response["object"] == "realtime.response"
    assert response["modalities"] in (["text"], ["text", "audio"])
    assert ("status_details" in response) == (done and response["status"] != "completed")
    for item in response["output"]:
        _check_item(item)
    if "usage" in response:
        usage = response["usage"]
        assert {*usage} == {*_FIELDS["usage"]}
        assert {*usage["input_tokens_details"]} - {"image_tokens"} == {"text_tokens", "audio_tokens"}
        assert {*usage["output_tokens_details"]} == {"text_tokens", "audio_tokens"}


def _check_item(item: Json) -> None:
    assert {*item} == {*_FIELDS["items"][item["type"]]}, item
    assert item["object"] == "realtime.item"
    for part in item.get("content", ()):
        optional = {"transcript"} if part["type"] == "input_audio" else set()
        assert {*part} - optional == {"type", *_FIELDS["parts"][part["type"]]}


# -- the clients ---------------------------------------------------------------------------------------------------


Note = Callable[[Json | None], None]
"""Told of each frame, and with null of the end."""

SDK_NAMES = {
    "open": "connect",
    "clear": "clear_appended_audio",
    "item": "create_item",
    "respond": "create_response",
    "cancel": "cancel_response",
    "finish": "end_session",
}
"""What both styles of the SDK call alike, by our name of it."""


class Callbacks:
    """Version 1: a thread of the SDK calls back. The methods of both styles block: they are called in threads."""

    def __init__(self, url: str, key: str, model: str, note: Note) -> None:
        from dashscope.audio.qwen_omni import OmniRealtimeCallback, OmniRealtimeConversation

        class Callback(OmniRealtimeCallback):
            def on_event(self, message: Any) -> None:
                note(message)

            def on_close(self, code: int | None, message: str | None) -> None:
                note(None)

        self.sdk: Any = OmniRealtimeConversation(model=model, callback=Callback(), url=url, api_key=key)

    def open(self) -> None:
        from websocket import WebSocketApp

        # Closed from another thread, the SDK's own may sleep for ten seconds, its default, before it looks.
        hasty = functools.partialmethod(WebSocketApp.run_forever, ping_timeout=0.2)
        with mock.patch.object(WebSocketApp, "run_forever", hasty):
            self.sdk.connect()
        self._socket = self.sdk.ws.sock.sock

    def update(self, *, modalities: tuple[str, ...] = ("text", "audio"), **settings: Any) -> None:
        from dashscope.audio.qwen_omni import MultiModality

        self.sdk.update_session(output_modalities=[MultiModality(one) for one in modalities], **settings)

    def append(self, pcm: bytes) -> None:
        self.sdk.append_audio(base64.b64encode(pcm).decode())

    def image(self, jpeg: bytes) -> None:
        self.sdk.append_video(base64.b64encode(jpeg).decode())

    def raw(self, text: str) -> None:
        self.sdk.send_raw(text)

    def finish(self) -> None:
        self.sdk.end_session(timeout=round(HANG_S))

    def close(self) -> None:
        self.sdk.close()
        self.sdk.thread.join(HANG_S)
        # Where both sides close at once the SDK leaves it open.
        self._socket.close()


class SessionStyle:
    """Version 2: whoever wants events reads them, here in a thread of ours."""

    def __init__(self, url: str, key: str, model: str, note: Note) -> None:
        import dashscope

        client = dashscope.Client(api_key=key, workspace="llm-test")
        with pytest.warns(FutureWarning, match="preview"):
            self.sdk: Any = client.audio.realtime.connect(model=model, ws_url=url, timeout=HANG_S)
        self.raised: list[Exception] = []
        self._note = note
        self._reader = threading.Thread(target=self._read)

    def open(self) -> None:
        self.sdk.connect()
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                event = self.sdk.recv_event()
            except Exception as error:
                # Every error event is raised; after some of them the session goes on.
                self.raised.append(error)
                event = self.sdk.last_message
                if event is None or event.get("type") != "error" or self.sdk._ws is None:
                    self._note(event)
                    break
            if event is None:
                break
            self._note(event)
        self._note(None)

    def update(self, *, modalities: tuple[str, ...] = ("text", "audio"), **settings: Any) -> None:
        self.sdk.update_session(list(modalities), **settings)

    def append(self, pcm: bytes) -> None:
        self.sdk.append_audio(pcm)

    def image(self, jpeg: bytes) -> None:
        self.sdk.append_video(jpeg)

    def raw(self, text: str) -> None:
        self.sdk.send_event(json.loads(text))

    def close(self) -> None:
        self.sdk.close()
        if self._reader.ident is not None:
            self._reader.join(HANG_S)


class Ear(ears.Ear):
    """A client of either style: what it got, each frame checked."""

    def __init__(self, url: str, key: str, style: str, model: str | None) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._inbox: asyncio.Queue[Json | None] = asyncio.Queue()
        self.model = model or (NEWEST if style == "newest" else FLASH)
        made: type[Callbacks | SessionStyle] = Callbacks if style == "callbacks" else SessionStyle
        self.style: Any = made(url, key, self.model, self._note)

    def _note(self, frame: Json | None) -> None:
        self._loop.call_soon_threadsafe(self._inbox.put_nowait, frame)

    async def do(self, name: str, *args: Any, **named: Any) -> None:
        """Call a method of the SDK where its blocking blocks nobody."""
        method = getattr(self.style, name, None) or getattr(self.style.sdk, SDK_NAMES.get(name, name))
        await asyncio.to_thread(method, *args, **named)

    async def receive(self) -> Json:
        frame = await self._inbox.get()
        assert frame is not None, f"the session is over after {self.types}"
        return frame

    def check(self, frame: Json) -> None:
        check_frame(frame)

    async def closed(self) -> None:
        """Wait for the end; what comes before it is noted."""
        with pytest.raises(AssertionError, match="the session is over"):
            await self.until("nothing")


@asynccontextmanager
async def sdk(
    place: Place, style: str = "callbacks", *, key: str = KEY, model: str | None = None
) -> AsyncIterator[Ear]:
    ear = Ear(f"{place.url.replace('http', 'ws', 1)}{PATH}", key, style, model)
    await ear.do("open")
    try:
        yield ear
    finally:
        await ear.do("close")


@asynccontextmanager
async def talking(
    style: str, *script: Step, tools: Toolkit | None = None, model: str | None = None
) -> AsyncIterator[tuple[Ear, ScriptedModel]]:
    """An SDK client that has been told of its session, with a scripted model behind."""
    behind = ScriptedModel(script, profile=PROFILE, strict=False)
    async with (
        serving(lambda: RealtimeAgent("Friday", "Be Friday.", behind, toolkit=tools)) as place,
        sdk(place, style, model=model) as ear,
    ):
        await ear.until("session.created")
        yield ear, behind
