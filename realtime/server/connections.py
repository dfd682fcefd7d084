"""How many connections there are, whose they are, and which new ones are refused before anything is read of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

NOTICE_EVERY_S = 60.0
"""What happens again and again is one line of the log in so long."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a connection is not served: an HTTP status, a sentence, and the condition that the log names."""

    status: int
    why: str
    condition: str


TOO_MANY = Refusal(429, "this address has too many open connections: close some first", "connections of one address")
NO_DESCRIPTOR = Refusal(503, "the server has too many open files: try again later", "open files")


class Connections:
    """The open connections of a server. `max_descriptor`: sockets with a higher number are refused; None: none are.

    The system gives each new socket the lowest free number. So one with a high number says that all below are in use,
    by whatever has opened files here, and those above are left for what the running calls need.
    """

    def __init__(self, max_per_address: int, max_descriptor: int | None = None) -> None:
        self._max_per_address = max_per_address
        self._max_descriptor = max_descriptor
        self._addresses: dict[Hashable, str] = {}
        self._counts: Counter[str] = Counter()
        self._notices: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def enter(self, connection: Hashable, address: str) -> Refusal | None:
        """Count a connection of this address; one that is refused is not counted.

        A proxy sends requests of one client after the other on the same connection: it counts for the latest.
        """
        self.leave(connection)
        if self._counts[address] >= self._max_per_address:
            return TOO_MANY
        self._counts[address] += 1
        self._addresses[connection] = address
        return None

    def lacks_files(self, descriptor: int) -> Refusal | None:
        """Whether the number of a new socket says that the server is about to run out of files."""
        return NO_DESCRIPTOR if self._max_descriptor is not None and descriptor > self._max_descriptor else None

    def leave(self, connection: Hashable) -> None:
        """The connection is closed. Idempotent."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def notice(self, condition: str, now_s: float) -> int:
        """How often this happened since the log last told of it; 0 where it needs no new line yet."""
        told_s, silent = self._notices.get(condition, (now_s - NOTICE_EVERY_S, 0))
        if now_s < told_s + NOTICE_EVERY_S:
            self._notices[condition] = (told_s, silent + 1)
            return 0
        self._notices[condition] = (now_s, 0)
        return silent + 1


def highest_descriptor(reserved: int) -> int | None:
    """The highest number that a connection may have, so that `reserved` files can still be opened; None: no limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return None
    return int(limit) - 1 - min(reserved, int(limit) // 4)


def counted_address(address: str) -> str:
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


def last_forwarded(lines: list[str]) -> str | None:
    """What a trusted proxy says in a header such as `X-Forwarded-For`: it may add a line of its own below those that
    the client made up."""
    return lines[-1].rpartition(",")[2].strip() if lines else None
