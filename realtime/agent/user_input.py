"""Where the words of a user come from: the terminal, a queue, or a class of the application."""

from __future__ import annotations

import asyncio
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from realtime.message import DataBlock, TextBlock
from realtime.options import checked
from realtime.tool.threads import TOOL_THREADS

MAX_WAITING = 100
"""Inputs that wait in a UserInputQueue; the oldest are dropped."""


@dataclass(slots=True)
class UserInputData:
    """What a user said."""

    blocks_input: Sequence[TextBlock | DataBlock]
    structured_input: dict[str, Any] | None = None
    """The object that was asked for, as JSON builtins."""


class UserInputBase(ABC):
    """A source of what one user says. Subclasses implement `__call__`."""

    @abstractmethod
    async def __call__(
        self, agent_id: str, agent_name: str, *args: Any, structured_model: type[BaseModel] | None = None, **kwargs: Any
    ) -> UserInputData:
        """Wait for the next input of this UserAgent.

        `structured_model`: the class of an object that the user has to give as well.
        """


class UserInputQueue(UserInputBase):
    """Input from another part of the program, such as a WebSocket's reader."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[UserInputData] = asyncio.Queue(MAX_WAITING)

    def put(
        self, content: str | Sequence[TextBlock | DataBlock], structured_input: dict[str, Any] | None = None
    ) -> None:
        """Add an input. A full queue loses its oldest one."""
        if self._waiting.full():
            self._waiting.get_nowait()
        blocks = [TextBlock(text=content)] if isinstance(content, str) else content
        self._waiting.put_nowait(UserInputData(blocks, structured_input))

    async def __call__(
        self, agent_id: str, agent_name: str, *args: Any, structured_model: type[BaseModel] | None = None, **kwargs: Any
    ) -> UserInputData:
        """See `UserInputBase`. Raises pydantic's ValidationError for an object of another form."""
        data = await self._waiting.get()
        if structured_model is not None:
            data.structured_input = structured_model.model_validate(data.structured_input or {}).model_dump(mode="json")
        return data


class TerminalUserInput(UserInputBase):
    """Lines that a user types. `input_hint` stands before each.

    A line is read in a thread; cancelling does not end that, so the next line is lost.
    """

    @checked()
    def __init__(self, input_hint: str = "User Input: ") -> None:
        self.input_hint = input_hint

    async def __call__(
        self, agent_id: str, agent_name: str, *args: Any, structured_model: type[BaseModel] | None = None, **kwargs: Any
    ) -> UserInputData:
        """See `UserInputBase`. The fields of an object are asked for one by one, until they are valid."""
        text = await _line(self.input_hint)
        fields = None if structured_model is None else await _object(structured_model)
        return UserInputData([TextBlock(text=text)], fields)


async def _line(hint: str) -> str:
    executor = TOOL_THREADS.of(_line, "terminal")
    text: str = await asyncio.get_running_loop().run_in_executor(executor, lambda: input(hint))
    # An undecodable character arrives as half a surrogate pair, which no message can carry.
    return text.encode("utf-8", "ignore").decode()


async def _object(model: type[BaseModel]) -> dict[str, Any]:
    """Ask for the fields of an object until it is valid; return it as JSON builtins."""
    sys.stdout.write("Structured input (Enter leaves out what is optional):\n")
    while True:
        given = {name: value for name, field in model.model_fields.items() for value in await _values(name, field)}
        try:
            return model.model_validate(given).model_dump(mode="json")
        except ValidationError as error:
            sys.stdout.write(f"{error}\n")


async def _values(name: str, field: FieldInfo) -> list[Any]:
    """Ask for one field until it is valid; [] where it is left out."""
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, Annotated[field.annotation, field]))
    schema = json.dumps(adapter.json_schema(), ensure_ascii=False)
    while True:
        text = await _line(f"\t{name} ({schema}): ")
        if not text and not field.is_required():
            return []
        for value in _readings(text):
            try:
                adapter.validate_python(value)
            except ValidationError as error:
                said = error
            else:
                return [value]
        sys.stdout.write(f"{said}\n")


def _readings(text: str) -> list[Any]:
    """Return what a line may mean: itself, or the JSON value that it is."""
    try:
        return [text, json.loads(text)]
    except ValueError:
        return [text]
