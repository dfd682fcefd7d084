"""A thinking agent in a room: the turns that it observes, and the replies that it gives.

It is the language model behind a voice. What the room hears of it goes the way of all agents; what it hears of the room
comes from here, off the audio path. So the prompts of its voice are not used: they lack names, and what no one asked.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from realtime.agent.base import AgentBase
from realtime.agent.from_call import FromCall
from realtime.agent.reply_run import error_text
from realtime.agent.tasks import TimeUp, bounded, end_task, to_its_end
from realtime.agent.voice_reply import VoiceReply, decider_of
from realtime.errors import ProviderError, UsageError
from realtime.event import reply as r
from realtime.event.base import Item
from realtime.message import HintBlock, Msg, UserMsg
from realtime.model.local.language_model import Prompt, Reply
from realtime.room.context import RoomContext
from realtime.tool.context import ToolScope, current_scope

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
class _OwnTurn:
    """A turn of the agent: its reply, which the voice may ask for in several parts."""

    reply: VoiceReply | None = None
    """None before it begins, and where it does not begin."""
    error: Exception | None = None
    """Why it could not begin."""
    is_settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it has begun, or will not."""
    is_wanted: bool = True
    has_words: bool = False

    def take(self, event: r.AgentEvent) -> None:
        """Take the next event of the reply."""
        self.has_words = self.has_words or isinstance(event, r.TextBlockDeltaEvent)
        if self.reply is not None:
            self.reply.take(event)


@dataclass(frozen=True, slots=True)
class _Played:
    """What was heard of a turn of the agent."""

    turn: _OwnTurn
    text: str
    is_late: bool = False
    """Whether it corrects what was known before: another turn may have begun since."""


