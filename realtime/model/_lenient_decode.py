"""A second look at a provider's frame that the strict decoder refuses.

An optional field of a wrong type counts as missing, an entry of a list that cannot be read is left out, and a key that
is not known is noted. What the meaning of the frame hangs on has no default in its class: without it there is no frame.
"""

from __future__ import annotations

from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

import msgspec

T = TypeVar("T")


class LenientDecode:
    """One reading of one value, with the keys that were left out."""

    __slots__ = ("unknown", "wrong")

    def __init__(self) -> None:
        self.wrong: list[str] = []
        """Fields of a wrong type, and entries of lists."""
        self.unknown: list[str] = []
        """Keys that their class forbids."""

    def read(self, value: Any, kind: type[T]) -> T:
        """The value as this class of struct. Raises msgspec.ValidationError where a field it needs cannot be read."""
        made: T = self._struct(value, kind)
        return made

    def _any(self, value: Any, kind: Any) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError:
            for one in get_args(kind) if isinstance(kind, UnionType) else (kind,):
                if get_origin(one) is list and isinstance(value, list):
                    return self._list(value, get_args(one)[0])
                if isinstance(one, type) and issubclass(one, msgspec.Struct):
                    return self._struct(value, one)
            raise

    def _struct(self, value: Any, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise msgspec.ValidationError(f"Expected `object`, got `{type(value).__name__}`")
        read: dict[str, Any] = {}
        fields = msgspec.structs.fields(kind)
        for field in fields:
            key = field.encode_name
            if key in value:
                try:
                    read[field.name] = self._any(value[key], field.type)
                except msgspec.ValidationError:
                    if field.required:
                        raise
                    self.wrong.append(key)
            elif field.required:
                raise msgspec.ValidationError(f"Object missing required field `{key}`")
        if kind.__struct_config__.forbid_unknown_fields:
            self.unknown += sorted(value.keys() - {field.encode_name for field in fields})
        return kind(**read)

    def _list(self, values: list[Any], kind: Any) -> list[Any]:
        made = []
        for value in values:
            try:
                made.append(self._any(value, kind))
            except msgspec.ValidationError:
                self.wrong.append(f"[{type(value).__name__}]")
        return made
