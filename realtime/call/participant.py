"""What a call requires of a participant and provides to it.

A participant is an agent, or a human in a room. It never sees sockets, stores or other participants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from realtime.audio.far_end import FarEnd
from realtime.audio.voice import Voice
from realtime.call.asked import Asked
from realtime.event import client as c
from realtime.event.config import SessionConfig
from realtime.event.server import ServerEvent
from realtime.permission.accepted import AcceptedRules
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from realtime.state.restore import Owed

Emit = Callable[[ServerEvent], None]
LetHear = Callable[[Voice], None]


class Ears(Protocol):
    """What the listeners of a call have heard, and can do.

    On an interruption the listener whose user interrupts counts, else the one that is furthest.
    """

    def played_ms(self, item_id: str) -> int:
        """How much of the item's audio was heard, in ms."""

    def unplayed_ms(self) -> int:
        """How much audio was sent but is not heard yet, in ms; 0 means silence."""

    def can_be_lowered(self) -> bool:
        """Whether any listener plays quieter on request."""

    def after_flush(self, settle: Callable[[], None]) -> None:
        """Call `settle` once the playback up to the preceding flush is known.

        That is at once where no client is asked, else when the clients have answered or their time is over. It is
        called again if an answer comes later.
        """

    def keep_played_audio(self) -> None:
        """Keep the audio that listeners play from now on, for `far_end`. Idempotent."""

    def far_end(self) -> FarEnd | None:
        """The audio played to the user who speaks; None where it is not kept."""


def nobody_hears(voice: Voice) -> None:
    """Ignore a human's voice: an agent hears turns, not voices."""


def no_floor() -> None:
    """Ask for nothing: where an agent has the call, the floor is free when no one speaks."""


def _never() -> bool:
    return False


def nobody_is_told(config: dict[str, Any]) -> None:
    """Keep a change of settings to oneself."""


def for_its_user() -> str:
    """Serve the only user of a call."""
    return ""


Follow = Callable[[Emit], Callable[[], None]]


@dataclass(frozen=True, slots=True)
class OwnCall:
    """What a call offers its only agent, which may speak unasked."""

    follow: Follow
    """Calls a function with each later event but speech; returns the function that ends this."""
    end: Callable[[str], None]
    """Ends the call soon, with a reason."""
    unplayed_items: Callable[[], set[str]]
    """Returns the ids of the items that were not played whole."""
    is_new: bool
    """Whether it begins now. Otherwise it goes on after its server was lost, or after its grace time."""
    owed: Owed | None
    """The answer that the end of its server broke off."""
    takes_unasked: bool
    """Whether all its clients expect an agent that speaks unasked."""
    replace: Callable[[Participant], None]
    """Lets another participant, which has joined, have the call."""
    is_recorded: Callable[[], bool] = _never
    """Whether its sound is being recorded."""
    shows_questions: Callable[[], bool] = _never
    """Whether all its clients show a question for consent."""


@dataclass(frozen=True, slots=True)
class Host:
    """The call as its participant sees it."""

    emit: Emit
    """Appends an event to the call's log."""
    conversation: Conversation
    ears: Ears
    runtime: Runtime
    configured: Callable[[dict[str, Any]], None] = nobody_is_told
    """Reports settings that the participant has changed itself."""
    call_id: str = ""
    """The server's name of the call; empty in a room."""
    user_id: str = ""
    """Whose call it is; empty where that is unknown."""
    voice: LetHear = nobody_hears
    """Lets the listeners hear what another human says at this moment. Unlike emitted events, none of it is kept."""
    own: OwnCall | None = None
    """None in a room, which decides who speaks."""
    asked: Asked | None = None
    """The humans of a room whom its questions ask; None in a call."""
    ask_for_floor: Callable[[], None] = no_floor
    """Asks a room for a turn: the agent has something to tell."""
    accepted: AcceptedRules = field(default_factory=AcceptedRules)
    """The permission rules that its users have accepted so far."""
    acts_for: Callable[[], str] = for_its_user
    """Returns the human (by id) whom the agent serves now; "" outside rooms."""


class Participant(Protocol):
    """A call's view of an agent or of a room's human."""

    name: str
    agent_id: str | None
    """The participant's id in events; None until it has one."""

    @property
    def room(self) -> object | None:
        """The room that it is in; None outside of rooms."""

    async def join(self, host: Host, config: SessionConfig) -> None:
        """Take part in the call. Raises RealtimeError, and then leaves nothing running."""

    async def leave(self, reason: str) -> None:
        """Stop taking part. Idempotent, and safe before `join`."""

    def receive(self, event: c.ClientEvent) -> bool:
        """Take a client event at once.

        Returns False where it cannot be done: an `agent_error` event says why. Raises UsageError before `join`.
        """

    def configure(self, change: SessionConfig) -> SessionConfig:
        """Apply new settings and return the effective ones. Raises ClientError, with nothing applied."""

    def describe(self) -> dict[str, Any]:
        """Who takes part and what it can do, for people and pages. Holds no secrets."""

    @property
    def received_samples(self) -> int:
        """Samples of the client's audio that have arrived, at the client's rate."""

    @property
    def received_ms(self) -> int:
        """The same in ms."""

    @property
    def wants_audio_stopped(self) -> bool:
        """Whether the call reports a client's mid-turn stop with `audio_stopped`."""

    def audio_stopped(self) -> None:
        """The client stopped sending in mid-turn: no silence will end the turn."""

    def set_away(self, away: bool) -> None:
        """The call lost its last listener and waits, or has one again."""


@dataclass(slots=True, eq=False)
class CurrentParticipant:
    """Who takes part in a call at present."""

    participant: Participant
