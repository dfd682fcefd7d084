"""How long recalling takes over many memories. By night: it is measured by the clock of the machine."""

import time
from pathlib import Path
from random import Random

import pytest

from realtime.memory import SqliteLongTermMemory
from realtime.message import Msg, UserMsg
from tests.volumes import SEED

N_MEMORIES, N_RECALLS = 100_000, 1_000
MOST_MS = 50.0


class Talker:
    """Says sentences whose words are as unevenly frequent as those of a language (Zipf)."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._words = [f"{self._random.choice('bdfgklmnprst')}a{number:x}" for number in range(20_000)]
        self._weights = [1 / (rank + 1) for rank in range(len(self._words))]

    def sentences(self, n: int, n_words: int) -> list[str]:
        drawn = iter(self._random.choices(self._words, self._weights, k=n * n_words))
        return [" ".join(next(drawn) for _ in range(n_words)) for _ in range(n)]


@pytest.mark.night
@pytest.mark.parametrize("n_users", [1, 1_000])
async def test_of_a_hundred_recalls_99_take_50_ms_at_most_over_100_000_memories(n_users: int, tmp_path: Path) -> None:
    """The time in which a reply waits for it: with all memories of one user, and those of many."""
    talker, each = Talker(SEED), N_MEMORIES // n_users
    users = [SqliteLongTermMemory(tmp_path / "memories.db", f"user{number}") for number in range(n_users)]
    for user in users:
        said: list[Msg | None] = [UserMsg("user", text) for text in talker.sentences(each, 12)]
        await user.record(said)
        if user is not users[0]:
            await user.aclose()
    took_ms = []
    for text in talker.sentences(N_RECALLS, 15):
        began = time.perf_counter()
        assert await users[0].retrieve(UserMsg("user", text)) != ""
        took_ms.append((time.perf_counter() - began) * 1_000)
    await users[0].aclose()
    took_ms.sort()
    assert took_ms[N_RECALLS * 99 // 100] <= MOST_MS, f"median {took_ms[N_RECALLS // 2]:.1f} ms"
