"""Cost of decoding and encoding one 100 ms audio delta: our codecs beside the SDKs.

Needs the SDKs of the extra `test`. One thread, CPU time, no sockets: bytes of a frame in, pcm out, and back.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from google.genai import live as google_live
from google.genai import types as google_types
from openai.resources.realtime.realtime import AsyncRealtimeConnection

from bench.report import Check, Section
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.base import ClientDialect
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.dialects.native import NativeDialect
from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.event import frames
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.client import ClientAudioAppendEvent
from realtime.event.config import SessionConfig
from realtime.event.model import ModelResponseAudioDeltaEvent
from realtime.model.base import AudioAppend, Codec, Settings
from realtime.model.gemini import model as gemini
from realtime.model.openai_family import dashscope, openai
from realtime.runtime import Runtime

CHUNK_MS = 100
LIMIT_US = 10.0
ROUNDS = 9
PLACE = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}

HOW = (
    "CPU time of one thread for a 100 ms delta, best of {rounds} rounds of {runs}, without a socket. Decode: the frame "
    "as it came, to pcm16 bytes. Encode: pcm16 bytes to the frame. Ours at the rates of each protocol (4,800 bytes at "
    "24 kHz, 3,200 at 16 kHz); the SDKs do what a program that uses their typed interface makes them do, over a socket "
    "that does nothing, base64 included."
)


@dataclass(frozen=True, slots=True)
class Way:
    """Both directions of one codec, dialect or SDK; each call handles one delta."""

    name: str
    decode: Callable[[], object]
    encode: Callable[[], object]
    ours: bool = True


async def measure_codecs(runs: int = 2_000, rounds: int = ROUNDS) -> Section:
    """Measure every way, `runs` deltas in each of `rounds` rounds."""
    section = Section(
        "codecs",
        "One audio delta",
        HOW.format(rounds=rounds, runs=runs),
        ("codec, dialect or SDK", "decode us", "encode us"),
    )
    for way in ways():
        costs = [cost_us(one, runs, rounds) for one in (way.decode, way.encode)]
        section.rows.append((way.name, *(f"{cost:.1f}" for cost in costs)))
        section.data[way.name] = dict(zip(("decode_us", "encode_us"), costs, strict=True))
        if way.ours:
            section.checks += [
                Check(f"{verb}, {way.name}", cost, LIMIT_US, " us")
                for verb, cost in zip(("decode", "encode"), costs, strict=True)
            ]
    return section


def cost_us(call: Callable[[], object], runs: int, rounds: int) -> float:
    """CPU time of one call in us, best of `rounds`."""
    best_ns = float("inf")
    for _ in range(rounds):
        start_ns = time.thread_time_ns()
        for _ in range(runs):
            call()
        best_ns = min(best_ns, time.thread_time_ns() - start_ns)
    return best_ns / runs / 1000


def ways() -> Iterator[Way]:
    """Everything that is measured."""
    yield from _codecs()
    yield from _dialects()
    yield from _sdks()


def _pcm(rate_hz: int) -> bytes:
    """A sawtooth of 100 ms."""
    return (b"\x10\x00\x20\x01\x40\x02\x80\x03" * rate_hz)[: rate_hz * CHUNK_MS // 1000 * 2]


def _base64(rate_hz: int) -> str:
    return base64.b64encode(_pcm(rate_hz)).decode()


def _frame(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, "event_id": "event_1", **fields}, separators=(",", ":")).encode()


def _gemini_delta() -> bytes:
    blob = {"mimeType": "audio/pcm;rate=24000", "data": _base64(24_000)}
    content = {"modelTurn": {"parts": [{"inlineData": blob}]}}
    return json.dumps({"serverContent": content}, separators=(",", ":")).encode()


# -- ours --------------------------------------------------------------------------------------------------------------


def _codecs() -> Iterator[Way]:
    begun = {"id": "resp_1", "status": "in_progress"}
    to_openai = openai.OpenAICodec(openai.profile_of("gpt-realtime"), url="wss://x", api_key="x")
    to_openai.decode(_frame("response.created", response=begun))
    delta = _frame("response.output_audio.delta", **PLACE, delta=_base64(24_000))
    yield _codec("OpenAI codec", to_openai, delta, 24_000)
    numbers = itertools.count()
    to_gemini = gemini.GeminiCodec(
        gemini.profile_of("gemini-3.8-live"), url="wss://x", api_key="x", new_id=lambda kind: f"{kind}_{next(numbers)}"
    )
    to_gemini.opening(Settings(), ())
    to_gemini.decode(b'{"setupComplete":{}}')
    yield _codec("Gemini codec", to_gemini, _gemini_delta(), 16_000)
    to_dashscope = dashscope.DashScopeCodec(
        dashscope.profile_of("qwen3-omni-flash-realtime"), url="wss://x", api_key="x"
    )
    to_dashscope.decode(_frame("response.created", response=begun))
    delta = _frame("response.audio.delta", **PLACE, delta=_base64(24_000))
    yield _codec("DashScope codec", to_dashscope, delta, 16_000)


def _codec(name: str, codec: Codec, delta: bytes, input_hz: int) -> Way:
    append = AudioAppend(_pcm(input_hz))
    events = codec.decode(delta)
    assert any(type(event) is ModelResponseAudioDeltaEvent for event in events)
    return Way(name, lambda: codec.decode(delta), lambda: codec.encode(append))


def _dialects() -> Iterator[Way]:
    runtime = Runtime()
    appended = _frame("input_audio_buffer.append", audio=_base64(24_000)).decode()
    yield _dialect("OpenAI dialect", OpenAIDialect("gpt-realtime", runtime), appended)
    setup = json.dumps({"setup": {"model": "models/gemini-3.8-live"}})
    blob = {"mimeType": "audio/pcm;rate=16000", "data": _base64(16_000)}
    speech = json.dumps({"realtimeInput": {"audio": blob}})
    yield _dialect("Gemini dialect", GeminiDialect(runtime, life_s=600, drain_s=0), speech, first=setup)
    appended = _frame("input_audio_buffer.append", audio=_base64(16_000)).decode()
    yield _dialect("DashScope dialect", DashScopeDialect("qwen3-omni-flash-realtime", runtime), appended)
    native = {"type": "client_audio_append", "audio": _base64(16_000), "format": {"type": "audio/pcm", "rate": 16_000}}
    yield _dialect("native dialect, JSON", NativeDialect(), json.dumps(native))
    binary = frames.pack(frames.CLIENT_AUDIO, 0, 0, 0, _pcm(16_000))
    yield _dialect("native dialect, binary", NativeDialect(), binary, config={"audio_frames": "binary"})
    printed = native | {"format": {"encoding": "pcm16", "sample_rate": 16_000}}
    yield _dialect("AgentScope 1.x dialect", AgentScope1Dialect(), json.dumps(printed))


class _NoSink:
    """The unused socket of a listener."""

    def write(self, frame: str | bytes) -> bool:
        raise NotImplementedError

    async def finish(self) -> None:
        raise NotImplementedError

    def close(self, code: int, reason: str) -> None:
        raise NotImplementedError


def _dialect(
    name: str,
    dialect: ClientDialect,
    frame: str | bytes,
    *,
    first: str | None = None,
    config: dict[str, Any] | None = None,
) -> Way:
    if first is not None:
        dialect.decode(first)
    listener = dialect.listener(_NoSink(), Runtime(), SessionConfig.from_dict(config or {}))
    follow: Callable[[s.ServerEvent], None] = getattr(dialect, "follow", lambda _: None)
    for event in (
        s.ServerSessionCreatedEvent(session_id="session_1", call_id="call_1"),
        s.AgentReadyEvent(),
        s.AgentResponseCreatedEvent(response_id="resp_1"),
    ):
        follow(event)
        dialect.encode(event)
    delta = s.AgentResponseAudioDeltaEvent(
        response_id="resp_1", item_id="item_1", delta=_pcm(24_000), format=AudioFormat.pcm16(24_000)
    )
    assert listener is not None
    assert type(dialect.decode(frame)) is ClientAudioAppendEvent
    assert dialect.encode(delta)
    return Way(name, lambda: dialect.decode(frame), lambda: dialect.encode(delta))


# -- the SDKs ----------------------------------------------------------------------------------------------------------


class _Wire:
    """The socket below an SDK: gives the same frame for ever, and discards what is sent."""

    def __init__(self, frame: bytes) -> None:
        self._frame = frame

    async def recv(self, decode: bool | None = None) -> bytes:
        return self._frame

    async def send(self, data: str | bytes) -> None:
        pass


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits; return its result."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("it waits")


def _sdks() -> Iterator[Way]:
    wire: Any = _Wire(_frame("response.output_audio.delta", **PLACE, delta=_base64(24_000)))
    connection = AsyncRealtimeConnection(wire)
    pcm_24, pcm_16 = _pcm(24_000), _pcm(16_000)

    def openai_decode() -> bytes:
        event: Any = _run(connection.recv())
        return base64.b64decode(event.delta)

    def openai_encode() -> None:
        _run(connection.input_audio_buffer.append(audio=base64.b64encode(pcm_24).decode()))

    assert openai_decode() == pcm_24
    yield Way("openai SDK, typed", openai_decode, openai_encode, ours=False)

    client: Any = SimpleNamespace(vertexai=False)
    wire = _Wire(_gemini_delta())
    session = google_live.AsyncSession(client, wire)
    messages = session.receive()

    async def _next() -> google_types.LiveServerMessage:
        return await anext(messages)

    def google_decode() -> bytes | None:
        message: google_types.LiveServerMessage = _run(_next())
        return message.data

    def google_encode() -> None:
        _run(session.send_realtime_input(audio=google_types.Blob(data=pcm_16, mime_type="audio/pcm;rate=16000")))

    assert google_decode() == pcm_24
    yield Way("google-genai SDK, typed", google_decode, google_encode, ours=False)
    yield _dashscope_sdk(pcm_16)


def _dashscope_sdk(pcm: bytes) -> Way:
    from dashscope.audio.qwen_omni import OmniRealtimeCallback, OmniRealtimeConversation

    class Callback(OmniRealtimeCallback):
        def on_event(self, message: Any) -> None:
            base64.b64decode(message["delta"])

    conversation: Any = OmniRealtimeConversation(model="qwen3-omni-flash-realtime", callback=Callback(), api_key="x")
    conversation.ws = SimpleNamespace(sock=SimpleNamespace(connected=True), send=lambda _: None)
    delta = _frame("response.audio.delta", **PLACE, delta=_base64(24_000)).decode()
    return Way(
        "dashscope SDK, callbacks",
        lambda: conversation._on_message(None, delta),
        lambda: conversation.append_audio(base64.b64encode(pcm).decode()),
        ours=False,
    )
