"""Hosts to which clients may have this server connect.

The server's owner names them, and each request is checked.

A client of a public server is a stranger: what it names could lead into the owner's network.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from realtime.certificates import trusted_certificates
from realtime.errors import ToolError, UsageError

if TYPE_CHECKING:
    import httpx2

_HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s/\\@:*?#\[\],]+)(:(?P<port>\d{1,5}))?")
_LOOPBACK_NAME = "localhost"
Place = tuple[str, int | None]
HttpRequest = TypeVar("HttpRequest")
HttpResponse = TypeVar("HttpResponse")


class Address(Protocol):
    """A URL, of any HTTP client."""

    @property
    def scheme(self) -> str:
        """`https` or `http`."""

    @property
    def host(self) -> str:
        """The host, without a port."""

    @property
    def port(self) -> int | None:
        """The port; None: the scheme's own."""


def place_of(named: str) -> Place:
    """Return the host and the port, if any, of `HOST[:PORT]`. Raises UsageError for what is none, such as a URL."""
    found = _HOST.fullmatch(named.strip())
    port = int(found["port"]) if found is not None and found["port"] else None
    if found is None or port == 0 or (port or 0) > 65_535:
        raise UsageError(
            f"{named[:80]!r} is no host: give its name or address, with a port if only that is meant, such as "
            "mcp.example.org or 127.0.0.1:8000",
            code="mcp_host",
        )
    return _plain(found["host"]), port


class AllowedHosts:
    """The hosts that the owner has named, each as `HOST[:PORT]`; without a port, all of its ports.

    An address that is not public counts only where it is named itself, also if a named host leads to it;
    `localhost` names the loopback addresses. With `any_public`, hosts at public addresses need not be named. `option`
    is how the owner names them.
    """

    def __init__(self, named: Iterable[str], *, any_public: bool = False, option: str = "--allow-client-mcp") -> None:
        self._places = {place_of(one) for one in named}
        self._any_public = any_public
        self._option = option

    def __bool__(self) -> bool:
        return bool(self._places)

    def why_not(self, url: str) -> str:
        """Return why no one may connect there; "" if it is allowed.

        The address is not repeated: it may hold a key.
        """
        try:
            parts = urlsplit(url)
            host, port = _plain(parts.hostname or ""), parts.port
        except ValueError:
            host, port = "", None
        if not host or parts.scheme.lower() not in ("https", "http") or re.search(r"[\s\\]", url):
            return "its server_url is no https address"
        return self._why_not(parts.scheme.lower(), host, port)

    def _why_not(self, scheme: str, host: str, port: int | None) -> str:
        port = port or (443 if scheme == "https" else 80)
        if not self._any_public and not self._names(host, port):
            return f"the owner of this server does not allow the host {host[:100]!r} ({self._option})"
        if scheme != "https" and not _is_loopback(host):
            return "it is to be reached by https"
        return ""

    async def addresses(self, url: Address) -> list[str]:
        """Return the addresses to connect to.

        Raises ToolError where the URL, or what its host leads to, is refused; OSError where it leads nowhere.
        """
        return await self.addresses_of(url.scheme, url.host, url.port)

    async def addresses_of(self, scheme: str, host: str, port: int | None) -> list[str]:
        """Return the addresses of a URL with these parts, as `addresses` does."""
        host = _plain(host)
        if why := self._why_not(scheme, host, port):
            raise ToolError(why, code="mcp_host")
        port = port or (443 if scheme == "https" else 80)
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        if not all(self._may_be_dialled(host, address, port) for address in addresses):
            raise ToolError("its host leads to a private address, which the owner has not allowed", code="mcp_host")
        return addresses

    def _may_be_dialled(self, host: str, address: str, port: int) -> bool:
        if is_public(address):
            return True
        ip = ip_of(address)
        is_loopback_by_name = host == _LOOPBACK_NAME and ip.is_loopback and self._names(host, port)
        return self._names(str(ip), port) or is_loopback_by_name

    def _names(self, host: str, port: int) -> bool:
        """Whether the owner has named this host or address."""
        return bool({(host, None), (host, port)} & self._places)

    def client_factory(self) -> Callable[..., httpx2.AsyncClient]:
        """Return what makes HTTP clients that reach these hosts only: they follow no redirect and use no proxy."""
        import httpx2

        allowed = self

        class Guarded(httpx2.AsyncHTTPTransport):
            async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
                addresses = await allowed.addresses(request.url)
                return await send_to(addresses, request, super().handle_async_request, httpx2.ConnectError)

        def make(**options: Any) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(transport=Guarded(verify=trusted_certificates()), **options)

        return make


async def send_to(
    addresses: Sequence[str],
    request: HttpRequest,
    send: Callable[[HttpRequest], Awaitable[HttpResponse]],
    unreachable: type[Exception] | tuple[type[Exception], ...],
) -> HttpResponse:
    """Send a request to the first address that can be reached.

    What `send` raises for the last one is raised; for those before, other errors than `unreachable`.
    """
    told: Any = request  # of httpx or httpx2, which have the same fields
    url = told.url
    told.headers.setdefault("host", url.netloc.decode("ascii"))
    # Dialled by the address that was checked: a second look at the name could give another.
    told.extensions = {**told.extensions, "sni_hostname": url.raw_host.decode("ascii")}
    *others, last = addresses
    for address in others:
        told.url = url.copy_with(host=address)
        try:
            return await send(request)
        except unreachable:
            continue
    told.url = url.copy_with(host=last)
    return await send(request)


def _plain(host: str) -> str:
    """Return a host as it is compared."""
    return host.strip("[]").rstrip(".").lower()


def ip_of(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address as it is judged: without a zone, and without the mapping of IPv4 into IPv6."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return getattr(ip, "ipv4_mapped", None) or ip


def is_public(address: str) -> bool:
    """Whether an address is in no private, local or reserved network."""
    ip = ip_of(address)
    return ip.is_global and not ip.is_multicast


def _is_loopback(host: str) -> bool:
    try:
        return host == _LOOPBACK_NAME or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
