"""`Delegate`: a thinking agent behind a voice, as a tool of a `RealtimeAgent`."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec

from realtime.agent.base import AgentBase
from realtime.agent.claims import CallDeeds
from realtime.agent.reply_run import error_text
from realtime.agent.sampling import sampler_of_agent
from realtime.agent.tasks import bounded, end_task
from realtime.errors import RealtimeError, ToolError, UsageError
from realtime.event import reply as r
from realtime.message import Msg, TextBlock, ToolResultState
from realtime.message.speakers import spoken_by
from realtime.options import checked
from realtime.tool.background import Announce
from realtime.tool.context import ToolContext, ToolScope, current_scope
from realtime.tool.registered import ToolObject, ToolOptions
from realtime.tool.response import ToolResponse

logger = logging.getLogger(__name__)

Interrupt = Literal["on_request", "with_reply"]
"""What ends a delegate in the background: a request to stop it, or also an interruption of the voice's reply."""
AgentFactory = Callable[[], AgentBase | Awaitable[AgentBase]]
"""Makes the agent of one call, when it is first asked there."""

TIMEOUT_S = 600.0
"""How long an answer may take, unless the delegate says otherwise."""
INTERRUPT_S = 0.2
"""Seconds that an agent's own `interrupt` may take."""
STOP_S = 0.3
"""Seconds that an interrupted reply has for its end."""
MAX_PIECE_CHARS = 200
"""Words are passed on by sentences, or so many characters at once."""
BUSY = "agent_replying"
"""The code of the error of an agent that gives another reply."""

Query = Annotated[
    str,
    msgspec.Meta(description="The question or the task in full, with all that is needed to answer it."),
]


