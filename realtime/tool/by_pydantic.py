"""Describes and reads the types of parameters that pydantic knows.

Imported where a tool has such a type: to load pydantic takes longer than to load an agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

MAX_FAULTS = 3
"""Places in one argument whose faults the model learns."""

Read = Callable[[Any], Any]


def adapted(annotation: Any, name: str) -> tuple[Read, dict[str, Any]]:
    """Return what reads an argument of a type, and its JSON Schema.

    The schema may have references. Reading raises ValueError with a clause for each fault. Raises TypeError, with the
    reason, for a type that has no JSON form.
    """
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        schema = adapter.json_schema()
    except (PydanticUserError, ImportError, RecursionError, AttributeError) as error:  # the base class has no schema
        raise TypeError(str(error).strip().partition("\n")[0].rstrip(".")) from error

    def read(value: Any) -> Any:
        try:
            # As JSON: there, strict types take texts for dates.
            return adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            faults = error.errors(include_url=False)[:MAX_FAULTS]
            told = [f"{one['msg']} at `{'.'.join(map(str, (name, *one['loc'])))}`" for one in faults]
            raise ValueError("; ".join(told)) from error

    return read, schema
