"""Anthropic: what only it has."""

from __future__ import annotations

from typing import Any

from realtime.message import ThinkingBlock
from realtime.model.chat import AnthropicChatModel
from tests.model.chat.scripts import HELLO, PROVIDERS, Anthropic, Script, whole
from tests.model.local.chat_endpoint import KEY, ChatEndpoint, Json

ANTHROPIC = PROVIDERS["anthropic"]
FRAMES = Anthropic("anthropic")


def test_the_client_alone_has_a_timeout() -> None:
    made = AnthropicChatModel("claude-x", "key", client_kwargs={"timeout": 30})
    assert made.max_tokens == 2048
    assert "timeout" not in made._request(HELLO, [], None, {})


TEXT = [{"type": "text", "text": "Be kind."}]


async def test_the_first_system_messages_are_the_system_prompt(endpoint: ChatEndpoint) -> None:
    model = ANTHROPIC.model(endpoint.base_url, max_tokens=99, generate_kwargs={"temperature": 0.7})
    prompts: list[tuple[list[Any], Any]] = [
        ([], None),
        (["Be kind."], "Be kind."),
        ([TEXT], TEXT),
        ([TEXT, "Be short."], [*TEXT, {"type": "text", "text": "Be short."}]),
    ]
    for contents, system in prompts:
        ANTHROPIC.will(endpoint, Script(words=("Hi.",)))
        payload: list[Json] = [*({"role": "system", "content": content} for content in contents), *HELLO]
        await whole(await model(payload, top_k=40))
        body = endpoint.asked[-1].body
        assert (body.get("system"), body["messages"]) == (system, HELLO)
        assert (body["max_tokens"], body["temperature"], body["top_k"]) == (99, 0.7, 40)
    assert KEY in str(endpoint.asked[-1].headers)


async def test_thoughts_keep_the_signature_that_must_come_back(endpoint: ChatEndpoint, stream: bool) -> None:
    ANTHROPIC.will(endpoint, Script(thoughts=("Let me", " see."), words=("Hi.",)), stream=stream)
    thinking = {"type": "enabled", "budget_tokens": 1024}
    response = await whole(await ANTHROPIC.model(endpoint.base_url, stream=stream, thinking=thinking)(HELLO))
    thoughts = response.content[0]
    assert isinstance(thoughts, ThinkingBlock)
    assert (thoughts.thinking, thoughts.extra) == ("Let me see.", {"signature": "sig-1"})
    assert (await endpoint.request()).body["thinking"] == thinking


async def test_interleaved_thoughts_words_and_calls_stay_in_their_places(endpoint: ChatEndpoint) -> None:
    endpoint.will(
        FRAMES._event("message_start", message=FRAMES._message([], None, {"input_tokens": 5, "output_tokens": 1})),
        FRAMES._begin(0, {"type": "redacted_thinking", "data": "hidden"}),
        FRAMES._begin(1, {"type": "text", "text": ""}),
        FRAMES._delta(1, {"type": "text_delta", "text": "Let me look <"}),
        FRAMES._begin(2, {"type": "thinking", "thinking": "", "signature": ""}),
        FRAMES._delta(2, {"type": "thinking_delta", "thinking": "Which tool?"}),
        FRAMES._delta(2, {"type": "signature_delta", "signature": "sig-2"}),
        FRAMES._begin(3, {"type": "text", "text": ""}),
        FRAMES._delta(3, {"type": "text_delta", "text": "up."}),
        FRAMES._begin(4, {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}}),
        FRAMES._event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 9}),
        FRAMES._event("message_stop"),
    )
    response = await whole(await ANTHROPIC.model(endpoint.base_url)(HELLO))
    fields = ("extra", "text", "thinking", "text", "input")
    told = [getattr(block, field) for block, field in zip(response.content, fields, strict=True)]
    assert told == [{"redacted_thinking": "hidden"}, "Let me look <", "Which tool?", "up.", "{}"]
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 9)
    assert response.usage.metadata == {"input_tokens": 5, "output_tokens": 9}
