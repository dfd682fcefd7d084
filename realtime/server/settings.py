"""Server configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from realtime.call.limits import Limits
from realtime.options import check_fields
from realtime.server.admission import DEFAULT_MAX_BUSY, DEFAULT_MAX_LAG_MS
from realtime.tool.mcp.hosts import place_of

LONGEST_MESSAGE_BYTES = 4_194_304
"""The longest message that any endpoint takes. Mapping the memory of a longer one alone would delay all calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of the server and its endpoints; all have defaults. Times are in seconds."""

    limits: Limits = field(default_factory=Limits)
    """How long a call may last."""
    max_calls_per_address: int = 8
    max_calls: int = 1_000
    max_lag_ms: float = DEFAULT_MAX_LAG_MS
    """Event loop lag (median of 2 s) above which calls are refused."""
    max_busy: float = DEFAULT_MAX_BUSY
    """The share of one core that calls may use; new ones that would need more are refused. With 1, the number of calls
    alone decides, however late the loop is."""
    max_connections_per_address: int = 64
    """Open connections per address, besides calls; with or without a token."""
    reserved_files: int = 64
    """Files that can still be opened when new connections are refused; at most a quarter of the system's limit."""
    handshake_s: float = 10.0
    """Seconds for a request to arrive, or a TLS handshake to complete."""
    first_event_s: float = 30.0
    """Seconds an open socket may take to request its first call.

    Never longer than `limits.idle_s`.
    """
    max_rooms: int = 100
    max_text_chars: int = 1_048_576
    """A longer text frame gets an error and is not read."""
    max_binary_bytes: int = 262_144
    """A longer binary frame gets an error and is not read."""
    token: str | None = field(default=None, repr=False)
    """The token of clients: `?token=` or `Authorization: Bearer`; a page opened with it gets a session. None: no
    token."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of other pages that may open calls, such as `https://example.org`; `*` allows every page.

    Here and in `embed_origins`, the loopback names of one scheme and port are one origin.
    """
    embed_origins: tuple[str, ...] = ()
    """Origins whose pages may use this server as their own: frame its page, open calls, read `/client/` and `/api`."""
    brand: str | None = None
    """A stylesheet for the pages: it sets their colours and fonts (docs/page.md). None: they are as they came."""
    client_mcp_hosts: tuple[str, ...] = ()
    """Hosts of the MCP servers that OpenAI clients may name (docs/mcp.md).

    Each is `HOST[:PORT]`. A private address counts only where it is named itself.
    """
    connect_origins: tuple[str, ...] = ()
    """Other servers for the page's `connect-src` (content security policy)."""
    hosts: tuple[str, ...] | None = None
    """Host names that a browser may use for this server; None: any. Guards loopback against DNS rebinding."""
    trust_forwarded: bool = False
    """Trust X-Forwarded-For (last entry: client address) and X-Forwarded-Proto (scheme).

    Only behind a proxy that always sets both.
    """
    drain_s: float = 10.0
    """Seconds that running calls may continue once the server shuts down."""
    routes: dict[str, str] = field(default_factory=dict)
    """Maps a client's model name to a name that `open_model` takes.

    The client's name is in an endpoint's URL or in `config.model`; the first pattern that matches decides. Other names
    get the default model. Used by the built-in agent; a `make_agent` of your own finds the client's name in
    `config.model`.
    """
    store: str | None = None
    """Where calls are kept beyond their end (`realtime.state.open.open_store`); None: nowhere."""
    resume_s: float = 86_400.0
    """Seconds after its last activity that a stored call can be resumed."""
    keep_s: float | None = None
    """How long after its end a call is kept; None: until it is deleted."""
    keep_bytes: int | None = None
    """Bytes of stored calls and recordings; beyond, the oldest ended ones are deleted.

    None: unlimited.
    """
    keep_sound_s: float | None = None
    """How long after its end the recording of a call is kept; None: as long as the call."""
    sessions: str | None = None
    """Where the program keeps sessions (`realtime.state.open.open_session`): for `keep_session_s` alone."""
    keep_session_s: float | None = None
    """How long a session is kept after it was saved; None: until it is deleted."""
    memory: str | None = None
    """The program's file of long-term memories (`SqliteLongTermMemory`): for `keep_memory_s` alone."""
    keep_memory_s: float | None = None
    """How long a memory is kept; None: until it is forgotten."""
    max_kept_bytes_per_call: int = 100_000_000
    """Bytes of a call's log that are stored; the call continues beyond it. 0: unlimited."""
    max_kept_bytes_per_address: int = 4_000_000_000
    """Bytes of all logs of an address stored per day; calls continue beyond it. 0: unlimited."""
    lists_calls: bool = True
    """Whether `GET /api/calls` lists a user's calls. User ids are easy to guess: turn it off without authentication."""
    recordings: str | None = None
    """The folder for recordings of calls whose client requests one; None: nothing is recorded."""
    record_webhook: str | None = field(default=None, repr=False)
    """Where the records of calls are sent when these are over (docs/agents.md); None: nowhere.

    Requests are signed with the secret in REALTIME_WEBHOOK_SECRET. The address may hold a key.
    """
    record_webhook_addresses: tuple[str, ...] = ()
    """Private addresses that the host of `record_webhook` may lead to.

    Each is `ADDRESS[:PORT]`.
    """
    cases_to: str | None = None
    """The folder for test cases that the page makes of calls; None: the page offers them for download."""
    endpoints: tuple[str, ...] | None = None
    """The protocols of other services to serve: `openai`, `gemini`, `dashscope`; None: all of them."""

    a2a: bool = False
    """Whether other agents may write to agents and calls (docs/a2a.md)."""
    a2a_push_hosts: tuple[str, ...] = ()
    """Hosts that may be notified of tasks.

    Each is `HOST[:PORT]`. Those at public addresses need not be named.
    """

    def __post_init__(self) -> None:
        check_fields(self)
        if self.token is not None and not self.token:
            raise ValueError("the token is empty: leave it out, or give one")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise ValueError("a token has ASCII letters, digits and signs only: headers and cookies carry no others")
        for host in (*self.client_mcp_hosts, *self.a2a_push_hosts, *self.record_webhook_addresses):
            place_of(host)
        if any(set(one) & set(" ;,'") for one in self.connect_origins):
            raise ValueError("connect_origins are origins, such as wss://voice.example.org, one each")
        if any("*" in one or set(one) & set(" ;,'") for one in self.embed_origins):
            raise ValueError("embed_origins are origins, such as https://shop.example.org, one each, without *")
        if self.max_calls_per_address < 1 or self.max_calls < 1:
            raise ValueError("a server that takes no calls is of no use: the maxima are at least 1")
        bounds = (
            *(self.keep_s, self.keep_bytes, self.max_kept_bytes_per_call, self.max_kept_bytes_per_address),
            *(self.keep_sound_s, self.keep_session_s, self.keep_memory_s),
        )
        if any(one is not None and one < 0 for one in bounds):
            raise ValueError("what is kept is bounded by 0 or more")
        if self.max_lag_ms <= 0 or self.max_busy <= 0:
            raise ValueError("a server that is always overloaded is of no use: lag and busy share are more than 0")
        if self.max_busy > 1:
            raise ValueError(f"max_busy is the share of one core, at most 1, not {self.max_busy}")
        if strange := [one for one in self.allowed_origins if one != "*" and not _is_origin(one)]:
            raise ValueError(f"allowed_origins are origins, such as https://example.org, not {strange[0]!r:.80}")


def _is_origin(text: str) -> bool:
    """Whether a browser may send this as a page's origin."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) and parts[2:] in (("", "", ""), ("/", "", ""))
