"""Flush delay when a provider bursts 12 s of speech and then reports the user's speech.

The provider and the client are in this process, on one clock; the server is alone on its core.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import pybase64

from bench.process import SERVER_CORE, free_port, listening, running
from bench.report import Check, Section, median
from bench.window import BINARY as BINARY_FRAMES
from bench.window import NATIVE, Subject, server_command
from bench.wire import BINARY, ClientPeer, ServerPeer
from bench.work import DOWN_HZ

RUNS = 20
BURST_S = 12.0
DELTA_MS = 100
LIMIT_MS = 20.0
LATER_S = 0.5


class Provider(ServerPeer):
    """A session that sends what it is told to."""

    sessions: asyncio.Queue[Provider]

    def opened(self, path: str) -> None:
        self.number = 0
        self.say("session.created", session={"type": "realtime", "id": "sess_burst", "object": "realtime.session"})

    def received(self, opcode: int, payload: bytes) -> None:
        if b'"session.update"' in payload[:40]:
            self.say("session.updated", session={"type": "realtime", "id": "sess_burst", "object": "realtime.session"})
            self.sessions.put_nowait(self)

    def say(self, kind: str, **fields: Any) -> None:
        self.number += 1
        self.send(msgspec.json.encode({"type": kind, "event_id": f"event_{self.number}", **fields}))

    def burst(self) -> None:
        """Send a response of 12 s at once."""
        item = {"id": "item_a", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        where = {"response_id": "resp_a", "item_id": "item_a", "output_index": 0, "content_index": 0}
        response = {"id": "resp_a", "object": "realtime.response", "status": "in_progress", "output": []}
        self.say("response.created", response=response)
        self.say("response.output_item.added", response_id="resp_a", output_index=0, item=item)
        delta = pybase64.b64encode_as_string(b"\x10\x00" * (DOWN_HZ * DELTA_MS // 1000))
        for _ in range(round(BURST_S * 1000 / DELTA_MS)):
            self.say("response.output_audio.delta", **where, delta=delta)

    def report_speech(self) -> float:
        """Report the user's speech; return the time of writing in monotonic seconds."""
        self.say("input_audio_buffer.speech_started", audio_start_ms=500, item_id="item_u")
        return time.monotonic()


class Client(ClientPeer):
    """Acknowledges nothing and reads everything."""

    def __init__(self, subject: Subject) -> None:
        super().__init__("/ws/bench/burst", "realtime.v1")
        self.frames = "binary" if subject.mode == "binary" else "json"
        self.flushed: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.heard_bytes = 0
        self.late_bytes = 0

    def opened(self, path: str) -> None:
        config = {"audio_frames": self.frames, "turn_detection": {"interruption": "immediate"}}
        self.send(msgspec.json.encode({"type": "client_session_create", "config": config}))

    def received(self, opcode: int, payload: bytes) -> None:
        if opcode == BINARY or b'"agent_response_audio_delta"' in payload[:60]:
            self.heard_bytes += len(payload)
            self.late_bytes += len(payload) if self.flushed.done() else 0
        elif b'"server_audio_flush"' in payload[:60] and not self.flushed.done():
            self.flushed.set_result(time.monotonic())


async def measure_burst(runs: int = RUNS) -> Section:
    """Measure both kinds of frames, with the report right after the burst and half a second later."""
    how = (
        f"The provider sends {BURST_S:g} s of speech as fast as the socket takes it, in deltas of {DELTA_MS} ms, then "
        "reports that the user speaks: right behind the burst, or half a second later. The time is from the provider's "
        "write of that report (right behind the burst: all of it is then still on its way, and is counted) to the "
        "client's read of `server_audio_flush`."
    )
    header = ("frames", "report", "median ms", "highest ms", "late audio")
    section = Section("burst", "Silence after a burst", how, header)
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        Provider.sessions = asyncio.Queue()
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(Provider, "127.0.0.1", 0)
        stack.callback(listener.close)
        port = free_port()
        argv, env = server_command(NATIVE, port, listener.sockets[0].getsockname()[1], folder)
        server = await stack.enter_async_context(running(argv, core=SERVER_CORE, env=env, log=folder / "server"))
        await listening(server, port)
        for subject in (NATIVE, BINARY_FRAMES):
            for later_s in (0.0, LATER_S):
                found = [await _run(subject, port, later_s) for _ in range(runs)]
                times, late = [one[0] for one in found], sum(one[1] for one in found)
                when = f"{later_s:g} s later" if later_s else "right behind"
                cells = (subject.name, when, f"{median(times):.1f}", f"{max(times):.1f}", f"{late} B")
                section.rows.append(cells)
                section.checks.append(Check(f"highest of {runs}, {subject.name}, {when}", max(times), LIMIT_MS, " ms"))
                section.data[f"{subject.name}, {when}"] = times
    return section


async def _run(subject: Subject, port: int, later_s: float) -> tuple[float, int]:
    """Return (ms until the flush, bytes of speech after it)."""
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_connection(lambda: Client(subject), "127.0.0.1", port)
    session = await asyncio.wait_for(Provider.sessions.get(), 10)
    await asyncio.sleep(0.1)
    session.burst()
    if later_s:
        await asyncio.sleep(later_s)
    written = session.report_speech()
    flushed = await asyncio.wait_for(client.flushed, 10)
    await asyncio.sleep(0.1)
    transport.abort()
    return (flushed - written) * 1000, client.late_bytes
