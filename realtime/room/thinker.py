"""A thinking agent in a room: the turns that it observes, and the replies that it gives.

It is the language model behind a voice (`realtime.model.local.language_model.LanguageModel`). What the room hears of it
goes the way of all agents; what it hears of the room comes from here, off the audio path.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from realtime.agent.base import AgentBase
from realtime.agent.reply_run import error_text
from realtime.agent.tasks import TimeUp, bounded
from realtime.errors import ProviderError
from realtime.event import reply as r
from realtime.event.base import UsageDetail
from realtime.message import Msg, UserMsg
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyThought, ReplyUsage
from realtime.room.context import RoomContext

logger = logging.getLogger(__name__)

OBSERVE_S = 20.0
"""How long an agent may take to observe one turn."""
INTERRUPT_S = 2.0
"""How long `interrupt` may take; a reply ends a second after it at the latest."""
GRACE_S = 1.0
"""Seconds that cancelled code of an agent has for its end."""
MAX_WAITING = 100
"""Turns that wait until an agent observes them; the oldest are lost."""


@dataclass(slots=True, eq=False)
class _Speech:
    """A reply on its way to the voice."""

    pieces: asyncio.Queue[Reply | ProviderError | None] = field(default_factory=asyncio.Queue)
    """None: it is over."""
    is_wanted: bool = True
    has_words: bool = False
    """Whether there are words of it, wanted or not."""
    running_tools: set[str] = field(default_factory=set)
    _breaks: bool = False
    """Whether the next words begin a sentence, whatever was said before."""
    _input_tokens: int = 0
    _output_tokens: int = 0

    def take(self, event: r.AgentEvent) -> None:
        """Pass on what is spoken or thought; take note of the rest."""
        self.has_words = self.has_words or isinstance(event, r.TextBlockDeltaEvent)
        match event:
            case _ if not self.is_wanted:
                pass
            case r.TextBlockDeltaEvent(delta=words):
                self.pieces.put_nowait(ReplyText(words))
                self._breaks = True
            case r.TextBlockStartEvent() | r.ToolCallStartEvent() if self._breaks:
                # The voice speaks a sentence when it is complete: a tool may take its time.
                self.pieces.put_nowait(ReplyText("\n"))
                self._breaks = False
            case r.ThinkingBlockDeltaEvent(delta=words):
                self.pieces.put_nowait(ReplyThought(words))
            case r.ToolResultStartEvent(tool_call_id=call_id):
                self.running_tools.add(call_id)
            case r.ToolResultEndEvent(tool_call_id=call_id):
                self.running_tools.discard(call_id)
            case r.ModelCallEndEvent(input_tokens=input_tokens, output_tokens=output_tokens):
                self._input_tokens += input_tokens
                self._output_tokens += output_tokens
            case _:
                pass

    def end(self, error: ProviderError | None = None) -> None:
        """End it, perhaps with an error."""
        self.running_tools.clear()
        if error is not None:
            self.pieces.put_nowait(error)
        elif self._input_tokens or self._output_tokens:
            self.pieces.put_nowait(ReplyUsage(self._input_tokens, self._output_tokens, UsageDetail()))
        self.pieces.put_nowait(None)


@dataclass(frozen=True, slots=True)
class _Played:
    """What was heard of a reply."""

    speech: _Speech
    text: str


class Thinker:
    """Lets one thinking agent take part in a room.

    It observes each turn of the others once, in order, and nothing while it replies. An agent whose `reply` needs a
    message, or that does not implement `observe`, gets the latest turn as that message.
    """

    takes_images = False

    def __init__(self, agent: AgentBase) -> None:
        self.agent = agent
        self.lost_turns = 0
        """Turns that it was too slow to observe."""
        self._observes = type(agent).observe is not AgentBase.observe
        self._takes_msg = not self._observes or _needs_argument(agent)
        self._waiting: deque[Msg | _Played] = deque()
        self._last: Msg | None = None
        """The latest turn of another participant."""
        self._is_behind = False
        self._has_failed = False
        self._turn = asyncio.Lock()
        """Held while the agent observes or replies."""
        self._observing: asyncio.Task[None] | None = None
        self._interrupting: asyncio.Task[None] | None = None
        self._speech: _Speech | None = None
        """The reply of this turn; None before the agent is asked for it."""
        self._context: RoomContext | None = None
        self._complain: Callable[[str, str], None] = lambda message, code: None
        self._on_failed: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        """The class of the agent: what pages show as its model."""
        return type(self.agent).__name__

    @property
    def is_at_work(self) -> bool:
        """Whether a tool of its reply runs."""
        return self._speech is not None and bool(self._speech.running_tools)

    def begin(self, context: RoomContext, complain: Callable[[str, str], None], on_failed: Callable[[], None]) -> None:
        """Take part in a room from now on.

        `complain` reports a fault to everyone in it, by a sentence and a code; `on_failed` is called when the agent
        cannot observe any more.
        """
        self._context, self._complain, self._on_failed = context, complain, on_failed
        self._waiting.clear()
        self._is_behind = self._has_failed = False

    # -- what the room tells it ------------------------------------------------------------------------------------

    def hear(self, name: str, text: str) -> None:
        """Let the agent observe a turn of another participant. Returns at once."""
        if text and not self._has_failed:
            self._last = UserMsg(name, text)
            self._put(self._last)

    def played(self, text: str) -> None:
        """Its turn is over, and `text` is what was heard of it: its memory holds nothing else."""
        speech, self._speech = self._speech, None
        if speech is not None:
            self._put(_Played(speech, text))

    def interrupt(self) -> None:
        """End the reply of the agent; it learns of that also when it has said all and is still being heard."""
        if self._speech is not None:
            self._speech.is_wanted = False
        self._interrupting = self._run(self._interrupt(), "is interrupted")

    # -- what the voice asks of it (`LanguageModel`) ---------------------------------------------------------------

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """Yield a reply of the agent; closing this early interrupts it.

        The prompt is not used: the agent has observed the turns. Raises ProviderError where it cannot answer.
        """
        speech = self._speech = _Speech()
        answering = self._run(self._answer(speech), "answers")
        if answering is None:
            return
        try:
            while (piece := await speech.pieces.get()) is not None:
                if isinstance(piece, ProviderError):
                    raise piece
                yield piece
        finally:
            if speech.is_wanted and not answering.done():
                speech.is_wanted = False
                self._interrupting = self._run(self._interrupt(), "is interrupted")

    # -- inside ----------------------------------------------------------------------------------------------------

    def _put(self, one: Msg | _Played) -> None:
        self._waiting.append(one)
        if len(self._waiting) > MAX_WAITING:
            self._waiting.remove(next(turn for turn in self._waiting if isinstance(turn, Msg)))
            self.lost_turns += 1
            if not self._is_behind:
                self._is_behind = True
                logger.warning("%s observes too slowly: turns are lost", self.name)
                self._complain(f"{self.agent.name} is too slow to follow: it misses turns", "observer_behind")
        if self._observing is None or self._observing.done():
            self._observing = self._run(self._observe_waiting(), "observes")

    async def _observe_waiting(self) -> None:
        async with self._turn:
            await self._catch_up()

    async def _catch_up(self) -> None:
        """Hand over what waits, except a turn that `reply` may be given."""
        while (one := self._next()) is not None:
            try:
                await bounded(self._take(one), OBSERVE_S, grace_s=GRACE_S)
            except TimeUp:
                self._fail(f"it took longer than {OBSERVE_S:.0f} s to observe a turn")
            except Exception as error:
                logger.exception("%s cannot observe", self.name)
                self._fail(f"observing a turn failed: {error_text(error)}")
        self._is_behind = False

    def _next(self) -> Msg | _Played | None:
        is_kept = self._takes_msg and len(self._waiting) == 1 and isinstance(self._waiting[0], Msg)
        return self._waiting.popleft() if self._waiting and not is_kept else None

    async def _take(self, one: Msg | _Played) -> None:
        if isinstance(one, _Played):
            truncate = getattr(self.agent, "truncate_last_reply", None)
            if truncate is not None and one.speech.has_words:
                await truncate(one.text)
        elif self._observes:
            await self.agent.observe(one)

    def _fail(self, why: str) -> None:
        self._has_failed = True
        self._waiting.clear()
        self._complain(f"{self.agent.name} leaves the room: {why}", "observer_failed")
        self._on_failed()

    async def _answer(self, speech: _Speech) -> None:
        error: ProviderError | None = None
        try:
            async with self._turn:
                await self._catch_up()
                if self._interrupting is not None:
                    # It is about the reply before this one.
                    await asyncio.wait({self._interrupting})
                if speech.is_wanted and not self._has_failed:
                    await self._reply(speech)
        except Exception as failure:
            logger.exception("%s cannot answer", self.name)
            sentence = f"{self.agent.name} cannot answer: {error_text(failure)}"
            error = ProviderError(sentence, code="agent_failed")
        finally:
            speech.end(error)

    async def _reply(self, speech: _Speech) -> None:
        self._waiting.clear()  # All but the turn that it gets here is observed.
        given = [self._last] if self._takes_msg and self._last is not None else []
        async with aclosing(self.agent.reply_stream(*given)) as events:
            async for event in events:
                speech.take(event)
                if not speech.is_wanted:
                    # It may have been interrupted before its task began.
                    await self.agent.interrupt()

    async def _interrupt(self) -> None:
        try:
            await bounded(self.agent.interrupt(), INTERRUPT_S, grace_s=GRACE_S)
        except Exception:
            logger.exception("%s cannot be interrupted", self.name)

    def _run(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None] | None:
        """Run a task of the room; None where that is over."""
        if self._context is None or self._context.is_over:
            work.close()
            return None
        return self._context.run(work, f"{self.agent.name} {what}")


def _needs_argument(agent: AgentBase) -> bool:
    try:
        inspect.signature(agent.reply).bind()
    except TypeError:
        return True
    return False
