"""Every public constructor and function refuses a value of another kind, and names the argument."""

import asyncio
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest

from realtime.errors import BadOption
from realtime.model.scripted import ScriptedModel
from realtime.testing import Speak
from tools.make_api_reference import MODULES, public_names

FURTHER = (
    "realtime.call.limits",
    "realtime.formatter",
    "realtime.memory",
    "realtime.model.chat",
    "realtime.model.link_limits",
    "realtime.model.local",
    "realtime.server.settings",
    "realtime.session",
    "realtime.token",
)
HOT = re.compile(r"realtime\.(message|event)\b|realtime\.model\.base$|realtime\.tool\.(context|response)$")
"""Where messages, blocks, events and inputs of models are made: many a second, by the package itself."""
EXEMPT = {
    **dict.fromkeys(
        ("Call", "Caption", "MCPToolFunction", "ToolContext", "Usage"), "the package makes them, not a program"
    ),
    **dict.fromkeys(("SpokenWords", "UserInputData", "ChatResponse", "ChatUsage"), "made for each piece of an answer"),
    "VirtualLoop": "asyncio closes what was refused, and was never open",
    **dict.fromkeys(("CallRecord", "RoomRun", "Run", "RunOutcome"), "records of a call, read by checks"),
    **dict.fromkeys(("FloorState", "Said", "with_turn", "PermissionDecision"), "made for each turn or call of a tool"),
}
PLAIN = {"str": "x", "int": 1, "float": 1.0, "bool": True, "bytes": b"", "Count": 1, "PositiveInt": 1, "Ms": 1}
FILLED: dict[str, Any] = {
    "RealtimeAgent.model": ScriptedModel([]),
    "BargeIn.speech": Speak("a.wav"),
    "Send.event": {},
    "Expect.kind": int,
    "voice_room.users": {},
    "HttpStatefulClient.transport": "sse",
    "HttpStatelessClient.transport": "sse",
}
"""Required arguments that no mock can be."""


def is_plain(parameter: inspect.Parameter) -> bool:
    kind = parameter.annotation
    text = kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
    return re.fullmatch(rf"({'|'.join(PLAIN)}|Literal\[[^\]]*\])( \| None)?", text) is not None


def checked_names() -> Iterator[Any]:
    seen: set[int] = set()
    for module_name in (*MODULES, *FURTHER):
        module = importlib.import_module(module_name)
        for name in public_names(module):
            value = getattr(module, name)
            if id(value) in seen or not (inspect.isfunction(value) or inspect.isclass(value)):
                continue
            seen.add(id(value))
            has_no_options = inspect.isclass(value) and issubclass(value, BaseException | str | dict)
            is_hot = HOT.match(value.__module__) and not name.endswith(("Config", "Detection"))
            if has_no_options or is_hot or name in EXEMPT or getattr(value, "_is_protocol", False):
                continue
            parameters = [*inspect.signature(value).parameters.values()]
            if any(map(is_plain, parameters)):
                yield pytest.param(name, value, parameters, id=name)


def filler(name: str, parameter: inspect.Parameter) -> object:
    kind = parameter.annotation
    text = kind.__name__ if isinstance(kind, type) else str(kind)
    return FILLED.get(f"{name}.{parameter.name}", PLAIN.get(text, MagicMock()))


def refusal(value: Any, arguments: dict[str, object]) -> str:
    """The sentence about an argument; what else happens is a text of its own."""
    try:
        made = value(**arguments)
        if inspect.iscoroutine(made):
            asyncio.run(made)
    except BadOption as error:
        return error.message
    except Exception as error:
        return f"another error: {error!r}"
    return "no error"


@pytest.mark.parametrize(("name", "value", "parameters"), [*checked_names()])
def test_each_plain_parameter_refuses_an_object_by_its_name(
    name: str, value: Any, parameters: list[inspect.Parameter]
) -> None:
    required = [
        one for one in parameters if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    wrong = object()
    for parameter in filter(is_plain, parameters):
        arguments = {one.name: filler(name, one) for one in required} | {parameter.name: wrong}
        assert refusal(value, arguments).startswith(f"{parameter.name} is "), parameter.name


def test_exceptions_are_names_that_exist() -> None:
    known = {name for module in (*MODULES, *FURTHER) for name in public_names(importlib.import_module(module))}
    assert EXEMPT.keys() <= known
