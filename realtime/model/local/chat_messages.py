"""Write the conversation for a chat endpoint: messages and function declarations. Plain functions.

The shapes are those of OpenAI's chat completions, limited to what Ollama, vLLM and llama.cpp also accept. Their chat
templates are stricter than OpenAI: roles must alternate, and the user speaks first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.formatter import NO_RESULT_YET, OpenAIChatFormatter
from realtime.formatter.media import Media, Part
from realtime.formatter.turns import AgentTurn, Answer, SystemTurn, Turn, UserTurn
from realtime.message import TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.message.speakers import own_words, speaker_and_words, spoken_by
from realtime.model.local.language_model import Prompt

Json = dict[str, Any]

LISTENING = "(The caller is on the line and listens.)"
"""Precedes an unsolicited response such as a greeting: many templates require the user to begin."""
GO_ON = "(Please go on.)"
"""Follows the assistant's own last words: some servers would else continue inside them."""
NOT_UNDERSTOOD = "(The caller said something that could not be understood.)"
"""Ends the messages after a turn without words: else the model would continue by itself."""

_WRITER = OpenAIChatFormatter()
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
    groups = [_WRITER.write(turn) for turn in turns_of_items(prompt.history, takes_images=takes_images)]
    messages = [message for group in _newest(groups, limits) for message in group]
    spoken = [message["role"] for message in messages if message["role"] != "system"]
    if not spoken or spoken[0] != "user":
        messages = [*_WRITER.write(UserTurn([LISTENING])), *messages]
    if spoken and spoken[-1] == "assistant":
        messages += _WRITER.write(UserTurn([after_own_words(prompt.history)]))
    if prompt.instructions.strip():
        messages = [*_WRITER.write(SystemTurn([prompt.instructions])), *messages]
    return messages


def after_own_words(history: Sequence[Item]) -> str:
    """Return what follows the assistant's own last words, in the user's place."""
    said = next((item for item in reversed(history) if item.type == "message"), None)
    return NOT_UNDERSTOOD if said is not None and said.role == "user" else GO_ON


def write_tool(tool: ToolDeclaration) -> Json:
    """Write a function declaration."""
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def turns_of_items(history: Sequence[Item], *, takes_images: bool) -> list[Turn]:
    """Return a conversation as turns, which a prompt may not divide.

    Neighbours of one role become one turn. A round of tool calls is one, with the words before it and its results;
    calls get ids of nine letters and digits, since some chat templates require that, and ids of several models may
    collide. Images are left out unless `takes_images`.
    """
    results = {item.tool_result.id: item.tool_result for item in history if item.tool_result is not None}
    speakers = {item.name for item in history if item.role == "user" and item.name}
    turns: list[Turn] = []
    in_calls = False
    calls = 0
    for item in history:
        last = turns[-1] if turns else None
        if item.tool_call is not None:
            if not isinstance(last, AgentTurn) or (last.answers and not in_calls):
                turns.append(last := AgentTurn())
            in_calls = True
            call = ToolCallBlock(id=f"call{calls:05d}", name=item.tool_call.name, input=item.tool_call.input)
            calls += 1
            last.parts.append(call)
            last.answers.append(_answer(call, results.get(item.tool_call.id)))
            continue
        in_calls = False
        if item.type != "message":
            continue
        match item.role:
            case "assistant" if item.text:
                if isinstance(last, AgentTurn) and not last.answers:
                    # It goes on in its line.
                    last.parts[:] = [TextBlock(text=f"{last.text} {item.text}", id=item.id)]
                else:
                    turns.append(AgentTurn([TextBlock(text=item.text, id=item.id)]))
            case "system" if item.text:
                turns.append(SystemTurn([item.text]))
            case "user" | None:
                parts = _user_parts(item, named=len(speakers) > 1, takes_images=takes_images)
                if isinstance(last, UserTurn):
                    last.parts.extend(parts)
                elif parts:
                    turns.append(UserTurn(parts))
    return turns


def _answer(call: ToolCallBlock, result: ToolResultBlock | None) -> Answer:
    if result is None:
        return Answer(call, ToolResultState.RUNNING, [NO_RESULT_YET])
    return Answer(call, result.state, [result.output_text(names_media=True)])


def _user_parts(item: Item, *, named: bool, takes_images: bool) -> list[Part]:
    text = words_of_user(item, named=named)
    parts: list[Part] = [text] if text else []
    if takes_images:
        images = [part for part in item.content if part.image is not None]
        parts += [Media(part.media_type or "image/jpeg", part.image) for part in images]
    return parts


def words_of_user(item: Item, *, named: bool) -> str:
    """Return what a user said.

    With several speakers (`named`) each turn begins with its speaker: most templates ignore the field `name` and some
    servers refuse it.
    """
    text = item.text
    if not named or not text:
        return text
    said_by, words = speaker_and_words(text)
    if said_by is not None and said_by == item.name:
        text = words  # words of another agent begin with its name
    return spoken_by(item.name, text) if item.name else own_words(text)


def _newest(turns: list[list[Json]], limits: HistoryLimits) -> list[list[Json]]:
    return turns[
        first_within(
            limits,
            messages=[len(turn) for turn in turns],
            chars=[sum(map(_chars, turn)) for turn in turns],
            asked=[turn[0]["role"] == "user" for turn in turns],
        ) :
    ]


def first_within(limits: HistoryLimits, *, messages: Sequence[int], chars: Sequence[int], asked: Sequence[bool]) -> int:
    """Return the first turn to keep, by the sizes of all; the user's last one stays."""
    last_asked = max((at for at, is_asked in enumerate(asked) if is_asked), default=0)
    return min(max(first_kept(messages, limits.messages), first_kept(chars, limits.chars)), last_asked)


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
