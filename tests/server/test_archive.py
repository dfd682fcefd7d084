"""What calls hear of a store in trouble."""

import asyncio
from collections.abc import Sequence

import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.server.archive import Archive
from realtime.state.memory import MemoryStore
from realtime.state.store import Change
from tests.pipeline.rooms import House, Human, Mind, agent, house


class SlowStore(MemoryStore):
    """Each writing takes two seconds."""

    def write(self, batch: Sequence[Change]) -> None:
        super().write(batch)


async def kept(home: House, archive: Archive, name: str) -> Human:
    human = await home.come(name, call_id=f"call_{name}")
    archive.keep(human.call)
    return human


def told(*humans: Human) -> list[str]:
    return [code for human in humans for code in human.errors() if code == "store_slow"]


@pytest.mark.virtual_time(costs={"SlowStore.write": 2.0})
async def test_a_slow_store_is_told_of_once_and_to_one_call_of_a_room(caplog: pytest.LogCaptureFixture) -> None:
    archive = Archive(SlowStore(), resume_s=60.0)
    async with house(agent("Alice", Mind("Yes."))) as home, house(agent("Bob", Mind("No."))) as other:
        humans = [await kept(home, archive, name) for name in ("Anna", "Ben", "Carl")]
        alone = await kept(other, archive, "Dora")
        for _ in range(5):
            humans[0].call.receive(c.ClientTextAppendEvent(text="Hello."))
            await asyncio.sleep(10)
        assert (told(*humans), told(alone)) == (["store_slow"], ["store_slow"])
        assert caplog.text.count("the store fails") == 1
        assert humans[1].of(s.AgentItemAddedEvent), "calls go on"
        await archive.close()
