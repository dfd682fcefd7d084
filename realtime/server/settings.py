"""What whoever runs a server may set."""

from __future__ import annotations

from dataclasses import dataclass, field

from realtime.call.session import Limits
from realtime.server.load import DEFAULT_MAX_BUSY, DEFAULT_MAX_LAG_MS

LONGEST_MESSAGE_BYTES = 4_194_304
"""The longest that any endpoint takes. Only to map the memory of a longer one would keep all calls waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of the doors to the calls; all have defaults. Times in seconds."""

    limits: Limits = field(default_factory=Limits)
    """How long a call may last."""
    max_calls_per_address: int = 8
    max_calls: int = 1_000
    max_lag_ms: float = DEFAULT_MAX_LAG_MS
    """While the event loop is later than this (the median of 2 s), new calls are refused."""
    max_busy: float = DEFAULT_MAX_BUSY
    """The share of one core that calls may use; new ones that would need more are refused. With 1 calls are let in by
    their count alone, however late the loop is."""
    max_connections_per_address: int = 64
    """Open connections of one address beside those of its calls, whether or not they have shown a token."""
    reserved_files: int = 64
    """So many files can still be opened when new connections are refused; at most a quarter of the system's limit."""
    handshake_s: float = 10.0
    """How long a request may take to arrive, and a TLS handshake."""
    first_event_s: float = 30.0
    """How long an open socket may wait until its first call is asked for; never longer than `limits.idle_s`."""
    max_rooms: int = 100
    max_text_chars: int = 1_048_576
    """A longer text frame is answered by an error and not read."""
    max_binary_bytes: int = 262_144
    """A longer binary frame is answered by an error and not read."""
    token: str | None = field(default=None, repr=False)
    """What a client has to show: `?token=` or `Authorization: Bearer`; a page opened with it gets a session for it."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of pages elsewhere that may open calls, such as `https://example.org`; `*` allows every page."""
    connect_origins: tuple[str, ...] = ()
    """Servers elsewhere that the page may connect to (`connect-src` of its content security policy)."""
    hosts: tuple[str, ...] | None = None
    """The names under which a browser may know this server; null: any. Guards loopback against DNS rebinding."""
    trust_forwarded: bool = False
    """Take the client's address from the last entry of X-Forwarded-For and its scheme from that of X-Forwarded-Proto:
    only behind a proxy that always sets both."""
    drain_s: float = 10.0
    """How long running calls may go on after the server was told to stop."""
    routes: dict[str, str] = field(default_factory=dict)
    """From what clients call a model (in the address of a front, or `config.model`) to a name that `open_model` takes;
    the first pattern that matches decides. Names that none matches get the default model. For the built-in agent; a
    `make_agent` of your own finds the client's name in `config.model`."""
    store: str | None = None
    """Where calls are kept beyond their end (`realtime.state.open.open_store`); null: nowhere."""
    resume_s: float = 86_400.0
    """How long after its last sign of life a kept call can be gone on with."""
    keep_s: float | None = None
    """How long after its end a call is kept; null: until it is deleted."""
    keep_bytes: int | None = None
    """How much room kept calls and their recordings may take before the oldest that are over are deleted; null: any."""
    max_kept_bytes_per_call: int = 100_000_000
    """So much of a call's log is kept; the call goes on beyond it. 0: any."""
    max_kept_bytes_per_address: int = 4_000_000_000
    """So much of the logs of all calls of an address is kept in a day; calls go on beyond it. 0: any."""
    lists_calls: bool = True
    """Whether `GET /api/calls` tells a user's calls. User ids are guessed easily: not where everybody may come in."""
    recordings: str | None = None
    """The folder for recordings of calls whose client asks for one; null: nothing is recorded."""
    cases_to: str | None = None
    """The folder for test cases that are made of calls from the page; null: the page gives them to download."""
    fronts: tuple[str, ...] | None = None
    """The protocols of other services that are spoken: `openai`, `gemini`, `dashscope`; null: all of them."""

    def __post_init__(self) -> None:
        if self.token is not None and not self.token:
            raise ValueError("the token is empty: leave it out, or give one")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise ValueError("a token has ASCII letters, digits and signs only: headers and cookies carry no others")
        if any(set(one) & set(" ;,'") for one in self.connect_origins):
            raise ValueError("connect_origins are origins, such as wss://voice.example.org, one each")
        if self.max_calls_per_address < 1 or self.max_calls < 1:
            raise ValueError("a server that takes no calls is of no use: the maxima are at least 1")
        bounds = (self.keep_s, self.keep_bytes, self.max_kept_bytes_per_call, self.max_kept_bytes_per_address)
        if any(one is not None and one < 0 for one in bounds):
            raise ValueError("what is kept is bounded by 0 or more")
        if self.max_lag_ms <= 0 or self.max_busy <= 0:
            raise ValueError("a server that is always overloaded is of no use: lag and busy share are more than 0")
