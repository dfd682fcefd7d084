"""Parts for tests of thinking agents: a scripted chat model, a plain formatter, a memory that takes its time."""

from __future__ import annotations

import asyncio
import json
import types
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from realtime.agent import ReActAgent
from realtime.event import reply as r
from realtime.formatter import FormatterBase
from realtime.memory import InMemoryMemory
from realtime.message import Block, Msg, TextBlock, ThinkingBlock, ToolCallBlock, UserMsg
from realtime.model.chat.base import ChatBlock, ChatModelBase, ChatResponse, ChatUsage
from realtime.model.chat.compression import COMPRESSED
from realtime.token import TokenCounterBase
from realtime.tool import Toolkit
from tests.message.reply_grammar import check_replies


@dataclass(frozen=True)
class Request:
    """One call of a chat model."""

    messages: list[dict[str, Any]]
    options: dict[str, Any]

    @property
    def tools(self) -> list[str]:
        return [one["function"]["name"] for one in self.options.get("tools") or ()]

    @property
    def texts(self) -> list[str]:
        """The text of each message."""
        return [message["text"] for message in self.messages]


Answer = Sequence[ChatBlock] | ChatResponse | Exception


class ScriptedChat(ChatModelBase):
    """Gives its answers in order, the last one again and again.

    It streams word by word, each `piece_s` after the one before.
    """

    def __init__(self, *answers: Answer, stream: bool = True, piece_s: float = 0.0) -> None:
        super().__init__("scripted", stream)
        self.answers = [*answers]
        self.piece_s = piece_s
        self.requests: list[Request] = []

    async def __call__(self, *args: Any, **kwargs: Any) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        self.requests.append(Request(args[0], kwargs))
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        whole = answer if isinstance(answer, ChatResponse) else ChatResponse(answer, usage=ChatUsage(10, 5, 0.1))
        return self._pieces(whole) if self.stream else whole

    async def _pieces(self, whole: ChatResponse) -> AsyncGenerator[ChatResponse, None]:
        done: list[ChatBlock] = []
        for block in whole.content:
            for part in _parts(block):
                await asyncio.sleep(self.piece_s)
                yield ChatResponse([*done, part], id=whole.id)
            done.append(block)
        yield ChatResponse(done, id=whole.id, usage=whole.usage, metadata=whole.metadata)


def _parts(block: ChatBlock) -> Iterable[ChatBlock]:
    field = {TextBlock: "text", ThinkingBlock: "thinking", ToolCallBlock: "input"}.get(type(block))
    if field is None:
        yield block
        return
    whole = getattr(block, field)
    for end in [place for place, one in enumerate(whole) if one == " "] + [len(whole)]:
        yield msgspec.structs.replace(block, **{field: whole[:end]})


def say(text: str) -> list[ChatBlock]:
    return [TextBlock(text=text)]


def call(name: str, call_id: str = "call_1", /, **arguments: Any) -> ToolCallBlock:
    return ToolCallBlock(id=call_id, name=name, input=json.dumps(arguments))


class PlainFormatter(FormatterBase):
    """Keeps the messages as they are, with their text beside them."""

    async def format(self, msgs: Sequence[Msg], **kwargs: Any) -> list[dict[str, Any]]:
        return [
            {"role": msg.role, "name": msg.name, "text": msg.get_text_content() or "", "content": [*msg.content]}
            for msg in msgs
        ]


class WordCounter(TokenCounterBase):
    """Counts words."""

    async def count(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None, **kwargs: Any
    ) -> int:
        return sum(len(message["text"].split()) for message in messages)


class SlowMemory(InMemoryMemory):
    """A memory behind a network."""

    async def add(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0.01)
        await super().add(*args, **kwargs)
        await asyncio.sleep(0.01)

    async def get_memory(self, *args: Any, **kwargs: Any) -> list[Msg]:
        await asyncio.sleep(0.01)
        return await super().get_memory(*args, **kwargs)


def react(*answers: Answer, model: ChatModelBase | None = None, **options: Any) -> ReActAgent:
    """A quiet ReActAgent on a scripted chat model."""
    chat = model or ScriptedChat(*answers)
    agent_class = options.pop("agent_class", ReActAgent)
    agent: ReActAgent = agent_class(
        options.pop("name", "Friday"), options.pop("sys_prompt", "Be brief."), chat, PlainFormatter(), **options
    )
    agent.set_console_output_enabled(False)
    return agent


def requests_of(agent: ReActAgent) -> list[Request]:
    assert isinstance(agent.model, ScriptedChat)
    return agent.model.requests


async def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: Its name.
    """
    await asyncio.sleep(0.2)
    return f"{city}: rain"


def weather(**options: Any) -> Toolkit:
    return Toolkit([get_weather], **options)


HELLO = UserMsg("user", "Hello")


async def remembered(agent: ReActAgent) -> list[Msg]:
    return await agent.memory.get_memory(prepend_summary=False)


async def not_compressed(agent: ReActAgent) -> list[Msg]:
    return await agent.memory.get_memory(exclude_mark=COMPRESSED, prepend_summary=False)


async def stream(agent: Any, *args: Any, **kwargs: Any) -> list[r.AgentEvent]:
    """The events of a whole reply, which keep to the grammar."""
    events = [event async for event in agent.reply_stream(*args, **kwargs)]
    check_replies(events)
    return events


def types_of(events: Iterable[r.AgentEvent]) -> list[str]:
    return [event.type for event in events]


def shape(blocks: Iterable[Block]) -> list[str]:
    """The blocks as short texts: type, and what it says."""
    return [f"{block.type}: {_words(block)}" for block in blocks]


def _words(block: Any) -> str:
    match block.type:
        case "tool_call":
            return f"{block.name}({block.input})"
        case "tool_result":
            return f"{block.state} {block.output_text()}"
        case "data":
            return str(block.source.media_type)
        case kind:
            return str(getattr(block, kind))


async def ends_in(seconds: float, work: Coroutine[Any, Any, Any]) -> Any:
    """The result of `work`, which may take at most this long."""
    async with asyncio.timeout(seconds):
        return await work


class Steps:
    """Counts every suspension of the tasks that begin within it, and calls `act` right after the `at`-th."""

    def __init__(self, at: int, act: Callable[[], Any]) -> None:
        self.count = 0
        self._at = at
        self._act = act

    def __enter__(self) -> Steps:
        loop = asyncio.get_running_loop()

        def watched(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
            task = asyncio.Task(self._watched(work), loop=loop, **options)
            # One that is cancelled before its first step would not end what it has not begun.
            task.add_done_callback(lambda _: work.close())
            return task

        loop.set_task_factory(watched)  # type: ignore[arg-type]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().set_task_factory(None)

    async def _watched(self, work: Any) -> Any:
        return await self._driven(work)

    @types.coroutine
    def _driven(self, work: Any) -> Any:
        send, value = work.send, None
        while True:
            try:
                waits_for = send(value)
            except StopIteration as ended:
                return ended.value
            self.count += 1
            if self.count == self._at:
                asyncio.get_running_loop().call_soon(self._act)
            try:
                send, value = work.send, (yield waits_for)
            except BaseException as error:
                send, value = work.throw, error
