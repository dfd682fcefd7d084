"""Structured output: a tool that takes the object which the caller asked for."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from realtime.errors import UsageError


class StructuredOutput:
    """The object that one reply has to give.

    It is of a class of pydantic. The model gives it as the arguments of a tool named `function_name`. `value` is the
    object as JSON builtins, once it is there.
    """

    def __init__(self, model: type[BaseModel], function_name: str) -> None:
        if not hasattr(model, "model_json_schema"):
            raise UsageError(f"structured_model is a class of pydantic, not {model!r}", code="bad_structured_model")
        self.value: dict[str, Any] | None = None
        self.function_name = function_name
        self._model = model

    def json_schema(self) -> dict[str, Any]:
        """Return the declaration of the tool, in OpenAI's form."""
        return {
            "type": "function",
            "function": {
                "name": self.function_name,
                "description": "Give your final answer as an object. Call this when you know all of its fields.",
                "parameters": self._model.model_json_schema(),
            },
        }

    def take(self, arguments: dict[str, Any]) -> str | None:
        """Keep the object. Returns what is wrong with it, for the model; None where it is valid."""
        try:
            self.value = self._model.model_validate(arguments).model_dump(mode="json")
        except ValidationError as error:
            return f"The arguments are not valid: {error}"
        return None

    @property
    def reminder(self) -> str:
        """Ends the prompt after a round without the object."""
        return (
            "<system-hint>This answer needs an object as well. Go on with your work, or call "
            f"`{self.function_name}` with all of its fields.</system-hint>"
        )


ASK_FOR_TEXT = "<system-hint>The object is complete. Now say your answer as text.</system-hint>"
"""Ends the prompt after a round with the object alone."""
