"""A remote agent as one of ours, against the SDK's own server on both wires."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from a2a.types import Part, TaskState
from pydantic import BaseModel

from realtime.a2a import A2AAgent, A2AChatFormatter
from realtime.a2a.agent import PROGRESS
from realtime.errors import BadOption, ProviderError, UsageError
from realtime.event import reply as r
from realtime.formatter import FormatterBase
from realtime.message import (
    AssistantMsg,
    DataBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    UserMsg,
    fold_messages,
)
from realtime.tool import Toolkit
from realtime.tool.response import ToolResponse
from tests.a2a.servers import WIRES, Remote, Turn, Wire, remote_agent
from tests.volumes import HANG_S


def quiet(agent: A2AAgent) -> A2AAgent:
    agent.set_console_output_enabled(False)
    return agent


def texts(msg: Msg) -> list[str]:
    return [block.text for block in msg.content if isinstance(block, TextBlock)]


async def echo(turn: Turn) -> None:
    await turn.answer(f"You said: {turn.words}")


async def room(turn: Turn) -> None:
    """Works aloud, streams an artifact, then says that it is done."""
    await turn.task()
    await turn.updater.update_status(TaskState.TASK_STATE_WORKING, turn.said("I look it up."))
    await turn.updater.add_artifact([Part(text="Room ")], artifact_id="a", append=False)
    await turn.updater.add_artifact([Part(text="seven.")], artifact_id="a", append=True, last_chunk=True)
    await turn.updater.complete(turn.said("Done."))


async def booking(turn: Turn) -> None:
    """Asks for the day, then books."""
    await turn.task()
    if turn.is_old:
        await turn.updater.complete(turn.said(f"Booked for {turn.words}."))
    else:
        await turn.updater.requires_input(turn.said("For which day?"))


async def endless(turn: Turn) -> None:
    """Begins a task that no one ends."""
    await turn.task()
    await turn.updater.add_artifact([Part(text="Let me see. ")], artifact_id="a")
    await asyncio.Event().wait()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "polled"])
async def test_it_answers_like_any_other_agent_on_each_wire(wire: Wire, streaming: bool) -> None:
    """A2A-06, A2A-07: a message of its own, and a task with an artifact; the conversation is kept."""

    async def script(turn: Turn) -> None:
        await (room if turn.words == "A room, please." else echo)(turn)

    async with remote_agent(script, wire, streaming=streaming) as remote:
        agent = quiet(await remote.agent())
        first = await agent(UserMsg("anna", "Good morning."))
        assert (first.name, first.role, texts(first)) == ("Office", "assistant", ["You said: Good morning."])
        events = [event async for event in agent.reply_stream(UserMsg("anna", "A room, please."))]
        (answer,) = fold_messages(events)
        assert answer.finished_reason == "completed"
        assert sorted(texts(answer)) == ["Done.", "Room seven."]
        if streaming:
            assert [one.value for one in events if isinstance(one, r.CustomEvent) and one.name == PROGRESS] == [
                {"text": "I look it up.", "state": "working"}
            ]
            assert [one.delta for one in events if isinstance(one, r.TextBlockDeltaEvent)] == [
                "Room ",
                "seven.",
                "Done.",
            ]
        told = answer.metadata["a2a"]
        assert (told["state"], told["context_id"]) == ("completed", first.metadata["a2a"]["context_id"])
        assert agent.context_id == told["context_id"] == remote.asked[1]["contextId"]
        assert agent.task_id == ""
        await agent.aclose()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_task_that_needs_input_is_a_question_and_the_next_message_answers_it(wire: Wire) -> None:
    async with remote_agent(booking, wire) as remote:
        agent = quiet(await remote.agent())
        question = await agent(UserMsg("anna", "A room, please."))
        assert (texts(question), question.metadata["a2a"]["state"]) == (["For which day?"], "input-required")
        assert agent.task_id == question.metadata["a2a"]["task_id"] != ""
        # The conversation goes on in another process.
        saved = json.loads(json.dumps(agent.state_dict()))
        await agent.aclose()
        agent = quiet(await remote.agent())
        agent.load_state_dict(saved)
        answer = await agent(UserMsg("anna", "Monday"))
        assert texts(answer) == ["Booked for Monday."]
        assert remote.asked[1]["taskId"] == question.metadata["a2a"]["task_id"] == answer.metadata["a2a"]["task_id"]
        assert agent.task_id == ""
        await agent.aclose()


async def test_a_task_that_the_remote_has_forgotten_is_begun_again() -> None:
    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent())
        agent.task_id = "of-yesterday"
        assert texts(await agent(UserMsg("anna", "Monday"))) == ["You said: Monday"]
        await agent.aclose()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "polled"])
async def test_an_interruption_ends_the_reply_and_cancels_the_remote_task(wire: Wire, streaming: bool) -> None:
    """A2A-03: it ends here at once, then at the remote; the conversation goes on."""

    async def script(turn: Turn) -> None:
        await (endless if turn.words == "Find a room." else echo)(turn)

    async with remote_agent(script, wire, streaming=streaming) as remote:
        agent = quiet(await remote.agent())
        reply = asyncio.create_task(agent(UserMsg("anna", "Find a room.")))
        loop: Any = asyncio.get_running_loop()
        await loop.until(lambda: _is_answering(agent, remote, streaming=streaming))
        await agent.interrupt()
        answer = await reply
        async with asyncio.timeout(HANG_S):
            task_id = await remote.cancelled.get()
        assert answer.metadata["_is_interrupted"] is True
        assert texts(answer) == ["You interrupted me. What can I do for you?"]
        assert task_id
        assert agent.task_id == ""
        again = await agent(UserMsg("anna", "Never mind."))
        assert texts(again) == ["You said: Never mind."]
        assert remote.asked[1]["contextId"] == agent.context_id
        await agent.aclose()


def _is_answering(agent: A2AAgent, remote: Remote, *, streaming: bool) -> bool:
    """Whether the answer has begun, as far as its reader can know."""
    if not streaming:
        return bool(remote.asked)
    run = agent._run
    return run is not None and run.msg is not None and bool(run.msg.content)


async def test_what_is_observed_is_sent_with_the_next_reply_as_one_message() -> None:
    """A2A-05, A2A-18, A2A-19: observed twice, asked once, one message of role user; what is unsent is in the state."""
    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent())
        await agent.observe(UserMsg("anna", "One."))
        await agent.observe([UserMsg("anna", "Two.")])
        await agent.observe(None)
        assert remote.asked == []
        assert [Msg.model_validate(one).get_text_content() for one in agent.state_dict()["_observed_msgs"]] == [
            "One.",
            "Two.",
        ]
        await agent(UserMsg("anna", "Three."))
        assert remote.words() == [["One.", "Two.", "Three."]]
        assert remote.asked[0]["role"] == "ROLE_USER"
        assert agent.state_dict()["_observed_msgs"] == []
        await agent.aclose()


async def test_several_speakers_are_one_user_with_their_names_before_their_words() -> None:
    """A2A-02: the protocol knows one user and one agent; thoughts stay here."""
    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent())
        await agent.observe([UserMsg("Anna", "Tea?"), AssistantMsg("Friday", [ThinkingBlock(thinking="hm")])])
        await agent([AssistantMsg("Friday", "Coffee.")])
        assert remote.words() == [["[Anna]: Tea?", "[Friday]: Coffee."]]
        await agent.aclose()


async def test_a_structured_output_is_refused() -> None:
    """A2A-04"""

    class Room(BaseModel):
        number: int

    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent())
        with pytest.raises(BadOption, match="no structured output"):
            await agent(UserMsg("anna", "A room."), structured_model=Room)
        assert remote.asked == []
        await agent.aclose()


async def test_hooks_stand_around_its_reply_its_observing_and_its_printing() -> None:
    """A2A-17, AGT-08"""
    order: list[str] = []
    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent())
        for kind in agent.supported_hook_types:

            def note(*_: Any, kind: str = kind) -> None:
                order.append(kind)

            agent.register_instance_hook(kind, "note", note)
        await agent.observe(UserMsg("anna", "One."))
        await agent(UserMsg("anna", "Two."))
        await agent.aclose()
    assert order[:3] == ["pre_observe", "post_observe", "pre_reply"]
    assert order[3:-1] == ["pre_print", "post_print"] * (len(order[3:-1]) // 2)
    assert order[-1] == "post_reply"
    assert "pre_print" in order


async def test_as_the_printed_tool_function_it_gives_a_tool_response() -> None:
    """A2A-08"""
    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent())

        async def delegate_to_remote(query: str) -> ToolResponse:
            """Complete a task through a remote sub-agent.

            Args:
                query: Description of the task for the sub-agent.
            """
            res = await agent(Msg("user", query, "user"))
            return ToolResponse(content=[TextBlock(text=res.get_text_content() or "")])

        toolkit = Toolkit([delegate_to_remote])
        result = await toolkit.run(ToolCallBlock(id="1", name="delegate_to_remote", input='{"query": "A hotel."}'))
        assert (result.state, result.output_text()) == ("success", "You said: A hotel.")
        await agent.aclose()


def test_its_formatter_is_a_formatter() -> None:
    """FMT-19"""
    assert issubclass(A2AChatFormatter, FormatterBase)


async def test_the_formatter_gives_one_message_of_the_sdk_and_reads_a_task() -> None:
    msg = await A2AChatFormatter(context_id="c").format([UserMsg("a", "One."), UserMsg("a", "Two.")])
    assert [part.text for part in msg.parts] == ["One.", "Two."]
    assert (msg.context_id, msg.task_id) == ("c", "")
    with pytest.raises(TypeError):
        await A2AChatFormatter().format(["One."])  # type: ignore[list-item]
    task = {
        "id": "t",
        "status": {"state": "completed", "message": {"role": "agent", "messageId": "m", "parts": [{"text": "Done."}]}},
        "artifacts": [{"artifactId": "a", "parts": [{"text": "Room 7."}, {"nothing": 1}]}],
    }
    (read,) = await A2AChatFormatter().format_a2a_task("Office", task)
    assert texts(read) == ["Done.", "Room 7."]
    assert [one.partition(":")[0] for one in read.metadata["a2a_faults"]] == ["task.artifacts[0].parts[1]"]


ENDS = {
    "failed": ("a2a_failed", "Office failed: The safe is empty."),
    "rejected": ("", "The safe is empty."),
    "auth_required": ("", "The safe is empty."),
    "canceled": ("", "The safe is empty."),
}


@pytest.mark.parametrize("state", ENDS)
async def test_a_task_that_ends_badly_is_one_sentence(state: str) -> None:
    async def script(turn: Turn) -> None:
        await turn.task()
        ending: Any = TaskState.Value(f"TASK_STATE_{state.upper()}")
        await turn.updater.update_status(ending, turn.said("The safe is empty."))

    code, sentence = ENDS[state]
    async with remote_agent(script) as remote:
        agent = quiet(await remote.agent())
        if code:
            with pytest.raises(ProviderError, match=sentence) as raised:
                await agent(UserMsg("anna", "Money."))
            assert raised.value.code == code
        else:
            assert texts(await agent(UserMsg("anna", "Money."))) == [sentence]
        await agent.aclose()


async def test_a_remote_that_takes_too_long_costs_its_own_turn_only() -> None:
    async def script(turn: Turn) -> None:
        await (endless if turn.words == "Find a room." else echo)(turn)

    async with remote_agent(script) as remote:
        agent = quiet(await remote.agent(timeout_s=0.3))
        with pytest.raises(ProviderError, match="did not answer within"):
            await agent(UserMsg("anna", "Find a room."))
        async with asyncio.timeout(HANG_S):
            assert await remote.cancelled.get()
        agent.timeout_s = HANG_S
        assert texts(await agent(UserMsg("anna", "Hello?"))) == ["You said: Hello?"]
        await agent.aclose()


async def test_what_could_not_be_delivered_is_sent_with_the_next_reply_once(tmp_path: Path) -> None:
    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent())
        url, question = remote.url, UserMsg("anna", "Hello?")
    with pytest.raises(ProviderError, match="Office cannot be asked: it cannot be reached") as raised:
        await agent(question)
    assert raised.value.retryable
    assert url not in str(raised.value)
    async with remote_agent(echo) as remote:
        late = quiet(await remote.agent())
        late.load_state_dict(agent.state_dict())
        await late([question, UserMsg("anna", "Still there?")])
        assert remote.words() == [["Hello?", "Still there?"]]
        await late.aclose()
    await agent.aclose()


async def test_a_tool_call_of_a_stranger_is_data_and_its_thinking_is_never_said() -> None:
    async def script(turn: Turn) -> None:
        await turn.task()
        call: dict[str, Any] = {"type": "tool_use", "id": "1", "name": "pay", "input": {"sum": 3}}
        parts = [Part(text="hm"), Part(text="No."), Part()]
        parts[0].metadata["thought"] = True
        parts[2].data.struct_value.update(call)
        await turn.updater.add_artifact(parts)
        await turn.updater.complete()

    async with remote_agent(script) as remote:
        agent = quiet(await remote.agent())
        thought, words, data = (await agent(UserMsg("anna", "Pay."))).content
        assert isinstance(thought, ThinkingBlock)
        assert isinstance(words, TextBlock)
        assert isinstance(data, DataBlock)
        await agent.aclose()


async def test_data_that_is_all_of_an_answer_is_its_text() -> None:
    async def script(turn: Turn) -> None:
        await turn.task()
        part = Part()
        part.data.struct_value.update({"room": 7})
        await turn.updater.add_artifact([part])
        await turn.updater.complete()

    async with remote_agent(script) as remote:
        agent = quiet(await remote.agent())
        assert texts(await agent(UserMsg("anna", "Which?"))) == ['{"room":7}']
        await agent.aclose()


async def test_a_card_that_names_the_wrong_protocol_is_asked_in_the_other_one() -> None:
    """A card by hand in the shape of 0.3, at a server of 1.0 alone."""
    async with remote_agent(echo, "1.0") as remote:
        agent = quiet(A2AAgent({"name": "Office", "url": f"{remote.url}/rpc", "capabilities": {"streaming": True}}))
        assert texts(await agent(UserMsg("anna", "Hello."))) == ["You said: Hello."]
        await agent.aclose()


async def test_headers_go_to_the_remote_agent() -> None:
    async with remote_agent(echo) as remote:
        agent = quiet(await remote.agent(headers={"Authorization": "Bearer abc"}))
        await agent(UserMsg("anna", "Hello."))
        assert remote.requests[-1]["authorization"] == "Bearer abc"
        assert "authorization" not in remote.requests[0], "the card was fetched without them"
        await agent.aclose()


def test_without_the_sdk_it_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, found in ((None, ""), ("0.3.26", ", and version 0.3.26 is here")):

        def version_of(_: str, version: str | None = version) -> str:
            from importlib.metadata import PackageNotFoundError

            if version is None:
                raise PackageNotFoundError
            return version

        monkeypatch.setattr("realtime.a2a.sdk.metadata.version", version_of)
        with pytest.raises(UsageError, match=r"pip install -e '\.\[a2a\]'") as raised:
            A2AAgent({"name": "Office", "url": "https://office.example"})
        assert raised.value.code == "not_installed"
        assert found in raised.value.message
