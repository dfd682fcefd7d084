"""What a rule of the keyless model gets: the utterance, and what is known of the conversation."""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.message.speakers import SPEAKS, speaker_and_words
from realtime.model.local.keyless.brief import Brief, brief_of
from realtime.model.local.keyless.names import learned_name, own_name
from realtime.model.local.keyless.product import ASK_THE_OPERATOR, Product
from realtime.model.local.keyless.words import classes_of, core, is_question, plain, rule_pattern
from realtime.model.local.language_model import Prompt

LONGEST_CHARS = 1_000
"""Characters of an utterance that are matched."""


@dataclass(frozen=True, slots=True)
class Line:
    """What a user said once; `after` is what the agent had said before it."""

    words: str
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the user.

    `said` is how it was said, `plain` the same for matching, `core` without courtesies, `classes` its classes of words.
    """

    said: str
    plain: str
    core: str
    classes: frozenset[str]

    @classmethod
    def of(cls, said: str, me: str) -> Request:
        """Prepare what was said for matching; `me` is how the agent is called."""
        said = said.strip()[:LONGEST_CHARS]
        text = plain(said)
        return cls(said, text, core(text, me), classes_of(text))


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of a rule: one request of the user, and the known facts.

    `earlier` are the user's lines before it, oldest first, `answers` what the agent said. `turn` counts the user's
    lines. `turn_id` is unguessable and the same each time the turn is answered: chance comes from it.
    """

    request: Request
    name: str | None
    me: str
    turn: int
    turn_id: str
    earlier: Sequence[Line]
    answers: Sequence[str]
    tools: Sequence[ToolDeclaration]
    brief: Brief
    product: Product | None
    today: date | None = None
    """Where the server is; None: not known."""
    place: int = 0
    """Which of several requests it is."""
    is_whole: bool = True
    """Whether the request is all that the user said."""

    @property
    def said(self) -> str:
        """See `Request`."""
        return self.request.said

    @property
    def plain(self) -> str:
        """See `Request`."""
        return self.request.plain

    @property
    def core(self) -> str:
        """See `Request`."""
        return self.request.core

    @property
    def last_answer(self) -> str | None:
        """What the agent said last; None: nothing yet."""
        return self.answers[-1] if self.answers else None

    @property
    def asks(self) -> bool:
        """Whether the request is a question."""
        return is_question(self.said, self.core)

    @property
    def hint(self) -> str:
        """The next step to a model that knows more."""
        if self.product is None:
            return "With a language model behind me I could: the operator of this server can add one."
        return "A language model could: ask me how to add a free one."

    @property
    def pointer(self) -> str:
        """Where a better language model comes from, in a sentence."""
        return ASK_THE_OPERATOR if self.product is None else "Ask me how to add a free language model."

    def named(self, greeting: str) -> str:
        """Add the user's name to the greeting if it is known: "Hello, Katie"."""
        return f"{greeting}, {self.name}" if self.name else greeting

    def has(self, tool: str) -> bool:
        """Whether the prompt offers a tool of this name."""
        return any(declared.name == tool for declared in self.tools)

    def part(self, said: str, place: int) -> Situation:
        """Return the situation of one of several requests."""
        return dataclasses.replace(self, request=Request.of(said, self.me), place=place, is_whole=False)

    def chance(self, count: int, salt: str = "") -> int:
        """Draw a number below `count`, by the turn's id."""
        return zlib.crc32(f"{self.turn_id} {self.turn} {salt}".encode()) % count

    def vary(self, texts: Sequence[str]) -> str:
        """Return the next text, but not the one said last."""
        last = self.last_answer or ""
        start = (self.turn + self.place) % len(texts)
        ordered = [*texts[start:], *texts[:start]]
        return next((text for text in ordered if text not in last), ordered[0])

    def fresh(self, texts: Sequence[str]) -> str:
        """Return a text that was not said yet, chosen by chance."""
        start = self.chance(len(texts))
        ordered = [*texts[start:], *texts[:start]]
        heard = "\n".join(self.answers)
        return next((text for text in ordered if text not in heard), self.vary(texts))


Rule = Callable[[Situation, re.Match[str]], str | None]
Rules = tuple[tuple[re.Pattern[str], Rule], ...]


def rules(*pairs: tuple[str, Rule]) -> Rules:
    """Compile patterns of a request's core, each with its answer."""
    return tuple((rule_pattern(pattern), rule) for pattern, rule in pairs)


def first_answer(table: Rules, situation: Situation) -> str | None:
    """Return the answer of the first rule that matches and has one."""
    for pattern, rule in table:
        if (match := pattern.search(situation.core)) and (answer := rule(situation, match)) is not None:
            return answer
    return None


def always(*texts: str) -> Rule:
    """Make a rule that says the texts in turn."""
    return lambda situation, _: situation.vary(texts)


def situation_of(prompt: Prompt, product: Product | None) -> Situation | None:
    """Read a prompt; None: no user has said anything."""
    lines, answers = _read(prompt.history)
    if not lines:
        return None
    speaker, last, turn_id = lines[-1]
    own = [line for who, line, _ in lines if who == speaker]
    me = own_name(prompt.instructions, prompt.agent_name)
    return Situation(
        request=Request.of(last.words, me),
        name=learned_name([line.words for line in own], [line.after or "" for line in own]) or speaker,
        me=me,
        turn=len(own),
        turn_id=turn_id,
        earlier=own[:-1],
        answers=answers,
        tools=prompt.tools,
        brief=brief_of(prompt.instructions),
        product=product,
        today=prompt.today,
    )


def _read(history: Sequence[Item]) -> tuple[list[tuple[str | None, Line, str]], list[str]]:
    """Return the users' words, their speakers, and the turns' ids; and the answers.

    In a room the speaker begins the line, or comes in a line before the words.
    """
    lines: list[tuple[str | None, Line, str]] = []
    answers: list[str] = []
    speaker: str | None = None
    for item in history:
        if item.type != "message":
            continue
        text = item.text
        if item.role == "assistant" and text:
            answers.append(text)
        if item.role != "user":
            continue
        who, words = speaker_and_words(text)
        if who is not None and words == SPEAKS:
            speaker = who
            continue
        lines.append((who or speaker, Line(words[:LONGEST_CHARS], answers[-1] if answers else None), item.id))
        speaker = None
    return lines, answers
