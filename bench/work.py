"""The work that every server under test gets: sizes, rates and the marks by which loss and delay are seen.

Down: each 40 ms delta of 24 kHz pcm16 begins with a stamp (which session, which delta, when it was sent). Up: each
40 ms chunk holds one constant level that counts 0..63, which survives resampling.
"""

from __future__ import annotations

import asyncio
import base64
import math
import struct
import time
from collections.abc import Callable

CHUNK_MS = 40
DOWN_HZ = 24_000
UP_HZ = 16_000
DOWN_BYTES = DOWN_HZ * CHUNK_MS // 1000 * 2
UP_SAMPLES = UP_HZ * CHUNK_MS // 1000

TURN_S = 8.0
GAP_MS = 400
"""Between the last delta of a turn and the next turn's speech events: by then everybody has played the reply out, so
that a new turn interrupts nothing."""
WORD_EVERY = 5
"""One transcript delta per so many audio deltas: 5 a second."""

STAMP = struct.Struct("<HIIQ")
"""Magic, session, number of the delta within the session, time of sending in ns: 18 bytes, 24 of base64."""
MAGIC = 0x5AA5
STAMP_BASE64 = STAMP.size // 3 * 4

LEVELS = 64
LEVEL_STEP = 48

UNPACED = "bench: unpaced"
"""Instructions that make the provider send as fast as the socket takes it."""


def down_tail() -> bytes:
    """The pcm of a delta after its stamp: a quiet tone."""
    samples = (DOWN_BYTES - STAMP.size) // 2
    return struct.pack(f"<{samples}h", *(int(600 * math.sin(index / 9)) for index in range(samples)))


def up_chunks(rate_hz: int = UP_HZ) -> list[bytes]:
    """The pcm of the 64 upstream chunks, in order."""
    n_samples = rate_hz * CHUNK_MS // 1000
    return [struct.pack("<h", index * LEVEL_STEP) * n_samples for index in range(LEVELS)]


def level_number(sample: int) -> int:
    """Which of the 64 levels a sample from the middle of a chunk is, also after resampling."""
    return round(sample / LEVEL_STEP) % LEVELS


def encoded(pcm: bytes) -> bytes:
    """Base64."""
    return base64.b64encode(pcm)


class Ticker:
    """Calls what is due once a period, spread over slots of 1 ms; catches up when late and says how late it was.

    One timer for a whole process costs less than one per session.
    """

    def __init__(self, period_ms: int = CHUNK_MS) -> None:
        self.slots: list[dict[object, Callable[[], None]]] = [{} for _ in range(period_ms)]
        self.worst_late_ms = 0.0
        self._loop = asyncio.get_running_loop()
        self._start = time.monotonic()
        self._done = 0
        self._loop.call_later(0.001, self._tick)

    def add(self, slot: int, key: object, call: Callable[[], None]) -> None:
        """Call `call` once a period in the slot (taken modulo the period), until `remove`."""
        self.slots[slot % len(self.slots)][key] = call

    def remove(self, slot: int, key: object) -> None:
        """Stop calling; unknown keys are fine."""
        self.slots[slot % len(self.slots)].pop(key, None)

    def _tick(self) -> None:
        elapsed_ms = (time.monotonic() - self._start) * 1000
        due = int(elapsed_ms)
        self.worst_late_ms = max(self.worst_late_ms, elapsed_ms - self._done - 1)
        while self._done < due:
            slot = self.slots[self._done % len(self.slots)]
            self._done += 1
            for call in list(slot.values()):
                call()
        self._loop.call_later(0.001, self._tick)
