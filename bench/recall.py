"""How long a long-term memory takes to recall, over 100,000 memories: a turn waits for it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench.report import Check, Section
from realtime.memory import SqliteLongTermMemory
from realtime.message import Msg, UserMsg

N_MEMORIES, N_RECALLS = 100_000, 1_000
P99_LIMIT_MS = 50.0
"""What a turn waits at most."""
HEADER = ("memories", "users", "recall", "p50 ms", "p99 ms", "max ms")
HOW = (
    "Sentences of 12 words, whose frequencies are those of a language (Zipf, 20,000 words), are recorded in one file; "
    "then one user's memories are recalled for sentences of 15 words. Floor: SQLite alone finds the first five rows "
    "with any of the same words, in the same file and process, without an order and without a thread."
)


async def measure_recall(memories: int = N_MEMORIES, recalls: int = N_RECALLS) -> Section:
    """Measure with all memories of one user, and with those of a thousand."""
    section = Section("recall", "Recalling", HOW, HEADER)
    for n_users in (1, 1_000):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memories.db"
            took_ms, floor_ms = await _measured(path, n_users, memories // n_users, recalls)
        for name, measured in (("floor", floor_ms), ("SqliteLongTermMemory", took_ms)):
            shown = [f"{_share(measured, share):.2f}" for share in (0.5, 0.99, 1.0)]
            section.rows.append((f"{memories:,}", f"{n_users:,}", name, *shown))
        what = f"p99 of a recall, {memories:,} memories of {n_users:,} users"
        section.checks.append(Check(what, _share(took_ms, 0.99), P99_LIMIT_MS, " ms"))
        section.data[str(n_users)] = {"took_ms": took_ms, "floor_ms": floor_ms}
    return section


async def _measured(path: Path, n_users: int, each: int, recalls: int) -> tuple[list[float], list[float]]:
    """Return how long recalls and their floors took, sorted, in ms."""
    talker = _Talker()
    for number in range(n_users):
        user = SqliteLongTermMemory(path, f"user{number}")
        said: list[Msg | None] = [UserMsg("user", text) for text in talker.sentences(each, 12)]
        await user.record(said)
        await user.aclose()
    user, took_ms, floor_ms = SqliteLongTermMemory(path, "user0"), [], []
    with closing(sqlite3.connect(path)) as connection:
        for text in talker.sentences(recalls, 15):
            query = " OR ".join(f'"u1x{word}"' for word in text.split())
            begin = time.perf_counter()
            connection.execute("SELECT rowid FROM words WHERE words MATCH ? LIMIT 5", (query,)).fetchall()
            between = time.perf_counter()
            await user.retrieve(UserMsg("user", text))
            floor_ms.append((between - begin) * 1_000)
            took_ms.append((time.perf_counter() - between) * 1_000)
    await user.aclose()
    return sorted(took_ms), sorted(floor_ms)


def _share(measured: Sequence[float], share: float) -> float:
    return measured[min(len(measured) - 1, int(len(measured) * share))]


class _Talker:
    """Says sentences of words that are as unevenly frequent as those of a language."""

    def __init__(self) -> None:
        self._random = Random(7)
        self._words = [f"{self._random.choice('bdfgklmnprst')}a{number:x}" for number in range(20_000)]
        self._weights = [1 / (rank + 1) for rank in range(len(self._words))]

    def sentences(self, n: int, n_words: int) -> list[str]:
        """Return sentences."""
        drawn = iter(self._random.choices(self._words, self._weights, k=n * n_words))
        return [" ".join(next(drawn) for _ in range(n_words)) for _ in range(n)]
