"""From signatures to JSON Schema, and from a model's JSON to arguments."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import msgspec
import pydantic
import pytest

from realtime.errors import UsageError
from realtime.tool.arguments import Arguments


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


@dataclass
class Place:
    """A place on earth."""

    latitude: float
    longitude: float = 0.0


class Stay(TypedDict):
    nights: int
    guest: NotRequired[str]


class Room(msgspec.Struct):
    number: int


class Person(pydantic.BaseModel):
    """Somebody."""

    name: str
    friends: list["Person"] = []


class Address(pydantic.BaseModel):
    """Where somebody lives."""

    street: str


@dataclass
class Node:
    next: Optional["Node"] = None


def arguments_of(function: Callable[..., Any], **descriptions: str) -> Arguments:
    return Arguments(function, "the_tool", descriptions)


def property_of(annotation: Any) -> Any:
    """The schema of a parameter with this type."""

    def tool(value: Any) -> None: ...

    tool.__annotations__["value"] = annotation
    return arguments_of(tool).schema["properties"]["value"]


def read(annotation: Any, text: str) -> Any:
    def tool(value: Any) -> None: ...

    tool.__annotations__["value"] = annotation
    return arguments_of(tool).read(text)["value"]


PLACE = {
    "description": "A place on earth.",
    "type": "object",
    "properties": {"latitude": {"type": "number"}, "longitude": {"type": "number", "default": 0.0}},
    "required": ["latitude"],
}


ONE_STRING = {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}
STAY = {"type": "object", "properties": {"guest": {"type": "string"}, "nights": {"type": "integer"}}}
SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (Any, {}),
    (list[str], {"type": "array", "items": {"type": "string"}}),
    (list, {"type": "array", "items": {}}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Unit, {"type": "string", "enum": ["celsius", "kelvin"]}),
    (Annotated[int, msgspec.Meta(ge=1, le=6)], {"type": "integer", "minimum": 1, "maximum": 6}),
    (Place, PLACE),
    (list[Place], {"type": "array", "items": PLACE}),
    (Room, {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}),
    (Stay, STAY | {"required": ["nights"]}),
    (Address, ONE_STRING | {"description": "Where somebody lives."}),
]


def test_a_type_becomes_a_schema_without_references() -> None:
    assert [property_of(annotation) for annotation, _ in SCHEMAS] == [schema for _, schema in SCHEMAS]


def test_parameters_with_defaults_are_optional_and_say_their_default() -> None:
    def tool(city: str, days: int = 1, unit: Unit = Unit.CELSIUS, note: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    assert arguments_of(tool, city="The city.", unit="The unit.").schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city."},
            "days": {"type": "integer", "default": 1},
            "unit": {
                "type": "string",
                "enum": ["celsius", "kelvin"],
                "description": "The unit.",
                "default": "celsius",
            },
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["city"],
    }


def test_a_default_without_a_json_form_is_kept_but_not_told() -> None:
    def tool(value: Any = ...) -> None: ...

    arguments = arguments_of(tool)
    assert arguments.schema["properties"] == {"value": {}}
    assert arguments.read("{}") == {}


def test_what_a_partial_has_filled_in_is_hidden_from_the_model() -> None:
    def tool(city: str, api_key: str) -> None: ...

    arguments = arguments_of(partial(tool, api_key="secret"))
    assert "secret" not in json.dumps(arguments.schema)
    assert list(arguments.schema["properties"]) == ["city"]
    with pytest.raises(ValueError, match="unknown field `api_key`"):
        arguments.read('{"city": "Oslo", "api_key": "other"}')


VALUES: list[tuple[Any, str, object]] = [
    (str, '"Köln"', "Köln"),
    (int, "3", 3),
    (int, "3.0", 3),
    (int, '"3"', 3),
    (float, "3", 3.0),
    (bool, "true", True),
    (str, '"3"', "3"),
    (str | int, '"3"', "3"),
    (str | None, '"null"', "null"),
    (str | None, "null", None),
    (Unit, '"kelvin"', Unit.KELVIN),
    (Place, '{"latitude": 59.9}', Place(59.9)),
    (Room, '{"number": 7}', Room(number=7)),
    (Stay, '{"nights": 2}', {"nights": 2}),
    (Address, '{"street": "Karl Johans gate"}', Address(street="Karl Johans gate")),
]


def test_arguments_arrive_in_their_types() -> None:
    found = [read(annotation, f'{{"value": {text}}}') for annotation, text, _ in VALUES]
    assert [(one, type(one)) for one in found] == [(value, type(value)) for _, _, value in VALUES]


def test_no_text_means_no_arguments() -> None:
    def tool(days: int = 1) -> None: ...

    assert [arguments_of(tool).read(text) for text in ("", "  ", "{}")] == [{}, {}, {}]


WRONG = {
    "{}": "Object missing required field `city`",
    '{"city": 3}': "Expected `str`, got `int` at `city`",
    '{"city": "Oslo", "days": "many"}': "Expected `int`, got `str` at `days`",
    '{"city": "Oslo", "town": "Oslo"}': "Object contains unknown field `town`",
    '["Oslo"]': "Expected `object`, got `array`",
    "Oslo": "not valid JSON",
    '{"city": "Oslo"': "not valid JSON",
    '{"city": "\ud83d"}': "not valid JSON",
    '{"city": "Oslo", "more": ' + "[" * 100_000: "not valid JSON",
}


def test_wrong_arguments_are_explained() -> None:
    def tool(city: str, days: int = 1, more: Any = None) -> None: ...

    for text, sentence in WRONG.items():
        with pytest.raises(ValueError, match=sentence):
            arguments_of(tool).read(text)
    with pytest.raises(ValueError, match="street\n  Field required"):
        read(Address, '{"value": {}}')


def positional(city: str, /) -> None: ...
def variadic(*cities: str) -> None: ...
def keywords(**cities: str) -> None: ...
def foreign(lock: Callable[[], None]) -> None: ...
def nested(node: Node) -> None: ...
def nested_model(person: Person) -> None: ...
def unresolved(city: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821


REFUSED: dict[Callable[..., Any], str] = {
    positional: "parameter `city: str` of tool 'the_tool' is positional-only",
    variadic: "is variadic positional",
    keywords: "is variadic keyword",
    foreign: "parameter `lock` of tool 'the_tool' cannot be described in JSON Schema",
    nested: "parameter `node` of tool 'the_tool' contains itself",
    nested_model: "parameter `person` of tool 'the_tool' contains itself",
    unresolved: "the signature of tool 'the_tool' cannot be read: name 'NoSuchType' is not defined",
}


def test_a_function_that_cannot_be_described_is_refused_by_name() -> None:
    for function, sentence in REFUSED.items():
        with pytest.raises(UsageError, match=sentence) as refusal:
            arguments_of(function)
        assert refusal.value.code == "bad_tool"


def test_tools_of_the_same_signature_share_their_reader_and_keep_their_own_descriptions() -> None:
    def make(lowest: int) -> Arguments:
        def pick(number: int, unit: str = "m") -> int:
            return max(number, lowest)

        return arguments_of(pick, number=f"At least {lowest}.")

    first, second = make(1), make(2)
    assert first._decoder is second._decoder
    described = [one.schema["properties"]["number"]["description"] for one in (first, second)]
    assert described == ["At least 1.", "At least 2."]
    assert first.read('{"number": 3}') == second.read('{"number": 3}') == {"number": 3}
