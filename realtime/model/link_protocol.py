"""The protocol of a provider link: its operations and what it reports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from realtime.model.base import Address, Frame
from realtime.model.link_limits import WireLimits


class Receiver(Protocol):
    """Takes what happens on a link, inside the socket's callbacks. None of these may raise."""

    def received(self, data: bytes, is_text: bool) -> None:
        """A complete message; text as UTF-8 bytes that are not validated yet."""
        ...

    def writable(self) -> None:
        """The socket takes data again."""
        ...

    def lost(self, code: int, reason: str) -> None:
        """The link is gone; 1006 where the other side sent no close frame (1009 where we broke off a message that was
        too big). Comes once, also after `close`."""
        ...


class Link(Protocol):
    """An open link."""

    @property
    def can_write(self) -> bool:
        """False while the other side reads too slowly, and once closing begins."""
        ...

    @property
    def is_open(self) -> bool:
        """False from the closing handshake on: what is written then is lost."""
        ...

    def write(self, frame: Frame) -> None:
        """Send at once: str as a text frame, bytes as a binary one. Does nothing on a closing link."""
        ...

    def pause_reading(self) -> None:
        """Stop reading, so that the other side has to wait."""
        ...

    def resume_reading(self) -> None:
        """Read again."""
        ...

    async def close(self) -> None:
        """Close with a handshake, within its time limit; then nothing is open. Cancelling it aborts."""
        ...

    def abort(self) -> None:
        """Drop the socket at once."""
        ...


Dial = Callable[[Address, Receiver, WireLimits], Awaitable[Link]]
Direction = Literal["sent", "received"]
Tap = Callable[[Direction, Frame, int], None]
"""Sees each passing frame, with the ms since the session was opened. Frames hold no keys."""
