"""Write the conversation for a chat endpoint: messages and function declarations. Plain functions.

The shapes are those of OpenAI's chat completions, limited to what Ollama, vLLM and llama.cpp also accept. Their chat
templates are stricter than OpenAI: roles must alternate, the user speaks first, and arguments must be JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pybase64

from realtime.event.base import ContentPart, Item
from realtime.event.config import ToolDeclaration
from realtime.message.formatter import own_words, speaker_and_words, spoken_by
from realtime.model.local.language_model import Prompt

Json = dict[str, Any]

LISTENING = "(The caller is on the line and listens.)"
"""Precedes an unsolicited response such as a greeting: many templates require the user to begin."""
GO_ON = "(Please go on.)"
"""Follows the assistant's own last words: some servers would else continue inside them."""
NOT_UNDERSTOOD = "(The caller said something that could not be understood.)"
"""Ends the messages after a turn without words: else the model would continue by itself."""
NO_RESULT = "There is no result yet."
"""Stands for the result of a running tool: servers refuse a call without one."""

IMAGE_CHARS = 3_000
"""The weight of an image in the length of a history: about 750 tokens."""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """The most messages, and characters in them, that a request contains.

    The default length is about 4,000 tokens, Ollama's default limit of a prompt.
    """

    messages: int = 100
    chars: int = 16_000


def write_messages(prompt: Prompt, limits: HistoryLimits, *, takes_images: bool) -> list[Json]:
    """Write the instructions and the newest part of the history, oldest first.

    A tool call, the words before it and its results stay or go together, and everything since the last words of the
    user stays. Images are left out unless `takes_images`.
    """
    turns = _newest(_turns(prompt.history, takes_images=takes_images), limits)
    messages = [message for turn in turns for message in turn]
    spoken = [message["role"] for message in messages if message["role"] != "system"]
    if not spoken or spoken[0] != "user":
        messages.insert(0, {"role": "user", "content": LISTENING})
    if spoken and spoken[-1] == "assistant":
        said = next((item for item in reversed(prompt.history) if item.type == "message"), None)
        unheard = said is not None and said.role == "user"
        messages.append({"role": "user", "content": NOT_UNDERSTOOD if unheard else GO_ON})
    system = [{"role": "system", "content": prompt.instructions}] if prompt.instructions.strip() else []
    return system + messages


def write_tool(tool: ToolDeclaration) -> Json:
    """Write a function declaration."""
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def arguments_of(text: str) -> str:
    """Return arguments that servers accept: anything but a JSON object becomes `{}`.

    llama.cpp fails with HTTP 500 on every history with broken arguments (ggml-org/llama.cpp#25510).
    """
    try:
        return text if isinstance(json.loads(text), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _turns(history: Sequence[Item], *, takes_images: bool) -> list[list[Json]]:
    """Return the messages in inseparable groups."""
    results = {item.tool_result.id: item.tool_result for item in history if item.tool_result is not None}
    speakers = {item.name for item in history if item.role == "user" and item.name}
    turns: list[list[Json]] = []
    in_calls = False
    calls = 0
    for item in history:
        last = turns[-1][-1] if turns else None
        if item.tool_call is not None:
            if not in_calls:
                if last is None or last["role"] != "assistant":
                    turns.append([{"role": "assistant", "content": None}])
                turns[-1][0]["tool_calls"] = []
                in_calls = True
            # Nine letters and digits: Mistral's templates require it, and ids of several models may collide.
            call_id = f"call{calls:05d}"
            calls += 1
            function = {"name": item.tool_call.name, "arguments": arguments_of(item.tool_call.input)}
            turns[-1][0]["tool_calls"].append({"id": call_id, "type": "function", "function": function})
            result = results.get(item.tool_call.id)
            output = NO_RESULT if result is None else result.output_text(names_media=True)
            turns[-1].append({"role": "tool", "tool_call_id": call_id, "content": output})
            continue
        in_calls = False
        if item.type != "message":
            continue
        match item.role:
            case "assistant":
                if not item.text:
                    continue
                if last is not None and last["role"] == "assistant":
                    last["content"] += f" {item.text}"
                else:
                    turns.append([{"role": "assistant", "content": item.text}])
            case "system":
                if item.text:
                    turns.append([{"role": "system", "content": item.text}])
            case "user" | None:
                content = _user_content(item, named=len(speakers) > 1, takes_images=takes_images)
                if not content:
                    continue
                if last is not None and last["role"] == "user":
                    last["content"] = _joined(last["content"], content)
                else:
                    turns.append([{"role": "user", "content": content}])
    return turns


def _user_content(item: Item, *, named: bool, takes_images: bool) -> str | list[Json]:
    """Write a user's message: plain text if there are only words, as every server accepts it.

    With several speakers each turn begins with its speaker: most templates ignore the field `name` and some servers
    refuse it.
    """
    text = item.text
    if named and text:
        said_by, words = speaker_and_words(text)
        if said_by is not None and said_by == item.name:
            text = words  # words of another agent begin with its name
        text = spoken_by(item.name, text) if item.name else own_words(text)
    images = [_image(part) for part in item.content if takes_images and part.image is not None]
    return [*_text_parts(text), *images] if images else text


def _image(part: ContentPart) -> Json:
    data = pybase64.b64encode_as_string(part.image or b"")
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type or 'image/jpeg'};base64,{data}"}}


def _text_parts(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text else []


def _joined(first: str | list[Json], second: str | list[Json]) -> str | list[Json]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n{second}"
    return [
        part for content in (first, second) for part in (_text_parts(content) if isinstance(content, str) else content)
    ]


def _newest(turns: list[list[Json]], limits: HistoryLimits) -> list[list[Json]]:
    asked = max((at for at, turn in enumerate(turns) if turn[0]["role"] == "user"), default=0)
    start = max(
        first_kept([len(turn) for turn in turns], limits.messages),
        first_kept([sum(map(_chars, turn)) for turn in turns], limits.chars),
    )
    return turns[min(start, asked) :]


def first_kept(sizes: Sequence[int], limit: int) -> int:
    """Return the first index to keep; the rest is within the limit.

    It moves a quarter of the limit at a time: servers cache prompts and read again only what follows the first
    difference.
    """
    step = max(1, limit // 4)
    too_much = -(-(sum(sizes) - limit) // step) * step
    if too_much <= 0:
        return 0
    return next((at for at, size in enumerate(accumulate(sizes), 1) if size >= too_much), len(sizes))


def _chars(message: Json) -> int:
    content = message["content"] or ""
    calls = message.get("tool_calls", ())
    words = (
        len(content)
        if isinstance(content, str)
        else sum(len(part["text"]) if part["type"] == "text" else IMAGE_CHARS for part in content)
    )
    return words + sum(len(call["function"]["name"]) + len(call["function"]["arguments"]) for call in calls)
