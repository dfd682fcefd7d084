"""Gemini signs its tool calls and wants the signatures back with them: a call keeps its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.formatter import GeminiChatFormatter
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.chat import CompressionConfig
from realtime.model.local.chat import FormattedLanguageModel
from realtime.model.local.language_model import CallLanguageModel, Prompt, ReplyToolCall
from realtime.token import CharTokenCounter
from tests.model.chat.scripts import PROVIDERS
from tests.model.chat.test_gemini import SIGNATURE, parts
from tests.model.local.chat_endpoint import ChatEndpoint, Json
from tests.model.local.keyless_chat import message

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
"""Google's SDK does that."""

CLOCK = ToolDeclaration(name="clock", description="Tells the time.")
GEMINI = PROVIDERS["gemini"]


def model_at(endpoint: ChatEndpoint) -> FormattedLanguageModel:
    return FormattedLanguageModel(GEMINI.model(endpoint.base_url), GeminiChatFormatter())


def asks(*, signed: bool = True, zone: str = "Oslo") -> Json:
    part: Json = {"functionCall": {"name": "clock", "args": {"zone": zone}}}
    return part | ({"thoughtSignature": SIGNATURE} if signed else {})


async def calls_in(
    endpoint: ChatEndpoint, model: CallLanguageModel, history: Sequence[Item], *answer: Json
) -> list[ReplyToolCall]:
    endpoint.will(parts(*answer))
    replies = [one async for one in model.respond(Prompt(history=history, tools=(CLOCK,)))]
    return [one for one in replies if isinstance(one, ReplyToolCall)]


def round_of(calls: Sequence[ReplyToolCall]) -> list[Item]:
    """The items of calls and their results, as the embedded model keeps them."""
    blocks = [
        ToolCallBlock(id=call.id or f"call_{place}", name=call.name, input=call.arguments)
        for place, call in enumerate(calls)
    ]
    results = [ToolResultBlock(id=block.id, name=block.name, output="noon") for block in blocks]
    return [
        *(Item(id=f"c{block.id}", type="tool_call", tool_call=block) for block in blocks),
        *(Item(id=f"r{result.id}", type="tool_result", tool_result=result) for result in results),
    ]


def signatures_in(body: Any) -> list[tuple[str, bytes | None]]:
    """The zone and the signature of each call in a request, by the SDK's types."""
    from google.genai import types

    contents = [types.Content.model_validate(content) for content in body["contents"]]
    parts_sent = [part for content in contents for part in content.parts or ()]
    return [((call.args or {})["zone"], part.thought_signature) for part in parts_sent if (call := part.function_call)]


async def test_the_signature_of_a_call_goes_back_with_it_in_this_turn_and_later_ones(endpoint: ChatEndpoint) -> None:
    model = model_at(endpoint).for_call()
    history = [message("user", "What time is it?")]
    calls = await calls_in(endpoint, model, history, asks(), asks(signed=False, zone="Rome"))
    history += round_of(calls)
    assert await calls_in(endpoint, model, history, {"text": "Noon."}) == []
    asked = [("Oslo", b"signed"), ("Rome", None)]
    assert signatures_in(endpoint.asked[-1].body) == asked
    history += [message("assistant", "Noon."), message("user", "And now?")]
    (again,) = await calls_in(endpoint, model, history, asks(zone="Bern"))
    assert signatures_in(endpoint.asked[-1].body) == asked
    await calls_in(endpoint, model, [*history, *round_of([again])], {"text": "One."})
    assert signatures_in(endpoint.asked[-1].body) == [*asked, ("Bern", b"signed")]


async def test_a_call_knows_its_own_signatures_alone_and_one_without_gets_any_id(endpoint: ChatEndpoint) -> None:
    given = model_at(endpoint)
    history = [message("user", "What time is it?")]
    history += round_of(await calls_in(endpoint, given.for_call(), history, asks()))
    await calls_in(endpoint, given.for_call(), history, {"text": "Noon."})
    assert signatures_in(endpoint.asked[-1].body) == [("Oslo", None)]
    (call,) = await calls_in(endpoint, given.for_call(), [message("user", "Time?")], asks(signed=False))
    assert call.id == ""


async def test_a_summary_of_the_call_leaves_the_signatures_of_what_stays(endpoint: ChatEndpoint) -> None:
    config = CompressionConfig(enable=True, agent_token_counter=CharTokenCounter(), trigger_threshold=10_000)
    chat = GEMINI.model(endpoint.base_url)
    model = FormattedLanguageModel(chat, GeminiChatFormatter(), compression_config=config).for_call()
    history = [message("user", "What time is it?")]
    history += round_of(await calls_in(endpoint, model, history, asks()))
    await calls_in(endpoint, model, history, {"text": "Noon."})
    assert signatures_in(endpoint.asked[-1].body) == [("Oslo", b"signed")]
    await model.close(history)
