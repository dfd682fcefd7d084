"""The state of a room with thinking agents: what they remember is part of it."""

from pathlib import Path
from typing import Any

import pytest

from realtime.event import server as s
from realtime.room import Observer
from realtime.room.floor import addressed
from realtime.state.json_sessions import JSONSession
from tests.agent.thinking import react, remembered, say
from tests.room.rooms import TalkModel, agent, anna_in
from tests.room.thinking import COSTS, salon, settle

pytestmark = pytest.mark.virtual_time(costs=COSTS, limit_s=3_600)


async def test_thinking_agents_go_on_from_the_saved_state_of_their_room(tmp_path: Path) -> None:
    session = JSONSession(save_dir=tmp_path)
    friday, robin = react(say("It was red."), name="Friday"), react(say("I think so too."), name="Robin")
    async with anna_in(salon(agent("Alice", TalkModel("Hello.")), Observer(friday), robin, floor=addressed)) as (
        home,
        anna,
    ):
        for line in ("Alice, the car was red.", "Friday, what colour was it?", "Robin, is that true?"):
            await anna.writes(line)
        await settle()
        talk = home.talk()
        await session.save_session_state("office", room=home.room)
        memories = [await texts(friday), await texts(robin)]
    assert memories[0] == memories[1] == talk

    alice, friday, robin = TalkModel("Red."), react(say("Red, as I said."), name="Friday"), react(name="Robin")
    async with salon(agent("Alice", alice), Observer(friday), robin, floor=addressed) as home:
        await session.load_session_state("office", room=home.room)
        ben = await home.come("Ben")
        assert [(one.item.name, one.item.text) for one in ben.of(s.AgentItemDoneEvent)] == talk
        (history,) = alice.histories
        expected = [("user", "[Anna]: Alice, the car was red."), ("assistant", "Hello.")]
        assert [(item.role, item.text) for item in history[:2]] == expected
        await ben.writes("Friday, what was it again?")
        await settle()
        more = [("Ben", "Friday, what was it again?"), ("Friday", "Red, as I said.")]
        assert await texts(friday) == await texts(robin) == [*talk, *more], "it observes no turn twice"


async def texts(agent: Any) -> list[tuple[str, str | None]]:
    """What an agent remembers."""
    return [(one.name, one.get_text_content()) for one in await remembered(agent)]
