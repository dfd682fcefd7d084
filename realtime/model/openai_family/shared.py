"""The common part of OpenAI's realtime protocol and its derivatives."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

from realtime.event.base import Modality, ResponseStatus
from realtime.model._lenient_decode import LenientDecode

logger = logging.getLogger(__name__)

T = TypeVar("T")


def read_modalities(named: list[str] | None) -> tuple[Modality, ...] | None:
    """The modalities we know, in our order."""
    known: tuple[Modality, ...] = ("text", "audio")
    return None if named is None else tuple(kind for kind in known if kind in named)


def read_status(status: str | None) -> ResponseStatus:
    """How a response ended; what we do not know counts as completed."""
    match status:
        case "cancelled" | "incomplete" | "failed":
            return status
        case _:
            return "completed"


def without_keys(text: str | None, api_key: str) -> str:
    """A service's sentence without this key and anything that resembles one."""
    return re.sub(r"\b[se]k[-_][\w*.-]+", "[key]", (text or "").replace(api_key, "[key]"))


class _Typed(msgspec.Struct):
    """Any frame, read for its type."""

    type: str


_READ_TYPE = msgspec.json.Decoder(_Typed)


class SecondLook(Generic[T]):
    """Reads what it can of frames that the strict decoder refused; counts them.

    `kinds` are the classes of frames by type; frames of a `silent` type need no event.
    """

    def __init__(self, kinds: Mapping[str, type[T]], silent: frozenset[str]) -> None:
        self._kinds = kinds
        self._silent = silent
        self.unknown_frames = 0
        """Frames of a type that this codec has never heard of."""
        self.broken_frames = 0
        """Frames that are not JSON, or without a field they need."""

    def read(self, data: bytes, n_bytes: int) -> T | None:
        """The frame without its optional fields of a wrong type; None where it says nothing to us.

        `n_bytes` is its length as it came.
        """
        try:
            kind = _READ_TYPE.decode(data).type
            frame = msgspec.json.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            self.broken_frames += 1
            logger.debug("broken frame ignored: bytes=%d", n_bytes)
            return None
        if kind in self._silent:
            return None
        if kind not in self._kinds:
            self.unknown_frames += 1
            logger.debug("unknown frame ignored: type=%.64s bytes=%d", kind, n_bytes)
            return None
        lenient = LenientDecode()
        try:
            message = lenient.read(frame, self._kinds[kind])
        except msgspec.ValidationError:
            self.broken_frames += 1
            logger.debug("frame with a wrong field ignored: type=%s bytes=%d", kind, n_bytes)
            return None
        logger.debug("fields of a wrong type ignored: type=%s fields=%.200s", kind, ",".join(lenient.wrong))
        return message


class Ids:
    """Our ids as the service takes them, at most `limit` characters long; its own pass unchanged, both ways.

    A service may give longer ones than it takes, as other servers of its protocol do.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._long: dict[str, str] = {}
        self._theirs: set[str] = set()
        """Long ids of the service."""

    def out(self, ours: str) -> str:
        """The id to send."""
        if len(ours) <= self._limit or ours in self._theirs:
            return ours
        short = ours[: self._limit]
        self._long[short] = ours
        return short

    def back(self, theirs: str) -> str:
        """Our id for the one received."""
        if len(theirs) > self._limit:
            self._theirs.add(theirs)
        return self._long.get(theirs, theirs)
