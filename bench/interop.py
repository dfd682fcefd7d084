"""Cost of reading and writing other projects' messages, beside JSON alone.

One thread, no sockets. The messages are made before the clock starts; reading begins with bytes, writing ends there.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import msgspec

from bench.report import Check, Section
from realtime.interop import DIALECTS, dump, load
from realtime.message import AssistantMsg, Msg, TextBlock, ToolCallBlock, ToolResultBlock, Usage, UserMsg

TURNS = 500
LEAST_PER_S = 10_000
AT = "2026-01-01T00:00:00.000Z"
HOW = (
    "Messages per second of one thread's CPU time, best of {runs} runs, for a thread of {n} messages of ours: a "
    "question, its answer, and every fourth answer with a tool call and its result. Read: bytes of JSON to messages. "
    "Write: messages to bytes of JSON, with what theirs cannot hold. The floor is JSON alone: the same bytes to "
    "builtins, and back."
)


def thread(turns: int = TURNS) -> list[Msg]:
    """The messages of a conversation."""
    made = []
    for turn in range(turns):
        made.append(UserMsg("Ann", f"Question {turn}: is a table free?", id=f"user_{turn}", created_at=AT))
        blocks: list[Any] = [TextBlock(text=f"Answer {turn}: a table is free at eight.", id=f"text_{turn}")]
        if turn % 4 == 0:
            call = ToolCallBlock(id=f"call_{turn}", name="find_table", input='{"people": 4, "day": "Friday"}')
            blocks = [call, ToolResultBlock(id=f"call_{turn}", name="find_table", output="At eight."), *blocks]
        made.append(
            AssistantMsg(
                "Friday",
                blocks,
                id=f"reply_{turn}",
                created_at=AT,
                finished_reason="completed",
                usage=Usage(input_tokens=40 + turn, output_tokens=12),
            )
        )
    return made


async def measure_interop(turns: int = TURNS, runs: int = 7) -> Section:
    """Measure every dialect, and JSON alone with its bytes."""
    section = Section(
        "interop",
        "Messages of other projects",
        HOW.format(runs=runs, n=f"{turns * 2:,}"),
        ("dialect", "read per s", "JSON alone", "write per s", "JSON alone "),
    )
    messages = thread(turns)
    for dialect in DIALECTS:
        built = dump(messages, dialect)
        told = msgspec.json.encode(built)
        if load(told, dialect) != messages:
            raise ValueError(f"{dialect} loses something")
        ways: list[Callable[[], object]] = [
            lambda told=told, dialect=dialect: load(told, dialect),  # type: ignore[misc]
            lambda told=told: msgspec.json.decode(told),  # type: ignore[misc]
            lambda dialect=dialect: msgspec.json.encode(dump(messages, dialect)),  # type: ignore[misc]
            lambda built=built: msgspec.json.encode(built),  # type: ignore[misc]
        ]
        read, floor_read, write, floor_write = (len(messages) / _cpu_s(way, runs) for way in ways)
        section.rows.append((dialect, *(f"{rate:,.0f}" for rate in (read, floor_read, write, floor_write))))
        section.data[dialect] = {"read_per_s": read, "write_per_s": write}
        section.checks += [
            Check(f"CPU of a message {verb}, {dialect}", 1e6 / rate, 1e6 / LEAST_PER_S, " us")
            for verb, rate in (("read", read), ("written", write))
        ]
    return section


def _cpu_s(way: Callable[[], object], runs: int) -> float:
    best_s = float("inf")
    for _ in range(runs):
        gc.collect()
        began = time.thread_time()
        way()
        best_s = min(best_s, time.thread_time() - began)
    return best_s
