"""The interface of formatters: messages in, the payload of one family of chat models out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from realtime.message import Msg


class FormatterBase:
    """Writes the messages of a chat request. Subclasses implement `format`."""

    async def format(self, msgs: Sequence[Msg], **kwargs: Any) -> list[dict[str, Any]]:
        """Return the payload of `msgs`, oldest first. Raises TypeError for anything but messages."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `format`")

    @staticmethod
    def assert_list_of_msgs(msgs: Any) -> None:
        """Raise TypeError unless `msgs` is a list of messages."""
        if not isinstance(msgs, list):
            raise TypeError(f"a formatter takes a list of messages, not {type(msgs).__name__}")
        for msg in msgs:
            if not isinstance(msg, Msg):
                raise TypeError(f"a formatter takes messages, not {type(msg).__name__}")
