"""The address of a call, from what a server prints."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from realtime.errors import UsageError

_ROOM = re.compile(r"/rooms/[^/]+/?")
_SOCKETS = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


def socket_address(url: str, user: str, token: str | None) -> str:
    """Return the WebSocket address of a call at this URL; one of a page becomes that of its server's calls.

    Raises UsageError for what is no address.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        is_one = parts.scheme in _SOCKETS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_one = False
    if not is_one:
        raise UsageError(f"{url!r} is no address of a server: give one such as http://127.0.0.1:8000", code="address")
    path = parts.path if parts.path.strip("/") not in ("", "index.html") else f"/ws/{quote(user, safe='')}/session1"
    query = parse_qsl(parts.query, keep_blank_values=True)
    if _ROOM.fullmatch(path):
        path = f"{path.rstrip('/')}/ws"
        query = query if any(key == "name" for key, _ in query) else [*query, ("name", user)]
    if token is not None:
        query = [*((key, value) for key, value in query if key != "token"), ("token", token)]
    return parts._replace(scheme=_SOCKETS[parts.scheme], path=path, query=urlencode(query), fragment="").geturl()
