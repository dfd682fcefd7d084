"""The state of a room: its latest turns, and what its thinking agents remember."""

import json
from pathlib import Path
from typing import Any

import pytest

from realtime.errors import UsageError
from realtime.event import server as s
from realtime.room import ChatRoom, Observer
from realtime.room.floor import addressed
from realtime.state.json_sessions import JSONSession
from tests.agent.thinking import react, remembered, say
from tests.room.rooms import TalkModel, agent
from tests.room.thinking import COSTS, salon, settle

pytestmark = pytest.mark.virtual_time(costs=COSTS, limit_s=3_600)


async def test_a_room_goes_on_from_its_saved_state(tmp_path: Path) -> None:
    """SES-10: a session of two agents and their room, saved together and loaded into others."""
    session = JSONSession(save_dir=tmp_path)
    friday, robin = react(say("It was red."), name="Friday"), react(say("I think so too."), name="Robin")
    async with salon(agent("Alice", TalkModel("Hello.")), Observer(friday), robin, floor=addressed) as home:
        anna = await home.come("Anna")
        for line in ("Alice, the car was red.", "Friday, what colour was it?", "Robin, is that true?"):
            anna.write(line)
            await home.quiet()
        await settle()
        talk = home.talk()
        await session.save_session_state("office", room=home.room, friday=friday, robin=robin)
        memories = [await texts(friday), await texts(robin)]
    assert memories[0] == memories[1] == talk

    alice, friday, robin = TalkModel("Red."), react(say("Red, as I said."), name="Friday"), react(name="Robin")
    async with salon(agent("Alice", alice), Observer(friday), robin, floor=addressed) as home:
        await session.load_session_state("office", room=home.room, friday=friday, robin=robin)
        ben = await home.come("Ben")
        assert [(one.item.name, one.item.text) for one in ben.of(s.AgentItemDoneEvent)] == talk
        (history,) = alice.histories
        assert [(item.role, item.text) for item in history[:2]] == [
            ("user", "[Anna]: Alice, the car was red."),
            ("assistant", "Hello."),
        ]
        ben.write("Friday, what was it again?")
        await home.quiet()
        await settle()
        more = [("Ben", "Friday, what was it again?"), ("Friday", "Red, as I said.")]
        assert await texts(friday) == await texts(robin) == [*talk, *more], "it observes no turn twice"


async def texts(agent: Any) -> list[tuple[str, str | None]]:
    """What an agent remembers."""
    return [(one.name, one.get_text_content()) for one in await remembered(agent)]


async def test_a_state_is_loaded_before_the_room_begins() -> None:
    async with salon(Observer(react(name="Friday"))) as home:
        state = home.room.state_dict()
        assert json.loads(json.dumps(state)) == state
        await home.come("Anna")
        with pytest.raises(UsageError, match="the room has begun"):
            home.room.load_state_dict(state)


def test_what_a_state_lacks_is_named_before_anything_changes() -> None:
    room = ChatRoom([Observer(react(name="Friday")), react(name="Robin")])
    state = room.state_dict()
    assert sorted(state) == ["agents", "said"]
    del state["agents"]["Robin"], state["agents"]["Friday"]["memory"]
    with pytest.raises(KeyError, match=r"agents\.Friday\.memory, agents\.Robin"):
        room.load_state_dict(state)
    room.load_state_dict(state, strict=False)
    with pytest.raises(UsageError, match="no saved turns"):
        room.load_state_dict({"said": [{"name": "Anna"}]}, strict=False)