@dataclass(eq=False, slots=True)
class _CallAgent:
    """A delegate's agent in one call."""

    agent: AgentBase | None
    making: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the agent is made."""
    told: set[str] = field(default_factory=set)
    """Ids of the messages of the call that the agent was given."""


class CallAgents:
    """The agents of all delegates in one call: a state of its tools (see `ToolContext`)."""

    def __init__(self) -> None:
        self.of: dict[Delegate, _CallAgent] = {}


class Delegate(ToolObject):
    """A thinking agent that a voice asks: a tool with one argument, `query`. Put it into the agent's toolkit.

    `agent` answers in all calls and for all delegates, one question after the other, and remembers them all. A function
    that makes agents gives each call one of its own; it has a second for `aclose` when the call is over. `name` and
    `description` are what the voice's model reads of the tool.

    `background`: the model hears at once that the agent is at work, and talks on; with `announce="spoken"` it tells the
    answer in the next silence, with `"silently"` it only knows it. An interruption of the voice's reply ends a delegate
    in the foreground, in the background only with `interrupt="with_reply"`; stopping the tool and the end of the call
    always do. `context`: the agent observes what was heard in the call, each message once. `timeout_s`: seconds for an
    answer, with the wait for the agent's turn; a tool in the foreground has no more than the voice gives its tools.
    Raises TypeError for anything but an agent or a function.
    """

    @checked(above_0=("timeout_s", "tool_timeout_s"))
    def __init__(
        self,
        agent: AgentBase | AgentFactory,
        name: str,
        description: str,
        background: bool = True,
        *,
        announce: Announce = "spoken",
        interrupt: Interrupt = "on_request",
        context: bool = True,
        timeout_s: float | None = TIMEOUT_S,
        tool_timeout_s: float | None = None,
    ) -> None:
        given: object = agent
        is_factory = callable(given) and (isinstance(given, type) or not hasattr(given, "reply_stream"))
        if not (isinstance(given, AgentBase) or is_factory):
            raise TypeError(
                f"agent is a {type(agent).__name__}: give a thinking agent, such as a ReActAgent, or a function that "
                "makes one"
            )
        self.tool_name = name
        self.tool_options = ToolOptions(
            description=description,
            background=background,
            announce=announce,
            stops_with_reply=not background or interrupt == "with_reply",
        )
        self.timeout_s = timeout_s
        self.tool_timeout_s = tool_timeout_s
        self._agent = agent if isinstance(agent, AgentBase) else None
        self._make = None if isinstance(agent, AgentBase) else agent
        self._observes = context

    async def __call__(
        self, query: Query, context: ToolContext[CallAgents]
    ) -> AsyncGenerator[str | ToolResponse, None]:
        """Answer as a tool does: the words as they come, or what went wrong as a result with state `error`."""
        said: list[str] = []
        try:
            async with aclosing(self.ask(query, context)) as words:
                async for piece in words:
                    said.append(piece)
                    yield piece
        except ToolError as error:
            texts = [text for text in ("".join(said), error.message) if text]
            yield ToolResponse([TextBlock(text=text) for text in texts], state=ToolResultState.ERROR)

    async def ask(self, query: str, context: ToolContext[CallAgents]) -> AsyncGenerator[str, None]:
        """Ask the agent; yield the words of its answer as they come, and report its tool calls to `context`.

        This is the port for whatever asks: a tool call, or a delegation that is part of a client's protocol. Closing or
        cancelling ends the reply with `interrupt`. Raises ToolError with a sentence that a voice can tell.
        """
        loop = asyncio.get_running_loop()
        deadline = None if self.timeout_s is None else loop.time() + self.timeout_s
        own = self._own(context)
        errand = _Errand(self.tool_name, context)
        work = loop.create_task(
            self._work(errand, query, own), name=f"delegate {self.tool_name} {context.tool_call_id}"
        )
        work.add_done_callback(lambda _: errand.news.put_nowait(None))
        try:
            while (news := await errand.next_news(deadline)) is not None:
                if isinstance(news, _ToolCall):
                    context.progress(f"uses {news.name}")
                else:
                    yield news
            self._check(work, errand)
        except TimeoutError:
            raise self._late(errand) from None
        finally:
            await errand.stop(work)

    @property
    def toolkit(self) -> object:
        """The toolkit of the agent in all calls; None where each call makes its own, or it has none."""
        return getattr(self._agent, "toolkit", None)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _own(self, context: ToolContext[CallAgents]) -> _CallAgent:
        agents = context.state.of
        if self not in agents:
            agents[self] = _CallAgent(self._agent)
        return agents[self]

    async def _work(self, errand: _Errand, query: str, own: _CallAgent) -> None:
        """Wait for the agent's turn, then let it answer."""
        context = errand.context
        async with own.making:
            errand.has_turn = True
            agent = own.agent or await self._new_agent(own, context)
        if agent.questions.locked():
            errand.has_turn = False
            context.progress(f"{self.tool_name} answers another question first")
        async with agent.questions:
            errand.has_turn = True
            if self._observes:
                await self._tell_heard(agent, own, context)
            scope = current_scope() or ToolScope()
            scope = replace(scope, sample=sampler_of_agent(agent) or scope.sample)
            if self.tool_timeout_s is not None:
                scope = replace(scope, tool_timeout_s=self.tool_timeout_s)
            with scope.in_force():
                await errand.run(agent, Msg(context.agent_name or "user", query, "user"))

    async def _new_agent(self, own: _CallAgent, context: ToolContext[CallAgents]) -> AgentBase:
        made: Any = self._make() if self._make is not None else None
        if isinstance(made, Awaitable):
            made = await made
        if not isinstance(made, AgentBase):
            raise UsageError(f"the function of delegate {self.tool_name!r} made a {type(made).__name__}, no agent")
        own.agent = made
        scope = current_scope()
        if scope is not None:
            scope.state_of(CallDeeds).add_toolkit(getattr(made, "toolkit", None))
        if (close := getattr(made, "aclose", None)) is not None:
            context.at_end(close)
        return made

    async def _tell_heard(self, agent: AgentBase, own: _CallAgent, context: ToolContext[CallAgents]) -> None:
        """Let the agent observe what it does not know of the call."""
        news = [msg for msg in context.heard() if msg.id not in own.told]
        if not news:
            return
        try:
            await agent.observe(
                [Msg(msg.name, spoken_by(msg.name, msg.get_text_content() or ""), "user") for msg in news]
            )
        except NotImplementedError:
            logger.debug("the agent of delegate %s does not observe", self.tool_name)
        own.told.update(msg.id for msg in news)

    def _check(self, work: asyncio.Task[None], errand: _Errand) -> None:
        """Raise ToolError unless the agent has answered."""
        if work.cancelled() or errand.is_interrupted:
            raise ToolError(f"{self.tool_name} was interrupted before it had answered", code="delegate_interrupted")
        error = work.exception()
        if error is not None:
            raise self._failure(error, errand)
        if not errand.has_words:
            raise ToolError(f"{self.tool_name} gave no answer", code="delegate_failed")

    def _failure(self, error: BaseException, errand: _Errand) -> ToolError:
        # The place, not the message: that may quote what was said.
        place = "".join(traceback.format_tb(error.__traceback__))
        call_id = errand.context.tool_call_id
        logger.warning("delegate %s (call %s): %s\n%s", self.tool_name, call_id, type(error).__name__, place)
        if isinstance(error, RealtimeError):
            if error.code == BUSY:
                return ToolError(f"{self.tool_name} is busy now: ask again in a moment", code="delegate_busy")
            return ToolError(f"{self.tool_name} cannot answer: {error.message}", code="delegate_failed")
        return ToolError(
            f"{self.tool_name} cannot answer: its program failed ({error_text(error)})", code="delegate_failed"
        )

    def _late(self, errand: _Errand) -> ToolError:
        limit = f"{self.timeout_s or 0:g} s"
        if not errand.has_turn:
            return ToolError(f"{self.tool_name} was busy with other questions for {limit}", code="delegate_busy")
        return ToolError(f"{self.tool_name} did not answer within {limit}", code="delegate_timeout")

    def __repr__(self) -> str:
        return f"Delegate(name={self.tool_name!r}, background={self.tool_options.background})"


