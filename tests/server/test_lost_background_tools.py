"""Background tools whose server was killed: the call goes on, and its model is told what became of them."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.event import model as m
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.state.log import last_seq_of
from realtime.state.sqlite import SqliteStore
from realtime.tool import Toolkit
from tests.agent.office import DESCRIPTION, NAME, QUERY, Office, desk
from tests.real_loop import settled
from tests.server.harness import FakeSocket, Json
from tests.server.test_killed import TEXT, client_of, served
from tests.server.test_resume_from_store import Place, Store, a_call_at, back

LOST = (
    f"<system-reminder>\nThe background tool {NAME} (task {NAME}_1) was interrupted: the call was broken off while it "
    "ran. No result will come. Tell the user now, in your own words.\n</system-reminder>"
)


class Shop(Place):
    """A server whose agent has a delegate."""

    client: FakeSocket

    def __init__(self, store: Store | None = None, toolkit: Toolkit | None = None) -> None:
        super().__init__(store)
        self.toolkit = toolkit if toolkit is not None else desk(Office(30))

    def agent(self) -> RealtimeAgent:
        return RealtimeAgent("Friday", "", self.model, toolkit=self.toolkit)

    async def speak(self, text: str) -> None:
        """The model speaks for half a second, and all of it is played."""
        item_id = self.model.link.reply(500, text)
        await asyncio.sleep(0.5)
        self.client.say({"type": "client_playback_ack", "item_id": item_id, "played_ms": 500})

    def use(self, number: int, name: str, arguments: str) -> None:
        """The model calls a tool."""
        link = self.model.link
        response_id = link.begin()
        use = ToolCallBlock(id=f"call_{number}", name=name, input=arguments)
        link.say(
            m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id=f"use_{number}", tool_use=use),
            m.ModelResponseDoneEvent(response_id=response_id),
        )

    @property
    def hints(self) -> list[str]:
        """What the newest session of the model was told beside its history."""
        items = [message.item for message in self.model.link.got(base.ItemCreate)]
        return [item.text for item in items if item.role == "system"]


@asynccontextmanager
async def killed(toolkit: Toolkit | None = None) -> AsyncIterator[tuple[Shop, Json, Store]]:
    """A call in which the body does something, and the store as it is when the server is killed then."""
    shop, left = Shop(toolkit=toolkit), Store()
    async with a_call_at(shop) as (shop.client, created):
        yield shop, created, left
        await asyncio.sleep(1)
        await shop.kept(created["call_id"], into=left)
    await shop.stop()


@pytest.mark.virtual_time
async def test_one_that_ran_is_told_as_interrupted_in_the_next_silence_and_not_again_after_a_second_kill() -> None:
    async with killed() as (shop, created, left):
        shop.use(1, NAME, QUERY)
        await asyncio.sleep(1)
        await shop.speak("I am looking it up.")
    second = Shop(left)
    async with back(second, created) as client:
        assert tuple(who for who, _ in second.history if who in ("tool_result", "system")) == ("tool_result", "system")
        assert second.hints == [LOST]
        assert len(second.model.link.got(base.ResponseCreate)) == 1
        (token,) = [event["token"] for event in client.sent if event["type"] == "server_session_resumed"]
        created = created | {"resume_token": token}
        again = await second.kept(created["call_id"])
    third = Shop(again)
    async with back(third, created):
        assert third.hints == []
        assert [text for who, text in third.history if who == "system"] == [LOST]


@pytest.mark.virtual_time
@pytest.mark.parametrize("has_tool", [True, False])
async def test_a_silent_one_is_only_known_and_one_that_is_gone_is_told(has_tool: bool) -> None:
    async with killed(desk(Office(30), announce="silently")) as (shop, created, left):
        shop.use(1, NAME, QUERY)
        await asyncio.sleep(1)
        await shop.speak("A moment.")
    later = Shop(left, desk(Office(30), announce="silently") if has_tool else Toolkit())
    async with back(later, created):
        assert later.hints == [LOST.replace(" Tell the user now, in your own words.", "") if has_tool else LOST]
        assert len(later.model.link.got(base.ResponseCreate)) == (0 if has_tool else 1)


@pytest.mark.virtual_time
async def test_those_that_had_ended_are_not_told_again() -> None:
    """One has answered, one was stopped by the program, one by the model; the fourth ran on."""
    async with killed(desk(lambda: Office(2), timeout_s=None)) as (shop, created, left):
        shop.use(1, NAME, QUERY)
        await asyncio.sleep(1)
        await shop.speak("A moment.")
        await asyncio.sleep(5)
        await shop.speak("It is on its way.")
        run = shop.session.participant
        for number in (2, 3, 4):
            shop.use(number, NAME, QUERY)
            await asyncio.sleep(0.5)
            if number == 2:
                assert run.cancel_background_tool(f"{NAME}_2")
            elif number == 3:
                shop.use(9, "cancel_background_tool", f'{{"task_id": "{NAME}_3"}}')
                await asyncio.sleep(0.2)
    later = Shop(left)
    async with back(later, created):
        assert later.hints == [LOST.replace(f"{NAME}_1", f"{NAME}_4")]


@pytest.mark.virtual_time
async def test_one_in_the_foreground_has_an_interrupted_result() -> None:
    async with killed(desk(Office(30), background=False)) as (shop, created, left):
        shop.use(1, NAME, QUERY)
    later = Shop(left)
    async with back(later, created) as again:
        (told,) = [event for event in again.sent if event["type"] == "agent_response_tool_result"]
        assert told["tool_result"]["state"] == "interrupted"
        assert [who for who, _ in later.history] == ["tool_call", "tool_result"], "no call is left without a result"
        assert later.hints == []


APP = f"""
from realtime import Delegate, RealtimeAgent, ScriptedModel, Toolkit
from realtime.model.base import ItemCreate, ResponseCreate
from realtime.model.script import CallTools, Speak
from realtime.model.scripted import PROFILE
from tests.agent.office import Office

