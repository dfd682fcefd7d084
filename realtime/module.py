"""`StateModule`: objects whose registered attributes can be saved as JSON and restored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self


class StateModule:
    """Base of objects with a state.

    The state is that of registered attributes and of attributes that are StateModules themselves. A subclass calls
    `super().__init__()` before it sets such an attribute.
    """

    def __init__(self) -> None:
        self._state_attributes: dict[str, _Conversion] = {}
        self._state_modules: dict[str, None] = {}
        """Names of the attributes that are StateModules, in order of assignment."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, StateModule):
            if "_state_modules" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__}.__init__ calls super().__init__() before it sets {name!r}")
            self._state_modules[name] = None
        elif name in self.__dict__.get("_state_modules", ()):
            del self._state_modules[name]
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._state_modules.pop(name, None)
        self._state_attributes.pop(name, None)

    def __copy__(self) -> Self:
        """Return a shallow copy that registers attributes for itself."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.update(_state_attributes={**self._state_attributes}, _state_modules={**self._state_modules})
        return made

    def register_state(
        self,
        attr_name: str,
        custom_to_json: Callable[[Any], Any] | None = None,
        custom_from_json: Callable[[Any], Any] | None = None,
    ) -> None:
        """Make an attribute part of the state.

        The functions convert it to JSON-safe builtins and back. Raises AttributeError if there is no such attribute,
        TypeError if it has no JSON form and no `custom_to_json`, ValueError if it is a StateModule, which is part of
        the state already.
        """
        value = getattr(self, attr_name)
        if attr_name in self._state_modules:
            raise ValueError(f"{attr_name!r} is a StateModule: it is part of the state already")
        if custom_to_json is None:
            check_json(value, repr(attr_name))
        self._state_attributes[attr_name] = (custom_to_json, custom_from_json)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as builtins, nested StateModules by their names.

        Raises TypeError, which names the attribute, for a value without a JSON form.
        """
        state: dict[str, Any] = {name: getattr(self, name).state_dict() for name in self._state_modules}
        for name, (to_json, _) in self._state_attributes.items():
            value = getattr(self, name)
            made = value if to_json is None else to_json(value)
            check_json(made, f"{name!r} of {type(self).__name__}", converted=to_json is not None)
            state[name] = _copied(made) if to_json is None else made
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Restore what `state_dict` returned.

        Unknown names are ignored. With `strict`, which holds for nested modules too, raises KeyError for a missing
        name; raises TypeError for what is no mapping; both before any attribute changes.
        """
        _check_mapping(state_dict, f"the state of a {type(self).__name__}")
        if strict and (missing := self._missing(state_dict, "")):
            raise KeyError(f"the state of a {type(self).__name__} lacks {', '.join(missing)}")
        # A value that cannot be converted is found before anything changes.
        values = {
            name: _copied(state_dict[name]) if from_json is None else from_json(state_dict[name])
            for name, (_, from_json) in self._state_attributes.items()
            if name in state_dict
        }
        for name in [*self._state_modules]:
            if name in state_dict:
                getattr(self, name).load_state_dict(state_dict[name], strict=strict)
        for name, value in values.items():
            setattr(self, name, value)

    def _missing(self, state: Mapping[str, Any], path: str) -> list[str]:
        """Return the dotted names that `state` lacks."""
        missing = [path + name for name in self._state_attributes if name not in state]
        for name in self._state_modules:
            if name not in state:
                missing.append(path + name)
            else:
                _check_mapping(state[name], f"the state of {path}{name}")
                missing += getattr(self, name)._missing(state[name], f"{path}{name}.")
        return missing


_Conversion = tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]


def check_json(value: Any, what: str, *, converted: bool = False) -> None:
    """Raise TypeError for a value (`what`) without a JSON form.

    It says where in the value. A key that is no text has none either: it would come back as one.
    """
    try:
        fault = _fault(value, "")
    except RecursionError:
        fault = "it contains itself"
    if fault is not None:
        remedy = "its `custom_to_json` returns it" if converted else "give a `custom_to_json`"
        raise TypeError(f"{what} has no JSON form ({fault}): {remedy}")


def _fault(value: Any, place: str) -> str | None:
    """Return what JSON cannot hold first."""
    if value is None or isinstance(value, str | int | float):
        return None
    inside: Iterable[tuple[object, Any]]
    if isinstance(value, dict):
        inside = value.items()
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            return f"{place or 'it'} has the key {wrong!r}"
    elif isinstance(value, list | tuple):
        inside = enumerate(value)
    else:
        return f"{place or 'it'} is of type {type(value).__name__}"
    return next((fault for key, one in inside if (fault := _fault(one, f"{place}[{key!r}]")) is not None), None)


def _check_mapping(state: Any, what: str) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(f"{what} is a mapping, not a {type(state).__name__}")


def _copied(value: Any) -> Any:
    """Return an independent copy of a JSON value: a saved state does not change with its object."""
    return json.loads(json.dumps(value))
