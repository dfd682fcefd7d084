"""The protocol of a provider link: operations, reports and bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from realtime.model.base import Address, Frame
from realtime.turn.responses import SILENCE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    """Every bound of a provider's connection; times in seconds.

    A lost link is dialled again up to `attempts` times, waiting `first_delay_s` doubled each time up to `max_delay_s`,
    less up to half by chance. A link that held for `settled_s` starts the count anew. A link on which nothing comes for
    `silence_s` (or up to half as much longer) while a response is owed counts as lost. While there is no link, and
    while the provider does not read, the last `kept_audio_s` of input audio are kept and up to `max_waiting_messages`
    of everything else; beyond that the session ends with an error, since control messages are never dropped.
    """

    open_timeout_s: float = 10.0
    session_timeout_s: float = 10.0
    close_timeout_s: float = 2.0
    ping_interval_s: float = 20.0
    ping_timeout_s: float = 20.0
    max_message_bytes: int = 16 * 1024 * 1024
    write_buffer_bytes: int = 32 * 1024
    kept_audio_s: float = 10.0
    max_waiting_messages: int = 1000
    attempts: int = 6
    first_delay_s: float = 0.25
    max_delay_s: float = 8.0
    settled_s: float = 10.0
    silence_s: float = SILENCE_S


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
