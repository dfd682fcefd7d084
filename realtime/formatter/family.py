"""What the formatters of all families share: media, speakers, a limit of tokens."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from realtime.errors import UsageError
from realtime.formatter.base import FormatterBase
from realtime.formatter.media import Files, Media, Part, part_of, read_files
from realtime.formatter.speakers import history, turn_by_name
from realtime.formatter.turns import (
    AgentTurn,
    Answer,
    Shows,
    SpokenTurn,
    SystemTurn,
    Turn,
    UserTurn,
    turns_of,
    turns_of_speakers,
)
from realtime.message import Msg, check_pairs, system_reminder
from realtime.options import checked

logger = logging.getLogger(__name__)

Json = dict[str, Any]


class Counter(Protocol):
    """Counts the tokens of a payload (`realtime.token.TokenCounterBase`)."""

    async def count(self, messages: Sequence[Json], tools: Sequence[Json] | None = None) -> int: ...


class ChatFormatter(FormatterBase, ABC):
    """Writes the chat of a user and an assistant, for one family.

    The system prompts of all messages come first, as one. Every tool call has its result beside it; one without a
    result gets one that says so. What a family does not take is named to the model: `[video/mp4, which cannot be shown
    to you]`.

    `local_files`: the folder whose files may be put into a payload. Files elsewhere are not read, since a client may
    have named them. Nothing is fetched over the network.
    `promote_tool_result_images`, `..._audios`, `..._videos`: where the result of a tool cannot hold its media, show
    them in a user message after it; if False, or if the family does not take them, name them.
    `max_tokens`: the most tokens of a payload, counted by `token_counter`. The oldest messages are left out, never the
    system prompt, and no call without its result.
    """

    @checked()
    def __init__(
        self,
        *,
        token_counter: Counter | None = None,
        max_tokens: int | None = None,
        local_files: Path | str | None = None,
        promote_tool_result_images: bool = True,
        promote_tool_result_audios: bool = False,
        promote_tool_result_videos: bool = False,
    ) -> None:
        if max_tokens is not None and (max_tokens < 1 or token_counter is None):
            raise UsageError("`max_tokens` is a positive number and needs a `token_counter`")
        self.token_counter = token_counter
        self.max_tokens = max_tokens
        self._local_files = None if local_files is None else Path(local_files)
        promoted = {
            "image": promote_tool_result_images,
            "audio": promote_tool_result_audios,
            "video": promote_tool_result_videos,
        }
        self._promoted = {kind for kind, is_promoted in promoted.items() if is_promoted}

    async def format(self, msgs: Sequence[Msg], **kwargs: Any) -> list[Json]:
        """Return the payload of `msgs`, oldest first; `msgs` stay as they are.

        Raises TypeError for anything but a list of messages, UsageError if the newest message alone exceeds
        `max_tokens`.
        """
        self.assert_list_of_msgs(msgs)
        for sentence in check_pairs(msgs):
            logger.warning("%s", sentence)
        files = await read_files(msgs, self._local_files)
        if self.max_tokens is None:
            return self.payload(msgs, files)
        return await self._newest(msgs, files, self.max_tokens)

    def payload(self, msgs: Sequence[Msg], files: Files | None = None) -> list[Json]:
        """Return the payload of all `msgs`; `files` are the local files that they name."""
        known = files or {}
        return [
            written for turn in self._turns(msgs, lambda block: part_of(block, known)) for written in self.write(turn)
        ]

    async def _newest(self, msgs: Sequence[Msg], files: Files, max_tokens: int) -> list[Json]:
        """Return the payload of the system prompt and the newest that fits."""
        system = [msg for msg in msgs if msg.role == "system"]
        others = [msg for msg in msgs if msg.role != "system"]
        starts = [*_starts(others)] or [0]

        async def within(start: int) -> list[Json] | None:
            assert self.token_counter is not None
            payload = self.payload([*system, *others[start:]], files)
            return payload if await self.token_counter.count(payload) <= max_tokens else None

        if (whole := await within(starts[0])) is not None:
            return whole
        # The fewer messages, the fewer tokens.
        best: list[Json] | None = None
        too_long, shortest = 0, len(starts)
        while shortest - too_long > 1:
            middle = (too_long + shortest) // 2
            if (payload := await within(starts[middle])) is not None:
                best, shortest = payload, middle
            else:
                too_long = middle
        if best is None:
            raise UsageError(
                f"the system prompt and the newest message have more than {max_tokens} tokens", code="prompt_too_long"
            )
        return best

    def _turns(self, msgs: Sequence[Msg], shows: Shows) -> Iterable[Turn]:
        return turns_of(msgs, shows)

    def write(self, turn: Turn) -> list[Json]:
        """Return one turn's part of the payload."""
        match turn:
            case SystemTurn():
                return [self._system(turn.texts)]
            case UserTurn():
                return [self._user(turn.parts)]
            case SpokenTurn():
                return [self._user(turn_by_name(turn).parts)]
            case AgentTurn():
                return self._agent(turn)

    # -- what a family decides ----------------------------------------------------------------------------------------

    @abstractmethod
    def _system(self, texts: list[str]) -> Json:
        """Write the system prompt."""

    @abstractmethod
    def _user(self, parts: list[Part]) -> Json:
        """Write a message of the user."""

    @abstractmethod
    def _agent(self, turn: AgentTurn) -> list[Json]:
        """Write a round of the assistant and the answers to its calls."""

    @abstractmethod
    def _media(self, media: Media) -> Json | None:
        """Write media of a user's message; None if the family does not take it."""

    # -- what families use --------------------------------------------------------------------------------------------

    def _shown_after(self, answers: Iterable[Answer]) -> list[Json]:
        """Write the promoted media of results, as a user message; none without any."""
        parts: list[Part] = []
        for answer in answers:
            if shown := [part for part in answer.parts if isinstance(part, Media) and self._is_promoted(part)]:
                parts += [system_reminder(f"What the tool {answer.call.name} shows:"), *shown]
        return [self._user(parts)] if parts else []

    def _answer_text(self, answer: Answer) -> str:
        """Return a result as text, which names its media."""
        return "\n".join(
            part if isinstance(part, str) else part.note(*(["shown below"] if self._is_promoted(part) else []))
            for part in answer.parts
        )

    def _is_promoted(self, media: Media) -> bool:
        return media.kind in self._promoted and self._media(media) is not None


