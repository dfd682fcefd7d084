"""What each argument of a tool takes: a count, a day, a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.utterance import stem_of as stem
from realtime.model.local.keyless.words import each, listed, plain

MOST_PARAMETERS = 30
_DEEPEST = 3


class Takes(Enum):
    """What an argument takes."""

    COUNT = auto()
    MONEY = auto()
    NUMBER = auto()
    DURATION = auto()
    DAY = auto()
    TIME = auto()
    WHEN = auto()
    RECIPIENT = auto()
    NAME = auto()
    PLACE = auto()
    ORIGIN = auto()
    DESTINATION = auto()
    IDENTIFIER = auto()
    ADDRESS = auto()
    """Of mail on the internet."""
    MESSAGE = auto()
    TITLE = auto()
    TEXT = auto()
    CHOICE = auto()
    FLAG = auto()
    LIST = auto()
    OTHER = auto()
    """What cannot be said."""


NUMERIC = frozenset({Takes.COUNT, Takes.MONEY, Takes.NUMBER, Takes.DURATION})
FORMED = NUMERIC | {Takes.CHOICE, Takes.ADDRESS, Takes.DAY, Takes.TIME, Takes.WHEN, Takes.IDENTIFIER}
"""What is found in any words by its form."""
WORDED = frozenset({Takes.MESSAGE, Takes.TITLE, Takes.TEXT})

PEOPLE = frozenset(
    map(
        stem,
        each(
            "people person guest adult traveller traveler passenger visitor diner friend seat individual head man men "
            "woman women kid child children other top"
        ),
    )
)
_OF_PEOPLE = PEOPLE | {"party", "size"}
_STRINGS = {
    Takes.ADDRESS: "email mail",
    Takes.IDENTIFIER: "id number code phone telephone isbn iban reference account ticket",
    Takes.ORIGIN: "origin from source departure pickup pick",
    Takes.DESTINATION: "destination dropoff drop",
    Takes.DAY: "day date weekday arrival deadline checkin checkout",
    Takes.TIME: "time hour",
    Takes.WHEN: "when datetime at due",
    Takes.RECIPIENT: "to recipient contact whom receiver addressee payee",
    Takes.NAME: "name guest customer person patient user who caller client attendee host",
    Takes.PLACE: "city town location place where country region room area airport station street language",
    Takes.MESSAGE: "message text body content msg",
    Takes.TITLE: "title subject label",
    Takes.TEXT: "currency",
    Takes.MONEY: "amount price cost budget sum",
    Takes.COUNT: "people persons guests adults quantity count seats",
}
_BY_WORD = {word: takes for takes, words in reversed(_STRINGS.items()) for word in each(words)}
_MONEY = frozenset(map(stem, each("amount price money cost budget euros dollars pounds usd eur payment deposit")))
_UNITS_S = {"second": 1, stem("minute"): 60, "hour": 3600}
_LENGTHS = frozenset(map(stem, each("duration length timeout")))
_AMOUNTS = frozenset(map(stem, each("quantity count amount how many copies units pieces")))
_COUNTING = frozenset(("number", "num"))


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument, or one field of an argument that is an object: `path` leads to it."""

    path: tuple[str, ...]
    takes: Takes
    words: tuple[str, ...]
    """Its name's words."""
    schema: Mapping[str, Any]
    required: bool
    description: str = ""

    @property
    def stems(self) -> frozenset[str]:
        """The stems of its name's words."""
        return frozenset(map(stem, self.words))

    @property
    def unit_s(self) -> int:
        """The unit of a length of time, in seconds."""
        told = frozenset(map(stem, (*self.words, *plain(self.description).split())))
        return next((seconds for unit, seconds in _UNITS_S.items() if unit in told), 60)

    @property
    def choices(self) -> list[Any]:
        """The values of a choice, or of a list of choices."""
        given = self.schema.get("enum", _mapping(self.schema.get("items")).get("enum"))
        return [*given] if isinstance(given, list) else []


def parameters_of(tool: ToolDeclaration) -> list[Parameter]:
    """Return all arguments in order. Schemas that are none, as declarations of others may have them, count as {}."""
    return [*_of_object(tool.parameters, (), is_required=True)][:MOST_PARAMETERS]


