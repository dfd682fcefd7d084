"""A plain hook runs in a thread of its own: in real time, as a hung thread does not wait for a virtual clock."""

import asyncio
import threading
from typing import Any

from realtime.agent.run_hooks import HookRunner, RunHooks
from realtime.event import client as c
from tests.volumes import HANG_S


async def test_a_plain_hook_that_blocks_stops_no_call() -> None:
    """It runs in a thread of its own; the thread is left behind."""
    released = threading.Event()
    told: list[str] = []
    over = asyncio.Event()

    def take(event: c.ClientEvent) -> bool:
        told.append("taken")
        over.set()
        return True

    def block(self: object, kwargs: dict[str, Any]) -> None:
        released.wait(2 * HANG_S)

    hooks = RunHooks()
    hooks.register("pre_client_event", "block", block)
    async with asyncio.TaskGroup() as group:
        runner = HookRunner(
            hooks,
            object(),
            group,
            take=take,
            follow=lambda reader: lambda: None,
            tell_error=lambda error: told.append(error.code),
            limit_s=0.05,
        )
        assert runner.client_event(c.ClientTextAppendEvent(text="hello"))
        async with asyncio.timeout(HANG_S):
            await over.wait()
        assert not released.is_set(), "the call went on while the hook still blocked"
        runner.close()
    released.set()
    assert told == ["hook_timeout", "taken"]
