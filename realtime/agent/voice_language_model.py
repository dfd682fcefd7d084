"""A thinking agent as the language model of the cascade.

The call's conversation and the agent's memory are two records of one thing. The conversation is the truth: it holds
what was heard. Before each reply the memory is brought in line with it (`realtime.agent.call_memory`), so a reply that
was cut, a turn that was withdrawn and a call that was restored need nothing of their own.

A reply of the agent may span several responses of the call: it pauses in each round of tools, as any model does that
calls tools, and goes on when the call asks for what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Protocol

from realtime.agent.call_memory import CallMemory
from realtime.agent.claims import CallDeeds
from realtime.agent.from_call import FromCall
from realtime.agent.reply_run import Listener
from realtime.agent.tasks import end_task, to_its_end
from realtime.agent.voice_reply import VoiceReply, decider_of
from realtime.errors import ProviderError, UsageError
from realtime.event.base import Item
from realtime.formatter import FormatterBase
from realtime.memory import MemoryBase
from realtime.message import Block, Msg, UserMsg
from realtime.model.chat.answer import has_words
from realtime.model.chat.base import ChatModelBase
from realtime.model.chat.compression import replace_memory
from realtime.model.chat.failures import empty_answer
from realtime.model.local.chat import FormattedLanguageModel
from realtime.model.local.chat_messages import LISTENING, after_own_words
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.model.local.messages import USER
from realtime.tool import Toolkit
from realtime.tool.context import ToolScope, current_scope

Undo = Callable[[], Awaitable[None]]

INTERRUPTED_S = 2.0
"""Seconds that an interrupted agent has for `handle_interrupt` before it is stopped."""
STOPPED_S = 2.0
"""Seconds that it has for its end after that."""
MEMORY_S = 2.0
"""Seconds that a memory has to be rewritten where that is cancelled."""


class SpokenAgent(Protocol):
    """What an agent is to a voice call: any AgentBase, which has these (this file lies below it).

    Of its own it may have a `memory` (MemoryBase), a `toolkit` (Toolkit), a `model` (ChatModelBase) and the `formatter`
    (FormatterBase) for it, as a ReActAgent has.
    """

    name: str
    voice_call: object | None
    from_call: FromCall | None

    @property
    def is_replying(self) -> bool:
        """See `AgentBase.is_replying`."""
        ...

    @property
    def may_draft(self) -> bool:
        """See `AgentBase.may_draft`."""
        ...

    async def checkpoint(self) -> Undo:
        """See `AgentBase.checkpoint`."""
        ...

    def begin_reply(self, listener: Listener, /, *args: Any, **kwargs: Any) -> asyncio.Task[Msg]:
        """See `AgentBase.begin_reply`."""
        ...

    async def interrupt(self) -> None:
        """See `AgentBase.interrupt`."""
        ...

    async def aclose(self) -> None:
        """See `AgentBase.aclose`."""
        ...


class AgentLanguageModel:
    """An agent as the language model of one call at a time.

    Text of the agent is spoken as it comes, thinking is never spoken. Its tools run within it; the call shows them,
    asks for consent to them and has its hooks around them, as for those of the RealtimeAgent. An interruption is
    `interrupt`, and the memory keeps the words that were heard.

    A ReActAgent also gets the instructions of the RealtimeAgent, after its own, and may use its tools and those of
    the client; the call runs these, with the user's consent where they need it. Other agents get the messages alone. An
    agent that does not keep its conversation in a `memory` gets what is new, and nothing of it is cut. Settings of
    the call for the model (temperature, tool choice, limits) do not reach an agent.

    A reply may begin in a pause that is not yet known to end the turn, if the agent `may_draft`. What is dropped leaves
    no trace in the memory, and until it is decided only tools run that are `read_only`. What the agent runs in the
    background is a background tool of the call: its result comes when the floor is free, and it ends with the call.
    """

    def __init__(self, agent: SpokenAgent, *, takes_images: bool = False) -> None:
        self._agent = agent
        self.takes_images = takes_images

    @property
    def name(self) -> str:
        """The names of the agent and its chat model."""
        model = self.chat_model
        return f"{self._agent.name} on {model.model_name}" if model is not None else self._agent.name

    @property
    def chat_model(self) -> ChatModelBase | None:
        """The agent's own, if it has one."""
        model = getattr(self._agent, "model", None)
        return model if isinstance(model, ChatModelBase) else None

    def for_call(self) -> AgentInCall:
        """Return the agent in one call. Raises UsageError while it is in another one."""
        if self._agent.voice_call is not None:
            raise UsageError(
                f"{self._agent.name} is in another call: an agent has one memory and serves one call at a time; give "
                "LocalRealtimeModel a function that makes an agent for each call",
                code="agent_in_call",
            )
        call = self._agent.voice_call = AgentInCall(self._agent, takes_images=self.takes_images)
        return call


