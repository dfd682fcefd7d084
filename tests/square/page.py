"""Write docs/parity.md from the table of the square, the models' profiles and the list of what is not proven.

    python -m tests.square.page

A test compares. Needs no SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from realtime.model.base import Profile
from realtime.model.services import SERVICES
from tests.square.table import (
    BEHIND,
    DIALECTS,
    LOCAL,
    LOCAL_MODEL,
    MODELS,
    OLDER,
    SCENARIOS,
    Cannot,
    Cell,
    cells,
    older_cells,
)
from tests.square.unproven import SOURCES, UNPROVEN

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parity.md"
HEAD = """\
# Any client, any model: what is equal

<!-- Written by `python -m tests.square.page` from the table that the tests run. Do not edit. -->

Every protocol that this server speaks, with every model that it can use. Each cell is a test (`tests/square`):
a client of that protocol, the provider's own SDK if there is one, talks to this server; the model is the embedded
one, or a provider's, dialled at a second server of ours. **No provider was reached for this
page**: what is equal here is equal between our own two ends. The last part lists what that leaves open.

The scenarios:
"""
EQUAL = """\
## What is equal, by client

`equal`: the client sees what the scenario says. A number refers to a note below: why it cannot be equal, and which
message the client gets.
"""
ABLE = """\
## What a model can do, by name

The models of the tests, and older ones:
"""
OPEN = """\
## What is not proven against the service

No test has spoken to a provider. The two ends are built from these sources, most trustworthy first:
"""


def page() -> str:
    """The whole page."""
    return "\n".join([*_equal(), *_able(), *_open()]).rstrip() + "\n"


def _equal() -> Iterator[str]:
    yield HEAD
    yield from (f"- **{name}**: {text}." for name, text in SCENARIOS.items())
    yield ""
    yield EQUAL
    notes: list[Cannot] = []
    square = [*cells()]
    for dialect, client in DIALECTS.items():
        yield f"### {dialect}: {client}\n"
        names = [f"{name}: `{MODELS[name]}`" if name in MODELS else f"{LOCAL}: {LOCAL_MODEL}" for name in BEHIND]
        yield f"| | {' | '.join(names)} |"
        yield f"|---|{'---|' * len(names)}"
        for scenario in SCENARIOS:
            row = [cell for cell in square if (cell.dialect, cell.scenario) == (dialect, scenario)]
            yield f"| {scenario} | {' | '.join(_mark(cell, notes) for cell in row)} |"
        yield ""
    equal = sum(cell.cannot is None for cell in square)
    yield f"{equal} of {len(square)} cells are equal, {len(square) - equal} cannot be, none is unexplained.\n"
    yield "### Older models\n"
    yield "They differ from their provider's newest model here:\n"
    yield f"| model | scenario | {' | '.join(DIALECTS)} |"
    yield f"|---|---|{'---|' * len(DIALECTS)}"
    for _, model, scenario in OLDER:
        row = [cell for cell in older_cells() if (cell.model, cell.scenario) == (model, scenario)]
        yield f"| `{model}` | {scenario} | {' | '.join(_mark(cell, notes) for cell in row)} |"
    yield "\n### Notes\n"
    for number, note in enumerate(notes, 1):
        told = f'The client gets "... {note.told}".' if note.told else "The client is not told."
        yield f"{number}. {note.why[0].upper()}{note.why[1:]}. {told}"
    yield ""


def _mark(cell: Cell, notes: list[Cannot]) -> str:
    if cell.cannot is None:
        return "equal"
    if cell.cannot not in notes:
        notes.append(cell.cannot)
    return f"cannot ({notes.index(cell.cannot) + 1})"


def _able() -> Iterator[str]:
    profiles = [SERVICES[provider].open(name).profile for provider, name in MODELS.items()]
    profiles += [SERVICES[provider].open(name).profile for provider, name, _ in OLDER]
    profiles.sort(key=lambda profile: [*MODELS].index(profile.provider))
    yield ABLE
    yield f"| | {' | '.join(f'`{profile.model}`' for profile in profiles)} |"
    yield f"|---|{'---|' * len(profiles)}"
    for title, fact in _FACTS:
        yield f"| {title} | {' | '.join(fact(profile) for profile in profiles)} |"
    yield ""


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _minutes(profile: Profile) -> str:
    return "unlimited" if profile.session_limit_s is None else str(profile.session_limit_s // 60)


_FACTS: tuple[tuple[str, Callable[[Profile], str]], ...] = (
    ("takes", lambda profile: ", ".join(sorted(profile.input_modalities))),
    ("speech in, Hz", lambda profile: str(profile.input_rate_hz)),
    ("speech out, Hz", lambda profile: str(profile.output_rate_hz)),
    ("functions", lambda profile: _yes(profile.supports_tools)),
    ("reports when the user starts and stops", lambda profile: _yes(profile.emits_speech_events)),
    ("push-to-talk", lambda profile: _yes(profile.supports_manual_turns)),
    ("takes what was heard", lambda profile: _yes(profile.supports_truncation)),
    ("deletes an item", lambda profile: _yes(profile.supports_item_delete)),
    ("takes sound in an item", lambda profile: _yes(profile.supports_item_sound)),
    ("answers beside the conversation", lambda profile: _yes(profile.supports_response_overrides)),
    ("a session lasts, min", _minutes),
)


def _open() -> Iterator[str]:
    yield OPEN
    yield from (f"- **{name}**: {text}." for name, text in SOURCES.items())
    yield "\n| provider | fact | rests on |\n|---|---|---|"
    for one in UNPROVEN:
        yield f"| {one.provider} | {one.fact} | {one.source} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
