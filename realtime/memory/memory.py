"""`InMemoryMemory`: what an agent remembers, in the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from realtime.memory.base import MemoryBase
from realtime.message import Msg, UserMsg

_SUMMARY_ID = "summary"
"""The id of the message that holds the summary: the same in every prompt."""


class InMemoryMemory(MemoryBase):
    """Keeps messages in a list. Its state holds them as JSON, with their marks.

    `add` keeps copies, so that a message that its owner changes stays as it was. `get_memory` gives the kept messages
    themselves: to change one, copy it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.content: list[tuple[Msg, list[str]]] = []
        """The messages with their marks, oldest first."""
        self.register_state("content", _to_json, _from_json)

    async def add(
        self,
        memories: Msg | Iterable[Msg] | None,
        marks: str | Iterable[str] | None = None,
        allow_duplicates: bool = False,
    ) -> None:
        """See `MemoryBase.add`. Raises TypeError for anything but messages, and for marks that are no text."""
        messages, words = messages_of(memories), words_of(marks, "a mark")
        known = {message.id for message, _ in self.content}
        for message in messages:
            if allow_duplicates or message.id not in known:
                known.add(message.id)
                self.content.append((message.copy(), [*words]))

    async def delete(self, msg_ids: Iterable[str]) -> int:
        """See `MemoryBase.delete`."""
        ids = {*words_of(msg_ids, "a message id")}
        return self._keep([entry for entry in self.content if entry[0].id not in ids])

    async def delete_by_mark(self, mark: str | Iterable[str]) -> int:
        """See `MemoryBase.delete_by_mark`. Raises TypeError for marks that are no text."""
        wanted = {*words_of(mark, "a mark")}
        return self._keep([entry for entry in self.content if wanted.isdisjoint(entry[1])])

    async def size(self) -> int:
        """See `MemoryBase.size`."""
        return len(self.content)

    async def clear(self) -> None:
        """See `MemoryBase.clear`."""
        self.content = []

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True
    ) -> list[Msg]:
        """See `MemoryBase.get_memory`. Raises TypeError for marks that are no text."""
        check_word(mark)
        check_word(exclude_mark)
        messages = [
            message
            for message, marks in self.content
            if (mark is None or mark in marks) and (exclude_mark is None or exclude_mark not in marks)
        ]
        return with_summary(self._compressed_summary, messages) if prepend_summary else messages

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: Iterable[str] | None = None
    ) -> int:
        """See `MemoryBase.update_messages_mark`. Raises TypeError for marks that are no text."""
        check_word(new_mark)
        check_word(old_mark)
        ids = None if msg_ids is None else {*words_of(msg_ids, "a message id")}
        changed = 0
        for message, marks in self.content:
            if (ids is not None and message.id not in ids) or (old_mark is not None and old_mark not in marks):
                continue
            before = [*marks]
            marks[:] = [mark for mark in marks if mark != old_mark]
            if new_mark is not None and new_mark not in marks:
                marks.append(new_mark)
            changed += marks != before
        return changed

    def _keep(self, kept: list[tuple[Msg, list[str]]]) -> int:
        """Keep only these entries; return how many are gone."""
        gone = len(self.content) - len(kept)
        self.content = kept
        return gone


def messages_of(memories: Msg | Iterable[Msg] | None) -> list[Msg]:
    """Return what is to be added. Raises TypeError for anything but messages."""
    messages = [memories] if isinstance(memories, Msg) else [*(memories or ())]
    for message in messages:
        if not isinstance(message, Msg):
            raise TypeError(f"a memory keeps messages, not {type(message).__name__}")
    return messages


def with_summary(summary: str, messages: list[Msg]) -> list[Msg]:
    """Return the messages with the summary before them, if there is one."""
    return [UserMsg("user", summary, id=_SUMMARY_ID), *messages] if summary else messages


def check_word(mark: object) -> None:
    """Raise TypeError for a mark that is no text; None is no mark."""
    if mark is not None and not isinstance(mark, str):
        raise TypeError(f"a mark is text, not {type(mark).__name__}")


def words_of(given: str | Iterable[str] | None, what: str) -> Sequence[str]:
    """Return `given` as texts without repetition. Raises TypeError for anything else."""
    words = [given] if isinstance(given, str) else [*(given or ())]
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{what} is text, not {type(word).__name__}")
    return [*dict.fromkeys(words)]


def _to_json(content: Iterable[tuple[Msg, Sequence[str]]]) -> list[list[Any]]:
    return [[message.model_dump(), [*marks]] for message, marks in content]


def _from_json(saved: Iterable[Any]) -> list[tuple[Msg, list[str]]]:
    # Old states of AgentScope have the messages alone.
    entries = ((one, ()) if isinstance(one, Mapping) else one for one in saved)
    return [(Msg.model_validate(message), [*marks]) for message, marks in entries]
