"""A tool that asks, over a real socket: the question goes to the client, and its answer comes back on the same one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.event.reply import read_reply_event
from realtime.message import fold_messages
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import CallTools, Speak, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.server.settings import ServerSettings
from realtime.tool import Toolkit
from tests.server.harness import serving
from tests.server.test_history import TEXT, events_of

PAID: list[int] = []


def paying_agent(**_: Any) -> RealtimeAgent:
    """Pays when it is asked for anything, if it may; then it says so."""

    def pay(amount: int) -> str:
        """Pay."""
        PAID.append(amount)
        return f"paid {amount}"

    asked: list[ModelInput] = []

    def react(message: ModelInput) -> list[Step]:
        if not isinstance(message, ResponseCreate):
            return []
        asked.append(message)
        return [CallTools((("pay", {"amount": 5}),))] if len(asked) == 1 else [Speak("All right.", 1.0)]

    model = ScriptedModel(react, profile=PROFILE)
    return RealtimeAgent("Friday", "", model, toolkit=Toolkit(confirm=[pay]))


@pytest.mark.parametrize(("confirmed", "state", "paid"), [(True, "success", [5]), (False, "denied", [])])
async def test_question_and_answer_go_over_the_socket_of_the_call(
    confirmed: bool, state: str, paid: list[int], tmp_path: Path
) -> None:
    """EVT-01, HITL-25: text tokens, tool call fragments and the question are told; the answer goes over the same
    WebSocket, and the second screen reads both."""
    PAID.clear()
    settings = ServerSettings(drain_s=0, store=f"sqlite:{tmp_path / 'calls.sqlite'}")
    async with serving(paying_agent, settings) as place, place.client() as client:
        created = await client.make_call()
        path = f"/api/calls/{created['call_id']}/events?user=user1&vocabulary=reply"
        reading = asyncio.create_task(place.get(path))
        await client.send(TEXT)
        await client.until("agent_response_tool_use_delta")
        asked = await client.until("agent_response_tool_use_done")
        call = asked["tool_use"]
        assert (call["name"], call["state"], PAID) == ("pay", "asking", [])
        answer = {"type": "client_tool_result", "id": call["id"], "name": "pay", "output": "", "confirmed": confirmed}
        await client.send(answer)
        told = await client.until("agent_response_tool_result")
        assert (told["tool_result"]["state"], PAID) == (state, paid)
        await client.until("agent_response_audio_transcript_done")
        await client.send({"type": "client_session_end"})
        await client.until("server_session_ended")
        events = [read_reply_event(data) for _, _, data in events_of((await reading).body)]
    kinds = [event.type for event in events]
    way = ["TOOL_CALL_DELTA", "REQUIRE_USER_CONFIRM", "USER_CONFIRM_RESULT", "TOOL_RESULT_START"]
    assert sorted(way, key=kinds.index) == way
    assert "TEXT_BLOCK_DELTA" in kinds[kinds.index("TOOL_RESULT_START") :]
    (message,) = [one for one in fold_messages(events) if one.role == "assistant"]
    assert [block.state for block in message.get_content_blocks("tool_result")] == [state]
    assert message.get_text_content() == "All right."
