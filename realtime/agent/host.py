"""What an agent is given by the call it serves. It never sees sockets, stores or other agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from realtime.audio.voice import Voice
from realtime.event.server import ServerEvent
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation

Emit = Callable[[ServerEvent], None]
LetHear = Callable[[Voice], None]


class Ears(Protocol):
    """What the people in the call have heard. On an interruption the ear of whoever interrupts counts, else the
    furthest."""

    def heard_ms(self, item_id: str) -> int:
        """How much of the item's audio was heard, in ms."""
        ...

    def unheard_ms(self) -> int:
        """How much audio was sent but is not heard yet, in ms; 0 means silence."""
        ...

    def after_flush(self, settle: Callable[[], None]) -> None:
        """Call `settle` when it is known what was heard up to the flush right before: at once where nobody is asked,
        else when the clients have answered or their time is over, and again should an answer come later."""
        ...


def nobody_hears(voice: Voice) -> None:
    """For an agent: it hears turns, not voices."""


@dataclass(frozen=True, slots=True)
class Host:
    """The call as an agent sees it: where to say things, what was said, who heard it, and the world."""

    emit: Emit
    conversation: Conversation
    ears: Ears
    runtime: Runtime
    voice: LetHear = nobody_hears
    """Lets the people in the call hear what another human says at this moment. Unlike what is emitted, nothing of it is
    kept."""
