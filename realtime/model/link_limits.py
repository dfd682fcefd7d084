"""Bounds of a provider connection: time limits, redials, and what waits while the link is lost."""

from __future__ import annotations

from dataclasses import dataclass

from realtime.options import check_fields
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

    def __post_init__(self) -> None:
        check_fields(self)
