"""The turn machine: who is speaking, and what must be done when that changes. A table, no I/O; time is an argument.

Everything that moves the state of a turn is in `TRANSITIONS`; the diagram in `docs/lifecycle.md` is drawn from it. The
only decisions in code are the three that a table cannot say: whether a reply still has something to interrupt, whether
a turn end was hasty, and what the authority of the call permits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from realtime.event.config import TurnAuthority

HASTY_WINDOW_MS = 800
"""Speech this soon after the end of a turn may belong to the same turn ..."""
HASTY_HEARD_MS = 400
"""... unless the user has heard this much of the reply."""


class State(StrEnum):
    """Where the turn stands."""

    LISTENING = "listening"
    USER_SPEAKING = "user_speaking"
    THINKING = "thinking"
    AGENT_SPEAKING = "agent_speaking"


class Signal(StrEnum):
    """What can happen to a turn."""

    SPEECH_STARTED = "speech_started"
    SPEECH_STOPPED = "speech_stopped"
    """The turn is over by decision of the detector, not merely silent."""
    COMMIT = "commit"
    """The client says that the user's turn is over."""
    TEXT = "text"
    """A typed turn that wants an answer."""
    REQUEST = "request"
    """An answer is wanted now."""
    CANCEL = "cancel"
    RESPONSE_CREATED = "response_created"
    RESPONSE_AUDIO = "response_audio"
    RESPONSE_DONE = "response_done"
    PLAYED_OUT = "played_out"
    """Everything that was answered has been heard."""


class Action(StrEnum):
    """What must be done, in this order."""

    FLUSH = "flush"
    """Silence every listener."""
    CANCEL = "cancel"
    """Tell the model to stop its response."""
    DROP = "drop"
    """Ignore what still arrives of the response."""
    TRUNCATE = "truncate"
    """Cut the answer, here and at the model, to what was heard."""
    WITHDRAW = "withdraw"
    """Undo the answer without trace, here and at the model; the user's turn goes on."""
    COMMIT = "commit"
    CREATE = "create"


_INTERRUPT = (Action.FLUSH, Action.CANCEL, Action.DROP, Action.TRUNCATE)
_ANSWER = (Action.COMMIT, Action.CREATE)

_S, _E = State, Signal

TRANSITIONS: dict[tuple[State, Signal], tuple[State, tuple[Action, ...]]] = {
    (_S.LISTENING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, ()),
    (_S.LISTENING, _E.COMMIT): (_S.THINKING, _ANSWER),
    (_S.LISTENING, _E.TEXT): (_S.THINKING, (Action.CREATE,)),
    (_S.LISTENING, _E.REQUEST): (_S.THINKING, (Action.CREATE,)),
    (_S.LISTENING, _E.RESPONSE_CREATED): (_S.THINKING, ()),
    (_S.LISTENING, _E.RESPONSE_AUDIO): (_S.AGENT_SPEAKING, ()),
    (_S.USER_SPEAKING, _E.SPEECH_STOPPED): (_S.THINKING, _ANSWER),
    (_S.USER_SPEAKING, _E.COMMIT): (_S.THINKING, _ANSWER),
    (_S.USER_SPEAKING, _E.TEXT): (_S.THINKING, (Action.CREATE,)),
    (_S.USER_SPEAKING, _E.REQUEST): (_S.THINKING, (Action.CREATE,)),
    (_S.USER_SPEAKING, _E.RESPONSE_CREATED): (_S.THINKING, ()),
    (_S.USER_SPEAKING, _E.RESPONSE_AUDIO): (_S.AGENT_SPEAKING, ()),
    (_S.THINKING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, _INTERRUPT),
    (_S.THINKING, _E.COMMIT): (_S.THINKING, (*_INTERRUPT, *_ANSWER)),
    (_S.THINKING, _E.TEXT): (_S.THINKING, (*_INTERRUPT, Action.CREATE)),
    (_S.THINKING, _E.REQUEST): (_S.THINKING, (*_INTERRUPT, Action.CREATE)),
    (_S.THINKING, _E.CANCEL): (_S.LISTENING, _INTERRUPT),
    (_S.THINKING, _E.RESPONSE_AUDIO): (_S.AGENT_SPEAKING, ()),
    (_S.THINKING, _E.RESPONSE_DONE): (_S.LISTENING, ()),
    (_S.AGENT_SPEAKING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, _INTERRUPT),
    (_S.AGENT_SPEAKING, _E.COMMIT): (_S.THINKING, (*_INTERRUPT, *_ANSWER)),
    (_S.AGENT_SPEAKING, _E.TEXT): (_S.THINKING, (*_INTERRUPT, Action.CREATE)),
    (_S.AGENT_SPEAKING, _E.REQUEST): (_S.THINKING, (*_INTERRUPT, Action.CREATE)),
    (_S.AGENT_SPEAKING, _E.CANCEL): (_S.LISTENING, _INTERRUPT),
    (_S.AGENT_SPEAKING, _E.PLAYED_OUT): (_S.LISTENING, ()),
}
"""Every pair that is not listed changes nothing and asks for nothing."""

