"""Whatever a server says of a tool's arguments: what a model reads of it is a small plain schema of an object."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.model.openai_family.dashscope_shapes import plain_schema
from realtime.tool.mcp.schema import MAX_SCHEMA_CHARS, fit_tools, model_name, model_names, model_schema
from realtime.tool.registered import MAX_NAME_CHARS, _check_name

KEYS = [
    *("type", "properties", "required", "items", "$ref", "$defs", "anyOf", "enum", "additionalProperties", "a", "not"),
    *("description", "maxLength", "minimum", "pattern", "examples", "default"),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.sampled_from(["object", "array", "#/$defs/a", "#", "string"])
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
)


def plain(schema: Any) -> None:
    """Fails for a schema that holds a reference, or what no provider takes."""
    assert isinstance(schema, dict)
    assert "$ref" not in schema
    assert set(schema.get("required", ())) <= set(schema.get("properties", {}))
    assert isinstance(schema.get("type", ""), str | list)
    assert isinstance(schema.get("description", ""), str)
    assert isinstance(schema.get("maxLength", 0), int)
    assert isinstance(schema.get("enum", []), list)
    plain_schema(schema)
    below = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    for one in [*below, *(schema[key] for key in ("items", "not") if key in schema)]:
        plain(one)


@given(ANYTHING)
def test_anything_at_all_is_a_plain_schema_or_left_out_with_a_reason(given: Any) -> None:
    (tool,) = fit_tools([{"name": "a", "inputSchema": given}])
    try:
        schema = model_schema(tool["inputSchema"])
    except ValueError:
        return
    plain(schema)
    assert schema["type"] == "object"
    assert len(json.dumps(schema)) <= MAX_SCHEMA_CHARS


@given(st.lists(st.text(max_size=100), unique=True, max_size=8), st.sampled_from(["", "x_", "für "]))
def test_every_name_is_one_that_providers_take_and_no_two_are_one(remotes: list[str], prefix: str) -> None:
    names = model_names(remotes, prefix=prefix, renames={}, known={})
    assert [*names] == remotes
    assert len({*names.values()}) == len(remotes)
    for name in names.values():
        _check_name(name)


def test_names_that_are_given_stay_when_others_come() -> None:
    first = model_names(["a.b"], prefix="", renames={}, known={})
    assert first == {"a.b": "a_b"}
    both = model_names(["a_b", "a.b"], prefix="", renames={}, known=first)
    assert both["a.b"] == "a_b"
    assert both["a_b"] not in ("a_b", "")


def test_a_name_stays_as_it_is_where_it_can() -> None:
    names = {"read": "read", "-x": "_-x", "": "_", "a b": "a_b", "elicitation": "_elicitation"}
    assert {remote: model_name(remote) for remote in names} == names
    assert len(model_name("x" * 500)) == MAX_NAME_CHARS


def test_what_a_model_can_use_is_kept() -> None:
    schema = {
        "type": "object",
        "title": "Args",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": [{"required": ["a"]}],
        "properties": {
            "a": {"type": ["string", "null"], "description": "A.", "default": None, "maxLength": 5},
            "b": {"type": "array"},
            "c": {"anyOf": [{"$ref": "#/$defs/kind"}, {"type": "null"}]},
            "d": {"type": "object", "additionalProperties": {"type": "number"}},
        },
        "required": ["a", "lost"],
        "$defs": {"kind": {"enum": ["x", "y"], "type": "string", "title": "Kind"}},
        "additionalProperties": False,
    }
    assert model_schema(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "description": "A.", "default": None, "maxLength": 5},
            "b": {"type": "array", "items": {}},
            "c": {"anyOf": [{"enum": ["x", "y"], "type": "string"}, {"type": "null"}]},
            "d": {"type": "object", "additionalProperties": {"type": "number"}},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


A = of(a=TEXT)
COMPOSED: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"oneOf": [A, of(b=NUMBER, c=TEXT)]}, {"a": TEXT, "b": NUMBER, "c": TEXT}, []),
    ({"anyOf": [of(a=TEXT, b=TEXT), of(a=TEXT)]}, {"a": TEXT, "b": TEXT}, ["a"]),
    ({"allOf": [A, of(b=NUMBER)]}, {"a": TEXT, "b": NUMBER}, ["a", "b"]),
    (of(c=TEXT) | {"anyOf": [A, of(b=TEXT)]}, {"c": TEXT, "a": TEXT, "b": TEXT}, ["c"]),
    ({"allOf": [{"$ref": "#/$defs/A"}, of(b=TEXT)], "$defs": {"A": A}}, {"a": TEXT, "b": TEXT}, ["a", "b"]),
    ({"$ref": "#/$defs/A", "$defs": {"A": {"oneOf": [A, of(b=TEXT)]}}}, {"a": TEXT, "b": TEXT}, []),
    ({"oneOf": [of(k={"const": "x"}, a=TEXT), of(k={"const": "y"})]}, {"k": {"enum": ["x", "y"]}, "a": TEXT}, ["k"]),
    ({"type": ["object", "null"], "properties": {"a": TEXT}}, {"a": TEXT}, []),
    ({"oneOf": [of(v=TEXT), of(v=NUMBER)]}, {"v": {"anyOf": [TEXT, NUMBER]}}, ["v"]),
    ({"properties": {"a": TEXT}, "allOf": [{"required": ["a"]}]}, {"a": TEXT}, ["a"]),
    (
        {"properties": {"a": TEXT, "b": TEXT}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"a": TEXT, "b": TEXT},
        [],
    ),
    (
        {"allOf": [{"oneOf": [A, of(b=TEXT)]}, {"anyOf": [of(c=TEXT), of(d=TEXT)]}]},
        {"a": TEXT, "b": TEXT, "c": TEXT, "d": TEXT},
        [],
    ),
    (
        {"properties": {"a": TEXT}, "if": A, "then": of(b=TEXT), "else": of(c=TEXT)},
        {"a": TEXT, "b": TEXT, "c": TEXT},
        [],
    ),
    ({"properties": {"a": TEXT}, "dependentSchemas": {"a": of(b=TEXT)}}, {"a": TEXT, "b": TEXT}, []),
    ({"anyOf": [{"type": "null"}, {"$ref": "#"}, A]}, {"a": TEXT}, []),
]


@pytest.mark.parametrize(("schema", "properties", "required"), COMPOSED)
def test_alternatives_at_the_top_keep_all_properties(
    schema: dict[str, Any], properties: dict[str, Any], required: list[str]
) -> None:
    (tool,) = fit_tools([{"name": "a", "inputSchema": schema}])
    wanted = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    assert model_schema(tool["inputSchema"]) == wanted


def test_parts_that_stand_for_very_many_are_too_large() -> None:
    levels = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 4} for n in range(12)}
    with pytest.raises(ValueError, match="too large"):
        model_schema({"$ref": "#/$defs/l0", "$defs": levels})


def test_a_reference_that_is_long_stands_for_anything() -> None:
    """Each of its uses would be read anew: 100 of half a million parts took seconds, in which no call went on."""
    deep: dict[str, Any] = {"type": "integer"}
    for _ in range(500):
        deep = {"x": deep}
    short, long = "#/$defs/a", f"#/$defs/b{'/x' * 500}"
    schema = {
        "properties": {"a": {"$ref": short}, "b": {"$ref": long}},
        "$defs": {"a": {"type": "integer"}, "b": deep},
    }
    assert model_schema(schema)["properties"] == {"a": {"type": "integer"}, "b": {}}


def test_a_server_does_not_say_itself_why_its_tool_is_left_out() -> None:
    given = {"name": "read", "inputSchema": {"type": "object", "realtime-broken": "words\nfor the log"}}
    (fit,) = fit_tools([given])
    assert model_schema(fit["inputSchema"]) == {"type": "object", "properties": {}}
