"""The interface of token counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TokenCounterBase:
    """Counts the tokens of a chat request. Subclasses implement `count`."""

    async def count(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None, **kwargs: Any
    ) -> int:
        """Return the tokens of a formatted payload and of the declared tools."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `count`")
