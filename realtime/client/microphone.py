"""Speaks recordings into a call in real time, and silence between them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.client.outbox import INPUT_HZ

FRAME_MS = 40
FRAME_BYTES = INPUT_HZ * FRAME_MS // 1000 * SAMPLE_BYTES
MOST_LATE_S = 1.0
"""A program that was busy for longer does not catch up."""


class _Utterance:
    def __init__(self, pcm: bytes) -> None:
        self.rest = pcm
        self.spoken = asyncio.Event()


class RecordedMicrophone:
    """Calls `send` with pcm16 at 16 kHz, every 40 ms; without `room`, only while something is said."""

    def __init__(self, send: Callable[[bytes], None], *, room: bool) -> None:
        self._send = send
        self._room = room
        self._utterances: deque[_Utterance] = deque()
        self._wake = asyncio.Event()

    async def say(self, pcm: bytes) -> None:
        """Say this after what is being said. Returns when it is said; cancelling stops in mid-word."""
        utterance = _Utterance(pcm)
        self._utterances.append(utterance)
        self._wake.set()
        try:
            await utterance.spoken.wait()
        finally:
            if utterance in self._utterances:
                self._utterances.remove(utterance)

    async def run(self) -> None:
        """Listen until cancelled."""
        loop = asyncio.get_running_loop()
        await self._wake.wait()
        due_s = loop.time()
        while True:
            if not self._utterances and not self._room:
                self._wake.clear()
                await self._wake.wait()
                due_s = loop.time()
            self._send(self._next_frame())
            due_s += FRAME_MS / 1000
            if due_s < loop.time() - MOST_LATE_S:
                due_s = loop.time()
            await asyncio.sleep(due_s - loop.time())

    def _next_frame(self) -> bytes:
        frame = b""
        while self._utterances and len(frame) < FRAME_BYTES:
            first = self._utterances[0]
            taken, first.rest = first.rest[: FRAME_BYTES - len(frame)], first.rest[FRAME_BYTES - len(frame) :]
            frame += taken
            if not first.rest:
                first.spoken.set()
                self._utterances.popleft()
        return frame.ljust(FRAME_BYTES, b"\0")
