"""The turn machine: who is speaking, and what to do when that changes. A core without I/O; time is an argument.

`TRANSITIONS` and `ONLY_FOR` hold everything that moves the state of a turn; `tools/draw_lifecycle.py` draws the diagram
in `docs/lifecycle.md` from them. Code decides only what a table cannot express: whether there is a reply to interrupt
or to wait for, whether a turn ended too early, and what speech may cause under the authority of the call.

Only this module writes the state of a turn; `tests/test_one_writer.py` checks that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from realtime.event.config import TurnAuthority

HASTY_WINDOW_MS = 800
"""Speech this soon after a turn ended may continue that turn, ..."""
HASTY_PLAYED_MS = 400
"""... unless this much of the reply was played."""


class State(StrEnum):
    """State of a turn."""

    LISTENING = "listening"
    USER_SPEAKING = "user_speaking"
    THINKING = "thinking"
    AGENT_SPEAKING = "agent_speaking"


class Signal(StrEnum):
    """What can happen to a turn."""

    SPEECH_STARTED = "speech_started"
    SPEECH_STOPPED = "speech_stopped"
    """The detector has decided that the turn is over; the user is not merely silent."""
    COMMIT = "commit"
    """The client says that the user's turn is over."""
    TEXT = "text"
    """A typed turn that wants a response."""
    REQUEST = "request"
    """The client wants a response now. One that is on its way and unplayed is that response."""
    CANCEL = "cancel"
    CLEAR = "clear"
    """The client discards what the user has said of an open turn.

    It leads to THINKING, for a response requested meanwhile; the controller then signals RESPONSE_DONE, which leads
    back to LISTENING where none is on its way.
    """
    RESPONSE_CREATED = "response_created"
    RESPONSE_AUDIO = "response_audio"
    RESPONSE_DONE = "response_done"
    PLAYED_OUT = "played_out"
    """All of the reply was played."""
    MISTAKEN = "mistaken"
    """The turn that cut the reply asks for nothing."""


class Action(StrEnum):
    """What to do, in this order."""

    FLUSH = "flush"
    """Silence every listener."""
    CANCEL = "cancel"
    """Tell the model to stop its response."""
    DROP = "drop"
    """Ignore the rest of the response, even if it has not begun.

    The turn receives no more signals of it, and `responding` no longer counts it.
    """
    TRUNCATE = "truncate"
    """Cut the reply, here and at the model, to what was played."""
    WITHDRAW = "withdraw"
    """Delete the reply, if there is one, here and at the model. The user's turn goes on: what was committed of it and
    what follows become one turn."""
    RESUME = "resume"
    """Play the rest of the cut reply."""
    COMMIT = "commit"
    CREATE = "create"


INTERRUPT = (Action.FLUSH, Action.CANCEL, Action.DROP, Action.TRUNCATE)
"""Done only if a reply is coming or not fully played.

That can be in any state: a response after a tool is requested long after the voice that announced it.
"""
ANSWER = (Action.COMMIT, Action.CREATE)
GO_ON = (Action.CANCEL, Action.DROP, Action.WITHDRAW, Action.RESUME)
"""In place of the response to the turn."""

_S, _E = State, Signal

TRANSITIONS: dict[tuple[State, Signal], tuple[State, tuple[Action, ...]]] = {
    (_S.LISTENING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, INTERRUPT),
    (_S.LISTENING, _E.COMMIT): (_S.THINKING, (*INTERRUPT, *ANSWER)),
    (_S.LISTENING, _E.TEXT): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.LISTENING, _E.REQUEST): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.LISTENING, _E.CANCEL): (_S.LISTENING, INTERRUPT),
    (_S.LISTENING, _E.RESPONSE_CREATED): (_S.THINKING, ()),
    (_S.LISTENING, _E.RESPONSE_AUDIO): (_S.AGENT_SPEAKING, ()),
    (_S.LISTENING, _E.MISTAKEN): (_S.THINKING, GO_ON),
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
    (_S.THINKING, _E.MISTAKEN): (_S.THINKING, GO_ON),
    (_S.AGENT_SPEAKING, _E.SPEECH_STARTED): (_S.USER_SPEAKING, INTERRUPT),
    (_S.AGENT_SPEAKING, _E.COMMIT): (_S.THINKING, (*INTERRUPT, *ANSWER)),
    (_S.AGENT_SPEAKING, _E.TEXT): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.AGENT_SPEAKING, _E.REQUEST): (_S.THINKING, (*INTERRUPT, Action.CREATE)),
    (_S.AGENT_SPEAKING, _E.CANCEL): (_S.LISTENING, INTERRUPT),
    (_S.AGENT_SPEAKING, _E.PLAYED_OUT): (_S.LISTENING, ()),
}
"""A pair that is not listed changes nothing and causes nothing."""

ONLY_FOR: dict[tuple[State, Signal], TurnAuthority] = {
    # A commit without speech before it closes nothing where a detector finds the turns: a page that commits when its
    # microphone is switched off must not cut the reply. In push-to-talk the commit is the only sign of speech.
    (_S.LISTENING, _E.COMMIT): "client",
    (_S.THINKING, _E.COMMIT): "client",
    (_S.AGENT_SPEAKING, _E.COMMIT): "client",
    # A provider that responds has ended the turn, even if it does not report that. Where the server decides, a response
    # to typed text does not end the speech that goes on.
    (_S.USER_SPEAKING, _E.RESPONSE_CREATED): "provider",
    (_S.USER_SPEAKING, _E.RESPONSE_AUDIO): "provider",
}
"""Rows of `TRANSITIONS` that apply under one authority only."""