class Thinker:
    """Lets one thinking agent take part in a room; is the language model of its voice.

    The agent observes each turn of the others once, in order, and nothing while it replies. One whose `reply` needs a
    message, or that does not implement `observe`, gets the latest turn as that message.
    """

    takes_images = False
    may_draft = False

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
        self._one_at_a_time = asyncio.Lock()
        """Held while the agent observes or replies."""
        self._own_turn: _OwnTurn | None = None
        """Its turn; None before the voice asks for it."""
        self._observing: asyncio.Task[None] | None = None
        self._answering: asyncio.Task[None] | None = None
        self._interrupting: asyncio.Task[None] | None = None
        self._scope = ToolScope()
        """The call as the agent's tools see it."""
        self._call_ids: set[str] = set()
        """Ids of the tool calls in this room."""
        self._told: set[str] = set()
        """Ids of the hints that the agent has."""
        self._context: RoomContext | None = None
        self._complain: Callable[[str, str], None] = lambda message, code: None
        self._on_failed: Callable[[], None] = lambda: None

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
        turn, self._own_turn = self._own_turn, None
        if turn is not None:
            self._put(_Played(turn, text))

    def correction(self) -> Callable[[str], None]:
        """Return what takes the words of this turn from a late report."""
        turn = self._own_turn

        def correct(text: str) -> None:
            if turn is not None:
                self._put(_Played(turn, text, is_late=True))

        return correct

    def interrupt(self) -> None:
        """End its reply, once; the agent learns it also when it is only being heard."""
        turn = self._own_turn
        if turn is not None and turn.is_wanted:
            turn.is_wanted = False
            self._interrupting = self._run(self._interrupt(turn), "is interrupted")

    # -- what the voice asks of it (`LanguageModelForCalls`, `CallLanguageModel`) ----------------------------------

    @property
    def name(self) -> str:
        """The names of the agent and its chat model."""
        return self.agent.as_language_model().name

    def for_call(self) -> Self:
        """See `LanguageModelForCalls`. Raises UsageError while the agent is in another room or call."""
        if self.agent.voice_call not in (None, self):
            raise UsageError(
                f"{self.agent.name} is in another room or call: an agent has one memory and serves one at a time",
                code="agent_in_call",
            )
        self.agent.voice_call = self
        self._scope = replace(current_scope() or ToolScope(agent_name=self.agent.name), speaker=self.agent)
        return self

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """Yield the agent's reply, up to its tools; asked again, what follows them.

        Closing it early interrupts the agent. Raises ProviderError where it cannot answer.
        """
        turn = self._own_turn
        try:
            if turn is None or turn.reply is None or not turn.reply.pauses:
                turn = self._own_turn = _OwnTurn()
                self._answering = self._run(self._answer(turn, prompt), "answers")
                if self._answering is None:
                    return
                await turn.is_settled.wait()
            if turn.error is not None:
                raise turn.error
            if turn.reply is not None:
                async for piece in turn.reply.pieces():
                    yield piece
        except (GeneratorExit, asyncio.CancelledError):
            self.interrupt()
            raise
        except Exception as error:
            logger.exception("%s cannot answer", self.name)
            raise ProviderError(f"{self.agent.name} cannot answer: {error_text(error)}", code="agent_failed") from None

    async def close(self, history: Sequence[Item] = ()) -> None:
        """See `CallLanguageModel`; the memory holds what the room heard already."""
        if self.agent.voice_call is not self:
            return
        try:
            if self._answering is not None:
                await end_task(self._answering, INTERRUPT_S)
            async with self._one_at_a_time:
                for one in [one for one in self._waiting if isinstance(one, _Played)]:
                    await bounded(self._take(one), OBSERVE_S, grace_s=GRACE_S)
                self._waiting.clear()
            await self.agent.aclose()
        finally:
            self.agent.voice_call = None

    # -- observing -------------------------------------------------------------------------------------------------

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
        async with self._one_at_a_time:
            await self._catch_up()

    async def _catch_up(self) -> None:
        """Hand over what waits, except a turn that `reply` may be given."""
        while (one := self._next()) is not None:
            try:
                await bounded(self._take(one), OBSERVE_S, grace_s=GRACE_S)
            except asyncio.CancelledError:
                if isinstance(one, _Played):
                    # The room closes: the memory must not keep what was not heard.
                    self._waiting.appendleft(one)
                raise
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
        if isinstance(one, _Played) and one.is_late:
            truncate = getattr(self.agent, "truncate_reply", None)
            if truncate is not None and one.turn.reply is not None:
                await to_its_end(truncate(one.turn.reply.reply_id, one.text), GRACE_S)
        elif isinstance(one, _Played):
            truncate = getattr(self.agent, "truncate_last_reply", None)
            if truncate is not None and one.turn.has_words:
                await to_its_end(truncate(one.text), GRACE_S)
        elif self._observes:
            await self.agent.observe(one)

    def _fail(self, why: str) -> None:
        self._has_failed = True
        self._waiting.clear()
        self._complain(f"{self.agent.name} leaves the room: {why}", "observer_failed")
        self._on_failed()

    # -- replying --------------------------------------------------------------------------------------------------

    async def _answer(self, turn: _OwnTurn, prompt: Prompt) -> None:
        try:
            async with self._one_at_a_time:
                await self._catch_up()
                if self._interrupting is not None:
                    # It is about the turn before this one.
                    await asyncio.wait({self._interrupting})
                if turn.is_wanted and not self._has_failed:
                    await self._give_hints(prompt.history)
                    await self._reply(turn, prompt.instructions.strip())
        except Exception as error:
            turn.error = error
        finally:
            turn.is_settled.set()

    async def _give_hints(self, history: Sequence[Item]) -> None:
        """Tell the agent what its background tools gave since its last reply."""
        hint = getattr(self.agent, "hint", None)
        for item in history:
            if hint is not None and item.role == "system" and item.text and item.id not in self._told:
                self._told.add(item.id)
                await hint(HintBlock(hint=item.text, source=item.name))

    async def _reply(self, turn: _OwnTurn, instructions: str) -> None:
        self._waiting.clear()  # All but the turn that it gets here is observed.
        given = [self._last] if self._takes_msg and self._last is not None else []
        decide = decider_of(self.agent, self._scope)
        reply = turn.reply = VoiceReply(self._scope, None, None, call_ids=self._call_ids, foreign=(), decide=decide)
        self.agent.from_call = FromCall(instructions, (), reply.run_in_call)
        with reply.scope.in_force():
            reply.begin(self.agent.begin_reply(turn.take, *given))
        turn.is_settled.set()
        task = reply.task
        assert task is not None, "the reply has begun"
        try:
            await asyncio.wait({task})
        finally:
            await end_task(task, GRACE_S)
            self.agent.from_call = None

    async def _interrupt(self, turn: _OwnTurn) -> None:
        has_begun = self.agent.is_replying
        try:
            await bounded(self.agent.interrupt(), INTERRUPT_S, grace_s=GRACE_S)
        except Exception:
            logger.exception("%s cannot be interrupted", self.name)
        if turn.reply is not None and turn.reply.task is not None and not has_begun:
            turn.reply.task.cancel()

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
