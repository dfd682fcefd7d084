"""The interface of an agent's memory: messages with marks, and a summary."""

from __future__ import annotations

from collections.abc import Iterable

from realtime.message import Msg
from realtime.module import StateModule


class MemoryBase(StateModule):
    """What an agent remembers of a conversation.

    A mark is a string at a message; a message may have several. `get_memory` puts the summary first.
    """

    def __init__(self) -> None:
        super().__init__()
        self._compressed_summary = ""
        self.register_state("_compressed_summary")

    async def update_compressed_summary(self, summary: str) -> None:
        """Replace the summary; "" removes it."""
        self._compressed_summary = summary

    async def add(
        self,
        memories: Msg | Iterable[Msg] | None,
        marks: str | Iterable[str] | None = None,
        allow_duplicates: bool = False,
    ) -> None:
        """Append messages with `marks`.

        A message whose id is kept already is skipped unless `allow_duplicates`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement `add`")

    async def delete(self, msg_ids: Iterable[str]) -> int:
        """Remove the messages with these ids; return how many there were."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `delete`")

    async def delete_by_mark(self, mark: str | Iterable[str]) -> int:
        """Remove the messages with any of these marks; return how many there were."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `delete_by_mark`")

    async def size(self) -> int:
        """Return the number of messages, without the summary."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `size`")

    async def clear(self) -> None:
        """Remove all messages; the summary stays."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `clear`")

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True
    ) -> list[Msg]:
        """Return the messages, oldest first.

        Those with `mark`, or all, and without those with `exclude_mark`. With `prepend_summary`, a summary precedes
        them as a user message.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement `get_memory`")

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: Iterable[str] | None = None
    ) -> int:
        """Change marks of messages.

        Of the messages with `msg_ids`, or of all, those that have `old_mark`, or all. `new_mark` replaces `old_mark`,
        or is added without one; None removes `old_mark`. Returns how many changed.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement `update_messages_mark`")
