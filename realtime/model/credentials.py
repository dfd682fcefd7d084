"""Keys and addresses of providers, as people paste them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

from realtime.errors import UsageError

INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
"""What web pages put beside a copied text, unseen."""
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019", "\u201e": "\u201c"}


_HTTP_END = re.compile("/(?:chat/completions|responses|models)$")
"""The end of addresses for plain HTTP, as documents print them."""
_NO_SOCKET = re.compile("/(?:chat/completions|responses|models|realtime/[a-z_]{1,40}|(?<=v1beta/)openai)$")
"""Ends of HTTP addresses of a server that has sockets, too."""


def pasted(text: str) -> str:
    """Return a pasted value without what copying put around it: blanks, line ends, quotes, invisible characters."""
    while True:
        bare = text.strip().strip(INVISIBLE)
        if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1]:
            bare = bare[1:-1]
        if bare == text:
            return bare
        text = bare


def set_in(environment: Mapping[str, str], names: Iterable[str]) -> tuple[str, str]:
    """Return the first variable that holds something, and its value; two "" if none does."""
    return next(((name, value) for name in names if (value := pasted(environment.get(name, "")))), ("", ""))


def usable_key(key: str, source: str) -> str:
    """Return the key as `pasted`.

    Raises UsageError where no header can hold it: a library would refuse it with the whole header in its sentence.
    `source` is the variable or argument that gives it; the key itself is never repeated.
    """
    key = pasted(key)
    bad = next((number for number, letter in enumerate(key, 1) if not "!" <= letter <= "~"), None)
    if bad is None:
        return key
    letter = key[bad - 1]
    what = "a line end" if letter in "\r\n" else "a blank" if letter.isspace() else "a character other than ASCII"
    raise UsageError(
        f"the key in {source} has {what} at place {bad} of {len(key)}, which no key has: copy it again",
        code="invalid_api_key",
    )


def parts_of_address(text: str, source: str, schemes: Iterable[str] = ("http", "https", "ws", "wss")) -> SplitResult:
    """Return the parts of a pasted address, without a fragment.

    One without a scheme gets `https`, on this computer `http`. Raises UsageError with the name of `source`, its
    variable or argument, for what is no address. The address is not repeated: some hold a key.
    """
    known = [*schemes]
    # As texts and shells write it: <https://...>, NAME=https://...
    text = pasted(re.sub(r"^(?:export\s+)?[A-Z][A-Z0-9_]{0,80}=", "", pasted(text)))
    text = pasted(text[1:-1]) if text.startswith("<") and text.endswith(">") else text
    text = re.sub(r"^(https?|wss?)//(?=[^/])", r"\1://", text, flags=re.IGNORECASE)
    text = re.sub(r"^(https?|wss?):(?:/(?=[^/])|(?=[^/\d]))", r"\1://", text, flags=re.IGNORECASE)
    if not re.match("[a-zA-Z][a-zA-Z0-9+.-]{0,40}://", text):
        host = text.partition("/")[0].rpartition("@")[2]
        text = ("http" if is_loopback(_without_port(host)) else "https") + "://" + text.lstrip("/")
    try:
        parts = urlsplit(text)
        is_host = bool(parts.hostname) and not re.search("[<>=]", parts.hostname or "")
        is_address = is_host and parts.port != 0 and not re.search(r"\s", text)
    except ValueError:
        port = re.search(r":(\d{1,12})(?:[/?#]|$)", text.partition("://")[2])
        if port is not None and int(port.group(1)) > 65_535:
            raise UsageError(f"{source} has a port above 65535: correct it", code="invalid_address") from None
        is_address = False
    if not is_address or parts.scheme not in known:
        blank = " and holds no blank" if re.search(r"\s", text) else ""
        raise UsageError(f"{source} is to be an address that begins with {known[1]}://{blank}", code="invalid_address")
    return parts._replace(fragment="")


def http_address(text: str, source: str) -> str:
    """Return a pasted base address without a request's own end.

    Raises as `parts_of_address`.
    """
    parts = parts_of_address(text, source, ("http", "https"))
    return urlunsplit(parts._replace(path=_HTTP_END.sub("", parts.path.rstrip("/"))))


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach the host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _without_port(host: str) -> str:
    return host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]


def socket_address(parts: SplitResult, path: str, **query: str) -> str:
    """Return the WebSocket's address below a base: `ws` for `http`, `path` at the end, `query` beside the base's own.

    A base that ends in `path`, as documents print it, is not joined with it again; the end of an address for plain HTTP
    (`/chat/completions`) is left out.
    """
    below = _NO_SOCKET.sub("", parts.path.rstrip("/"))
    version = below.rpartition("/")[2]
    if version and f".{version}." in path:
        below = below.removesuffix(f"/{version}")  # The path names it: "/v1beta" and "google.(...).v1beta.(...)".
    own = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in query]
    return urlunsplit(
        parts._replace(
            scheme=re.sub("^http", "ws", parts.scheme),
            path=below if below.endswith(path) else below + path,
            query=urlencode([*own, *query.items()], quote_via=quote),
        )
    )
