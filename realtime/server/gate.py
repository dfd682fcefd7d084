"""Access control: the token, and the pages from which a browser may open calls."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from realtime.runtime import Runtime
from realtime.server.client_tokens import PREFIX as CLIENT_TOKEN_PREFIX
from realtime.server.client_tokens import ClientTokens
from realtime.server.connections import counted_address, last_forwarded
from realtime.server.embedding import with_loopback_names
from realtime.server.page_sessions import PageSessions
from realtime.server.settings import ServerSettings
from realtime.server.token_guesses import WrongTokens

COOKIE = "realtime_session"
KEY_SUBPROTOCOL = "openai-insecure-api-key."
"""Prefix of a key among the offered subprotocols: a page cannot set headers."""
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
OLD_CLIENT_TOKEN = "the client token is wrong or has expired: get a new one from your application"
ONLY_CALLS = "a client token opens calls and nothing else: show the server's own"
MAX_NAMED_CHARS = 50
"""Characters of a client-supplied name that an error repeats: a close frame takes 123 bytes."""


class _Denied(NamedTuple):
    """Why a client is refused, with the status of an HTTP response."""

    why: str
    status: int = 401
    retry_after_s: int | None = None


class Gate:
    """Decides whether a request is let in.

    One gate serves all endpoints of a server: it remembers wrong tokens and page sessions. `runtime` gives its time and
    the ids of sessions; None: the machine's.
    """

    def __init__(self, settings: ServerSettings, runtime: Runtime | None = None) -> None:
        runtime = runtime or Runtime()
        self._token = settings.token.encode() if settings.token is not None else None
        self._origins = set(with_loopback_names(settings.allowed_origins))
        self._embedders = set(with_loopback_names(settings.embed_origins))
        self._settings = settings
        self._now = runtime.now
        self._wrong_tokens = WrongTokens()
        self._sessions = PageSessions(runtime.new_id)
        self.client_tokens = ClientTokens(runtime)

    def refusal(self, request: HTTPConnection, *, to_call: bool = False) -> str | None:
        """Return why this client is refused; None: it may enter. For the log and the close frame.

        With `to_call`, a client token lets in as well: `caller` names its user.
        """
        refusal = self._refusal(request, to_call=to_call)
        return refusal.why if refusal is not None else None

    def http_refusal(self, request: HTTPConnection, *, to_call: bool = False) -> JSONResponse | None:
        """Return the error response to a refused request; None: it may enter. `to_call` as for `refusal`."""
        refusal = self._refusal(request, to_call=to_call)
        if refusal is None:
            return None
        headers = {} if refusal.retry_after_s is None else {"retry-after": str(refusal.retry_after_s)}
        return JSONResponse({"error": refusal.why}, refusal.status, headers)

    def shows_token(self, request: HTTPConnection, also: Sequence[str] = ()) -> bool:
        """Whether the request has a valid token or session, or needs none.

        `also` are tokens that the endpoint's own protocol carries in a place of its own.
        """
        return self._wrong_token(request, also) is None

    def opens_call(self, request: HTTPConnection, also: Sequence[str] = ()) -> bool:
        """Whether the request has what opens a call: a client token, or what `shows_token` asks for.

        `also` as for `shows_token`.
        """
        token = self._client_token(request, also)
        return self.shows_token(request, also) if token is None else self.client_tokens.find(token) is not None

    def page_session(self, request: HTTPConnection) -> str | None:
        """Open a session for a page opened with the right token; None where it has one or needs none."""
        if self._token is None or self._has_session(request) or not self.shows_token(request):
            return None
        return self._sessions.open(self._now())

    def caller(self, request: HTTPConnection, also: Sequence[str] = ()) -> str | None:
        """Return the user that the request's client token was made for; None: the token names none.

        `also` as for `shows_token`.
        """
        token = self._client_token(request, also)
        opens = self.client_tokens.find(token) if token is not None else None
        return opens.user_id if opens is not None else None

    def address(self, request: HTTPConnection) -> str:
        """Return the client's rate-limit key: the socket's peer, or what a trusted proxy reports."""
        forwarded = self._forwarded(request, "x-forwarded-for")
        if forwarded is not None:
            return counted_address(forwarded)
        return counted_address(request.client.host) if request.client is not None else "local"

    def is_developer(self, request: HTTPConnection) -> bool:
        """Whether a program on this machine asks, through no proxy."""
        if request.client is None or any(header in request.headers for header in PROXY_HEADERS):
            return False
        try:
            here = ip_address(request.client.host).is_loopback
            return here and urlsplit(f"//{request.headers.get('host', '')}").hostname in LOOPBACK_HOSTS
        except ValueError:
            return False

    def is_secure(self, request: HTTPConnection) -> bool:
        """Return whether the client uses TLS, to us or a trusted proxy."""
        scheme = self._forwarded(request, "x-forwarded-proto") or request.url.scheme
        return scheme.lower() in ("https", "wss")

    def _forwarded(self, request: HTTPConnection, header: str) -> str | None:
        return last_forwarded(request.headers.getlist(header)) if self._settings.trust_forwarded else None

    def _refusal(self, request: HTTPConnection, *, to_call: bool) -> _Denied | None:
        wrong_origin = self.wrong_origin(request)
        if wrong_origin is not None:
            return _Denied(wrong_origin)
        token = self._client_token(request) if to_call else None
        if token is None:
            return self._wrong_token(request)
        # Too long to guess, so an old one is no guess that slows others at this address.
        return None if self.client_tokens.find(token) is not None else _Denied(OLD_CLIENT_TOKEN)

    def _client_token(self, request: HTTPConnection, also: Sequence[str] = ()) -> str | None:
        """Return the client token that the request shows, valid or not."""
        shown = [token for token in (*_tokens_shown(request), *also) if token and token.startswith(CLIENT_TOKEN_PREFIX)]
        # A server's own token may begin like a client token.
        own = self._token is not None and shown and secrets.compare_digest(_bytes(shown[0]), self._token)
        return shown[0] if shown and not own else None

    def _has_session(self, request: HTTPConnection) -> bool:
        cookie = request.cookies.get(COOKIE)
        return cookie is not None and self._sessions.is_open(cookie, self._now())

    def _wrong_token(self, request: HTTPConnection, also: Sequence[str] = ()) -> _Denied | None:
        # A session id is too long to guess, so a page that has one is not slowed by others at its address.
        if self._token is None or self._has_session(request):
            return None
        # No guess either: the page in a frame shows it wherever a page shows its token.
        if self._client_token(request, also) is not None:
            return _Denied(ONLY_CALLS)
        given = [token for token in (*_tokens_shown(request), *also) if token]
        if not given:
            return _Denied("no token was given: show that of --token, as ?token=... or Authorization: Bearer ...")
        address, now = self.address(request), self._now()
        wait_s = math.ceil(self._wrong_tokens.wait_s(address, now))
        if wait_s:
            why = f"too many wrong tokens came from this address: show that of --token in {wait_s} s"
            return _Denied(why, 429, wait_s)
        if any(secrets.compare_digest(_bytes(token), self._token) for token in given):
            return None
        for _ in {*given}:
            self._wrong_tokens.count(address, now)
        return _Denied("the token is wrong: show that of --token, --token-file or REALTIME_TOKEN")

    def wrong_origin(self, request: HTTPConnection) -> str | None:
        """Return why the page of this request may not open calls; None: it may.

        Browsers always name the page's origin; programs name none. The server's own page has the server's host.
        """
        origin, host = request.headers.get("origin"), request.headers.get("host", "")
        if origin is None:
            return self._wrong_host(host) if request.scope["type"] == "http" else None
        if "*" in self._origins or origin.lower() in self._origins or origin.lower() in self._embedders:
            return None
        try:
            page = urlsplit(origin)
            own = urlsplit(f"{page.scheme}://{host}")
            same = page.hostname is not None and (page.hostname, _port(page)) == (own.hostname, _port(own))
            if same and (self._settings.hosts is None or page.hostname in self._settings.hosts):
                return None
        except ValueError:
            pass
        return f"pages of {origin[:MAX_NAMED_CHARS]!r} may not call: --allow-embed or --allow-origin lets them"

    def _wrong_host(self, host: str) -> str | None:
        """Return why this host name is refused; None: it is known.

        A page that fetches from its own host sends no origin. One whose name was rebound to this server's address (DNS
        rebinding) is recognised by the host name in its requests.
        """
        if self._settings.hosts is None or "*" in self._origins:
            return None
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            name = None
        known = {*self._settings.hosts, *(urlsplit(one).hostname for one in self._origins)}
        if name in known:
            return None
        return f"this server is not known as {host[:MAX_NAMED_CHARS]!r}: --allow-origin adds a name"


def _tokens_shown(request: HTTPConnection) -> list[str | None]:
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    shown = [request.query_params.get("token")]
    if scheme.lower() == "bearer":
        shown.append(bearer.strip())
    # Google's clients send a key in a header, or in the URL.
    shown += [request.headers.get("x-goog-api-key"), request.query_params.get("key")]
    offered = [one.strip() for one in request.headers.get("sec-websocket-protocol", "").split(",")]
    # Only one of them: otherwise a list of guesses would count as one try.
    key = next((one for one in offered if one.startswith(KEY_SUBPROTOCOL)), None)
    return [*shown, key.removeprefix(KEY_SUBPROTOCOL) if key is not None else None]


def _bytes(token: str) -> bytes:
    return token.encode("utf-8", "surrogatepass")


def _port(address: SplitResult) -> int | None:
    """Return the port, or the scheme's default. Raises ValueError for an invalid port."""
    return address.port or {"http": 80, "https": 443, "ws": 80, "wss": 443}.get(address.scheme)
