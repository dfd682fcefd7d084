"""From signatures to JSON Schema, and from a model's JSON to arguments."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import msgspec
import pydantic
import pytest
from annotated_types import Ge
from typing_extensions import Doc
from typing_extensions import TypedDict as ExtendedTypedDict

from realtime.errors import UsageError
from realtime.message import ToolCallBlock
from realtime.tool.arguments import Arguments, GivenSchema


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


NONE = ["", "  ", "{}", "null", "[]", '""', '"{}"', '"null"', "[{}]", "```json\n{}\n```", '{"days": null}']


def test_a_dataclass_holds_its_defaults_as_one_that_the_program_makes() -> None:
    def go(places: list[Place], to: Place) -> None: ...

    read = Arguments(go, "go", {}).read('{"places": [{"latitude": 1.5}], "to": {"latitude": 2}}')
    assert vars(read["to"]) == vars(Place(2.0))
    assert [vars(one) for one in read["places"]] == [{"latitude": 1.5, "longitude": 0.0}]


@pytest.mark.parametrize("text", [*NONE, '{"days": "null"}', '{"days": ""}'])
def test_what_models_write_for_none_means_none(text: str) -> None:
    def tool(days: int = 1) -> None: ...

    assert arguments_of(tool).read(text) == {}
    assert GivenSchema(tool, "tool", arguments_of(tool).schema).read(text) == {}
    if text in NONE[:-1]:
        assert ToolCallBlock(id="call_1", name="tool", input=text).arguments == {}


OBJECTS = [
    '"{\\"days\\": 2}"',
    '[{"days": 2}]',
    '```json\n{"days": 2}\n```',
    "{'days': 2}",
    '{"days": 2,}',
    '\ufeff{"days": 2}',
    '{"days": "2"}',
]


@pytest.mark.parametrize("text", OBJECTS)
def test_an_object_is_read_as_models_write_it(text: str) -> None:
    def tool(days: int = 1) -> None: ...

    assert arguments_of(tool).read(text) == {"days": 2}
    assert GivenSchema(tool, "tool", arguments_of(tool).schema).read(text) == {"days": 2}
    assert ToolCallBlock(id="call_1", name="tool", input=text).arguments in ({"days": 2}, {"days": "2"})


MEANT: list[tuple[Any, object, object]] = [
    (list[str], '["tea", "milk"]', ["tea", "milk"]),
    (list[str], "['tea']", ["tea"]),
    (list[int] | None, "[1]", [1]),
    (int | list[int], "[1]", [1]),
    (dict[str, int], '{"a": "1"}', {"a": 1}),
    (Place, '{"latitude": 59.9}', Place(59.9)),
    (Place, {"latitude": 59.9, "longitude": None}, Place(59.9)),
    (list[Place], ['{"latitude": 59.9}'], [Place(59.9)]),
    (Address, '{"street": "x"}', Address(street="x")),
    (tuple[int, int], "[1, 2]", (1, 2)),
    (set[int], "[1]", {1}),
    (str, '["tea"]', '["tea"]'),
    (str | list[str], '["tea"]', '["tea"]'),
    (Any, "[1]", "[1]"),
    *((bool, text, True) for text in ("yes", "Y", "on", "t", "true", "1")),
    *((bool, text, False) for text in ("no", "N", " off ", "f", "False", "0")),
    (bool | str, "no", "no"),
]


@pytest.mark.parametrize(("annotation", "written", "value"), MEANT)
def test_an_array_or_object_in_text_is_what_it_holds(annotation: Any, written: object, value: object) -> None:
    assert read(annotation, json.dumps({"value": written})) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"value": "a \ud83d b"}', "a \ufffd b"),
        (r'{"value": "\ude00"}', "\ufffd"),
        (r'{"value": "\ud83d\ude00"}', "\U0001f600"),
        ('{"value": "\ud83d"}', "\ufffd"),
        (r'{"value": "C:\\ud83d"}', r"C:\ud83d"),
        (r"{'value': '\ud83d!'}", "\ufffd!"),
        ('{"value": "a\x00b"}', "a\x00b"),
        (r'{"value": "a\u0000b"}', "a\x00b"),
    ],
)
def test_half_a_character_in_arguments_costs_only_itself(text: str, value: str) -> None:
    assert read(str, text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"value": ["tea",],}', ["tea"]),
        ('{"value": ["a,]", ",}"] , }', ["a,]", ",}"]),
        ('{"value": ["\\",", "b"\n,\n]\n,\n}', ['",', "b"]),
    ],
)
def test_a_comma_behind_the_last_entry_says_nothing(text: str, value: list[str]) -> None:
    assert read(list[str], text) == value


def test_a_comma_without_an_entry_before_it_is_no_json() -> None:
    with pytest.raises(ValueError, match="not valid JSON"):
        read(list[str], '{"value": ["a",,]}')


def test_null_is_the_default_wherever_null_is_no_value() -> None:
    def tool(city: str = "Oslo", unit: Unit = Unit.KELVIN, untyped=3, note: str | None = "x") -> None: ...  # type: ignore[no-untyped-def]

    text = '{"city": null, "unit": null, "untyped": null, "note": null}'
    assert arguments_of(tool).read(text) == {"note": None}


def test_line_breaks_within_texts_are_theirs() -> None:
    assert read(str, '{"value": "one\ntwo"}') == "one\ntwo"


@pydantic.dataclasses.dataclass
class Table:
    seats: int = pydantic.Field(ge=2)


class Booking(ExtendedTypedDict, total=False):
    people: Annotated[int, pydantic.Field(ge=1)]


HOW_MANY = {"type": "integer", "minimum": 1, "maximum": 6, "description": "How many."}
CONSTRAINED: list[tuple[Any, dict[str, Any], str, object, str]] = [
    (Annotated[int, pydantic.Field(ge=1, le=6, description="How many.")], HOW_MANY, "2", 2, "9"),
    (Annotated[int, Ge(2)], {"type": "integer", "minimum": 2}, "2", 2, "1"),
    (pydantic.PositiveInt, {"type": "integer", "exclusiveMinimum": 0}, "1", 1, "0"),
    (list[Annotated[int, Ge(1)]], {"type": "array", "items": {"type": "integer", "minimum": 1}}, '"[1]"', [1], "[0]"),
    (Annotated[int, Ge(1)] | None, {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, "null", None, "0"),
    (
        Table,
        {"type": "object", "properties": {"seats": {"type": "integer", "minimum": 2}}, "required": ["seats"]},
        '{"seats": 2}',
        Table(2),
        '{"seats": 1}',
    ),
    (
        Booking,
        {"type": "object", "properties": {"people": {"type": "integer", "minimum": 1}}},
        '{"people": 1}',
        {"people": 1},
        '{"people": 0}',
    ),
    (Annotated[str, Doc("The city.")], {"type": "string", "description": "The city."}, '"Oslo"', "Oslo", "3"),
    (Annotated[str, "The city."], {"type": "string", "description": "The city."}, '"Oslo"', "Oslo", "3"),
    (date, {"type": "string", "format": "date"}, '"2026-10-05T00:00:00"', date(2026, 10, 5), '"soon"'),
    (time, {"type": "string", "format": "time"}, '"14:30"', time(14, 30), '"noon"'),
    (
        datetime,
        {"type": "string", "format": "date-time"},
        '"2026-10-05 14:30Z"',
        datetime(2026, 10, 5, 14, 30, tzinfo=UTC),
        '"x"',
    ),
    (timedelta, {"type": "string", "format": "duration"}, '"01:30:00"', timedelta(minutes=90), '"long"'),
    (Path, {"type": "string", "format": "path"}, '"a/b"', Path("a/b"), "3"),
    (list[Path], {"type": "array", "items": {"type": "string", "format": "path"}}, '["a"]', [Path("a")], "[3]"),
    (
        date | str,
        {"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]},
        '"2026-10-05"',
        date(2026, 10, 5),
        "[]",
    ),
    (
        Unit | Literal["auto"],
        {"anyOf": [{"type": "string", "enum": ["celsius", "kelvin"]}, {"type": "string", "const": "auto"}]},
        '"kelvin"',
        Unit.KELVIN,
        '"x"',
    ),
    (
        Place | Address,
        {"anyOf": [PLACE, ONE_STRING | {"description": "Where somebody lives."}]},
        '{"street": "x"}',
        Address(street="x"),
        '{"town": 1}',
    ),
]


@pytest.mark.parametrize(("annotation", "schema", "text", "value", "wrong"), CONSTRAINED)
def test_types_of_pydantic_are_described_and_read_as_pydantic_does(
    annotation: Any, schema: dict[str, Any], text: str, value: object, wrong: str
) -> None:
    assert property_of(annotation) == schema
    assert read(annotation, f'{{"value": {text}}}') == value
    with pytest.raises(ValueError, match="at `value"):
        read(annotation, f'{{"value": {wrong}}}')


def people(n: int = pydantic.Field(2, ge=1, description="How many.")) -> None: ...
def needed(n: int = pydantic.Field(description="How many.")) -> None: ...
def untyped(n=pydantic.Field(5)) -> None: ...  # type: ignore[no-untyped-def]  # noqa: B008
def inside(n: Annotated[int, pydantic.Field(default=3)]) -> None: ...
def made(n: list[str] = pydantic.Field(default_factory=list)) -> None: ...  # noqa: B008
def made_inside(n: Annotated[list[str], pydantic.Field(default_factory=lambda: ["a"])]) -> None: ...


DEFAULTS: list[tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]] = [
    (people, {"type": "integer", "minimum": 1, "description": "How many.", "default": 2}, {"n": 2}),
    (untyped, {"default": 5}, {"n": 5}),
    (inside, {"type": "integer", "default": 3}, {"n": 3}),
    (made, {"type": "array", "items": {"type": "string"}}, {"n": []}),
    (made_inside, {"type": "array", "items": {"type": "string"}}, {"n": ["a"]}),
]


@pytest.mark.parametrize(("function", "schema", "given"), DEFAULTS)
def test_the_default_in_a_field_is_what_the_function_gets(
    function: Callable[..., Any], schema: dict[str, Any], given: dict[str, Any]
) -> None:
    arguments = arguments_of(function)
    assert arguments.schema == {"type": "object", "properties": {"n": schema}}
    assert arguments.bind(arguments.read("{}")) == ((), given)
    assert GivenSchema(function, "tool", arguments.schema).bind({}) in (((), given), ((), {}))


def test_a_default_that_is_made_is_made_for_each_call() -> None:
    arguments = arguments_of(made)
    assert arguments.bind({})[1]["n"] is not arguments.bind({})[1]["n"]


def test_a_field_without_a_default_is_required() -> None:
    assert arguments_of(needed).schema["required"] == ["n"]
    with pytest.raises(ValueError, match="missing required field `n`"):
        arguments_of(needed).read("")


def test_types_of_the_result_and_of_hidden_parameters_are_not_read() -> None:
    def tool(city: "str", secret: "NoSuchType") -> "NoSuchType": ...  # type: ignore[name-defined]  # noqa: F821

    arguments = Arguments(tool, "the_tool", {}, hidden={"secret"})
    assert arguments.schema["properties"] == {"city": {"type": "string"}}


def test_what_the_check_of_a_type_raises_is_told() -> None:
    with pytest.raises(ValueError, match="KeyError: 'q'"):
        read(Annotated[str, pydantic.BeforeValidator(lambda text: {}[text])], '{"value": "q"}')


WRONG = {
    "{}": "Object missing required field `city`",
    '{"city": 3}': "Expected `str`, got `int` at `city`",
    '{"city": "Oslo", "days": "many"}': "Expected `int`, got `str` at `days`",
    '{"city": "Oslo", "town": "Oslo"}': "Object contains unknown field `town`",
    '["Oslo"]': "Expected `object`, got `array`",
    "Oslo": "not valid JSON",
    '{"city": "Oslo"': "not valid JSON",
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


def alias(city: str = pydantic.Field(alias="town")) -> None: ...
def field_of_a_class(cities: list[str] = field(default_factory=list)) -> None: ...  # noqa: B008


REFUSED: dict[Callable[..., Any], str] = {
    positional: "parameter `city: str` of tool 'the_tool' is positional-only",
    variadic: "is variadic positional",
    keywords: "is variadic keyword",
    foreign: "parameter `lock` of tool 'the_tool' cannot be described in JSON Schema",
    nested: "parameter `node` of tool 'the_tool' contains itself",
    nested_model: "parameter `person` of tool 'the_tool' contains itself",
    alias: "parameter `city` of tool 'the_tool' has an alias: give the parameter the name that the model is to see",
    field_of_a_class: "parameter `cities` of tool 'the_tool' has a field of a class as its default: give the value",
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


@dataclass
class Forecast:
    unit: Unit
    size: Literal["small", "large"] = "small"


@pytest.mark.parametrize(
    ("kind", "given", "meant"),
    [
        (Literal["in_progress", "todo"], "IN_PROGRESS", "in_progress"),
        (Literal["in_progress", "todo"], " In-Progress", "in_progress"),
        (Literal["in_progress", "todo"] | None, "in progress", "in_progress"),
        (list[Literal["a", "b"]], "A", ["a"]),
        (Unit, "KELVIN", Unit.KELVIN),
        (Literal["a", "A"], "A", "A"),
        (str, "IN_PROGRESS", "IN_PROGRESS"),
        (Literal["a"] | str, "A", "A"),
        (list[int], 3, [3]),
        (list[int], "3", [3]),
        (list[int] | None, "3", [3]),
        (list[str], "tea", ["tea"]),
        (list[str], '["tea", "milk"]', ["tea", "milk"]),
        (list[str] | str, "tea", "tea"),
        (list[dict[str, int]], {"a": 1}, [{"a": 1}]),
    ],
)
def test_one_entry_stands_for_a_list_and_words_of_a_list_are_known_in_any_case(
    kind: Any, given: object, meant: object
) -> None:
    def tool(value: Any) -> None: ...

    tool.__annotations__["value"] = kind
    assert Arguments(tool, "tool", {}).read(json.dumps({"value": given})) == {"value": meant}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *[(list[int], wrong) for wrong in ("0,1", "many", 1.5, None)],
        *[(list[str], wrong) for wrong in ('["tea", "milk', "1. tea\n2. milk", 5)],
        (Literal["a b", "a_b"], "A B"),
    ],
)
def test_what_may_mean_several_things_is_refused(kind: Any, given: object) -> None:
    def tool(value: Any) -> None: ...

    tool.__annotations__["value"] = kind
    with pytest.raises(ValueError, match="value"):
        Arguments(tool, "tool", {}).read(json.dumps({"value": given}))


class Stage(Enum):
    ONE = 1
    TWO = 2


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        (Unit, "KELVINS", "Invalid enum value 'KELVINS' at `value`: use one of celsius, kelvin"),
        (Unit, 5, "Expected `str`, got `int` at `value`: use one of celsius, kelvin"),
        (Unit | None, "x", "use one of celsius, kelvin"),
        (Unit | int, "x", "use one of celsius, kelvin"),
        (Stage, 7, "Invalid enum value 7 at `value`: use one of 1, 2"),
        (Literal["a", "b"], "c", "use one of a, b"),
        (Literal[1, 2], 3, "use one of 1, 2"),
        (list[Literal["a", "b"]], ["a", "c"], "'c' at `value[1]`: use one of a, b"),
        (dict[str, Unit], {"paris": "c"}, "'c' at `value[...]`: use one of celsius, kelvin"),
        (Forecast, {"unit": "c"}, "'c' at `value.unit`: use one of celsius, kelvin"),
        (list[Forecast], [{"unit": "kelvin", "size": "xl"}], "'xl' at `value[0].size`: use one of large, small"),
    ],
)
def test_a_value_that_is_none_of_the_valid_ones_lists_them(kind: Any, given: object, sentence: str) -> None:
    def tool(value: Any) -> None: ...

    tool.__annotations__["value"] = kind
    with pytest.raises(ValueError, match="use one of") as caught:
        Arguments(tool, "tool", {}).read(json.dumps({"value": given}))
    assert sentence in str(caught.value)
