"""Who may speak in a talk: when a turn was heard, after a stop, after a policy that failed."""

import asyncio
from typing import Any

import pytest

from realtime.floor import broadcast
from realtime.pipeline.seat import Seat
from tests.pipeline.rooms import Mind, agent, house

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STORY = "Once upon a time there was a king who had three sons and one crown."


def two(alice: Mind | None = None, bob: Mind | None = None, **options: Any) -> Any:
    """A room with Alice and Bob."""
    return house(agent("Alice", alice or Mind("I am Alice.")), agent("Bob", bob or Mind("I am Bob.")), **options)


# -- the end of a turn -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begins_s", [0.117, 0.351, 0.585])
async def test_a_turn_ends_where_the_time_left_is_too_short_for_the_clock(
    monkeypatch: pytest.MonkeyPatch, begins_s: float
) -> None:
    """A listener who never says what was heard, and times that are sums of fractions."""
    async with two(floor=broadcast, max_agent_turns=2) as home:
        anna = await home.come("Anna")
        monkeypatch.setattr(Seat, "unheard_ms", lambda _: 333)
        await asyncio.sleep(begins_s)
        anna.write("Hello.")
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob"]
