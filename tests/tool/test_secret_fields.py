"""Which fields of a form look secret, and what the log has of an answered form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from realtime.message import ToolCallBlock
from realtime.tool.secret_fields import HIDDEN, as_logged, is_secret, without_secrets


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        *((name, {}) for name in ("password", "newPassword", "PASSWD", "db_pwd", "pass_phrase", "card-pin", "PIN")),
        *(
            (name, {})
            for name in ("accessToken", "api_key", "APIKey", "client_secret", "otp", "CVV", "Passwort", "密码")
        ),
        *((name, {}) for name in ("one_time_code", "verificationCode", "authCode", "TOTP", "PINCode", "userPIN")),
        ("answer", {"title": "One-time code"}),
        ("answer", {"format": "password"}),
        ("answer", {"writeOnly": True}),
        ("answer", {"title": "Your security code"}),
        ("token", None),
    ],
)
def test_a_field_is_secret_by_its_format_or_its_name(name: str, schema: Any) -> None:
    assert is_secret(name, schema)


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "seats",
        "email",
        "shopping",
        "opinion",
        "passport",
        "compass",
        "monkey",
        "key",
        "code",
        "zipCode",
        "titanCode",
    ],
)
def test_other_fields_are_not(name: str) -> None:
    assert not is_secret(name, {"type": "string", "title": name.title(), "writeOnly": False})


def test_a_schema_loses_what_it_says_of_the_values_of_secret_fields_alone() -> None:
    fields = {"name": {"default": "Ann"}, "pin": {"default": 1234, "type": "integer"}, "odd": 7}
    assert without_secrets({"type": "object", "properties": fields}) == {
        "type": "object",
        "properties": {"name": {"default": "Ann"}, "pin": {"type": "integer"}, "odd": 7},
    }
    assert without_secrets({"properties": 5}) == {"properties": 5}


@pytest.mark.parametrize(
    "given", ["not json", "[]", '{"content": 5}', '{"content": {}, "requested_schema": "hunter2"}']
)
def test_an_answer_that_is_no_form_leaves_nothing_in_the_log(given: str) -> None:
    form = {"server": "s", "message": "m", "requested_schema": {"properties": {"name": {}}}, "content": {}}
    asked = ToolCallBlock(id="c1", name="elicitation", input=json.dumps(form))
    answered = ToolCallBlock(id="c1", name="hunter2", input=given)
    assert json.loads(as_logged(asked, answered).input) == form
    named = ToolCallBlock(id="c1", name="elicitation", input='{"content": {"name": "Ann", "x": "hunter2"}}')
    assert json.loads(as_logged(asked, named).input)["content"] == {"name": "Ann", "x": HIDDEN}
