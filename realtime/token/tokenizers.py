"""A counter with a tokenizer of Hugging Face's, from a file."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from realtime.errors import INSTALL_LOCAL, UsageError
from realtime.options import checked
from realtime.token.base import TokenCounterBase
from realtime.token.media import without_media

logger = logging.getLogger(__name__)

MESSAGE_TOKENS = 4
"""What chat templates put around a message, in tokens."""
MEDIUM_TOKENS = 750
"""The weight of a picture or a sound, in tokens."""
_UNSAID = ("role", "type", "id", "tool_call_id", "tool_use_id")
"""Fields whose values count in `MESSAGE_TOKENS`, or never reach the model."""


class TokenizersCounter(TokenCounterBase):
    """Counts tokens with a `tokenizer.json`, as models of Hugging Face ship it. Downloads nothing.

    `path` is the file; with `package`, it is relative to that installed package, which is not imported. The count is
    that of the texts, plus what a template puts around each message, so it is within some percent of the model's own.

    Raises UsageError if the package `tokenizers` or the file is missing, or if the file is no tokenizer.
    """

    @checked()
    def __init__(self, path: str | Path, *, package: str | None = None) -> None:
        try:
            import tokenizers
        except ImportError as error:
            logger.warning("the package tokenizers cannot be imported: %s", error)  # the text may name files
            raise UsageError(
                f"this counter needs the package tokenizers: {INSTALL_LOCAL}, or pip install tokenizers",
                code="missing_package",
            ) from None
        file = Path(path) if package is None else _folder_of(package) / path
        try:
            written = file.read_bytes()
        except OSError as error:
            raise UsageError(f"the tokenizer cannot be read from {file}: {error.strerror}", code="no_file") from error
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_buffer(written)
        except ValueError as error:
            raise UsageError(f"{file} is no tokenizer of Hugging Face's: {error}", code="bad_tokenizer") from None

    async def count(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None, **kwargs: Any
    ) -> int:
        """Return the tokens of the messages and tools. Works in a thread; cancelling leaves it to its end."""
        found = [without_media(message) for message in messages]
        texts = [text for message, _ in found for text in _texts(message)]
        if tools:
            texts.append(json.dumps([*tools], ensure_ascii=False))
        around = MESSAGE_TOKENS * len(found) + MEDIUM_TOKENS * sum(media for _, media in found)
        return around + await asyncio.to_thread(self._tokens, "\n".join(texts))

    def _tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids) if text else 0


def _texts(value: Any, key: str = "") -> Iterator[str]:
    """Yield the texts in a message that its model reads."""
    if isinstance(value, str):
        if value and key not in _UNSAID:
            yield value
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _texts(entry, str(name))
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry, key)
    elif value is not None:
        yield str(value)


def _folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"the package {package} is not installed, so its tokenizer is missing", code="missing_package")
    return Path(spec.submodule_search_locations[0])
