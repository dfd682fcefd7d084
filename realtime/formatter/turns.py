"""Messages in the order of a chat: system prompt, user's turns, and the assistant's, each with its tool results.

Pure. An assistant's message is split at its results and hints, since providers take one round at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from realtime.formatter.media import Part
from realtime.message import (
    Block,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    system_reminder,
)

NO_RESULT = "There is no result: the call was interrupted."
"""Result of a call without one: providers refuse a history in which a result is missing."""
NO_RESULT_YET = "There is no result yet."
"""Result of a call that runs, or waits: for the user or another program."""

_OUTCOMES: dict[ToolResultState, str] = {
    ToolResultState.RUNNING: NO_RESULT_YET,
    ToolResultState.SUCCESS: "The tool returned nothing.",
    ToolResultState.ERROR: "The tool failed.",
    ToolResultState.INTERRUPTED: NO_RESULT,
    ToolResultState.DENIED: "The call was not allowed.",
}
"""What the model reads of a result without content: some providers refuse it."""

Shows = Callable[[DataBlock], Part]
"""Gives the content of a data block."""


@dataclass(frozen=True, slots=True)
class SystemTurn:
    """The system prompts of all messages; only the first turn is one."""

    texts: list[str]


@dataclass(frozen=True, slots=True)
class UserTurn:
    """Words and media for the model. Never empty."""

    parts: list[Part]


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """What one of several speakers said and showed. Never empty."""

    name: str
    words: str
    shown: list[Part]


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call. Never empty."""

    call: ToolCallBlock
    state: ToolResultState
    parts: list[Part]

    @property
    def is_error(self) -> bool:
        """Whether the call did not do what the model wanted."""
        return self.state in (ToolResultState.ERROR, ToolResultState.INTERRUPTED, ToolResultState.DENIED)


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """One round of the assistant: words, thoughts and calls, with an answer to each call.

    At least one word or call.
    """

    parts: list[TextBlock | ThinkingBlock | ToolCallBlock] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words, a line for each block."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextBlock))


Turn = SystemTurn | UserTurn | SpokenTurn | AgentTurn


def turns_of(messages: Sequence[Msg], shows: Shows) -> Iterator[Turn]:
    """Yield the turns of a user and an assistant."""
    yield from _system_turn(messages)
    results = iter(_results(messages))
    for message in messages:
        if message.role == "user":
            if parts := [*_parts(message.content, shows)]:
                yield UserTurn(parts)
        elif message.role == "assistant":
            yield from _agent_turns(message, results, shows)


def turns_of_speakers(messages: Sequence[Msg], shows: Shows, own_name: str | None) -> Iterator[Turn]:
    """Yield the turns of several participants; those of `own_name` are the assistant's.

    Without `own_name`, all words are a speaker's, while all tool calls are the assistant's.
    """
    yield from _system_turn(messages)
    own = [message for message in messages if message.role == "assistant" and own_name in (None, message.name)]
    results = iter(_results(own))
    for message in messages:
        if message.role == "assistant" and own_name is None:
            yield from _agent_turns(message, results, shows, speaker=message.name)
        elif message.role == "assistant" and own_name == message.name:
            yield from _agent_turns(message, results, shows)
        elif message.role != "system":
            yield from _spoken_turn(message, shows)


def arguments_of(call: ToolCallBlock) -> dict[str, Any]:
    """Return the arguments of a call; none where they are no JSON object."""
    return call.arguments or {}


def _system_turn(messages: Iterable[Msg]) -> Iterator[SystemTurn]:
    blocks = [block for message in messages if message.role == "system" for block in message.content]
    if texts := [block.text for block in blocks if isinstance(block, TextBlock) and block.text.strip()]:
        yield SystemTurn(texts)


def _parts(blocks: Iterable[Block], shows: Shows) -> Iterator[Part]:
    for block in blocks:
        if isinstance(block, TextBlock) and block.text.strip():
            yield block.text
        elif isinstance(block, DataBlock):
            yield shows(block)


