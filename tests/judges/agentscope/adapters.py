"""Upstream's constructors and names, where ours are others: each says the same in our words."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from realtime.message import Msg, ThinkingBlock
from realtime.model.chat import ChatResponse
from tests.judges.agentscope import remote_agents
from tests.judges.agentscope.shapes import shape_of

HISTORY_PROMPT = (
    "# Conversation History\nThe content between <history></history> tags contains your conversation history\n"
)


def formatter(ours: type[Any]) -> type[Any]:
    """Return a formatter with upstream's defaults.

    It reads any local file, promotes no media, and tells a conversation of several agents as a history.
    """
    chosen: dict[str, Any] = {"local_files": os.sep, "promote_tool_result_images": False}
    if "MultiAgent" in ours.__name__:
        chosen["conversation_history_prompt"] = HISTORY_PROMPT

    class Formatter(ours):  # type: ignore[misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**{**chosen, **options})

    return Formatter


def toolkit(ours: type[Any]) -> type[Any]:
    """Return a toolkit with upstream's private names of what runs in the background."""

    class Toolkit(ours):  # type: ignore[misc]
        _async_tasks = property(lambda self: self.background.running)
        _async_results = property(lambda self: {key: task.response for key, task in self.background.results.items()})

    return Toolkit


def memory(ours: type[Any]) -> type[Any]:
    """Return a memory whose state has messages in upstream's shape; ours is read in either."""

    class InMemoryMemory(ours):  # type: ignore[misc]
        def state_dict(self) -> dict[str, Any]:
            content = [[_message(message), [*marks]] for message, marks in self.content]
            return {**super().state_dict(), "content": content}

    return InMemoryMemory


def _message(message: Msg) -> dict[str, Any]:
    shape = {name: getattr(message, name) for name in ("id", "name", "role", "content", "metadata", "timestamp")}
    return shape if isinstance(shape["content"], str) else {**shape, "content": [*map(shape_of, shape["content"])]}


def dashscope_model(ours: type[Any]) -> type[Any]:
    """Return a model that can be made without a key, and then fails when it is asked."""

    class DashScopeChatModel(ours):  # type: ignore[misc]
        def __init__(self, model_name: str, api_key: str | None = None, **options: Any) -> None:
            super().__init__(model_name, api_key or "none", **options)

    return DashScopeChatModel


def gemini_model(ours: type[Any]) -> type[Any]:
    """Return a model whose signatures stand in the blocks they belong to, not before them."""

    class GeminiChatModel(ours):  # type: ignore[misc]
        async def __call__(self, *args: Any, **options: Any) -> Any:
            answer = await super().__call__(*args, **options)
            return _signed(answer) if isinstance(answer, ChatResponse) else _all_signed(answer)

    return GeminiChatModel


def _signed(response: ChatResponse) -> ChatResponse:
    content: list[Any] = []
    signature: dict[str, Any] = {}
    for block in response.content:
        if isinstance(block, ThinkingBlock) and not block.thinking and "thought_signature" in block.extra:
            signature = {"thought_signature": block.extra["thought_signature"]}
            continue
        content.append({**shape_of(block), **signature} if signature else block)
        signature = {}
    return replace(response, content=content)


async def _all_signed(responses: AsyncIterator[ChatResponse]) -> AsyncIterator[ChatResponse]:
    async for response in responses:
        yield _signed(response)


ADAPTERS: dict[str, Callable[[type[Any]], type[Any]]] = {
    **remote_agents.ADAPTERS,
    "DashScopeChatModel": dashscope_model,
    "InMemoryMemory": memory,
    "GeminiChatModel": gemini_model,
    "Toolkit": toolkit,
    **{
        f"{family}{kind}Formatter": formatter
        for family in ("Anthropic", "DashScope", "Gemini", "OpenAI")
        for kind in ("Chat", "MultiAgent")
    },
}
"""What makes upstream's class of ours, by name."""
