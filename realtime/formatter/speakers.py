"""The turns of several speakers: one user message each by name, or one `<history>` for all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from realtime.formatter.media import Part
from realtime.formatter.turns import SpokenTurn, Turn, UserTurn
from realtime.message.speakers import own_words, spoken_by

_TAG = re.compile(r"<(/?history)>", re.IGNORECASE)


def turn_by_name(turn: SpokenTurn) -> UserTurn:
    """Return a turn as `[Name]: words`, with what was shown."""
    return UserTurn([spoken_by(turn.name, turn.words), *_shown(turn)])


def history(turns: Sequence[Turn], prompt: str) -> Iterator[Turn]:
    """Yield the turns; those of speakers that follow each other become one, between tags.

    A line is `Name: words`. Lines within the words that look like another speaker's get round brackets.
    """
    names = {_one_line(turn.name) for turn in turns if isinstance(turn, SpokenTurn)}
    # A name stands at the beginning of a line, perhaps after marks.
    anyone = "|".join(sorted(map(re.escape, names)))
    anothers = re.compile(rf"^([^\w\n]*)({anyone})(?=\s*[:：])", re.MULTILINE | re.IGNORECASE)
    spoken: list[SpokenTurn] = []
    for turn in turns:
        if isinstance(turn, SpokenTurn):
            spoken.append(turn)
            continue
        if spoken:
            yield _told(spoken, prompt, anothers)
            spoken, prompt = [], ""
        yield turn
    if spoken:
        yield _told(spoken, prompt, anothers)


def _told(turns: Sequence[SpokenTurn], prompt: str, anothers: re.Pattern[str]) -> UserTurn:
    parts: list[Part] = []
    lines = [f"{prompt}<history>"]
    for turn in turns:
        words = anothers.sub(r"\1(\2)", turn.words)
        line = f"{_one_line(turn.name)}: {words}"
        lines.append(_TAG.sub(r"(\1)", line))
        if shown := _shown(turn):
            parts += ["\n".join(lines), *shown]
            lines = []
    return UserTurn([*parts, "\n".join([*lines, "</history>"])])


def _shown(turn: SpokenTurn) -> list[Part]:
    return [own_words(part) if isinstance(part, str) else part for part in turn.shown]


def _one_line(name: str) -> str:
    return " ".join(name.split())
