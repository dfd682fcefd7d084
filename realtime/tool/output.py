"""What a tool gives, as the content of its responses: any value, pieces, errors, and limits of size."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from realtime.message import Base64Source, DataBlock, TextBlock, ToolResultState
from realtime.runtime import unique_id
from realtime.tool.arguments import write_foreign
from realtime.tool.response import ToolResponse

MAX_RESULT_CHARS = 100_000
"""Characters of text in one result, which is some 25,000 tokens."""
MAX_RESULT_BYTES = 2_000_000
"""Bytes of pictures, sound and files in one result."""
ERROR_TEXT_CHARS = 1_000
"""Characters of an exception's message that the model gets."""
INTERRUPTED = "<system-info>The tool call has been interrupted by the user.</system-info>"
"""What the model reads in place of the rest of a result."""

Content = Sequence[TextBlock | DataBlock]


class Output:
    """Collects what one tool call gives, and makes the responses: each holds everything so far.

    A ToolResponse holds everything by itself; texts, blocks and other values are added to what was given before.
    """

    def __init__(self) -> None:
        self._id = unique_id()
        self._text = ""
        self._n_chars = 0
        self._content: list[TextBlock | DataBlock] | None = None
        """The blocks, once there are any; None while all is plain text."""
        self._given: ToolResponse | None = None
        self._has_values = False

    def whole(self, value: Any) -> ToolResponse:
        """Return the response for what a function returned. Raises TypeError for a ToolResponse of no blocks."""
        if isinstance(value, ToolResponse):
            return self._take(value)
        self._add("done" if value is None else value)
        return self._response(stream=False)

    def piece(self, value: Any) -> ToolResponse | None:
        """Return the response for what a generator has given so far; None where `value` adds nothing.

        Raises TypeError for a ToolResponse of no blocks.
        """
        if isinstance(value, ToolResponse):
            return self._take(value)
        if value is None:
            return None
        self._add(value)
        return self._response(is_last=False)

    @property
    def is_full(self) -> bool:
        """Whether the limit of text has been reached: the rest is not worth waiting for."""
        return self._n_chars > MAX_RESULT_CHARS or (self._given is not None and is_too_large(self._given.content))

    def end(self) -> ToolResponse | None:
        """Return the last response of a generator; None where its own last one is that."""
        if self._given is not None:
            return None
        if not self._text and self._content is None:
            self._add("done")
        return self._response()

    def failed(self, sentence: str) -> ToolResponse:
        """Return what there is, and what went wrong."""
        return self._closing(printable(sentence), state=ToolResultState.ERROR)

    def interrupted(self) -> ToolResponse:
        """Return what there is, and that it was interrupted."""
        return self._closing(INTERRUPTED, is_interrupted=True)

    def _take(self, given: ToolResponse) -> ToolResponse:
        if not all(isinstance(block, TextBlock | DataBlock) for block in given.content):
            raise TypeError("the content of a ToolResponse is a list of text and data blocks")
        self._given = given
        return given

    def _response(self, **fields: Any) -> ToolResponse:
        content = [TextBlock(text=self._text, id=self._id)] if self._content is None else [*self._content]
        fields = {"stream": True, "id": self._id, "is_text": self._content is None, **fields}
        return ToolResponse(content, **fields)

    def _closing(self, sentence: str, **fields: Any) -> ToolResponse:
        if self._given is not None:
            content = [*self._given.content, TextBlock(text=sentence)]
            return ToolResponse(content, self._given.metadata, stream=True, id=self._given.id, **fields)
        if self._content is not None:
            self._content.append(TextBlock(text=sentence))
        else:
            self._text += f"\n{sentence}" if self._text else sentence
        return self._response(**fields)

    def _add(self, value: Any) -> None:
        self._given = None
        if isinstance(value, str):
            self._add_text(printable(value))
            return
        blocks = _blocks_of(value)
        if blocks is None:
            text = text_of(value)
            self._add_text(f"\n{text}" if self._has_values else text)
            self._has_values = True
            return
        if self._content is None:
            self._content = [TextBlock(text=self._text)] if self._text else []
        self._content += blocks

    def _add_text(self, text: str) -> None:
        self._n_chars += len(text)
        if self._content is None:
            self._text += text
        elif self._content and isinstance(last := self._content[-1], TextBlock):
            self._content[-1] = TextBlock(text=last.text + text, id=last.id)
        else:
            self._content.append(TextBlock(text=text))


