"""Prompts of a chat model in one call, shortened by a summary."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from realtime.event.base import ContentPart, Item
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.chat import CompressionConfig
from realtime.model.chat.base import ChatResponse
from realtime.model.local.chat import FormattedLanguageModel
from realtime.model.local.language_model import CallLanguageModel, Prompt, ReplyText
from tests.agent.test_compression import FIELDS
from tests.agent.thinking import PlainFormatter, ScriptedChat, WordCounter, say

pytestmark = pytest.mark.virtual_time

SUMMARY = ChatResponse(say("-"), metadata=FIELDS)


def said(n: int, role: str = "user") -> Item:
    words = ContentPart(type="text", text=f"{role} {n} " + "word " * 10)
    return Item(id=f"{role}{n}", role="assistant" if role == "agent" else "user", content=(words,))


def conversation(turns: int) -> list[Item]:
    return [item for n in range(turns) for item in (said(n), said(n, "agent"))] + [said(turns)]


def chat_of(*answers: Any, **options: Any) -> tuple[ScriptedChat, CallLanguageModel]:
    chat = ScriptedChat(*answers)
    config: dict[str, Any] = {"enable": True, "agent_token_counter": WordCounter(), "trigger_threshold": 60}
    config |= {"keep_recent": 3, **options}
    return chat, FormattedLanguageModel(
        chat, PlainFormatter(), compression_config=CompressionConfig(**config)
    ).for_call()


async def answer(model: CallLanguageModel, history: list[Item], **options: Any) -> str:
    prompt = Prompt(instructions="Be kind.", history=history, **options)
    text = "".join([reply.text async for reply in model.respond(prompt) if isinstance(reply, ReplyText)])
    await asyncio.sleep(1)
    return text


async def test_the_summary_follows_the_instructions_and_the_newest_items_stay() -> None:
    chat, model = chat_of(say("Hi."), SUMMARY, say("Hello."))
    assert await answer(model, conversation(3)) == "Hi."
    assert len(chat.requests[0].messages) == 8, "everything, before there is a summary"
    assert await answer(model, conversation(3)) == "Hello."
    head, *rest = chat.requests[2].texts
    assert head.startswith("Be kind.\n\n<system-info>")
    assert "The user is vegetarian." in head
    assert [text[:6] for text in rest] == ["user 2", "agent ", "user 3"]


async def test_a_short_call_and_one_with_it_switched_off_have_no_summary() -> None:
    for turns, options in ((1, {}), (6, {"enable": False})):
        chat, model = chat_of(say("Hi."), **options)
        await answer(model, conversation(turns))
        assert len(chat.requests) == 1


async def test_a_tool_call_and_its_result_go_together() -> None:
    chat, model = chat_of(say("Hi."), SUMMARY, say("Hello."))
    call = ToolCallBlock(id="c1", name="clock", input="{}")
    tool = [
        Item(id="call", type="tool_call", tool_call=call),
        Item(id="result", type="tool_result", tool_result=ToolResultBlock(id="c1", name="clock", output="noon")),
    ]
    history = [said(0), *tool, *conversation(3)[1:]]
    await answer(model, history)
    assert "noon" in str(chat.requests[1].messages)
    await answer(model, history)
    assert "clock" not in str(chat.requests[2].messages)


async def test_without_a_summary_the_call_goes_on_and_may_leave_out_the_oldest() -> None:
    chat, model = chat_of(say("Hi."), RuntimeError("out of order"), say("Hello."), trim_threshold=70)
    await answer(model, conversation(6))
    assert await answer(model, conversation(6)) == "Hello."
    assert chat.requests[2].texts[0] == "Be kind."
    assert len(chat.requests[2].messages) < 14


async def test_a_response_beside_the_conversation_is_left_alone() -> None:
    chat, model = chat_of(say("Hi."), SUMMARY, say("Sum."))
    await answer(model, conversation(3))
    await answer(model, [said(50)], is_beside=True)
    assert chat.requests[2].texts[0] == "Be kind."
    assert len(chat.requests) == 3


async def test_a_call_that_ends_gives_up_its_summary() -> None:
    chat, model = chat_of(say("Hi."), say("never"))
    chat.piece_s = 100
    asking = asyncio.create_task(answer(model, conversation(3)))
    await asyncio.sleep(150)
    before = asyncio.all_tasks()
    assert any(task.get_name() == "compression of a call" for task in before)
    await model.close([])
    assert not any(task.get_name() == "compression of a call" for task in asyncio.all_tasks())
    await asking