def words_of(name: str) -> list[str]:
    """Return a name's words, spelt as users' words: "setColor" is "set", "colour"."""
    return plain(" ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name))).split()


def question_for(missing: list[Parameter]) -> str:
    """Ask for arguments in one question."""
    asked = [_question(one) for one in missing[:2]]
    if len(asked) == 2:
        asked[1] = f"and {asked[1][0].lower()}{asked[1][1:]}"
    return f"{', '.join(asked)}?"


def _question(one: Parameter) -> str:
    name = " ".join(one.words)
    match one.takes:
        case Takes.COUNT if one.stems & _OF_PEOPLE:
            return f"For how many {name}" if one.words[-1] in ("people", "persons", "guests") else "For how many people"
        case Takes.COUNT | Takes.NUMBER if one.words[-1].endswith("s"):
            return f"How many {name}"
        case Takes.COUNT if one.stems & _AMOUNTS:
            return "How many"
        case Takes.MONEY:
            return "How much"
        case Takes.DURATION:
            return "For how long"
        case Takes.DAY:
            return "For which day"
        case Takes.TIME:
            return "At what time"
        case Takes.WHEN:
            return "When"
        case Takes.RECIPIENT:
            return "To whom"
        case Takes.NAME if one.words in (("name",), ("guest", "name"), ("customer", "name"), ("guest",), ("customer",)):
            return "Under which name"
        case Takes.ORIGIN:
            return "From where"
        case Takes.DESTINATION:
            return "Where to"
        case Takes.PLACE if one.words[-1] in ("city", "town", "country", "room"):
            return f"In which {name}"
        case Takes.PLACE if one.words[-1] in ("where", "location", "place"):
            return "Where"
        case Takes.MESSAGE:
            return "What should it say"
        case Takes.CHOICE if len(one.choices) <= 5:
            return f"Which {name}: {listed([str(choice) for choice in one.choices], 'or')}"
        case Takes.FLAG:
            return f"{name.capitalize()}, yes or no"
        case Takes.TEXT if one.words[-1] in ("query", "q", "search", "text", "input"):
            return "What exactly"
        case Takes.IDENTIFIER | Takes.ADDRESS | Takes.TITLE:
            return f"What is the {name}"
        case _:
            return f"Which {name}"


def _of_object(schema: Mapping[str, Any], path: tuple[str, ...], *, is_required: bool) -> Iterator[Parameter]:
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    for name, given in _mapping(schema.get("properties")).items():
        one = _without_null(_mapping(given))
        needed = is_required and name in names
        if len(path) < _DEEPEST and one.get("type") == "object" and _mapping(one.get("properties")):
            yield from _of_object(one, (*path, name), is_required=needed)
            continue
        description = one.get("description")
        words = words_of(name)
        described = description if isinstance(description, str) else ""
        yield Parameter((*path, name), _takes(one, words, described), tuple(words) or (name,), one, needed, described)


def _mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a value that is there."""
    kind, choices = schema.get("type"), schema.get("anyOf") or schema.get("oneOf")
    if isinstance(kind, list):
        return {**schema, "type": next((one for one in kind if one != "null"), None)}
    if isinstance(choices, list):
        first = next((one for one in map(_mapping, choices) if one.get("type") != "null"), {})
        return {**{key: schema[key] for key in ("description", "default") if key in schema}, **first}
    return schema


def _takes(schema: Mapping[str, Any], words: list[str], description: str) -> Takes:
    if isinstance(schema.get("enum"), list):
        return Takes.CHOICE
    match schema.get("type"):
        case "integer" | "number":
            return _number(words, description)
        case "boolean":
            return Takes.FLAG
        case "array":
            return Takes.LIST
        case "string" | None:
            return _string(schema, words, description)
        case _:
            return Takes.OTHER


def _number(words: list[str], description: str) -> Takes:
    stems = {*map(stem, words)}
    told = stems | {*map(stem, plain(description).split())}
    if stems & (_LENGTHS | _UNITS_S.keys()):
        return Takes.DURATION
    if stems & _OF_PEOPLE:
        return Takes.COUNT
    if stems & _MONEY and not told & PEOPLE:
        return Takes.MONEY
    if stems & _AMOUNTS or (len(words) > 1 and words[0] in _COUNTING):
        return Takes.COUNT
    return Takes.NUMBER


def _string(schema: Mapping[str, Any], words: list[str], description: str) -> Takes:
    match schema.get("format"):
        case "date":
            return Takes.DAY
        case "time":
            return Takes.TIME
        case "date-time":
            return Takes.WHEN
        case "email":
            return Takes.ADDRESS
        case _:
            pass
    if {"day", "time"} <= {*words} or {"date", "time"} <= {*words}:
        return Takes.WHEN
    found = next((_BY_WORD[word] for word in reversed(words) if word in _BY_WORD), None)
    if found is Takes.NAME and len(words) > 1:
        others = [_BY_WORD.get(word) for word in words if word != "name"]
        if Takes.RECIPIENT in others:
            return Takes.RECIPIENT
        # The name of a song is no person's.
        return found if Takes.NAME in others or {*words} & {"first", "last", "full"} else Takes.TITLE
    if found is not None and ("from" in words or "departure" in words or "origin" in words) and found is Takes.PLACE:
        return Takes.ORIGIN
    if found is Takes.PLACE and ("to" in words or "arrival" in words):
        return Takes.DESTINATION
    if found is not None:
        return found
    if len(words) == 1 and len(words[0]) == 1:
        # A name that says nothing: the description does.
        told = (_BY_WORD[word] for word in plain(description).split() if word in _BY_WORD)
        return next(told, Takes.TEXT)
    return Takes.TEXT
