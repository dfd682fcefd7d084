"""Draw the turn machine into docs/lifecycle.md, from the table that the server runs on.

    python tools/draw_lifecycle.py

Everything between the two markers is replaced: the state diagram, and the table of what is done when. A test compares.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import get_args

from realtime.event.config import TurnAuthority
from realtime.turn.machine import (
    DONE_BY_PROVIDER,
    INTERRUPT,
    ONLY_FOR,
    SPEECH_SIGNALS,
    TRANSITIONS,
    Action,
    Signal,
    State,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "lifecycle.md"
BEGIN = "<!-- drawn by tools/draw_lifecycle.py: begin -->"
END = "<!-- drawn by tools/draw_lifecycle.py: end -->"
AUTHORITIES: tuple[TurnAuthority, ...] = get_args(TurnAuthority)

WORDS = {
    Signal.SPEECH_STARTED: "the user starts to speak",
    Signal.SPEECH_STOPPED: "the user's turn ends",
    Signal.COMMIT: "the client commits",
    Signal.TEXT: "the user sends text",
    Signal.REQUEST: "the client asks for a response",
    Signal.CANCEL: "the client cancels",
    Signal.CLEAR: "the client takes its speech back",
    Signal.RESPONSE_CREATED: "a response begins",
    Signal.RESPONSE_AUDIO: "its voice begins",
    Signal.RESPONSE_DONE: "the response is done",
    Signal.PLAYED_OUT: "all of it was heard",
    Signal.MISTAKEN: "a turn that cut the reply asks for nothing",
}


def diagram() -> str:
    """The states and what leads from one to the next, as a mermaid state diagram."""
    arrows: defaultdict[tuple[State, State], list[str]] = defaultdict(list)
    for row, (end, _) in TRANSITIONS.items():
        start, signal = row
        only = f" ({ONLY_FOR[row]})" if row in ONLY_FOR else ""
        arrows[start, end].append(f"{WORDS[signal]}{only}")
    lines = ["stateDiagram-v2", f"    [*] --> {State.LISTENING}"]
    lines += [f"    {start} --> {end}: {'<br/>'.join(labels)}" for (start, end), labels in arrows.items()]
    return "\n".join(["```mermaid", *lines, "```"])


def actions_by_signal() -> dict[Signal, tuple[Action, ...]]:
    """What each signal asks for. Raises ValueError if that depends on the state: the page's table could not say it."""
    found: dict[Signal, tuple[Action, ...]] = {}
    for (state, signal), (_, actions) in TRANSITIONS.items():
        if found.setdefault(signal, actions) != actions:
            raise ValueError(f"{signal} asks for other actions in {state} than elsewhere")
    return found


def table() -> str:
    """What is done at each signal, by who decides about turns."""
    lines = [
        f"| When | {' | '.join(f'`{authority}`' for authority in AUTHORITIES)} |",
        f"|---|{'---|' * len(AUTHORITIES)}",
    ]
    for signal, actions in actions_by_signal().items():
        if actions:
            cells = [_done(signal, actions, authority) for authority in AUTHORITIES]
            lines.append(f"| {WORDS[signal]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _done(signal: Signal, actions: tuple[Action, ...], authority: TurnAuthority) -> str:
    if authority == "provider":
        actions = tuple(action for action in actions if action not in DONE_BY_PROVIDER.get(signal, ()))
    elif authority == "client" and signal in SPEECH_SIGNALS:
        actions = ()
    if actions[: len(INTERRUPT)] == INTERRUPT:
        return ", ".join(("interrupt", *actions[len(INTERRUPT) :]))
    return ", ".join(actions) or "nothing"


def drawn(page: str) -> str:
    """The page with what stands between the markers drawn anew. Raises ValueError where a marker is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page needs the markers {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{diagram()}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
