"""A typed conversation with the keyless model and the built-in tools, without speech and without a server."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import UTC
from typing import Any

from realtime.event.base import ContentPart, Item
from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.keyless.product import Product
from realtime.model.local.keyless.skills import make_skills
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall

THURSDAY_NOON_S = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def message(role: Any, text: str) -> Item:
    return Item(id=f"{role}-{text}", role=role, content=(ContentPart(type="text", text=text),))


def said(replies: list[Reply]) -> str:
    return " ".join(reply.text for reply in replies if isinstance(reply, ReplyText))


def called(replies: list[Reply]) -> list[tuple[str, dict[str, Any]]]:
    return [(reply.name, json.loads(reply.arguments)) for reply in replies if isinstance(reply, ReplyToolCall)]


class Chat:
    """The built-in agent's words by default; with `instructions` and no tools, those of an agent of one's own."""

    def __init__(
        self,
        instructions: str = "",
        *,
        product: Product | None = None,
        tools: bool = True,
        agent_name: str = "Heart",
        seed: str = "",
    ) -> None:
        self.instructions, self.product, self.agent_name, self.seed = instructions, product, agent_name, seed
        self.timers: list[float] = []
        made = make_skills(lambda: THURSDAY_NOON_S, zone=UTC, on_timer=self.timers.append) if tools else []
        self.tools: dict[str, Callable[..., Any]] = {tool.__name__: tool for tool in made}
        self.history: list[Item] = []
        self.called: list[str] = []

    def _add(self, role: Any, text: str) -> None:
        item_id = f"item{self.seed}_{len(self.history)}"
        self.history.append(Item(id=item_id, role=role, content=(ContentPart(type="text", text=text),)))

    def greet(self) -> str:
        """The agent begins."""
        return self._respond()

    def ask(self, text: str) -> str:
        """The answer to a turn, tools included."""
        self._add("user", text)
        return self._respond()

    def _respond(self) -> str:
        told: list[str] = []
        declared = tuple(ToolDeclaration(name=name) for name in self.tools)
        while True:
            prompt = Prompt(self.instructions, list(self.history), declared, agent_name=self.agent_name)
            replies = respond_to(prompt, self.product)
            text = said(replies)
            calls = [reply for reply in replies if isinstance(reply, ReplyToolCall)]
            if text:
                self._add("assistant", text)
                told.append(text)
            if not calls:
                return " ".join(told)
            self._run(calls)

    def _run(self, calls: list[ReplyToolCall]) -> None:
        results: list[Item] = []
        for call in calls:
            self.called.append(call.name)
            arguments = json.loads(call.arguments)
            assert arguments.keys() == inspect.signature(self.tools[call.name]).parameters.keys()
            call_id = f"call{self.seed}_{len(self.history)}"
            block = ToolCallBlock(id=call_id, name=call.name, input=call.arguments)
            self.history.append(Item(id=f"i{call_id}", type="tool_call", tool_call=block))
            output = self.tools[call.name](**arguments)
            result = ToolResultBlock(id=call_id, name=call.name, output=output, state="success")
            results.append(Item(id=f"r{call_id}", type="tool_result", tool_result=result))
        self.history += results