SPEECH_SIGNALS = frozenset({Signal.SPEECH_STARTED, Signal.SPEECH_STOPPED})
WITHHELD_FROM_SPEECH: dict[TurnAuthority, frozenset[Action]] = {
    # The provider's detector has already done these; doing them twice is an error there.
    "provider": frozenset({Action.CANCEL, Action.COMMIT, Action.CREATE}),
    "server": frozenset(),
    "client": frozenset(_INTERRUPT + _ANSWER),
}
"""What speech does not cause by itself, by who decides about turns."""


@dataclass(slots=True)
class Turn:
    """The state of one call's turn.

    `now` is monotonic seconds. `receive` gets, beside the signal, what the shell knows: whether a response is running
    at the model, how much of the reply was heard and how much was sent but not heard yet, in ms.
    """

    authority: TurnAuthority = "provider"
    state: State = State.LISTENING
    hasty_turns: int = 0
    """How many hasty turn ends were undone."""
    turn_ended_at: float | None = None
    withdrawable: bool = False
    """The reply to the turn that ended last can still be undone: it has had no effect on the world."""

    def receive(
        self, signal: Signal, now: float, *, responding: bool = False, heard_ms: int = 0, unheard_ms: int = 0
    ) -> tuple[Action, ...]:
        """Move to the next state and return what must be done, in order."""
        if (
            self.state is State.AGENT_SPEAKING
            and not responding
            and unheard_ms <= 0
            and signal is not Signal.PLAYED_OUT
        ):
            self.receive(Signal.PLAYED_OUT, now)
        transition = TRANSITIONS.get((self.state, signal))
        if transition is None:
            return ()
        self.state, actions = transition
        if not responding and unheard_ms <= 0:
            actions = tuple(action for action in actions if action not in _INTERRUPT)
        elif Action.TRUNCATE in actions and signal is Signal.SPEECH_STARTED and self._was_hasty(now, heard_ms):
            self.hasty_turns += 1
            actions = tuple(Action.WITHDRAW if action is Action.TRUNCATE else action for action in actions)
        if signal in SPEECH_SIGNALS:
            withheld = WITHHELD_FROM_SPEECH[self.authority]
            actions = tuple(action for action in actions if action not in withheld)
        if signal is Signal.SPEECH_STOPPED:
            self.turn_ended_at, self.withdrawable = now, True
        elif signal in (Signal.TEXT, Signal.REQUEST, Signal.COMMIT, Signal.CANCEL, Signal.SPEECH_STARTED):
            self.turn_ended_at, self.withdrawable = None, False
        return actions

    def _was_hasty(self, now: float, heard_ms: int) -> bool:
        return (
            self.withdrawable
            and self.turn_ended_at is not None
            and (now - self.turn_ended_at) * 1000 <= HASTY_WINDOW_MS
            and heard_ms < HASTY_HEARD_MS
        )
