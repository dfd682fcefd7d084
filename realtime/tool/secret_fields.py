"""Fields of a form whose answers stay out of the log: passwords, tokens and the like. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from realtime.message import ToolCallBlock

HIDDEN = "•••"
"""Stands in the log for the answer to a secret field."""
_SECRET = re.compile(
    r"pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contraseña|contrasena|密码|口令|secret|geheim|token|credential"
    r"|(?:api|private|access|encryption)key|\b(?:pin|puk|tan|t?otp|mfa|2fa|cvv2?|cvc2?)\b|einmalcode|验证码"
    r"|(?:security|onetime|verification|confirmation|auth|authentication|authenticator|login|access|recovery|backup)code"
)
"""In names and titles, in lower case and without signs within words."""
_OF_VALUES = ("default", "const", "examples")


def is_secret(name: str, schema: object) -> bool:
    """Return whether a field looks as if its value were a secret."""
    about = schema if isinstance(schema, Mapping) else {}
    if about.get("format") == "password" or about.get("writeOnly") is True:
        return True
    return any(_SECRET.search(words) for text in (name, about.get("title")) for words in _spellings(text))


def without_secrets(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a form's schema without defaults and other values of secret fields."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {**schema}
    shown = {
        name: {key: value for key, value in one.items() if key not in _OF_VALUES}
        if isinstance(one, Mapping) and is_secret(name, one)
        else one
        for name, one in properties.items()
    }
    return {**schema, "properties": shown}


def as_logged(asked: ToolCallBlock, answered: ToolCallBlock) -> ToolCallBlock:
    """Return the answered form as the log has it: what was asked, and the answers, with secret ones hidden.

    `asked` is the form as it was shown; a field that it lacks is hidden as well.
    """
    form, given = asked.arguments or {}, answered.arguments or {}
    schema, content = form.get("requested_schema"), given.get("content")
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    fields = fields if isinstance(fields, Mapping) else {}
    answers = content if isinstance(content, Mapping) else {}
    shown = {
        name: value if name in fields and not is_secret(name, fields[name]) else HIDDEN
        for name, value in answers.items()
    }
    told = json.dumps({**form, "content": shown}, ensure_ascii=False)
    return msgspec.structs.replace(answered, name=asked.name, input=told)


def _spellings(text: object) -> tuple[str, ...]:
    """Return a name in lower case: by its words, and as one."""
    if not isinstance(text, str):
        return ()
    words = re.sub(r"([a-z])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", text).lower()
    words = re.sub(r"[\W_]+", " ", words)
    return words, words.replace(" ", "")
