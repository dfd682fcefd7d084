"""A chat model in one call, whose older part becomes a summary. No turn waits for it; the call keeps its transcript."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from realtime.event.base import Item
from realtime.formatter import FormatterBase
from realtime.memory import InMemoryMemory
from realtime.message import AssistantMsg, Block, Msg, SystemMsg, UserMsg
from realtime.model.chat.base import ChatModelBase
from realtime.model.chat.compression import COMPRESSED, Backoff, CompressionConfig, Compressor, replace_memory
from realtime.model.local.language_model import LanguageModel, Prompt, Reply
from realtime.model.local.messages import ASSISTANT, USER, user_blocks

CLOSE_S = 1.0
"""Seconds that a summary has for its end when the call ends."""


class CompressedChat:
    """Shortens the prompts of one call by a summary of older items.

    `model` writes it between the turns. It follows the instructions. Each item of the call counts as a message.
    """

    may_draft = True

    def __init__(
        self,
        language_model: LanguageModel,
        config: CompressionConfig,
        model: ChatModelBase,
        formatter: FormatterBase,
    ) -> None:
        self._language_model = language_model
        self._config = config
        self._model = model
        self._formatter = formatter
        self._memory = InMemoryMemory()
        """The conversation as messages, with what is compressed and the summary."""
        self._backoff = Backoff()
        self._summary = ""
        self._left_out: frozenset[str] = frozenset()
        """Items that the summary stands for."""
        self._task: asyncio.Task[None] | None = None

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """Yield what the language model says to the shortened prompt; compress afterwards, if that is due."""
        try:
            async with aclosing(self._language_model.respond(self._shortened(prompt))) as replies:
                async for reply in replies:
                    yield reply
        finally:
            if not prompt.is_beside and self._config.enable and (self._task is None or self._task.done()):
                self._task = asyncio.get_running_loop().create_task(
                    self._compress(prompt), name="compression of a call"
                )

    def interrupt(self) -> None:
        """Do nothing: between two responses only the summary is written."""

    async def close(self, history: Sequence[Item]) -> None:
        """Give up the summary that is being written."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_S)

    def _shortened(self, prompt: Prompt) -> Prompt:
        of_call = not prompt.is_beside or any(item.id in self._left_out for item in prompt.history)
        if not of_call or not (self._summary or self._left_out):
            return prompt
        left_out = {item.id for item in prompt.history if item.id in self._left_out}
        calls = {item.tool_call.id for item in prompt.history if item.tool_call and item.id in left_out}
        history = [
            item
            for item in prompt.history
            if item.id not in left_out and not (item.tool_result and item.tool_result.id in calls)
        ]
        instructions = "\n\n".join(text for text in (prompt.instructions, self._summary) if text)
        return replace(prompt, history=history, instructions=instructions)

    async def _compress(self, prompt: Prompt) -> None:
        memory = self._memory
        await replace_memory(memory, await memory.get_memory(prepend_summary=False), _messages(prompt))
        head = [SystemMsg("system", prompt.instructions)] if prompt.instructions else []
        await Compressor(self._config, memory, head, self._model, self._formatter, self._backoff).compress()
        everything = await memory.get_memory()
        compressed = await memory.get_memory(mark=COMPRESSED, prepend_summary=False)
        self._left_out = frozenset(msg.id for msg in compressed)
        if len(everything) > await memory.size():
            self._summary = everything[0].get_text_content() or ""


def _messages(prompt: Prompt) -> list[Msg]:
    """Return a message for each item; a tool call holds its result."""
    results = {item.tool_result.id: item.tool_result for item in prompt.history if item.tool_result is not None}
    named = len({item.name for item in prompt.history if item.role == "user" and item.name}) > 1
    messages: list[Msg] = []
    for item in prompt.history:
        if item.tool_call is not None:
            blocks: list[Block] = [item.tool_call]
            if (result := results.get(item.tool_call.id)) is not None:
                blocks.append(result)
            messages.append(AssistantMsg(prompt.agent_name or ASSISTANT, blocks, id=item.id))
        elif item.type != "message":
            continue
        elif item.role in ("assistant", "system"):
            name = prompt.agent_name or ASSISTANT if item.role == "assistant" else "system"
            messages += [Msg(name, item.text, item.role, id=item.id)] if item.text else []
        elif parts := user_blocks(item, named=named, takes_images=False):
            messages.append(UserMsg(item.name or USER, parts, id=item.id))
    return messages
