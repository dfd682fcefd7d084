"""One session of a room: `python saved_room.py STORE_URL LINE ...`; each LINE is a name, a colon and words.

The room of two agents goes on from what is saved, its people come in as they speak, and it is saved again. Prints what
was said and what each was told, as JSON.
"""

import asyncio
import json
import sys
from typing import Any

from realtime.event import server as s
from realtime.module import StateModule
from realtime.room.floor import FloorState
from realtime.runtime import Runtime
from realtime.state.open import open_session
from realtime.testing.clock import run
from tests.room.rooms import Human, TalkModel, agent, house


class Alternating(StateModule):
    """A policy with a state: the agents answer humans in turns, and it counts how often it has chosen one."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0
        self.register_state("chosen")

    def __call__(self, state: FloorState) -> str | None:
        if state.last is None or state.last.kind == "agent":
            return None
        self.chosen += 1
        return state.agents[self.chosen % len(state.agents)].id


async def one_session(url: str, lines: list[str]) -> dict[str, Any]:
    """Let the room go on with these lines; return what became of it."""
    models = {name: TalkModel(f"I am {name}.") for name in ("Alice", "Bob")}
    session, policy = open_session(url), Alternating()
    async with house(*(agent(name, model) for name, model in models.items()), floor=policy) as home:
        home.runtime = Runtime.of_loop(asyncio.get_running_loop())
        await session.load_session_state("office", user_id="shop", room=home.room)
        people: dict[str, Human] = {}
        told: dict[str, list[list[str]]] = {}
        for line in lines:
            name, _, words = line.partition(": ")
            if name not in people:
                people[name] = await home.come(name)
                added = people[name].of(s.AgentItemAddedEvent)
                told[name] = [[event.agent_name, event.item.text] for event in added]
                own = {event.agent_id for event in added if event.agent_name == name}
                assert own <= {people[name].id}, "what they said before is theirs"
            await people[name].writes(words)
        await session.save_session_state("office", user_id="shop", room=home.room)
        await session.aclose()
        return {
            "talk": home.talk(),
            "told": told,
            "known": {name: [[item.role, item.text] for item in model.histories[0]] for name, model in models.items()},
            "chosen": policy.chosen,
            "ids": [one.agent_id for one in home.room.agents],
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(one_session(sys.argv[1], sys.argv[2:]))))
