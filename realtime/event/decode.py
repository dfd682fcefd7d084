"""Decodes events by `type`, with errors that a person can act on."""

from __future__ import annotations

from typing import Any, get_args

import msgspec


def classes_by_type(union: Any) -> dict[str, type[Any]]:
    """Return the classes of a union by `type` string."""
    return {str(event.__struct_config__.tag): event for event in get_args(union)}


def read_event(frame: Any, classes: dict[str, type[Any]]) -> Any:
    """Decode `frame`, an object as parsed from JSON, as one of `classes`.

    Raises ValueError with a sentence that names the wrong field, the missing or unknown `type`, or the non-object.
    Every decoded event can be encoded again: text with half a surrogate pair, which `json.loads` accepts, is refused.
    """
    if not isinstance(frame, dict):
        raise ValueError(f"an event is a JSON object, not {type(frame).__name__}")
    name = frame.get("type")
    if not isinstance(name, str):
        raise ValueError("the event has no `type`")
    # One class, not the union: msgspec would analyse the union again at every call, which takes nine times as long.
    event = classes.get(name)
    if event is None:
        raise ValueError(_unknown_type(name))
    try:
        msgspec.json.encode(frame)
        # `str` stands for bytes in JSON: everything that JSON cannot hold is converted from text.
        return msgspec.convert(frame, event, builtin_types=())
    except msgspec.ValidationError as error:
        raise ValueError(explain(error)) from error
    except UnicodeEncodeError as error:
        raise ValueError("the event holds text that is not valid Unicode") from error
    except RecursionError as error:
        raise ValueError("the event is nested too deeply") from error
    except TypeError as error:
        raise ValueError(f"the event is not JSON: {error}") from error


def explain(error: msgspec.ValidationError) -> str:
    """Turn a validation error into a sentence with path and event type."""
    text = str(error)
    if text.startswith("Invalid value '") and text.endswith("' - at `$.type`"):
        return _unknown_type(text[len("Invalid value '") : -len("' - at `$.type`")])
    return text.replace(" - at `$.", " at `").replace(" - at `$", " at `the event")


def _unknown_type(name: str) -> str:
    return f"unknown event type {name[:64]!r}"
