"""`UserAgent`: a human user among agents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from realtime.agent.base import AgentBase, Messages
from realtime.agent.user_input import TerminalUserInput, UserInputBase
from realtime.errors import UsageError
from realtime.message import Msg
from realtime.options import checked


class UserAgent(AgentBase):
    """Represents a user: its answers are what the user says next.

    By default the user types in the terminal; another input method takes its place for one agent or for the class.
    """

    _input_method: UserInputBase = TerminalUserInput()

    @checked()
    def __init__(self, name: str) -> None:
        super().__init__(name)

    async def reply(self, msg: Messages = None, structured_model: type[BaseModel] | None = None) -> Msg:
        """Return the user's next message. `msg` was shown to the user by its sender.

        With `structured_model`, the user gives an object as well: its fields are the `metadata`, and
        `structured_output`.
        """
        given = await self._input_method(self.id, self.name, structured_model=structured_model)
        said = Msg(
            self.name,
            given.blocks_input,
            "user",
            metadata=given.structured_input,
            structured_output=given.structured_input,
        )
        await self.print(said)
        return said

    async def observe(self, msg: Messages) -> None:
        """Do nothing: the sender has shown the message to the user."""

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        """Return a message without words: the user has not answered."""
        return Msg(self.name, None, "user", metadata={"_is_interrupted": True})

    def override_instance_input_method(self, input_method: UserInputBase) -> None:
        """Let this agent's words come from `input_method`. Raises UsageError for anything else."""
        self._input_method = _checked(input_method)

    @classmethod
    def override_class_input_method(cls, input_method: UserInputBase) -> None:
        """Let the words of all agents of this class come from `input_method`. Raises UsageError for anything else."""
        cls._input_method = _checked(input_method)


def _checked(input_method: UserInputBase) -> UserInputBase:
    if not isinstance(input_method, UserInputBase):
        raise UsageError(f"an input method is a UserInputBase, not {type(input_method).__name__}")
    return input_method