@dataclass(frozen=True, slots=True)
class _ToolCall:
    """The agent calls a tool."""

    name: str


class _Errand:
    """One question on its way to the agent and back. `news` gets words and tool calls, and None behind the last."""

    def __init__(self, name: str, context: ToolContext[CallAgents]) -> None:
        self.context = context
        self.news: asyncio.Queue[str | _ToolCall | None] = asyncio.Queue()
        self.has_turn = False
        """Whether the agent works for it, and for no other question."""
        self.has_words = False
        self.is_interrupted = False
        self.agent: AgentBase | None = None
        """The agent, from the moment in which it is asked."""
        self._name = name
        self._open = ""
        """Words that do not make a sentence yet."""

    async def next_news(self, deadline: float | None) -> str | _ToolCall | None:
        """Return the next words or tool call; None after the last. Raises TimeoutError at the deadline."""
        async with asyncio.timeout_at(deadline):
            return await self.news.get()

    async def run(self, agent: AgentBase, question: Msg) -> None:
        """Let the agent answer the question; raises what its reply raises."""
        if agent.is_replying:
            # Elsewhere: that reply is not ours to interrupt.
            raise UsageError(f"{agent.name} gives another reply now", code=BUSY)
        self.agent = agent
        async with aclosing(agent.reply_stream(question)) as events:
            async for event in events:
                self._take(event)
        self._pass_on(len(self._open))

    async def stop(self, work: asyncio.Task[None]) -> None:
        """End the work, if it has not ended: the agent is interrupted, and cancelled if that does not help."""
        if not work.done() and self.agent is not None:
            try:
                await bounded(self.agent.interrupt(), INTERRUPT_S, grace_s=0.0)
                await asyncio.wait([work], timeout=STOP_S)
            except Exception as error:
                # The agent's own `interrupt`: whatever it does, the reply ends.
                logger.warning("delegate %s: its `interrupt` failed: %s", self._name, type(error).__name__)
        await end_task(work, STOP_S)

    def _take(self, event: r.AgentEvent) -> None:
        match event:
            case r.TextBlockStartEvent() if self.has_words:
                self._open += "\n"
            case r.TextBlockDeltaEvent(delta=delta):
                self._open += delta
                self._pass_on(_sentences_end(self._open))
            case r.TextBlockEndEvent():
                self._pass_on(len(self._open))
            case r.ToolCallStartEvent(tool_call_name=tool_name):
                self.news.put_nowait(_ToolCall(tool_name))
            case r.ReplyEndEvent(finished_reason="interrupted"):
                self.is_interrupted = True
            case _:
                pass

    def _pass_on(self, end: int) -> None:
        """Pass on the words up to this place, unless they are blank."""
        words = self._open[:end]
        if words.strip():
            self.has_words = True
            self.news.put_nowait(words)
            self._open = self._open[end:]


def _sentences_end(text: str) -> int:
    """Return where the last whole sentence ends; a text that is too long ends where it does."""
    if len(text) >= MAX_PIECE_CHARS:
        return len(text)
    return max((match.end() for match in _SENTENCE_END.finditer(text)), default=0)


_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？\n]")
