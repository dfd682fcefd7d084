"""What an agent says of its own accord: when it may begin, and how much of it the user heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from realtime.agent.controller import Controller
from realtime.agent.phrases import SAY_EXACTLY
from realtime.agent.responses import LINK_LOST, RESPONSE_REFUSED
from realtime.call.participant import Host, OwnCall
from realtime.errors import ProviderError, UsageError
from realtime.event import server as s
from realtime.event.base import INITIATIVE, ResponseOverrides
from realtime.model.base import Profile
from realtime.state.truncation import portion_played
from realtime.turn.machine import State
from realtime.turn.responses import ANSWER_S, UNANSWERED_S

LOOK_S = 0.25
"""How often to look for changes that no event reports."""
NOT_REPORTED_S = 2.0
"""How much later a reply counts as played without a report."""
CUT_S = 0.75
"""How long to wait for what was played of an interrupted reply."""


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """What became of something that the agent was to say."""

    text: str
    """The words that were played."""
    interrupted: bool
    """Whether the user or the call's end cut it."""


class Floor(StrEnum):
    """Who has the floor of a call."""

    FREE = "free"
    AWAITED = "awaited"
    """A response is due that the model may never begin."""
    TAKEN = "taken"


class Plays(Protocol):
    """Whose client plays something."""

    def unplayed_ms(self) -> int:
        """How much audio was sent but is not heard yet, in ms; 0 means silence."""


class Silence:
    """Whether all was played, also to clients that do not report it."""

    def __init__(self, ears: Plays, now: Callable[[], float]) -> None:
        self._ears = ears
        self._now = now
        self._unplayed_ms = 0
        self._since = 0.0
        """Since when so much is unplayed."""

    def left_s(self) -> float:
        """How long the voice will be heard; 0 in silence."""
        unplayed_ms, now = self._ears.unplayed_ms(), self._now()
        if unplayed_ms <= 0:
            self._unplayed_ms = 0
            return 0.0
        if unplayed_ms != self._unplayed_ms:
            self._unplayed_ms, self._since = unplayed_ms, now
        return 0.0 if now - self._since >= unplayed_ms / 1000 + NOT_REPORTED_S else unplayed_ms / 1000