SPEECH_SIGNALS = frozenset({Signal.SPEECH_STARTED, Signal.SPEECH_STOPPED})
"""Ignored in push-to-talk."""
DONE_BY_PROVIDER: dict[Signal, frozenset[Action]] = {
    Signal.SPEECH_STARTED: frozenset({Action.CANCEL}),
    # It responds if it can; if a reply runs already, there will be no other.
    Signal.SPEECH_STOPPED: frozenset((*INTERRUPT, *ANSWER)),
}
"""What the provider does itself on speech where it decides: doing it twice is an error there."""
DONE_BY_DETECTOR: dict[Signal, frozenset[Action]] = {Signal.SPEECH_STOPPED: frozenset({Action.COMMIT})}
"""What it does itself where it only finds the turns."""

_TURN_TAKEN = frozenset(
    {
        Signal.SPEECH_STARTED,
        Signal.COMMIT,
        Signal.TEXT,
        Signal.REQUEST,
        Signal.CANCEL,
        Signal.PLAYED_OUT,
        Signal.MISTAKEN,
    }
)
"""After these the turn that ended last is settled: its end was not hasty."""


@dataclass(slots=True)
class Turn:
    """State of the turn of one call.

    `receive` takes, beside the signal and `now` in monotonic seconds, what the caller knows after noting the signal:
    `responding`, whether a reply is on its way (requested, running at the model or waiting for its tools, and not
    dropped); `played_ms`, how much of the reply was played; `unplayed_ms`, how much was sent and is unplayed; and
    `news`, whether the user put in something that the reply cannot know, so that a request asks for another one.
    """

    authority: TurnAuthority = "provider"
    state: State = State.LISTENING
    hasty_turns: int = 0
    """Number of hasty turn ends that were undone."""
    turn_ended_at: float | None = None
    withdrawable: bool = False
    """Whether the reply to the turn that ended last can be undone: not played to its end, and no tool was called."""
    interrupts: bool = True
    """Speech stops the reply. Otherwise the reply goes on beside it, and speech that ends while the model still works
    on that reply gets none of its own."""
    creates: bool = True
    """The end of speech requests a reply."""
    provider_responds: bool = True
    """With authority `provider`: it cancels and creates responses by itself, too."""

    def configure(
        self,
        authority: TurnAuthority,
        *,
        creates: bool = True,
        interrupts: bool = True,
        provider_responds: bool = True,
    ) -> None:
        """Set who decides about turns, and what speech causes."""
        self.authority, self.creates, self.interrupts = authority, creates, interrupts
        self.provider_responds = provider_responds

    @property
    def responder(self) -> TurnAuthority:
        """Who creates the response to a turn."""
        return "server" if self.authority == "provider" and not self.provider_responds else self.authority

    def tool_called(self) -> None:
        """The reply called a tool, which may change the world: it can no longer be undone."""
        self.withdrawable = False

    def stands_alone(self) -> None:
        """The turn that ended last was none of the user's: a voice that follows does not continue it."""
        self.withdrawable = False

    def receive(
        self,
        signal: Signal,
        now: float,
        *,
        responding: bool = False,
        played_ms: int = 0,
        unplayed_ms: int = 0,
        news: bool = False,
    ) -> tuple[Action, ...]:
        """Move to the next state and return what to do, in order."""
        if self.authority == "client" and signal in SPEECH_SIGNALS:
            return ()
        if responding and (
            signal is Signal.RESPONSE_DONE or (signal is Signal.REQUEST and played_ms <= 0 and not news)
        ):
            return ()
        replying = responding or unplayed_ms > 0
        if self.state is State.AGENT_SPEAKING and not replying:
            self._move(Signal.PLAYED_OUT)
        elif signal is Signal.PLAYED_OUT:
            return ()
        hasty = signal is Signal.SPEECH_STARTED and self._was_hasty(now, played_ms)
        actions = self._move(signal)
        if actions is None:
            return ()
        if signal is Signal.SPEECH_STOPPED:
            self.turn_ended_at, self.withdrawable = now, True
        uninterrupted = signal in SPEECH_SIGNALS and not self.interrupts
        left_out: set[Action] = set()
        if uninterrupted or not replying:
            left_out.update(INTERRUPT)
        if signal is Signal.SPEECH_STOPPED and (not self.creates or (uninterrupted and responding)):
            left_out.add(Action.CREATE)
        if hasty and not uninterrupted:
            # Also where there is nothing to interrupt, or not yet: the two parts are one turn all the same.
            self.hasty_turns += 1
            left_out.add(Action.TRUNCATE)
            actions = (*actions, Action.WITHDRAW)
        if self.authority == "provider":
            done_there = DONE_BY_PROVIDER if self.provider_responds else DONE_BY_DETECTOR
            left_out |= done_there.get(signal, frozenset())
        return tuple(action for action in actions if action not in left_out)

    def _move(self, signal: Signal) -> tuple[Action, ...] | None:
        """Take the row of the table; None if there is no row."""
        row = (self.state, signal)
        if row not in TRANSITIONS or ONLY_FOR.get(row, self.responder) != self.responder:
            return None
        self.state, actions = TRANSITIONS[row]
        if signal in _TURN_TAKEN:
            self.turn_ended_at, self.withdrawable = None, False
        return actions

    def _was_hasty(self, now: float, played_ms: int) -> bool:
        return (
            self.withdrawable
            and self.turn_ended_at is not None
            # Rounded, since 10.8 s - 10.0 s is a little more than 0.8 s in floats.
            and round((now - self.turn_ended_at) * 1000, 3) <= HASTY_WINDOW_MS
            and played_ms < HASTY_PLAYED_MS
        )
