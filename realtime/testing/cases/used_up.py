"""Notes on a stand-in's answers for failures: used up, or given to withdrawn turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from realtime.event.server import ServerAudioFlushEvent
from realtime.state.log import Entry
from realtime.testing.cases.stand_in import Answer, Call, Say, StandInModel, WriteText
from realtime.testing.check.words import shortened


def notes_on(models: Iterable[StandInModel], entries: Sequence[Entry], ms: Callable[[float], float]) -> tuple[str, ...]:
    """Return one sentence per note. `entries` is the call's log, `ms` converts loop times to log times."""
    withdrawn_ms = [
        entry.ts_ms for entry in entries if isinstance(entry, ServerAudioFlushEvent) and entry.reason == "hasty_turn"
    ]
    return tuple(note for model in models for note in _notes(model, withdrawn_ms, ms))


def _notes(model: StandInModel, withdrawn_ms: Sequence[int], ms: Callable[[float], float]) -> list[str]:
    asked_ms = [ms(at_s) for at_s in model.asked_s]
    answers = model.stand_in.answers
    notes = []
    for number, (answer, from_ms) in enumerate(zip(answers, asked_ms, strict=False), 1):
        until_ms = asked_ms[number] if number < len(asked_ms) else float("inf")
        # A log counts whole ms.
        at_ms = next((at_ms for at_ms in withdrawn_ms if from_ms - 1 <= at_ms < until_ms), None)
        if at_ms is not None:
            notes.append(
                f"Answer {number} of the case, {_named(answer)}, was used up by a turn that ended in haste and was "
                f"withdrawn at {at_ms / 1000:.2f} s; the same turn takes another answer when it is over."
            )
    late_ms = asked_ms[len(answers) :]
    if late_ms and model.stand_in.otherwise is None:
        times = ", ".join(f"{at_ms / 1000:.2f} s" for at_ms in late_ms)
        notes.append(
            f"The case has {len(answers)} answers and was asked for {len(asked_ms)}: at {times} the model said "
            "nothing. Add to `answers`, or say what comes `otherwise`."
        )
    return notes


def _named(answer: Answer) -> str:
    match answer:
        case Say(text=text) | WriteText(text=text):
            return f'"{shortened(text, 40)}"'
        case Call(tools=tools):
            return " and ".join(f"{use.name}(...)" for use in tools)
        case _:
            return "which says nothing"