def text_of(value: Any) -> str:
    """Return a value as a model reads it: its JSON, with the printed form of what has none."""
    try:
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        told = msgspec.to_builtins(value, enc_hook=_told, str_keys=True)
        return told if isinstance(told, str) and not isinstance(value, _TEXTS) else _json(told)
    except (TypeError, ValueError, OverflowError, RecursionError):  # keys that are no text, ...
        return _printed(value)


_TEXTS = (str, bytes, bytearray, memoryview, date, time, timedelta, UUID, Decimal, Enum)
"""What is JSON as it stands: its text has quotation marks."""


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (OverflowError, UnicodeEncodeError):  # an integer beyond 64 bits, half a surrogate pair
        return printable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _told(value: Any) -> Any:
    try:
        return dict(value) if isinstance(value, Mapping) else write_foreign(value)
    except Exception:  # the program's code
        return _printed(value)


def _printed(value: Any) -> str:
    try:
        return printable(str(value))
    except Exception:  # the program's code
        return f"<{type(value).__name__}>"


def _blocks_of(value: Any) -> list[TextBlock | DataBlock] | None:
    if isinstance(value, TextBlock | DataBlock):
        return [value]
    if isinstance(value, list | tuple) and value and all(isinstance(one, TextBlock | DataBlock) for one in value):
        return [*value]
    return None


def failed(sentence: str) -> ToolResponse:
    """Return the response of a tool that could not run."""
    return Output().failed(sentence)


def is_too_large(content: Content) -> bool:
    """Whether a result exceeds a limit of size."""
    n_chars = sum(len(block.text) for block in content if isinstance(block, TextBlock))
    return n_chars > MAX_RESULT_CHARS or sum(map(_n_bytes, content)) > MAX_RESULT_BYTES


def within_limits(response: ToolResponse) -> ToolResponse:
    """Return the response, cut where it is too large; sentences in it say what is missing."""
    if not is_too_large(response.content):
        return response
    n_chars = sum(len(block.text) for block in response.content if isinstance(block, TextBlock))
    left, left_bytes = MAX_RESULT_CHARS, MAX_RESULT_BYTES
    content: list[TextBlock | DataBlock] = []
    for block in response.content:
        if isinstance(block, TextBlock):
            if block.text and not left:
                continue
            text, left = block.text[:left], max(0, left - len(block.text))
            if n_chars > MAX_RESULT_CHARS and not left:
                text += (
                    f"\n[The result is cut: of its {n_chars:,} characters, the first {MAX_RESULT_CHARS:,} are here.]"
                )
            content.append(TextBlock(text=text, id=block.id))
        elif (size := _n_bytes(block)) > left_bytes:
            what = f"{block.source.media_type} of {size:,} bytes"
            content.append(TextBlock(text=f"[{what} is left out: a result holds at most {MAX_RESULT_BYTES:,} bytes.]"))
        else:
            left_bytes -= size
            content.append(block)
    return replace(response, content=content)


def _n_bytes(block: TextBlock | DataBlock) -> int:
    source = None if isinstance(block, TextBlock) else block.source
    return len(source.data) if isinstance(source, Base64Source) else 0


def said(error: BaseException) -> str:
    """Describe the exception without names of this machine's files: the client sees it too."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{type(error).__name__}: {error.strerror}"
    if isinstance(error, ImportError) and error.path is not None:
        return f"{type(error).__name__}: {error.name}"
    return "".join(traceback.format_exception_only(error)).strip()


def printable(text: str) -> str:
    """Remove half surrogate pairs: no event can carry them (undecodable file names have them)."""
    return text.encode("utf-8", "replace").decode()
