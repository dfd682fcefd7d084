"""Cost of folding the reply events of a long call into messages.

One thread, no sockets. The events are made before the clock starts; the content of the messages is read at the end.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.report import Check, Section
from realtime.event import reply as e
from realtime.message import Base64Source, DataBlock, fold_messages

RATE_HZ = 24_000
DELTA_MS = 40
DELTA_BYTES = RATE_HZ * DELTA_MS // 1_000 * 2
TEXTS_PER_HOUR = 20_000
TURN_S = 10
LIMIT_S = 2.0
LINEAR = 3.5
"""Twice as much is linear, four times would be quadratic; how memory is reused between runs moves it."""

HOW = (
    "CPU seconds of one thread to fold a call of {hour_s:,} s: {deltas:,} audio deltas of 40 ms at 24 kHz and "
    "{texts:,} text deltas, until the content of every message has been read; best of {runs} runs. Once as {turns} "
    "replies of {turn_s} s, once as a single reply with one audio block. Linear: the whole costs about twice its half."
)


@dataclass(frozen=True, slots=True)
class Call:
    """The events of a call of `seconds`, in replies of `turn_s`."""

    seconds: int
    turn_s: int

    def events(self) -> list[e.AgentEvent]:
        """All events in order. Ids and times are made here, so that they are not measured."""
        count = itertools.count()
        made: list[e.AgentEvent] = []
        for turn in range(self.seconds // self.turn_s):
            made.extend(self._reply(turn, count))
        return made

    def _reply(self, turn: int, count: Iterator[int]) -> Iterator[e.AgentEvent]:
        at = "2026-01-01T00:00:00.000Z"

        def base() -> dict[str, Any]:
            return {"id": f"ev_{next(count)}", "created_at": at, "reply_id": f"reply_{turn}"}

        yield e.ReplyStartEvent(session_id="s", name="Friday", **base())
        yield e.DataBlockStartEvent(block_id="audio", media_type=f"audio/pcm;rate={RATE_HZ}", **base())
        yield e.TextBlockStartEvent(block_id="text", **base())
        begun_ms = turn * self.turn_s * 1_000
        for at_ms in range(begun_ms, begun_ms + self.turn_s * 1_000, DELTA_MS):
            pcm = bytes([at_ms // DELTA_MS % 256]) * DELTA_BYTES
            yield e.DataBlockDeltaEvent(block_id="audio", data=pcm, **base())
            for _ in range(_texts_until(at_ms), _texts_until(at_ms + DELTA_MS)):
                yield e.TextBlockDeltaEvent(block_id="text", delta="word ", **base())
        yield e.DataBlockEndEvent(block_id="audio", **base())
        yield e.TextBlockEndEvent(block_id="text", **base())
        yield e.ReplyEndEvent(session_id="s", **base())


def _texts_until(at_ms: int) -> int:
    return at_ms * TEXTS_PER_HOUR // 3_600_000


def fold_seconds(events: list[e.AgentEvent], audio_bytes: int) -> float:
    """The time to fold `events`. Raises ValueError where the messages do not hold `audio_bytes`."""
    gc.collect()
    began = time.process_time()
    messages = fold_messages(events)
    blocks = [block for message in messages for block in message.content]
    seconds = time.process_time() - began
    sources = [block.source for block in blocks if isinstance(block, DataBlock)]
    held = sum(len(source.data) for source in sources if isinstance(source, Base64Source))
    if held != audio_bytes:
        raise ValueError(f"the messages hold {held} bytes of audio, not {audio_bytes}")
    return seconds


async def measure_fold(hour_s: int = 3_600, runs: int = 5) -> Section:
    """The fold of an hour and of half of it, in turns and as one reply. `hour_s` shortens both."""
    section = Section(
        "fold",
        "Folding a call into messages",
        HOW.format(
            hour_s=hour_s,
            deltas=hour_s * 1_000 // DELTA_MS,
            texts=hour_s * TEXTS_PER_HOUR // 3_600,
            runs=runs,
            turns=hour_s // TURN_S,
            turn_s=TURN_S,
        ),
        ("call", "half", "whole", "ratio"),
    )
    for name, as_one in (("in turns", False), ("as one reply", True)):
        calls = [
            (Call(length_s, length_s if as_one else TURN_S).events(), length_s) for length_s in (hour_s // 2, hour_s)
        ]
        # In turn, so that both find the memory of the process in the same state.
        rounds = [[fold_seconds(events, length_s * RATE_HZ * 2) for events, length_s in calls] for _ in range(runs)]
        half, whole = (min(times) for times in zip(*rounds, strict=True))
        ratio = whole / half
        section.rows.append((name, f"{half:.3f} s", f"{whole:.3f} s", f"{ratio:.2f}"))
        section.checks.append(Check(f"fold of an hour {name}", whole, LIMIT_S, " s"))
        section.checks.append(Check(f"an hour {name} against half of it", ratio, LINEAR, " times"))
        section.data[name.replace(" ", "_")] = {"half_s": half, "whole_s": whole}
    return section
