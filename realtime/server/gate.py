"""Who may come in: the token, and which pages a browser may open calls from."""

from __future__ import annotations

import secrets
from ipaddress import IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from starlette.requests import HTTPConnection

from realtime.server.settings import ServerSettings

COOKIE = "realtime_token"
KEY_SUBPROTOCOL = "openai-insecure-api-key."
"""A page cannot set headers: it puts its key behind this, among the subprotocols that it offers."""
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


class Gate:
    """Decides over requests. Holds no state but the settings."""

    def __init__(self, settings: ServerSettings) -> None:
        self._token = settings.token.encode() if settings.token is not None else None
        self._origins = {origin.rstrip("/").lower() for origin in settings.allowed_origins}
        self._hosts = settings.hosts
        self._trust_forwarded = settings.trust_forwarded

    def refusal(self, request: HTTPConnection) -> str | None:
        """Why this client may not come in, as a sentence for the log and the close frame; None where it may."""
        return self.wrong_origin(request) or self._wrong_token(request)

    def shows_token(self, request: HTTPConnection) -> bool:
        """Whether the request shows the right token, or none is asked for."""
        return self._wrong_token(request) is None

    def address(self, request: HTTPConnection) -> str:
        """Where the client is, for counting: the socket's peer, or what a trusted proxy says."""
        # A proxy may add a line of its own below those that the client made up.
        if self._trust_forwarded and (forwarded := request.headers.getlist("x-forwarded-for")):
            return _counted(forwarded[-1].rpartition(",")[2].strip())
        return _counted(request.client.host) if request.client is not None else "local"

    def _wrong_token(self, request: HTTPConnection) -> str | None:
        if self._token is None:
            return None
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        shown = [request.query_params.get("token"), request.cookies.get(COOKIE)]
        if scheme.lower() == "bearer":
            shown.append(bearer.strip())
        # As Google's clients show a key: in a header, or in the address.
        shown += [request.headers.get("x-goog-api-key"), request.query_params.get("key")]
        offered = [one.strip() for one in request.headers.get("sec-websocket-protocol", "").split(",")]
        shown += [one.removeprefix(KEY_SUBPROTOCOL) for one in offered if one.startswith(KEY_SUBPROTOCOL)]
        given = [token for token in shown if token]
        if any(secrets.compare_digest(token.encode("utf-8", "surrogatepass"), self._token) for token in given):
            return None
        return "the token is wrong" if given else "no token was given"

    def wrong_origin(self, request: HTTPConnection) -> str | None:
        """Why the page of this request may not open calls; None where it may.

        Browsers always name the page; a program names none. A page of our own has our host.
        """
        origin, host = request.headers.get("origin"), request.headers.get("host", "")
        if origin is None:
            return self._wrong_host(host) if request.scope["type"] == "http" else None
        if "*" in self._origins or origin.lower() in self._origins:
            return None
        try:
            page = urlsplit(origin)
            own = urlsplit(f"{page.scheme}://{host}")
            same = page.hostname is not None and (page.hostname, _port(page)) == (own.hostname, _port(own))
            if same and (self._hosts is None or page.hostname in self._hosts):
                return None
        except ValueError:
            pass
        return f"pages of {origin[:80]!r} are not allowed here"

    def _wrong_host(self, host: str) -> str | None:
        """A page that fetches from its own host names no page. One whose name was bent to lead here is told by the name
        under which it knows this server."""
        if self._hosts is None or "*" in self._origins:
            return None
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            name = None
        known = {*self._hosts, *(urlsplit(one).hostname for one in self._origins)}
        return None if name in known else f"this server is not known as {host[:80]!r}"


def _port(address: SplitResult) -> int | None:
    """The port, where it is not said that of the scheme. Raises ValueError for one that is no port."""
    return address.port or {"http": 80, "https": 443, "ws": 80, "wss": 443}.get(address.scheme)


def _counted(address: str) -> str:
    """Who counts as one: a host without its port, and the /64 that one line of IPv6 has. Anything else is its name."""
    host = address
    if address.startswith("["):
        host = address[1:].partition("]")[0]
    elif address.count(":") == 1:
        host = address.partition(":")[0]
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(IPv6Network((found, 64), strict=False))
    return str(found)
