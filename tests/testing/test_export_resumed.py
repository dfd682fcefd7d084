"""A call that went on from its store, as a case: its history is told once, and answered as often as it was."""

import asyncio
from pathlib import Path

import pytest

from realtime.agent import RealtimeAgent
from realtime.event import server as s
from realtime.server.archive import Archive
from realtime.server.calls import Calls
from realtime.server.settings import ServerSettings
from realtime.state.memory import MemoryStore
from realtime.testing import CallRecord, Returned, StandIn, play
from realtime.testing.cases.case import read_case
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.export import export_call
from realtime.testing.cases.stand_in import Answer, Call, Say
from realtime.testing.cases.stored import record_of
from realtime.tool import Toolkit
from tests.server.harness import FakeSocket, Json, create

pytestmark = pytest.mark.virtual_time(guard=False)

LOOKED_UP = Call(tools=(ToolUse("clock"),), before=Say("Let me look.", ms=600), after_ms=200)


def make_agent(*answers: Answer) -> RealtimeAgent:
    def clock() -> str:
        """Tell the time."""
        return "09:15"

    model = StandIn(turns="none", answers=answers, otherwise=Say("Pardon?")).model(Path())
    return RealtimeAgent("Friday", "", model, toolkit=Toolkit([clock]))


async def served(store: MemoryStore, begin: Json, *texts: str, answers: tuple[Answer, ...]) -> Json:
    """What the client is told first, in a process with this store in which it types these lines."""
    archive = Archive(store, resume_s=60.0)
    calls = Calls(max_per_address=8, max_total=8, archive=archive)
    agent = make_agent(*answers)
    async with FakeSocket(lambda: agent, ServerSettings(), calls=calls) as client:
        client.say(begin)
        is_new = begin["type"] == "client_session_create"
        first = await client.until("server_session_created" if is_new else "server_session_resumed")
        await asyncio.sleep(1)
        for text in texts:
            client.say({"type": "client_text_append", "text": text})
            await asyncio.sleep(5)
        played = [entry["item_id"] for entry in client.sent if entry["type"] == "agent_response_audio_delta"]
        client.say({"type": "client_playback_ack", "item_id": played[-1], "played_ms": 60_000})
        await asyncio.sleep(0.1)
        client.lose()
        assert client.serving is not None
        await client.serving
    await calls.drain(0)
    await archive.close()
    return first


def told(record: CallRecord) -> list[str]:
    """What was typed, and the responses with how they ended, in order."""
    lines = []
    for entry in record.entries:
        if isinstance(entry, s.AgentItemAddedEvent) and entry.item.role == "user":
            lines.append(entry.item.text)
        elif isinstance(entry, s.AgentResponseDoneEvent):
            lines.append(str(entry.status))
    return lines


async def test_a_call_that_was_resumed_from_its_store_is_answered_as_often_as_it_was(tmp_path: Path) -> None:
    store = MemoryStore()
    created = await served(store, create(), "What time is it?", answers=(LOOKED_UP, Say("A quarter past nine.")))
    resume = {"type": "client_session_resume", "token": created["resume_token"], "last_seq": 3}
    await served(store, resume, "And now?", answers=(LOOKED_UP, Say("The same.")))
    record = record_of(store, created["call_id"])
    assert told(record) == ["What time is it?", "completed", "completed", "And now?", "completed", "completed"]
    case = export_call(store, created["call_id"], tmp_path / "case")
    assert read_case(case).tools == {"clock": (Returned("09:15", {}), Returned("09:15", {}))}
    assert told(await play(case, agent=make_agent)) == told(record)
