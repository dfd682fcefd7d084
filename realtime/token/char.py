"""A counter that needs no tokenizer: it counts characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from realtime.token.base import TokenCounterBase
from realtime.token.media import without_media

MEDIUM_CHARS = 3_000
"""The weight of a picture or a sound: about 750 tokens."""


class CharTokenCounter(TokenCounterBase):
    """Counts the characters of a payload, its braces and names included.

    A picture or a sound counts as `MEDIUM_CHARS` characters. A token has about four characters of English.
    """

    async def count(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None, **kwargs: Any
    ) -> int:
        """Return the characters of the messages and tools, one line each."""
        found = [without_media(message) for message in messages]
        lines = [str(message) for message, _ in found]
        if tools:
            lines.append(str([*tools]))
        return len("\n".join(lines)) + MEDIUM_CHARS * sum(media for _, media in found)
