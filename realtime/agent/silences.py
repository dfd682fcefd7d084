"""What fills a silence: fillers while tools run, and questions to a user who says nothing."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from realtime.agent.controller import Controller
from realtime.agent.fillers import Fillers, overrides_for
from realtime.agent.idle import ARE_YOU_THERE, TAKE_LEAVE, IdleStep, IdleWatch
from realtime.agent.phrases import FAREWELLS, QUESTIONS, in_language
from realtime.agent.saying import Floor, Saying, SpokenWords
from realtime.call.participant import Host, OwnCall
from realtime.call.timers import Timers
from realtime.errors import RealtimeError
from realtime.event import server as s
from realtime.event.base import INITIATIVE, ContentPart, Item
from realtime.model.base import Connection, Profile, ResponseCreate
from realtime.turn.machine import State

FILLER = "filler"
"""Begins the `initiative` of a filler."""
Spawn = Callable[[str, Coroutine[Any, Any, None]], None]
"""Runs a coroutine beside the call, under a name; reports what it raises."""


@dataclass(slots=True)
class _Filler:
    """A filler that was asked for and is not over."""

    initiative: str
    response_id: str | None = None
    speaks: bool = False
    """Whether words of it have come."""


class ToolFillers:
    """Says fillers in one call while tools run: responses outside the conversation, which no model remembers."""

    def __init__(
        self,
        lines: Sequence[str],
        host: Host,
        own: OwnCall,
        controller: Controller,
        connection: Connection,
        saying: Saying,
    ) -> None:
        self._core = Fillers(lines, host.runtime.random)
        self._conversation = host.conversation
        self._runtime = host.runtime
        self._own = own
        self._controller = controller
        self._send = connection.send
        self._says_given = connection.profile.says_given_words
        self._saying = saying
        self._timers = Timers()
        self._filler: _Filler | None = None
        self._unfollow: Callable[[], None] | None = None

    def tool_begins(self, call_id: str) -> None:
        """A tool starts to run."""
        self._core.tool_begins(call_id, self._runtime.now())
        if self._unfollow is None:
            self._unfollow = self._own.follow(self._follow)
        self._wait()

    def tool_ends(self, call_id: str) -> None:
        """A tool has returned. After the last one a filler that is not heard yet is taken back."""
        if self._core.tool_ends(call_id):
            self._timers.cancel("due")
            self._take_back()

    def close(self) -> None:
        """The call is over."""
        self._timers.close()
        if self._unfollow is not None:
            self._unfollow()
            self._unfollow = None

    # -- inside ----------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Look again when the next one is due."""
        due_at = self._core.due_at
        if due_at is not None:
            self._timers.after("due", max(0.0, due_at - self._runtime.now()), self._look)

    def _look(self) -> None:
        now, controller = self._runtime.now(), self._controller
        voice_s = self._saying.silence.left_s()
        works = controller.ledger.active is not None or controller.ledger.is_requested
        listens = controller.turn.state is State.USER_SPEAKING or controller.interruptions.current is not None
        if voice_s or works or listens or controller.turns.answers.is_asked:
            self._core.postpone(now + voice_s)
        else:
            self._say(self._core.take(now))
        self._wait()

    def _say(self, line: str) -> None:
        self._take_back()
        self._filler = _Filler(self._runtime.new_id(FILLER))
        overrides = overrides_for(line, self._last_words(), self._filler.initiative, says_it=self._says_given)
        self._send(ResponseCreate(overrides, line if self._says_given else ""))

    def _last_words(self) -> Item | None:
        """Return the user's last words as an item of its own; None where they are unknown."""
        texts = (item.text for item in reversed(self._conversation.items()) if item.role == "user" and item.text)
        words = next(texts, "")
        content = (ContentPart(type="text", text=words),)
        return Item(id=self._runtime.new_id("item"), role="user", content=content) if words else None

    def _take_back(self, *, also_heard: bool = False) -> None:
        """Stop the filler, unless it is heard already. One that has not begun is dropped when it does."""
        filler = self._filler
        if filler is None or (filler.speaks and not also_heard):
            return
        self._filler = None
        if filler.response_id is not None:
            self._controller.responses.drop(filler.response_id)

    def _follow(self, event: s.ServerEvent) -> None:
        filler = self._filler
        match event:
            case s.ServerAudioFlushEvent():
                self._take_back(also_heard=True)
                self._timers.cancel("due")
                self._core.clear()
            case s.AgentInputStartedEvent() | s.AgentInterruptionEvent():
                self._take_back()
            case s.AgentResponseCreatedEvent(conversation="none", metadata=dict(metadata)):
                self._begun(event.response_id, str(metadata.get(INITIATIVE, "")))
            case s.AgentResponseAudioTranscriptDeltaEvent() if filler is not None:
                filler.speaks = filler.speaks or event.response_id == filler.response_id
            case s.AgentResponseDoneEvent() if filler is not None and event.response_id == filler.response_id:
                self._filler = None
            case _:
                pass

    def _begun(self, response_id: str, initiative: str) -> None:
        if self._filler is not None and initiative == self._filler.initiative:
            self._filler.response_id = response_id
        elif initiative.startswith(FILLER):
            self._controller.responses.drop(response_id)