def script():
    told = []

    def react(message):
        if isinstance(message, ItemCreate):
            told.append(message.item.text)
        if not isinstance(message, ResponseCreate):
            return []
        if told and "was interrupted" in told[-1]:
            return [Speak("I am sorry, I could not find it out.", 0.5)]
        if told and "order 7" in told.pop():
            return [CallTools((("{NAME}", {{"query": "Where is order 7?"}}),))]
        return [Speak("I am looking it up.", 0.5)]

    return ScriptedModel(react, profile=PROFILE)

def make_agent():
    return RealtimeAgent("Friday", "", script(), toolkit=Toolkit([Delegate(Office(60), "{NAME}", "{DESCRIPTION}")]))
"""


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
async def test_the_user_hears_of_it_when_the_real_server_is_back(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "calls.sqlite")
    async with served(tmp_path, 0, APP) as (process, address):
        port = int(address.rpartition(":")[2])
        async with client_of(address) as client:
            created = await client.make_call()
            await client.send(TEXT | {"text": "Where is order 7?"})
            last_seq: Any = (await client.until("agent_response_tool_result"))["seq"]
            await settled(lambda: any(last_seq_of(one) >= last_seq for one in store.read(created["call_id"])))
            process.send_signal(signal.SIGKILL)
            process.wait()
    async with served(tmp_path, port, APP) as (_, address), client_of(address) as client:
        token = created["resume_token"]
        await client.send({"type": "client_session_resume", "token": token, "last_seq": last_seq})
        assert (await client.until("server_session_resumed"))["from_store"]
        said = [await client.until("agent_response_audio_transcript_done")]
        while "sorry" not in said[-1]["transcript"]:
            said.append(await client.until("agent_response_audio_transcript_done"))
        assert len(said) <= 2, "what was being said when the server was killed, and that"
    store.close()
