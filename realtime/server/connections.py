"""Connection limits: which new connections are refused before anything is read from them."""

from __future__ import annotations

import errno
import os
import sys
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

NOTICE_EVERY_S = 60.0
"""Seconds between two log lines about a recurring condition."""


@dataclass(frozen=True, slots=True)
class ConnectionRefusal:
    """Why a connection is refused: an HTTP status, a sentence, and the condition for the log."""

    status: int
    why: str
    condition: str


TOO_MANY = ConnectionRefusal(
    429, "this address has too many open connections: close some first", "connections of one address"
)
FILES_OF_A_CALL = 4
"""What a call may open beside its client's socket: the model's, a look-up of its name, its log, its recording."""
NO_DESCRIPTOR = ConnectionRefusal(503, "the server has too many open files: try again later", "open files")


class Connections:
    """The open connections of a server.

    Sockets with a descriptor above `max_descriptor` are refused; None: there is no limit. The system gives each new
    socket the lowest free number. A high number therefore says that all below are in use, by whatever opened files in
    this process, and those above are left for what the running calls need.
    """

    def __init__(self, max_per_address: int, max_descriptor: int | None = None) -> None:
        self._max_per_address = max_per_address
        self._max_descriptor = max_descriptor
        self._addresses: dict[Hashable, str] = {}
        self._counts: Counter[str] = Counter()
        self._notices: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def enter(self, connection: Hashable, address: str) -> ConnectionRefusal | None:
        """Count a connection of this address, unless it is refused.

        A proxy sends requests of several clients over one connection, one after the other: it counts for the latest.
        """
        self.leave(connection)
        if self._counts[address] >= self._max_per_address:
            return TOO_MANY
        self._counts[address] += 1
        self._addresses[connection] = address
        return None

    def lacks_files(self, descriptor: int) -> ConnectionRefusal | None:
        """Refuse a new socket whose descriptor shows that few files are left; None: accept it."""
        return NO_DESCRIPTOR if self._max_descriptor is not None and descriptor > self._max_descriptor else None

    def leave(self, connection: Hashable) -> None:
        """Stop counting a closed connection. Idempotent."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def notice(self, condition: str, now_s: float) -> int:
        """Return how often this happened since the last log line; 0 while no new line is due."""
        told_s, silent = self._notices.get(condition, (now_s - NOTICE_EVERY_S, 0))
        if now_s < told_s + NOTICE_EVERY_S:
            self._notices[condition] = (told_s, silent + 1)
            return 0
        self._notices[condition] = (now_s, 0)
        return silent + 1


class OpenFiles:
    """The files that this process has open, against its limit.

    Calls begin only where `reserved` files stay free, and `FILES_OF_A_CALL` for each that has just begun. None: there
    is no limit.
    """

    def __init__(self, reserved: int) -> None:
        self._highest = highest_descriptor(reserved)

    def lack(self, beginning: Callable[[], int]) -> bool:
        """Whether too few are left for one more call; `beginning` counts those that have just begun."""
        if self._highest is None:
            return False
        try:
            return len(os.listdir("/dev/fd")) + FILES_OF_A_CALL * (1 + beginning()) > self._highest
        except OSError as error:
            return error.errno in (errno.EMFILE, errno.ENFILE)  # else the system cannot tell


def highest_descriptor(reserved: int) -> int | None:
    """Return the highest descriptor that leaves `reserved` files free; None: no limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return None
    return int(limit) - 1 - min(reserved, int(limit) // 4)


def counted_address(address: str) -> str:
    """Return the rate-limit key: IPv4 host or IPv6 /64. Anything else is its own key."""
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
    """Return the last entry of a forwarding header such as `X-Forwarded-For`.

    A trusted proxy adds its entry, perhaps as a header line of its own, after those that the client made up.
    """
    return lines[-1].rpartition(",")[2].strip() if lines else None