class Saying:
    """Says things of the agent's own, one at a time.

    `instructions` returns those of the call: a response with others keeps them.
    """

    def __init__(
        self, host: Host, own: OwnCall, controller: Controller, profile: Profile, instructions: Callable[[], str]
    ) -> None:
        self._own = own
        self._controller = controller
        self._instructions = instructions
        self._conversation = host.conversation
        self._ears = host.ears
        self._runtime = host.runtime
        self._profile = profile
        self.silence = Silence(host.ears, host.runtime.now)
        self._turns = asyncio.Lock()
        self.is_over = False
        """Whether another agent has the call."""

    # -- the floor -------------------------------------------------------------------------------------------------

    @property
    def floor(self) -> Floor:
        """Who has the floor now."""
        controller = self._controller
        if controller.ledger.responding or controller.interruptions.current is not None:
            return Floor.TAKEN
        if controller.turn.state is State.USER_SPEAKING or self.silence.left_s():
            return Floor.TAKEN
        return Floor.AWAITED if controller.turn.state is State.THINKING else Floor.FREE

    async def _take_floor(self) -> None:
        """Wait until no one speaks or is about to. Raises UsageError where another agent has the call.

        A response that a provider has not begun after `ANSWER_S` is awaited no longer.
        """
        awaited_since: float | None = None
        with self._changes() as changed:
            while self.is_over or (floor := self.floor) is not Floor.FREE:
                if self.is_over:
                    raise UsageError("the call was handed over: the other agent speaks now", code="agent_not_running")
                now = self._runtime.now()
                awaited_since = None if floor is Floor.TAKEN else now if awaited_since is None else awaited_since
                if awaited_since is not None and now - awaited_since >= ANSWER_S:
                    return
                await self._next(changed)

    @asynccontextmanager
    async def silence_kept(self) -> AsyncIterator[None]:
        """Wait until no one speaks or is about to; within the block, the agent says nothing of its own accord."""
        async with self._turns:
            await self._take_floor()
            yield

    @contextmanager
    def _changes(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever something happens in the call."""
        changed = asyncio.Event()
        unfollow = self._own.follow(lambda event: changed.set())
        try:
            yield changed
        finally:
            unfollow()

    async def _next(self, changed: asyncio.Event, at_most_s: float | None = None) -> None:
        """Wait until something happens, or what is being played may be over."""
        changed.clear()
        if at_most_s is None:
            at_most_s = max(LOOK_S, self._ears.unplayed_ms() / 1000)
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await changed.wait()

    # -- saying ----------------------------------------------------------------------------------------------------

    async def say(self, text: str, kind: str = "say") -> SpokenWords:
        """Say these words when the floor is free; return what was played of them.

        A model that cannot speak given words is asked for exactly these. Raises UsageError for an empty text, and what
        `generate_reply` raises.
        """
        if not text.strip():
            raise UsageError("there are no words to say", code="nothing_to_say")
        if self._profile.says_given_words:
            return await self._speak(kind, None, text)
        return await self._speak(kind, f"{SAY_EXACTLY}{text}")

    async def generate_reply(self, instructions: str, kind: str = "reply") -> SpokenWords:
        """Have the model say something by instructions when the floor is free.

        Returns what was played. Raises ProviderError where the model refuses or fails. Cancelling it does not stop what
        is being said.
        """
        return await self._speak(kind, self._with_own(instructions))

    def begin(self, instructions: str, kind: str, *, at_once: bool = False) -> None:
        """Have the model say something, where the floor is free or `at_once`. Returns before it begins."""
        if at_once or self.floor is Floor.FREE:
            self._controller.speak(self._overrides(kind, self._with_own(instructions)))

    def _with_own(self, instructions: str) -> str:
        return f"{self._instructions()}\n\n{instructions}".strip()

    def _overrides(self, kind: str, instructions: str | None) -> ResponseOverrides:
        return ResponseOverrides(instructions=instructions, metadata={INITIATIVE: self._runtime.new_id(kind)})

    async def _speak(self, kind: str, instructions: str | None, say: str = "") -> SpokenWords:
        async with self._turns:
            await self._take_floor()
            overrides = self._overrides(kind, instructions)
            reply = _OwnReply((overrides.metadata or {})[INITIATIVE])
            with self._changes() as changed:
                unfollow = self._own.follow(reply.follow)
                try:
                    self._controller.speak(overrides, say=say)
                    await self._hear_out(reply, changed)
                finally:
                    unfollow()
            return self._heard(reply)

    async def _hear_out(self, reply: _OwnReply, changed: asyncio.Event) -> None:
        """Wait until the reply is played, or interrupted and cut. Raises ProviderError."""
        asked_at, ledger = self._runtime.now(), self._controller.ledger
        while not (reply.over or reply.interrupted or (reply.goes_on and not ledger.responding)):
            if reply.error is not None:
                raise reply.error
            if not reply.begun and self._runtime.now() - asked_at >= UNANSWERED_S:
                raise ProviderError("the model did not begin to say it", code="no_response", retryable=True)
            await self._next(changed)
        while not reply.interrupted and self.silence.left_s():
            await self._next(changed)
        cut_by = self._runtime.now() + CUT_S
        while reply.interrupted and not reply.cut and (left_s := cut_by - self._runtime.now()) > 0:
            await self._next(changed, left_s)

    def _heard(self, reply: _OwnReply) -> SpokenWords:
        words, is_whole = [], reply.over
        for item_id in reply.item_ids:
            item, audio_ms = self._conversation.get(item_id), self._conversation.audio_ms(item_id)
            text = "" if item is None else self._conversation.spoken_text(item_id)
            if item is None or self._conversation.is_truncated(item_id):
                is_whole = False
            elif reply.interrupted and audio_ms:
                played_ms = self._ears.played_ms(item_id)
                if portion_played(played_ms, audio_ms) != "all":
                    is_whole, text = False, self._conversation.played_text(item_id, played_ms)
            if text := text.strip():
                words.append(text)
        return SpokenWords(" ".join(words), reply.interrupted and not (is_whole and words))


class _OwnReply:
    """Follows one reply of the agent's own in the call's events."""

    def __init__(self, initiative: str) -> None:
        self._initiative = initiative
        self._response_id: str | None = None
        self._calls_tools = False
        self.goes_on = False
        """Whether the next response continues it: after tools, or a lost link."""
        self.begun = False
        self.over = False
        """Whether all of it has arrived."""
        self.interrupted = False
        """Whether the user took the floor within it, or the call ended."""
        self.cut = False
        """Whether it is known how much was played of an interrupted one."""
        self.error: ProviderError | None = None
        """Why it will not be said."""
        self.item_ids: dict[str, None] = {}

    def follow(self, event: s.ServerEvent) -> None:
        """Take the next event of the call."""
        match event:
            case s.AgentResponseCreatedEvent(conversation="auto"):
                if self.goes_on or (event.metadata or {}).get(INITIATIVE) == self._initiative:
                    self._response_id, self.begun = event.response_id, True
                    self.goes_on = self._calls_tools = False
            case s.AgentResponseDoneEvent() if event.response_id == self._response_id:
                self._done(event)
            case s.AgentResponseToolUseDoneEvent() if event.response_id == self._response_id:
                self._calls_tools = True
            case s.ServerAudioFlushEvent(reason=s.CLAIM_WITHHELD):
                pass
            case s.ServerAudioFlushEvent():
                self.interrupted = True
                self.cut = not self.item_ids
            case s.AgentItemTruncatedEvent(item_id=item_id) | s.AgentItemDeletedEvent(item_id=item_id):
                self.cut = self.cut or item_id in self.item_ids
            case s.AgentEndedEvent():
                self.interrupted = self.cut = True
            case s.AgentErrorEvent() if not self.begun:
                if event.error_type == "provider_error" or event.code in RESPONSE_REFUSED:
                    self.error = ProviderError(event.message, code=event.code, retryable=event.retryable)
            case (
                s.AgentResponseAudioTranscriptDeltaEvent()
                | s.AgentResponseAudioDoneEvent()
                | s.AgentResponseTextDeltaEvent()
                | s.AgentResponseTextDoneEvent()
            ) if event.response_id == self._response_id:
                self.item_ids[event.item_id] = None
            case _:
                pass

    def _done(self, event: s.AgentResponseDoneEvent) -> None:
        self._response_id = None
        reason = (event.status_details or {}).get("reason")
        if self._calls_tools or reason == s.CLAIM_WITHHELD or (event.status == "failed" and reason == LINK_LOST):
            self.goes_on = True
        elif event.status == "failed":
            self.error = ProviderError("the model failed to say it", code=str(reason or "response_failed"))
        else:
            self.over = True
