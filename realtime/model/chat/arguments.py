"""What a chat model takes: checks with a sentence, and what structured output needs. Functions, no state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from realtime.message import TextBlock, ToolCallBlock
from realtime.model.chat.base import ChatResponse
from realtime.tool.arguments import written_out

Json = dict[str, Any]

MODES = ("auto", "none", "required")
STRUCTURED_TOOL = "generate_structured_output"
"""The tool whose arguments are the object, where nothing else gives it."""


class StructuredModel(Protocol):
    """A class of pydantic's, `BaseModel` or the like."""

    @classmethod
    def model_json_schema(cls) -> Json: ...
    @classmethod
    def model_validate_json(cls, json_data: str) -> Any: ...


def check_messages(messages: object) -> None:
    """Raise TypeError unless `messages` is a formatter's payload; ValueError if it is empty."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise TypeError("a chat model takes a list of messages as its formatter writes them, each one a dict")
    if not messages:
        raise ValueError("a chat model takes at least one message")


def check_tools(tools: object) -> None:
    """Raise TypeError or ValueError unless `tools` are JSON schemas of functions."""
    if tools is None:
        return
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise TypeError(f"`tools` is a list of JSON schemas of functions, not {type(tools).__name__}")
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ValueError('each tool is {"type": "function", "function": {"name": ..., "parameters": {...}}}')


def checked_choice(choice: object, tools: Sequence[Json] | None) -> str | None:
    """Return the choice of a tool; None if the model decides or there are no tools.

    Raises TypeError for anything but text, ValueError for what is neither a mode nor the name of a tool.
    """
    if choice is None:
        return None
    if not isinstance(choice, str):
        raise TypeError(f"`tool_choice` is text, not {type(choice).__name__}")
    names = [tool["function"]["name"] for tool in tools or ()]
    if choice in ("auto", "none") and not names:
        return None
    if choice not in MODES and choice not in names:
        raise ValueError(f"`tool_choice` {choice!r} is none of {', '.join([*MODES, *names])}")
    if not names:
        raise ValueError(f"`tool_choice` {choice!r} needs tools to choose from")
    return choice


def function_of(tool: Json) -> tuple[str, str, Json]:
    """Return name, description and parameters of a tool."""
    function = tool["function"]
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    return function["name"], function.get("description", ""), parameters


def check_structured_model(model: object) -> None:
    """Raise TypeError unless `model` is a class of pydantic's."""
    if not isinstance(model, type) or not hasattr(model, "model_validate_json"):
        raise TypeError("`structured_model` is a class that inherits pydantic's BaseModel")


def structured_tool(model: StructuredModel) -> Json:
    """Return the tool whose arguments are the object."""
    return {
        "type": "function",
        "function": {
            "name": STRUCTURED_TOOL,
            "description": "Generate the required structured output with this function",
            "parameters": written_out(model.model_json_schema(), "`structured_model`"),
        },
    }


def structured_object(response: ChatResponse, parsed: Any, model: StructuredModel) -> Json:
    """Return the object that a response holds: what the SDK parsed, a tool's arguments, or JSON in the text.

    Raises ValueError if there is none or a wrong one; the text names the fields, not their values.
    """
    if not (isinstance(model, type) and isinstance(parsed, model)):
        calls = [block.input for block in response.content if isinstance(block, ToolCallBlock)]
        text = "".join(block.text for block in response.content if isinstance(block, TextBlock))
        written = calls[0] if calls else text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""
        if not written:
            raise ValueError("there is no object in it")
        parsed = _validated(written, model)
    dumped: Json = parsed.model_dump(mode="json")
    return dumped


def _validated(written: str, model: StructuredModel) -> Any:
    from pydantic import ValidationError

    try:
        return model.model_validate_json(written)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['type']}" for one in error.errors()[:5]]
        raise ValueError("; ".join(wrong)) from None
