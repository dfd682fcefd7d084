"""Saves of a session, each in a process that is killed somewhere in its course.

`python killed_saves.py json|sqlite PATH N SEED` prints as JSON how often the old and the new state were there
after it, and what else was.
"""

import asyncio
import json
import os
import signal
import sys
from random import Random
from typing import Any

from realtime.session import JSONSession, SqliteSession

SAVE_S = 0.02
"""What a save takes, about: the kills lie within it, and some behind its end."""


class Numbered:
    """A state that is large enough for several writes."""

    def __init__(self, number: int) -> None:
        self.number = number

    def state_dict(self) -> dict[str, Any]:
        return {"number": self.number, "text": str(self.number) * 100_000}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.number = state_dict["number"]
        assert state_dict == self.state_dict()


async def save(kind: str, path: str, number: int) -> None:
    session = JSONSession(path) if kind == "json" else SqliteSession(path)
    await session.save_session_state("s", user_id="u", module=Numbered(number))


async def load(kind: str, path: str) -> int:
    session = JSONSession(path) if kind == "json" else SqliteSession(path)
    module = Numbered(-1)
    await session.load_session_state("s", user_id="u", allow_not_exist=False, module=module)
    if isinstance(session, SqliteSession):
        await session.aclose()
    return module.number


def main(kind: str, path: str, n_saves: int, seed: int) -> None:
    random, counts, wrong = Random(seed), {"old": 0, "new": 0}, []
    asyncio.run(save(kind, path, 0))
    stored = 0
    for number in range(1, n_saves + 1):
        after_s = random.uniform(0.000_1, SAVE_S)
        child = os.fork()
        if child == 0:
            signal.setitimer(signal.ITIMER_REAL, after_s)  # ends the process, as a kill does
            asyncio.run(save(kind, path, number))
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        found = asyncio.run(load(kind, path))
        if found in (stored, number):
            counts["new" if found == number else "old"] += 1
        else:
            wrong.append([stored, number, found])
        stored = found
    sys.stdout.write(json.dumps({**counts, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