class SpeakersFormatter(ChatFormatter, ABC):
    """Writes a conversation of several participants, for one family.

    Each message becomes a user message `[Name]: text`, except those of `own_name`, which stay the assistant's, with its
    tools; the tools of others are left out. Without `own_name`, the assistant's are all tool calls and no words.

    With a `conversation_history_prompt`, the messages between two rounds of tools become one user message instead: the
    prompt (at the first only), and `<history>` with a line `Name: text` for each.
    """

    @checked()
    def __init__(
        self,
        conversation_history_prompt: str | None = None,
        *,
        own_name: str | None = None,
        token_counter: Counter | None = None,
        max_tokens: int | None = None,
        local_files: Path | str | None = None,
        promote_tool_result_images: bool = True,
        promote_tool_result_audios: bool = False,
        promote_tool_result_videos: bool = False,
    ) -> None:
        super().__init__(
            token_counter=token_counter,
            max_tokens=max_tokens,
            local_files=local_files,
            promote_tool_result_images=promote_tool_result_images,
            promote_tool_result_audios=promote_tool_result_audios,
            promote_tool_result_videos=promote_tool_result_videos,
        )
        self.conversation_history_prompt = conversation_history_prompt
        self.own_name = own_name

    def _turns(self, msgs: Sequence[Msg], shows: Shows) -> Iterable[Turn]:
        turns = turns_of_speakers(msgs, shows, self.own_name)
        if self.conversation_history_prompt is None:
            return turns
        return history([*turns], self.conversation_history_prompt)


def _starts(msgs: Sequence[Msg]) -> Iterator[int]:
    """Yield the places at which the messages may begin: no result stands behind that has its call before."""
    last_result: dict[str, int] = {}
    for at, msg in enumerate(msgs):
        for result in msg.get_content_blocks("tool_result"):
            last_result[result.id] = at
    open_until = 0
    for at, msg in enumerate(msgs):
        if at >= open_until:
            yield at
        for call in msg.get_content_blocks("tool_call"):
            open_until = max(open_until, last_result.get(call.id, 0) + 1)
