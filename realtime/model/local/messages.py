"""Write the conversation as messages, for any chat model. Plain functions.

Roles alternate, the user speaks first, every call has a result, and the last are words of the user or results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from realtime.event.base import ContentPart, Item
from realtime.formatter import NO_RESULT_YET, OpenAIChatFormatter
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    Msg,
    Role,
    SystemMsg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMsg,
)
from realtime.model.local.chat_messages import (
    IMAGE_CHARS,
    LISTENING,
    HistoryLimits,
    Json,
    after_own_words,
    first_within,
    words_of_user,
)
from realtime.model.local.language_model import Prompt

USER = "user"
"""The name of a user who has none."""
ASSISTANT = "assistant"
"""The name of an agent that has none."""


Signatures = Mapping[str, dict[str, Any]]
"""What a provider wants back with its tool calls: the `extra` of a ThinkingBlock by the id of the call."""

_CHAT_ENDPOINT = OpenAIChatFormatter(promote_tool_result_images=False)


def write_messages(prompt: Prompt, limits: HistoryLimits, *, takes_images: bool) -> list[Json]:
    """Write the messages for a chat endpoint.

    The shapes are those of OpenAI's chat completions, limited to what Ollama, vLLM and llama.cpp also accept. System
    items stay where they stand.
    """
    messages = messages_of(prompt, limits, takes_images=takes_images)
    return [written for message in messages for written in _CHAT_ENDPOINT.payload([message])]


def messages_of(
    prompt: Prompt, limits: HistoryLimits, *, takes_images: bool, signatures: Signatures = MappingProxyType({})
) -> list[Msg]:
    """Return the instructions and the newest part of the history, oldest first.

    The calls of a turn stay with their results, and everything since the last words of the user stays. Images are left
    out unless `takes_images`. Calls get ids of nine letters and digits, which some chat templates require; ids of
    several models may collide.
    """
    turns = _newest(_turns(prompt, signatures, takes_images=takes_images), limits)
    spoken = [turn for turn in turns if turn.role != "system"]
    if not spoken or spoken[0].role != "user":
        turns.insert(0, UserMsg(USER, LISTENING))
    if spoken and spoken[-1].role == "assistant" and not isinstance(spoken[-1].content[-1], ToolResultBlock):
        turns.append(UserMsg(USER, after_own_words(prompt.history)))
    return [SystemMsg("system", prompt.instructions), *turns] if prompt.instructions.strip() else turns


def _turns(prompt: Prompt, signatures: Signatures, *, takes_images: bool) -> list[Msg]:
    """Return one message per turn of a speaker; the assistant's hold their calls and results."""
    found = {item.tool_result.id: item.tool_result for item in prompt.history if item.tool_result is not None}
    speakers = {item.name for item in prompt.history if item.role == "user" and item.name}
    turns = _Turns(prompt.agent_name or ASSISTANT)
    calls = 0
    for item in prompt.history:
        if item.tool_call is not None:
            call_id = f"call{calls:05d}"
            calls += 1
            call = ToolCallBlock(id=call_id, name=item.tool_call.name, input=item.tool_call.input)
            if (signature := signatures.get(item.tool_call.id)) is not None:
                turns.add("assistant", [ThinkingBlock(thinking="", extra={**signature, "tool_call_id": call_id})])
            turns.call(call, _result(found.get(item.tool_call.id), call))
            continue
        turns.answer()
        if item.type == "message" and item.role in ("assistant", "system"):
            turns.add(item.role, [TextBlock(text=item.text)] if item.text else [])
        elif item.type == "message":
            blocks = user_blocks(item, named=len(speakers) > 1, takes_images=takes_images)
            turns.add("user", blocks, item.name or USER)
    turns.answer()
    return turns.messages()


class _Turns:
    """Joins what one side says or does in a row; the results of calls follow the last call of a row."""

    def __init__(self, agent_name: str) -> None:
        self._agent_name = agent_name
        self._turns: list[tuple[Role, str, list[Block]]] = []
        self._results: list[ToolResultBlock] = []

    def add(self, role: Role, blocks: Sequence[Block], name: str = "") -> None:
        """Add blocks of a side."""
        if not blocks:
            return
        if self._turns and self._turns[-1][0] == role != "system":
            said = self._turns[-1][2]
            if role == "assistant" and isinstance(said[-1], TextBlock) and isinstance(blocks[0], TextBlock):
                # It goes on in its line.
                said[-1] = TextBlock(text=f"{said[-1].text} {blocks[0].text}")
                blocks = blocks[1:]
            said.extend(blocks)
        else:
            self._turns.append((role, name or (self._agent_name if role == "assistant" else role), [*blocks]))

    def call(self, call: ToolCallBlock, result: ToolResultBlock) -> None:
        """Add a call of the assistant."""
        self.add("assistant", [call])
        self._results.append(result)

    def answer(self) -> None:
        """Add the results of the calls before."""
        self.add("assistant", self._results)
        self._results = []

    def messages(self) -> list[Msg]:
        """Return the turns."""
        return [Msg(name, blocks, role) for role, name, blocks in self._turns]


def _result(result: ToolResultBlock | None, call: ToolCallBlock) -> ToolResultBlock:
    if result is None:
        return ToolResultBlock(id=call.id, name=call.name, output=NO_RESULT_YET)
    return ToolResultBlock(id=call.id, name=call.name, output=result.output, state=result.state)


def user_blocks(item: Item, *, named: bool, takes_images: bool) -> list[Block]:
    """Return the words and images of a user's message; with several speakers it begins with its speaker."""
    text = words_of_user(item, named=named)
    images = [_image(part) for part in item.content if takes_images and part.image is not None]
    return [*([TextBlock(text=text)] if text else []), *images]


def _image(part: ContentPart) -> DataBlock:
    return DataBlock(source=Base64Source(data=part.image or b"", media_type=part.media_type or "image/jpeg"))


def _newest(turns: list[Msg], limits: HistoryLimits) -> list[Msg]:
    return turns[
        first_within(
            limits,
            messages=[len(turn.content) for turn in turns],
            chars=[sum(map(_chars, turn.content)) for turn in turns],
            asked=[turn.role == "user" for turn in turns],
        ) :
    ]


def _chars(block: Block) -> int:
    match block:
        case TextBlock():
            return len(block.text)
        case ToolCallBlock():
            return len(block.name) + len(block.input)
        case ToolResultBlock():
            return len(block.output_text()) + IMAGE_CHARS * len(block.media)
        case DataBlock():
            return IMAGE_CHARS
        case _:
            return 0
