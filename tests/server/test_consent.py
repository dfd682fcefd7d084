"""A tool that asks, over a real socket: the question goes to the client, and its answer comes back on the same one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
from tests.server.harness import Client, Json
from tests.server.steps import TEXT, hang_up, in_call
from tests.server.test_calls_api import events_of

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


@asynccontextmanager
async def asked_to_pay(
    make_agent: Callable[..., RealtimeAgent] = paying_agent, settings: ServerSettings | None = None, **config: Any
) -> AsyncIterator[tuple[Client, Json]]:
    """A client whose agent wants to pay, and the question, or the call of the page's own tool."""
    PAID.clear()
    async with in_call(make_agent, settings, **config) as (_, client):
        await client.send(TEXT)
        yield client, await client.until("agent_response_tool_use_done")


@pytest.mark.parametrize(("confirmed", "state", "paid"), [(True, "success", [5]), (False, "denied", [])])
async def test_question_and_answer_go_over_the_socket_of_the_call(
    confirmed: bool, state: str, paid: list[int], tmp_path: Path
) -> None:
    """EVT-01, HITL-25: text tokens, tool call fragments and the question are told; the answer goes over the same
    WebSocket, and the second screen reads both."""
    PAID.clear()
    settings = ServerSettings(drain_s=0, store=f"sqlite:{tmp_path / 'calls.sqlite'}")
    async with in_call(paying_agent, settings) as (place, client):
        created = client.events[0]
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
        await hang_up(client)
        events = [read_reply_event(data) for _, _, data in events_of((await reading).body)]
    kinds = [event.type for event in events]
    way = ["TOOL_CALL_DELTA", "REQUIRE_USER_CONFIRM", "USER_CONFIRM_RESULT", "TOOL_RESULT_START"]
    assert sorted(way, key=kinds.index) == way
    assert "TEXT_BLOCK_DELTA" in kinds[kinds.index("TOOL_RESULT_START") :]
    (message,) = [one for one in fold_messages(events) if one.role == "assistant"]
    assert [block.state for block in message.get_content_blocks("tool_result")] == [state]
    assert message.get_text_content() == "All right."


async def test_a_page_answers_in_the_words_of_the_reply_events() -> None:
    """HITL-03, HITL-17, HITL-25, AMB-57: the frame that the reply vocabulary prints, with a changed input, which is
    what runs; an answer to a call that does not ask is an error that names the frame."""
    async with asked_to_pay() as (client, asked):
        call = {"type": "tool_call", "id": asked["tool_use"]["id"], "name": "pay", "input": '{"amount": 3}'}
        answer = {
            "type": "USER_CONFIRM_RESULT",
            "id": "answer_1",
            "reply_id": asked["response_id"],
            "confirm_results": [{"confirmed": True, "tool_call": call}],
        }
        await client.send(answer)
        told = await client.until("agent_response_tool_result")
        assert (told["tool_result"]["output"], PAID) == ("paid 3", [3])
        await client.until("agent_response_audio_transcript_done")
        await client.send(answer | {"id": "answer_2"})
        error = await client.until("agent_error")
        assert (error["code"], error["client_event_id"]) == ("unknown_tool_call", "answer_2")


async def test_a_page_interrupts_the_reply_that_waits_for_it_and_no_other() -> None:
    """HITL-21, AMB-57: the reply's own id ends it while its call asks; the id of another reply does nothing."""
    async with asked_to_pay() as (client, asked):
        await client.until("agent_response_done")
        await client.send({"type": "USER_INTERRUPT", "reply_id": "another"})
        await client.send({"type": "client_item_retrieve", "item_id": "none"})
        while (event := await client.next())["type"] != "agent_error":
            assert event["type"] != "agent_response_tool_result"
        await client.send({"type": "USER_INTERRUPT", "reply_id": asked["response_id"]})
        told = await client.until("agent_response_tool_result")
        assert (told["tool_result"]["state"], PAID) == ("interrupted", [])


async def test_a_page_tells_that_its_tool_failed() -> None:
    """HITL-05, HITL-13, AMB-56: EXTERNAL_EXECUTION_RESULT answers a tool of the page, with its state."""
    tool = {"name": "pay", "description": "", "parameters": {"type": "object"}}

    def agent(**_: Any) -> RealtimeAgent:
        return RealtimeAgent("Friday", "", paying_agent().model)

    async with asked_to_pay(agent, tools=[tool]) as (client, called):
        result = {"type": "tool_result", "id": called["tool_use"]["id"], "name": "pay", "output": "no money"}
        frame = {"type": "EXTERNAL_EXECUTION_RESULT", "reply_id": called["response_id"]}
        await client.send({**frame, "execution_results": [{**result, "state": "error"}]})
        told = await client.until("agent_response_tool_result")
        assert (told["tool_result"]["state"], told["tool_result"]["output"]) == ("error", "no money")
