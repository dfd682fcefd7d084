"""Reading events: one typed decode on a tagged union, with errors that a person can act on."""

from __future__ import annotations

from typing import Any

import msgspec
import pybase64


def decode_base64(text: str) -> bytes:
    """The bytes that base64 text holds. Raises ValueError where it is not base64."""
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError(f"not valid base64: {error}") from error


def read_event(frame: Any, union: Any) -> Any:
    """`frame` (an object as parsed from JSON) as an event of `union`.

    Raises ValueError with a sentence that names the wrong field, the missing or unknown `type`, or the non-object.
    """
    if not isinstance(frame, dict):
        raise ValueError(f"an event is a JSON object, not {type(frame).__name__}")
    if not isinstance(frame.get("type"), str):
        raise ValueError("the event has no `type`")
    try:
        # `str` stands for bytes in JSON: everything that JSON cannot hold is converted from text.
        return msgspec.convert(frame, union, builtin_types=())
    except msgspec.ValidationError as error:
        raise ValueError(explain(error)) from error


def explain(error: msgspec.ValidationError) -> str:
    """The validation error as a sentence: msgspec's own, with the path in our words."""
    text = str(error)
    if text.startswith("Invalid value ") and text.endswith(" - at `$.type`"):
        return f"unknown event type {text[len('Invalid value ') : -len(' - at `$.type`')]}"
    return text.replace(" - at `$.", " at `").replace(" - at `$", " at `the event")
