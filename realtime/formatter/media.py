"""Pictures, sound, video and files of messages, ready for a payload. Reads files, but nothing over the network."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import url2pathname

import pybase64

from realtime.message import Base64Source, DataBlock, HintBlock, Msg, ToolResultBlock
from realtime.texts import as_utf8

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 20 * 1024 * 1024
"""The largest local file that goes into a payload; providers accept about as much in one request."""

Files = Mapping[str, bytes | None]
"""The content of local files by their URL; None for those that are refused or unreadable."""

_USUAL = {
    "audio/mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
}
"""Media types by their other names."""
_RAW = ("audio/pcm", "audio/l16")
"""Sound without a header, which no chat model accepts."""
_TEXTS = ("application/json", "application/xml", "application/yaml")


@dataclass(frozen=True, slots=True)
class Media:
    """Content that is not text: bytes, or the URL where the provider can find them."""

    media_type: str
    """In lower case, without parameters."""
    data: bytes | None = None
    url: str = ""
    """Empty where there are bytes."""
    name: str | None = None

    @property
    def kind(self) -> str:
        """`image`, `audio`, `video`, `application`, ..."""
        return self.media_type.partition("/")[0]

    @property
    def scheme(self) -> str:
        """The scheme of the URL, in lower case; "" where there are bytes."""
        return self.url.partition(":")[0].lower()

    @property
    def is_raw_sound(self) -> bool:
        """Whether it is sound without a header."""
        return self.media_type in _RAW

    @property
    def base64(self) -> str:
        """The bytes in base64."""
        return pybase64.b64encode_as_string(self.data or b"")

    @property
    def data_url(self) -> str:
        """The URL, or one that holds the bytes."""
        return self.url or f"data:{self.media_type};base64,{self.base64}"

    def note(self, what: str = "which cannot be shown to you") -> str:
        """Return a text that names the content to the model."""
        words = [*([_one_line(self.name)] if self.name else []), self.media_type]
        if self.scheme in ("http", "https"):
            words[-1] += f" at {self.url.replace('[', '%5B').replace(']', '%5D')}"
        return f"[{', '.join([*words, what])}]"


Part = str | Media
"""A piece of content: text, or other content that has yet to find its form."""


def part_of(block: DataBlock, files: Files) -> Part:
    """Return the content of a block; text where it is a text file, or names what cannot be read."""
    source = block.source
    media_type = source.media_type.partition(";")[0].strip().lower()
    media_type = _USUAL.get(media_type, media_type)
    if isinstance(source, Base64Source):
        media = Media(media_type, source.data, name=block.name)
    else:
        match source.url.partition(":")[0].lower():
            case "file":
                data = files.get(source.url)
            case "data":
                data = _data_of(source.url)
            case _:
                return Media(media_type, url=source.url, name=block.name)
        media = Media(media_type, data, name=block.name)
    if media.data is None:
        return media.note("which cannot be read")
    if media.kind == "text" or media_type in _TEXTS:
        name = _one_line(media.name or media_type).replace('"', "'")
        return f'<file name="{name}">\n{_text_in(media.data)}\n</file>'
    return media


def _text_in(data: bytes) -> str:
    with suppress(ValueError):
        data = as_utf8(data)
    return data.decode(errors="replace")


async def read_files(messages: Iterable[Msg], folder: Path | None) -> Files:
    """Read the files below `folder` that the messages name.

    It does not block the event loop. Others are refused: a client may have named them. A refused or unreadable file is
    logged without its name.
    """
    urls = {
        block.source.url
        for message in messages
        for block in _data_blocks(message)
        if not isinstance(block.source, Base64Source) and block.source.url[:5].lower() == "file:"
    }
    if not urls:
        return {}
    if folder is None:
        logger.warning("messages name %d local files, and there is no `local_files`: they are not read", len(urls))
        return {}
    return await asyncio.get_running_loop().run_in_executor(None, _read_all, urls, folder)


def _read_all(urls: Iterable[str], folder: Path) -> Files:
    return {url: _read(url, folder.resolve()) for url in urls}


def _read(url: str, folder: Path) -> bytes | None:
    where = urlsplit(url)
    try:
        path = Path(url2pathname(where.path)).resolve()
        if where.netloc not in ("", "localhost") or not path.is_relative_to(folder):
            logger.warning("a message names a local file outside of `local_files`: it is not read")
            return None
        # Reading a pipe would wait for its writer.
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            logger.warning("a local file is missing or has more than %d bytes: it is not read", MAX_FILE_BYTES)
            return None
        return path.read_bytes()
    except (OSError, RuntimeError, ValueError) as error:  # among them: loops of links, zero bytes in a name
        logger.warning("a local file cannot be read: %s", type(error).__name__)  # the text has its name
        return None


def _data_blocks(message: Msg) -> Iterable[DataBlock]:
    for block in message.get_content_blocks(("data", "hint", "tool_result")):
        if isinstance(block, DataBlock):
            yield block
        elif isinstance(block, HintBlock) and not isinstance(block.hint, str):
            yield from (part for part in block.hint if isinstance(part, DataBlock))
        elif isinstance(block, ToolResultBlock):
            yield from block.media


def _data_of(url: str) -> bytes | None:
    """Return what a `data:` URL holds; None if it is broken."""
    head, _, body = url.partition(",")
    data = unquote_to_bytes(body)
    if not head.lower().endswith(";base64"):
        return data
    try:
        return pybase64.b64decode(data, validate=True)
    except ValueError:
        return None


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("[", "(").replace("]", ")")
