"""The proxy on the way to a provider.

websockets looks for one itself, but knows no ALL_PROXY, and its exceptions name neither proxy nor variable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from websockets.exceptions import InvalidProxy, InvalidProxyStatus, ProxyError

from realtime.errors import INSTALL_SOCKS, ProviderError, UsageError
from realtime.model.credentials import pasted

_ASKED = {
    "wss": ("wss", "socks", "https", "all"),
    "ws": ("ws", "socks", "https", "http", "all"),
    "https": ("https", "all"),
    "http": ("http", "all"),
}
"""By scheme of an address: whose variables name its proxy, the first that is set. HTTP libraries look at their own."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy: its address, which may hold a password, and the variable that names it."""

    address: str
    variable: str

    @property
    def shown(self) -> str:
        """The proxy and its variable, without a password."""
        try:
            host = urlsplit(self.address).netloc.rpartition("@")[2]
        except ValueError:
            host = ""
        return f"the proxy {host} of {self.variable}" if host else f"the proxy of {self.variable}"

    @property
    def is_address(self) -> bool:
        """Whether a host and a port can be read from it."""
        try:
            parts = urlsplit(self.address)
            return bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False

    def failure(self, error: Exception) -> ProviderError | None:
        """What an exception of the dial says about the proxy; None where the proxy is not to blame."""
        match error:
            case InvalidProxyStatus() if error.response.status_code == 407:
                return self._failed(
                    f"{self.shown} wants a user and a password: write them as http://USER:PASSWORD@HOST:PORT"
                )
            case InvalidProxyStatus():
                return self._failed(f"{self.shown} refused the connection (HTTP {error.response.status_code})")
            case InvalidProxy():
                return self._failed(self._unknown)
            case ProxyError():
                return self._failed(
                    f"{self.shown} did not answer as a proxy does: correct {self.variable}, or unset it",
                    retryable=True,
                )
            case ImportError():
                return self._failed(f"{self.shown} speaks SOCKS, which needs python-socks: {INSTALL_SOCKS}")
            case TimeoutError():
                return self._failed(f"{self.shown} did not answer in time", retryable=True)
            case OSError():
                return self._failed(f"{self.shown} cannot be reached: correct {self.variable}", retryable=True)
            case _:
                return None

    def fault_for_http(self) -> UsageError | None:
        """What keeps HTTP libraries from this proxy; None if nothing does."""
        scheme = self.address.partition("://")[0].lower()
        if scheme not in ("http", "https", "socks5", "socks5h"):
            return UsageError(self._unknown, code="provider_proxy")
        if scheme.startswith("socks") and find_spec("socksio") is None:
            told = f"{self.shown} speaks SOCKS, which needs socksio: {INSTALL_SOCKS}"
            return UsageError(told, code="missing_package")
        return None

    @property
    def _unknown(self) -> str:
        return f"{self.variable} names no proxy that can be used: http, https or socks5 are known"

    @staticmethod
    def _failed(message: str, *, retryable: bool = False) -> ProviderError:
        return ProviderError(message, code="provider_proxy", retryable=retryable)


def proxy_for(url: str, environment: Mapping[str, str] = os.environ) -> Proxy | None:
    """Return the proxy on the way to this address; None where there is none, or NO_PROXY leaves the host out.

    The first of WSS_PROXY (for ws: WS_PROXY), SOCKS_PROXY, HTTPS_PROXY (for ws: also HTTP_PROXY) and ALL_PROXY counts,
    in lower case as well; on Windows and macOS the settings of the system count, too. For http: and https: it is the
    variable of the scheme, else ALL_PROXY. Raises ProviderError where that is no address.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    secure = parts.scheme in ("wss", "https")
    if proxy_bypass(f"{host}:{parts.port or (443 if secure else 80)}"):
        return None
    known = getproxies()
    for scheme in _ASKED.get(parts.scheme, _ASKED["ws"]):
        if address := pasted(known.get(scheme, "")):
            return _proxy(scheme, address, environment)
    return None


def http_proxies(environment: Mapping[str, str] = os.environ) -> list[Proxy]:
    """Return the proxies that HTTP libraries make ready for any address.

    Raises as `proxy_for`.
    """
    known = {} if proxy_bypass("provider.example") else getproxies()
    addresses = {scheme: pasted(known.get(scheme, "")) for scheme in ("https", "http", "all")}
    return [_proxy(scheme, address, environment) for scheme, address in addresses.items() if address]


def _proxy(scheme: str, address: str, environment: Mapping[str, str]) -> Proxy:
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    variable = next((name for name in names if environment.get(name)), "the system's settings")
    if scheme == "socks" and address.startswith("http://"):  # as systems write it
        address = "socks5h://" + address.removeprefix("http://")
    proxy = Proxy(address if "://" in address else f"http://{address}", variable)
    if not proxy.is_address:
        raise Proxy._failed(f"{variable} names no proxy that can be used: write it as http://HOST:PORT")
    return proxy