class IdleTalk:
    """Asks a silent user whether they are there; ends the call where they are not.

    Runs what it says with `spawn`; `is_away` tells whether the client is away.
    """

    def __init__(
        self,
        prompt_s: float,
        host: Host,
        own: OwnCall,
        profile: Profile,
        saying: Saying,
        spawn: Spawn,
        is_away: Callable[[], bool],
    ) -> None:
        self._now = host.runtime.now
        self._ears = host.ears
        self._watch = IdleWatch(prompt_s, self._now())
        self._own = own
        self._profile = profile
        self._saying = saying
        self._spawn = spawn
        self._is_away = is_away
        self._timers = Timers()
        self._is_speaking = False
        self._unfollow: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Watch from now on."""
        self._watch.quiet_from(self._now())
        self._unfollow = self._own.follow(self._follow)
        self._wait()

    def close(self) -> None:
        """The call is over."""
        self._timers.close()
        self._unfollow()

    def _wait(self) -> None:
        self._timers.after("idle", max(0.0, self._watch.due_at - self._now()), self._look)

    def _look(self) -> None:
        now, saying = self._now(), self._saying
        if self._is_speaking or self._is_away() or saying.floor is not Floor.FREE:
            self._watch.quiet_from(now + saying.silence.left_s())
        step = self._watch.look(now)
        if step is not IdleStep.WAIT:
            self._is_speaking = True
            self._spawn("idle prompt", self._ask() if step is IdleStep.ASK else self._leave())
        self._wait()

    async def _ask(self) -> None:
        try:
            await self._say(QUESTIONS, ARE_YOU_THERE)
        finally:
            self._is_speaking = False
            self._watch.quiet_from(self._now())

    async def _leave(self) -> None:
        try:
            said = await self._say(FAREWELLS, TAKE_LEAVE)
        except RealtimeError:
            self._own.end("idle")
            raise
        finally:
            self._is_speaking = False
        if not said.interrupted:
            self._own.end("idle")

    async def _say(self, given: dict[str, str], instructions: str) -> SpokenWords:
        if self._profile.says_given_words:
            return await self._saying.say(in_language(given, self._profile.languages), "idle")
        return await self._saying.generate_reply(instructions, "idle")

    def _follow(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentInputStartedEvent() | s.AgentInputDoneEvent():
                self._watch.user_acts(self._now())
            case s.AgentItemAddedEvent(item=item) if item.role == "user" and (item.text or _is_voice(item)):
                self._watch.user_acts(self._now())
            case s.AgentResponseDoneEvent():
                self._watch.quiet_from(self._now() + self._ears.unplayed_ms() / 1000)
            case _:
                pass


def _is_voice(item: Item) -> bool:
    """Whether the item was spoken: pictures of a camera come while no user is there."""
    return any(part.type == "audio" for part in item.content)