class AgentInCall:
    """An agent in one call. Made by `AgentLanguageModel.for_call`, inside the scope of the call's tools."""

    def __init__(self, agent: SpokenAgent, *, takes_images: bool) -> None:
        self._agent = agent
        self._memory = CallMemory(agent.name, takes_images=takes_images)
        self._takes_images = takes_images
        # The hints of the call tell the agent of its background tools.
        self._scope = replace(current_scope() or ToolScope(agent_name=agent.name), speaker=agent)
        self._scope.state_of(CallDeeds).add_toolkit(getattr(agent, "toolkit", None))
        self._beginning = asyncio.Lock()
        self._reply: VoiceReply | None = None
        """The latest reply, until what follows it begins."""
        self._endings: set[asyncio.Task[None]] = set()
        self._given: set[str] = set()
        """The turns of users that the latest reply knows."""
        self._call_ids: set[str] = set()
        """Ids of the tool calls in this call."""
        self._has_replied = False
        self._remembers_users = False
        """Whether the memory has words of a user."""
        self._closed = False

    @property
    def may_draft(self) -> bool:
        """Whether the agent can give a reply that may be dropped: not while another one waits for its tools."""
        reply = self._reply
        return self._agent.may_draft and (reply is None or (reply.is_over and not reply.pauses))

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """Yield the agent's reply, up to its next round of tools.

        The next prompt, with their results, gets the rest. Closing it early interrupts the agent. Raises what the agent
        raises, UsageError where it gives another reply, and ProviderError for text without words, and for a response
        beside the conversation of an agent that has no chat model.
        """
        if prompt.is_beside:
            async with aclosing(self._language_model().respond(prompt)) as replies:
                async for piece in replies:
                    yield piece
            return
        async with self._beginning:
            reply = self._waiting_for(prompt)
            if reply is None:
                await self._end_latest()
                reply = await self._begin(prompt)
        is_whole = has_text = speaks = False
        try:
            async for piece in reply.pieces():
                if isinstance(piece, ReplyText):
                    has_text, speaks = True, speaks or has_words(piece.text)
                yield piece
            is_whole = True
        finally:
            if not is_whole:
                self._end(reply)
        if has_text and not (speaks or reply.pauses):
            raise empty_answer(self._agent.name)

    def interrupt(self) -> None:
        """Interrupt the reply whose tools run."""
        if self._reply is not None and not self._reply.is_over:
            self._end(self._reply)

    async def close(self, history: Sequence[Item]) -> None:
        """End the reply, and what the agent runs in the background; the agent is free for another call.

        It remembers the call as it ended.
        """
        if self._closed:
            return
        self._closed = True
        try:
            async with self._beginning:
                await self._end_latest()
                if self._has_replied and not self._agent.is_replying:
                    await self._bring_in_line(history, is_over=True)
            await self._agent.aclose()
        finally:
            self._agent.voice_call = None

    # -- the beginning of a reply --------------------------------------------------------------------------------------

    def _waiting_for(self, prompt: Prompt) -> VoiceReply | None:
        """Return the reply that the prompt lets go on after its tools; None if it asks for another one."""
        reply = self._reply
        if reply is None or not reply.pauses or not _turns(prompt.history) <= self._given:
            return None
        return reply if reply.take_results(prompt.history) else None

    async def _begin(self, prompt: Prompt) -> VoiceReply:
        agent = self._agent
        if agent.is_replying:
            raise UsageError(f"{agent.name} gives a reply outside of this call now", code="agent_replying")
        asked = await self._bring_in_line(prompt.history)
        self._has_replied = True
        undo = None if prompt.kept is None else await agent.checkpoint()
        self._given = _turns(prompt.history)
        self._call_ids |= {item.tool_call.id for item in prompt.history if item.tool_call is not None}
        toolkit = getattr(agent, "toolkit", None)
        own_tools: Container[str] = toolkit if isinstance(toolkit, Toolkit) else ()
        foreign = {tool.name for tool in prompt.tools if tool.name not in own_tools}
        reply = VoiceReply(
            self._scope,
            prompt.kept,
            undo,
            call_ids=self._call_ids,
            foreign=foreign,
            decide=decider_of(agent, self._scope),
        )
        self._reply = reply
        added = agent.from_call = FromCall(prompt.instructions.strip(), prompt.tools, reply.run_in_call)
        with reply.scope.in_force():
            task = agent.begin_reply(reply.take, asked)
        reply.begin(task)
        task.add_done_callback(lambda _: self._forget(added))
        if prompt.kept is not None:
            prompt.kept.add_done_callback(lambda kept: self._decided(reply, kept))
        return reply

    def _forget(self, added: FromCall) -> None:
        if self._agent.from_call is added:
            self._agent.from_call = None

    async def _bring_in_line(self, history: Sequence[Item], *, is_over: bool = False) -> Msg | None:
        """Let the memory hold what the history has; return what the reply answers.

        That is put in again by the reply to it; unless the call `is_over`, the memory does not hold it. It is always
        one message: a reply as AgentScope's documents write it takes no list. What else has no answer stands before it.
        """
        memory = getattr(self._agent, "memory", None)
        messages = await memory.get_memory(prepend_summary=False) if isinstance(memory, MemoryBase) else []
        remembered, asked = self._memory.in_line(messages, history)
        self._remembers_users = any(msg.role == "user" for msg in remembered)
        if not is_over:
            asked = self._question(asked, history)
        last = asked[-1] if asked else None
        if isinstance(memory, MemoryBase):
            wanted = [*remembered, *(asked if is_over else asked[:-1])]
            await to_its_end(replace_memory(memory, messages, wanted), MEMORY_S)
        elif last is not None and len(asked) > 1:
            blocks: list[Block] = [block for msg in asked for block in msg.content]
            speaker = next((msg.name for msg in reversed(asked) if msg.role == "user"), last.name)
            last = UserMsg(speaker, blocks, id=last.id)
        return last

    def _question(self, asked: list[Msg], history: Sequence[Item]) -> list[Msg]:
        """Return what has no answer, with words of a user; an agent with a chat model goes on after tools without."""
        goes_on = _is_tool(history) and (asked or isinstance(getattr(self._agent, "model", None), ChatModelBase))
        if goes_on or any(msg.role == "user" for msg in asked):
            return asked
        return [*asked, UserMsg(USER, after_own_words(history) if self._remembers_users else LISTENING)]

    def _language_model(self) -> FormattedLanguageModel:
        """Return the agent's chat model, for responses beside the conversation. Raises ProviderError without one."""
        model, formatter = getattr(self._agent, "model", None), getattr(self._agent, "formatter", None)
        if not (isinstance(model, ChatModelBase) and isinstance(formatter, FormatterBase)):
            raise ProviderError(
                f"{self._agent.name} is an agent without a chat model: it answers in the conversation only",
                code="unsupported_response",
            )
        return FormattedLanguageModel(model, formatter, takes_images=self._takes_images)

    # -- its end -------------------------------------------------------------------------------------------------------

    def _decided(self, reply: VoiceReply, kept: asyncio.Future[bool]) -> None:
        if kept.cancelled() or not kept.result():
            self._end(reply)

    def _end(self, reply: VoiceReply) -> None:
        """Let the reply come to its end, now or soon."""
        reply.pauses = False
        if reply.ending is None:
            reply.ending = asyncio.get_running_loop().create_task(
                self._ended(reply), name=f"end of a reply of {self._agent.name}"
            )
            self._endings.add(reply.ending)
            reply.ending.add_done_callback(self._endings.discard)

    async def _end_latest(self) -> None:
        reply, self._reply = self._reply, None
        if reply is not None and not (reply.is_over and reply.counts):
            self._end(reply)
        if self._endings:
            await asyncio.wait({*self._endings})

    async def _ended(self, reply: VoiceReply) -> None:
        """Interrupt the agent if it still replies; undo what does not count."""
        task = reply.task
        if task is not None:
            if self._agent.is_replying:
                await self._agent.interrupt()
            else:
                task.cancel()
            await asyncio.wait({task}, timeout=INTERRUPTED_S)
            await end_task(task, STOPPED_S)
        if not reply.counts:
            await reply.undo()


def _turns(history: Sequence[Item]) -> set[str]:
    """Return the items with words of users; pictures and noises are no turns."""
    return {item.id for item in history if item.text and item.role not in ("assistant", "system")}


def _is_tool(history: Sequence[Item]) -> bool:
    """Whether the agent goes on after tools."""
    return bool(history) and history[-1].type in ("tool_call", "tool_result")
