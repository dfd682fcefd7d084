"""The state of a room: saved with its agents, and a new room that goes on from there."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from realtime.call.session import JSONSession
from realtime.errors import UsageError
from realtime.module import StateModule
from realtime.room import ChatRoom
from realtime.room.floor import addressed
from tests.room.rooms import TalkModel, agent, anna_in, house
from tests.volumes import HANG_S

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.virtual_time(limit_s=7_200)


async def test_a_room_goes_on_where_a_saved_one_stopped(tmp_path: Path) -> None:
    """SES-02, SES-10: two agents and a room are saved together; the new room's agents know the talk."""
    session = JSONSession(save_dir=str(tmp_path))
    alice, bob = agent("Alice", TalkModel("I am Alice.")), agent("Bob", TalkModel("I am Bob."))
    async with house(alice, bob, floor=addressed) as home:
        assert isinstance(home.room, StateModule)
        anna = await home.come("Anna")
        await anna.writes("Alice, who are you?")
        await session.save_session_state(session_id="s1", room=home.room, alice=alice, bob=bob)
    assert json.loads((tmp_path / "s1.json").read_text("utf-8")).keys() == {"room", "alice", "bob"}

    models = TalkModel("We spoke before."), TalkModel("Yes.")
    alice, bob = agent("Alice", models[0]), agent("Bob", models[1])
    async with house(alice, bob, floor=addressed) as home:
        await session.load_session_state(session_id="s1", room=home.room, alice=alice, bob=bob)
        ben = await home.come("Ben")
        await home.quiet()
        told = [item.text for item in home.room.conversation.items()]
        assert told == ["Alice, who are you?", "I am Alice."]
        expected = [("user", "[Anna]: Alice, who are you?"), ("assistant", "I am Alice.")]
        assert [(item.role, item.text) for item in models[0].histories[0]] == expected
        expected = ["[Anna]: Alice, who are you?", "[Alice]: I am Alice."]
        assert [item.text for item in models[1].histories[0]] == expected
        assert [event.item.text for event in ben.events if event.type == "agent_item_added"] == told
        await ben.writes("Alice, do you remember?")
        assert home.talk()[-1] == ("Alice", "We spoke before.")


def in_a_process(url: str, *lines: str) -> Any:
    """Let the saved room go on with these lines, in a process of its own."""
    command = [sys.executable, "-m", "tests.room.saved_room", url, *lines]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("url", ["json:{here}", "sqlite:{here}/rooms.db"])
def test_a_room_of_two_agents_and_two_people_goes_on_in_another_process(url: str, tmp_path: Path) -> None:
    """Again and again: what was heard, what each agent knows of it, whose turn it is, and who said what, by name."""
    url = url.format(here=tmp_path)
    first = in_a_process(url, "Anna: Good morning.", "Ben: Hello to all of you.")
    talk = [["Anna", "Good morning."], ["Bob", "I am Bob."], ["Ben", "Hello to all of you."], ["Alice", "I am Alice."]]
    assert (first["talk"], first["told"]["Anna"], first["chosen"]) == (talk, [], 2)
    second = in_a_process(url, "Ben: Where were we?", "Anna: At names.")
    more = [["Ben", "Where were we?"], ["Bob", "I am Bob."], ["Anna", "At names."], ["Alice", "I am Alice."]]
    assert (second["talk"], second["chosen"]) == ([*talk, *more], 4)
    assert second["told"] == {"Ben": talk, "Anna": [*talk, *more[:2]]}
    for name, known in second["known"].items():
        assert known == [["assistant", text] if who == name else ["user", f"[{who}]: {text}"] for who, text in talk]
    third = in_a_process(url, "Cleo: May I come in?")
    assert third["talk"] == [*talk, *more, ["Cleo", "May I come in?"], ["Bob", "I am Bob."]]
    assert (third["told"], third["ids"]) == ({"Cleo": [*talk, *more]}, first["ids"])


async def test_what_is_being_said_is_saved_as_far_as_it_was_heard() -> None:
    words = "This answer takes quite a few seconds until all of it has been heard."
    async with anna_in(house(agent("Alice", TalkModel(words)), floor=addressed)) as (home, anna):
        anna.write("Alice, tell me.")
        await asyncio.sleep(1.5)
        state = home.room.state_dict()
        saved = [part.get("transcript") for item in state["conversation"] for part in item["content"]]
        heard = saved[-1] or ""
        assert words.startswith(heard)
        assert 0 < len(heard) < len(words)


async def test_a_room_that_has_begun_takes_no_state() -> None:
    async with house(agent("Alice", TalkModel())) as home:
        await home.come("Anna")
        with pytest.raises(UsageError, match="load the state into a new one"):
            home.room.load_state_dict(home.room.state_dict())


async def test_a_room_whose_agents_are_missing_in_the_state_is_refused_before_anything_changes() -> None:
    saved = ChatRoom([agent("Alice", TalkModel())], name="saved").state_dict()
    room = ChatRoom([agent("Alice", TalkModel()), agent("Bob", TalkModel())], name="new")
    with pytest.raises(KeyError, match="Bob"):
        room.load_state_dict(saved)
    room.load_state_dict(saved, strict=False)
    assert [one.name for one in room.agents] == ["Alice", "Bob"]


@pytest.mark.parametrize("damage", [{"said": [{"id": 1}]}, {"conversation": ["hello"]}])
async def test_a_damaged_state_is_refused(damage: dict[str, object]) -> None:
    room = ChatRoom([agent("Alice", TalkModel())])
    with pytest.raises(UsageError, match="this is no saved"):
        room.load_state_dict(room.state_dict() | damage)
