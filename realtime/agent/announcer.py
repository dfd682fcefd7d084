"""What tools want the user or the model to know: hints for the model, and words, spoken when the floor is free."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from realtime.agent.context import AgentContext
from realtime.agent.controller import Controller
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.message import DataBlock, HintBlock, TextBlock, system_reminder
from realtime.model import base
from realtime.state.replies import REMINDER
from realtime.turn.machine import State
from realtime.turn.responses import ANSWER_S

LOOK_S = 0.1
"""How often silence is looked for while something waits."""
MAX_WAITING = 20
"""Words of tools that may wait; the oldest go first."""
SAY_ONLY = "Say exactly these words and nothing else, in the language in which they are written:\n"


@dataclass(frozen=True, slots=True)
class _Words:
    text: str
    holds: Callable[[], bool]
    """Whether they are still worth saying."""


class Announcer:
    """Puts hints into the conversation of one call.

    A hint that is to be spoken waits for silence in which no reply is due; then the model answers it. It goes in
    earlier where a turn of the user gets a response of ours: that one can tell of it.
    """

    def __init__(self, group: asyncio.TaskGroup, context: AgentContext, controller: Controller) -> None:
        self._group = group
        self._context = context
        self._controller = controller
        self._hints: list[tuple[HintBlock, Callable[[], bool]]] = []
        self._words: deque[_Words] = deque(maxlen=MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        controller.turns.before_response = self._put_waiting

    def hint(self, hint: HintBlock, *, speaks: bool, holds: Callable[[], bool] = lambda: True) -> None:
        """Tell the model something; with `speaks`, it is to tell the user if `holds` returns True by then."""
        if not speaks:
            self._put(hint)
            return
        self._hints.append((hint, holds))
        self._wake()

    def say(self, text: str, holds: Callable[[], bool]) -> None:
        """Speak words of a tool in the next silence.

        They have to hold then, and are no part of the conversation. Nothing happens where the model has no responses
        beside the conversation.
        """
        if base.refusal(self._context.profile, self._response(text)) is None:
            self._words.append(_Words(text, holds))
            self._wake()

    def hand_over(self) -> list[HintBlock]:
        """Another agent has the call: stop, and return what waits to be spoken."""
        hints, self._hints = self._holding(), []
        self.close()
        return hints

    def close(self) -> None:
        """The call is over: what waits becomes part of its history, unspoken."""
        self._put_waiting()
        self._controller.turns.before_response = lambda: None  # refers back to this
        self._words.clear()
        if self._task is not None:
            self._task.cancel()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._group.create_task(self._speak_out(), name="announcements")

    async def _speak_out(self) -> None:
        """Say what waits, as soon as the floor is free."""
        now = self._context.runtime.now
        awaited_since: float | None = None
        while self._hints or self._words:
            self._say_words()
            # Whether hints hold is asked last: it reads the conversation, and this looks many times a second.
            if self._is_silent() and not self._controller.ledger.responding and self._holding():
                # A response that a provider has not begun for so long is awaited no longer.
                awaited = self._controller.turn.state is State.THINKING
                awaited_since = (now() if awaited_since is None else awaited_since) if awaited else None
                if awaited_since is None or now() - awaited_since >= ANSWER_S:
                    self._controller.on_client(c.ClientResponseCreateEvent())
                    awaited_since = None
            await asyncio.sleep(LOOK_S)

    def _is_silent(self) -> bool:
        """Whether neither side speaks or is about to; tools may run."""
        one = self._controller
        works = one.ledger.active is not None or one.ledger.is_requested or one.link_lost
        listens = one.turn.state is State.USER_SPEAKING or one.interruptions.current is not None
        listens = listens or one.turns.answers.is_asked
        return not (works or listens or self._context.ears.unplayed_ms() > 0)

    def _say_words(self) -> None:
        while self._words and not self._words[0].holds():
            self._words.popleft()
        if self._words and self._is_silent():
            self._context.send(self._response(self._words.popleft().text))

    def _response(self, text: str) -> base.ResponseCreate:
        if self._context.profile.says_given_words:
            return base.ResponseCreate(ResponseOverrides(conversation="none", tool_choice="none"), text)
        instructions = f"{SAY_ONLY}{text}"
        return base.ResponseCreate(
            ResponseOverrides(conversation="none", tool_choice="none", instructions=instructions, input=())
        )

    def _put_waiting(self) -> None:
        hints, self._hints = self._holding(), []
        for hint in hints:
            self._put(hint)

    def _holding(self) -> list[HintBlock]:
        """Drop the hints that hold no longer; return the others."""
        self._hints = [(hint, holds) for hint, holds in self._hints if holds()]
        return [hint for hint, _ in self._hints]

    def _put(self, hint: HintBlock) -> None:
        words = ContentPart(type="text", text=_text_of(hint))
        item = Item(id=self._context.runtime.new_id("item"), role="system", name=hint.source, content=(words,))
        self._context.send(base.ItemCreate(item))
        self._context.add_item(item)
        self._context.item_done(item)


def reminder_of(hint: str | Sequence[TextBlock] | HintBlock, source: str | None) -> HintBlock:
    """Return a program's hint in the form that models know: a reminder.

    `source` names its origin where it is no HintBlock, which names its own. Raises UsageError for a hint without words,
    and for pictures and other data: a model takes them with a turn of the user only.
    """
    block = hint if isinstance(hint, HintBlock) else HintBlock(hint=_listed(hint), source=source)
    if not isinstance(block.hint, str) and not all(isinstance(part, TextBlock) for part in block.hint):
        raise UsageError("a hint to a model in a call is text: a picture can only be part of a turn of the user")
    text = _text_of(block).strip()
    if not text:
        raise UsageError("the hint has no words: say what the model has to know")
    told = text if text.startswith(REMINDER) else system_reminder(text)
    return msgspec.structs.replace(block, hint=told)


def _listed(hint: str | Sequence[TextBlock]) -> str | list[TextBlock | DataBlock]:
    return hint if isinstance(hint, str) else [*hint]


def _text_of(hint: HintBlock) -> str:
    parts = [TextBlock(text=hint.hint)] if isinstance(hint.hint, str) else hint.hint
    return "\n".join(part.text for part in parts if isinstance(part, TextBlock))
