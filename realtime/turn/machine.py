"""The turn machine: who is speaking, and what must be done when that changes. A table, no I/O; time is an argument.

Everything that moves the state of a turn is in `TRANSITIONS` and `ONLY_FOR`; the diagram in `docs/lifecycle.md` is
drawn from them. The only decisions in code are the three that a table cannot say: whether there is a reply to interrupt
or to wait for, whether a turn end was hasty, and what speech may cause under the authority of the call.
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
    """An answer is wanted now. One that is on its way and not heard yet is that answer."""
    CANCEL = "cancel"
    CLEAR = "clear"
    """The client takes back what the user has said of a turn that goes on: it is none."""
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
    """Ignore what still arrives of the response, also of one that was asked for and has not begun. The turn hears no
    more of it either: neither its signals nor `responding`."""
    TRUNCATE = "truncate"
    """Cut the answer, here and at the model, to what was heard."""
    WITHDRAW = "withdraw"
    """Undo the answer, if there is one yet, without trace, here and at the model; the user's turn goes on, and what was
    committed of it and what follows become one."""
    COMMIT = "commit"
    CREATE = "create"


INTERRUPT = (Action.FLUSH, Action.CANCEL, Action.DROP, Action.TRUNCATE)
"""Done only where a reply is on its way or not heard to its end, which can be in any state: one that follows a tool is
asked for long after the voice that announced it."""
ANSWER = (Action.COMMIT, Action.CREATE)

_S, _E = State, Signal

TRANSITIONS: dict[tuple[State, Signal], tuple[State, tuple[Action, ...]]] = {
    (_S.LISTENING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, INTERRUPT),
    (_S.LISTENING, _E.COMMIT): (_S.THINKING, (*INTERRUPT, *ANSWER)),
    (_S.LISTENING, _E.TEXT): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.LISTENING, _E.REQUEST): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.LISTENING, _E.CANCEL): (_S.LISTENING, INTERRUPT),
    (_S.LISTENING, _E.RESPONSE_CREATED): (_S.THINKING, ()),
    (_S.LISTENING, _E.RESPONSE_AUDIO): (_S.AGENT_SPEAKING, ()),
    (_S.USER_SPEAKING, _E.SPEECH_STOPPED): (_S.THINKING, (*INTERRUPT, *ANSWER)),
    (_S.USER_SPEAKING, _E.COMMIT): (_S.THINKING, (*INTERRUPT, *ANSWER)),
    (_S.USER_SPEAKING, _E.TEXT): (_S.USER_SPEAKING, (*INTERRUPT, Action.CREATE)),
    (_S.USER_SPEAKING, _E.REQUEST): (_S.USER_SPEAKING, (*INTERRUPT, Action.CREATE)),
    (_S.USER_SPEAKING, _E.CANCEL): (_S.USER_SPEAKING, INTERRUPT),
    (_S.USER_SPEAKING, _E.CLEAR): (_S.THINKING, ()),
    (_S.USER_SPEAKING, _E.RESPONSE_CREATED): (_S.THINKING, ()),
    (_S.USER_SPEAKING, _E.RESPONSE_AUDIO): (_S.AGENT_SPEAKING, ()),
    (_S.THINKING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, INTERRUPT),
    (_S.THINKING, _E.COMMIT): (_S.THINKING, (*INTERRUPT, *ANSWER)),
    (_S.THINKING, _E.TEXT): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.THINKING, _E.REQUEST): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.THINKING, _E.CANCEL): (_S.LISTENING, INTERRUPT),
    (_S.THINKING, _E.RESPONSE_AUDIO): (_S.AGENT_SPEAKING, ()),
    (_S.THINKING, _E.RESPONSE_DONE): (_S.LISTENING, ()),
    (_S.AGENT_SPEAKING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, INTERRUPT),
    (_S.AGENT_SPEAKING, _E.COMMIT): (_S.THINKING, (*INTERRUPT, *ANSWER)),
    (_S.AGENT_SPEAKING, _E.TEXT): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.AGENT_SPEAKING, _E.REQUEST): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.AGENT_SPEAKING, _E.CANCEL): (_S.LISTENING, INTERRUPT),
    (_S.AGENT_SPEAKING, _E.PLAYED_OUT): (_S.LISTENING, ()),
}
"""Every pair that is not listed changes nothing and asks for nothing."""

ONLY_FOR: dict[tuple[State, Signal], TurnAuthority] = {
    # A commit that no speech came before closes nothing where a detector finds the turns (a page that commits when its
    # microphone is switched off must not cut the reply); in push-to-talk nobody else knows of speech.
    (_S.LISTENING, _E.COMMIT): "client",
    (_S.THINKING, _E.COMMIT): "client",
    (_S.AGENT_SPEAKING, _E.COMMIT): "client",
    # A provider that answers has ended the turn, also one that does not report it. Where we decide, an answer to typed
    # text does not end the speech that goes on.
    (_S.USER_SPEAKING, _E.RESPONSE_CREATED): "provider",
    (_S.USER_SPEAKING, _E.RESPONSE_AUDIO): "provider",
}
"""Rows of `TRANSITIONS` that hold under one authority only."""

SPEECH_SIGNALS = frozenset({Signal.SPEECH_STARTED, Signal.SPEECH_STOPPED})
"""In push-to-talk these change nothing and cause nothing."""
DONE_BY_PROVIDER: dict[Signal, frozenset[Action]] = {
    Signal.SPEECH_STARTED: frozenset({Action.CANCEL}),
    # It answers if it can; a reply that runs already is then the only one there will be.
    Signal.SPEECH_STOPPED: frozenset((*INTERRUPT, *ANSWER)),
}
"""What speech does not cause by our hand where the provider decides: doing it twice is an error there."""

_TURN_TAKEN = frozenset(
    {Signal.SPEECH_STARTED, Signal.COMMIT, Signal.TEXT, Signal.REQUEST, Signal.CANCEL, Signal.PLAYED_OUT}
)
"""After these the turn that ended last is settled and cannot have ended in haste."""


@dataclass(slots=True)
class Turn:
    """The state of one call's turn.

    `now` is monotonic seconds. `receive` gets, beside the signal, what the shell knows once it has taken note of it:
    `responding`, whether a reply is on its way: asked for, running at the model or waiting for its tools, and not
    dropped; how much of the reply was heard and how much was sent but not heard yet, in ms; and whether there is `news`
    that the reply cannot know, so that a request for one is not one for the reply that is on its way.
    """

    authority: TurnAuthority = "provider"
    state: State = State.LISTENING
    hasty_turns: int = 0
    """How many hasty turn ends were undone."""
    turn_ended_at: float | None = None
    withdrawable: bool = False
    """The reply to the turn that ended last can still be undone: not heard whole, and without effect on the world."""
    interrupts: bool = True
    """Speech stops the reply. Else it goes on beside the speech, and speech that ends while the model is still at work
    on it gets none of its own."""
    creates: bool = True
    """The end of speech asks for a reply."""

    def receive(
        self,
        signal: Signal,
        now: float,
        *,
        responding: bool = False,
        heard_ms: int = 0,
        unheard_ms: int = 0,
        news: bool = False,
    ) -> tuple[Action, ...]:
        """Move to the next state and return what must be done, in order. No actions: nothing was decided."""
        if self.authority == "client" and signal in SPEECH_SIGNALS:
            return ()
        if responding and (signal is Signal.RESPONSE_DONE or (signal is Signal.REQUEST and heard_ms <= 0 and not news)):
            return ()
        replying = responding or unheard_ms > 0
        if self.state is State.AGENT_SPEAKING and not replying:
            self._move(Signal.PLAYED_OUT)
        elif signal is Signal.PLAYED_OUT:
            return ()
        hasty = signal is Signal.SPEECH_STARTED and self._was_hasty(now, heard_ms)
        actions = self._move(signal)
        if actions is None:
            return ()
        if signal is Signal.SPEECH_STOPPED:
            self.turn_ended_at, self.withdrawable = now, True
        uninterrupted = signal in SPEECH_SIGNALS and not self.interrupts
        if uninterrupted or not replying:
            actions = tuple(action for action in actions if action not in INTERRUPT)
        if signal is Signal.SPEECH_STOPPED and (not self.creates or (uninterrupted and responding)):
            actions = tuple(action for action in actions if action is not Action.CREATE)
        if hasty and not uninterrupted:
            # Also where nothing is left to interrupt, or not yet: the two parts are one turn all the same.
            self.hasty_turns += 1
            actions = (*(action for action in actions if action is not Action.TRUNCATE), Action.WITHDRAW)
        if self.authority == "provider":
            done_there = DONE_BY_PROVIDER.get(signal, frozenset())
            actions = tuple(action for action in actions if action not in done_there)
        return actions

    def _move(self, signal: Signal) -> tuple[Action, ...] | None:
        """Take the row of the table; None where there is none."""
        row = (self.state, signal)
        if row not in TRANSITIONS or ONLY_FOR.get(row, self.authority) != self.authority:
            return None
        self.state, actions = TRANSITIONS[row]
        if signal in _TURN_TAKEN:
            self.turn_ended_at, self.withdrawable = None, False
        return actions

    def _was_hasty(self, now: float, heard_ms: int) -> bool:
        return (
            self.withdrawable
            and self.turn_ended_at is not None
            # Rounded, since 10.8 s - 10.0 s is a little more than 0.8 s in floats.
            and round((now - self.turn_ended_at) * 1000, 3) <= HASTY_WINDOW_MS
            and heard_ms < HASTY_HEARD_MS
        )
