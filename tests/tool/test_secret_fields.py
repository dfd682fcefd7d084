"""Which fields of a form look secret, and what the log has of an answered form."""

from __future__ import annotations

import json

from realtime.message import ToolCallBlock
from realtime.tool.secret_fields import HIDDEN, as_logged, is_secret, without_secrets
from tests.tables import rows


def test_a_field_is_secret_by_its_format_or_its_name() -> None:
    secret = [(name, json.loads(schema)) for name, schema in rows("secret_fields.tsv", "secret")]
    assert [one for one in secret if not is_secret(*one)] == []
    known = [(name, {"title": name.title(), "writeOnly": False}) for (name,) in rows("secret_fields.tsv", "open")]
    assert [one for one in known if is_secret(*one)] == []


def test_a_schema_loses_what_it_says_of_the_values_of_secret_fields_alone() -> None:
    fields = {"name": {"default": "Ann"}, "pin": {"default": 1234, "type": "integer"}, "odd": 7}
    expected = {"type": "object", "properties": {"name": {"default": "Ann"}, "pin": {"type": "integer"}, "odd": 7}}
    assert without_secrets({"type": "object", "properties": fields}) == expected
    assert without_secrets({"properties": 5}) == {"properties": 5}


def test_an_answer_that_is_no_form_leaves_nothing_in_the_log() -> None:
    form = {"server": "s", "message": "m", "requested_schema": {"properties": {"name": {}}}, "content": {}}
    asked = ToolCallBlock(id="c1", name="elicitation", input=json.dumps(form))
    for given in ("not json", "[]", '{"content": 5}', '{"content": {}, "requested_schema": "hunter2"}'):
        answered = ToolCallBlock(id="c1", name="hunter2", input=given)
        assert json.loads(as_logged(asked, answered).input) == form
    named = ToolCallBlock(id="c1", name="elicitation", input='{"content": {"name": "Ann", "x": "hunter2"}}')
    assert json.loads(as_logged(asked, named).input)["content"] == {"name": "Ann", "x": HIDDEN}