def _spoken_turn(message: Msg, shows: Shows) -> Iterator[SpokenTurn]:
    """Yield another participant's words and media, without its thoughts and tools."""
    words = [block.text for block in message.get_content_blocks("text") if block.text.strip()]
    shown = [block for block in message.get_content_blocks("data") if not _is_voice(message, block)]
    if words or shown:
        yield SpokenTurn(message.name, "\n".join(words), [shows(block) for block in shown])


def _is_voice(message: Msg, block: DataBlock) -> bool:
    """Return whether `block` is an assistant's voice: its words are in the text."""
    return message.role == "assistant" and block.source.media_type.lower().startswith("audio/")


def _results(messages: Iterable[Msg]) -> list[ToolResultBlock | None]:
    """Return the result of each call, in the order of the calls; None where there is none.

    A result belongs to the last call of its id before it. The last result of a call is the one that counts.
    """
    results: list[ToolResultBlock | None] = []
    calls: dict[str, int] = {}
    for message in messages:
        for block in message.get_content_blocks(("tool_call", "tool_result")):
            if isinstance(block, ToolCallBlock):
                calls[block.id] = len(results)
                results.append(None)
            elif isinstance(block, ToolResultBlock) and block.id in calls:
                results[calls[block.id]] = block
    return results


def _answer(call: ToolCallBlock, result: ToolResultBlock | None, shows: Shows) -> Answer:
    if result is None:
        waits = call.state in (ToolCallState.ASKING, ToolCallState.SUBMITTED)
        state = ToolResultState.RUNNING if waits else ToolResultState.INTERRUPTED
        return Answer(call, state, [_OUTCOMES[state]])
    output: Sequence[Block] = [TextBlock(text=result.output)] if isinstance(result.output, str) else result.output
    return Answer(call, result.state, [*_parts(output, shows)] or [_OUTCOMES[result.state]])


def _agent_turns(
    message: Msg, results: Iterator[ToolResultBlock | None], shows: Shows, *, speaker: str | None = None
) -> Iterator[Turn]:
    """Yield the rounds of an assistant's message, with hints and pictures between.

    With a `speaker`, words and pictures become a spoken turn, before the calls of their round.
    """
    round_ = _Round(speaker)
    for block in message.content:
        match block:
            case TextBlock() if not block.text.strip():
                continue
            case TextBlock() | ThinkingBlock() | ToolCallBlock():
                if round_.is_answered:
                    yield from round_.end()
                answer = _answer(block, next(results), shows) if isinstance(block, ToolCallBlock) else None
                round_.add(block, answer)
            case ToolResultBlock():
                round_.take_result(block.id)
            case HintBlock():
                yield from round_.end()
                hint = [TextBlock(text=block.hint)] if isinstance(block.hint, str) else block.hint
                if parts := [*_parts(hint, shows)]:
                    yield UserTurn(parts)
            case DataBlock() if not _is_voice(message, block):
                if speaker is not None:
                    round_.shown.append(shows(block))
                else:
                    yield from round_.end()
                    yield UserTurn([system_reminder("What you showed:"), shows(block)])
    yield from round_.end()


class _Round:
    """Collects one round of the assistant."""

    def __init__(self, speaker: str | None) -> None:
        self._speaker = speaker
        self._begin()

    def _begin(self) -> None:
        self._turn = AgentTurn()
        self._words: list[str] = []
        self.shown: list[Part] = []
        self.is_answered = False

    def add(self, block: TextBlock | ThinkingBlock | ToolCallBlock, answer: Answer | None) -> None:
        """Append a block; a call comes with its answer."""
        if isinstance(block, TextBlock) and self._speaker is not None:
            self._words.append(block.text)
        else:
            self._turn.parts.append(block)
        if answer is not None:
            self._turn.answers.append(answer)

    def take_result(self, call_id: str) -> None:
        """Note that a result follows: what comes after it is another round."""
        self.is_answered |= any(answer.call.id == call_id for answer in self._turn.answers)

    def end(self) -> Iterator[Turn]:
        """Yield what was collected. Thoughts alone are nothing to answer."""
        turn, words, shown = self._turn, self._words, self.shown
        self._begin()
        if self._speaker is not None and (words or shown):
            yield SpokenTurn(self._speaker, "\n".join(words), shown)
        if turn.text or turn.answers:
            yield turn
