"""Wrong tokens per address, and how long each address has to wait.

Pure: time is an argument, in seconds. The table is bounded and forgets old entries.
"""

from __future__ import annotations

from dataclasses import dataclass

FREE_TRIES = 10
"""Wrong tokens checked without delay: a page with an old token sends it with each of its requests."""
LONGEST_WAIT_S = 60.0
FORGIVEN_AFTER_S = 900.0
"""Seconds without a wrong token that reset an address to zero."""
MAX_ADDRESSES = 10_000
"""Beyond this number, the address whose latest failure is oldest is forgotten."""


@dataclass(slots=True)
class _Failures:
    count: int
    latest_at: float


class WrongTokens:
    """Slows down an address that guesses tokens.

    It waits a second after wrong token number `FREE_TRIES`, and twice as long after each further one, up to a minute.
    Other addresses are not slowed, however many fail.
    """

    def __init__(self, *, max_addresses: int = MAX_ADDRESSES) -> None:
        self._by_address: dict[str, _Failures] = {}
        """Ordered by latest failure."""
        self._max_addresses = max_addresses

    def __len__(self) -> int:
        return len(self._by_address)

    def wait_s(self, address: str, now: float) -> float:
        """Return the seconds until a token of this address is checked again; 0: now."""
        failures = self._by_address.get(address)
        if failures is None or failures.count < FREE_TRIES:
            return 0.0
        wait_s = min(LONGEST_WAIT_S, 2.0 ** min(failures.count - FREE_TRIES, 10))
        return max(0.0, failures.latest_at + wait_s - now)

    def count(self, address: str, now: float) -> None:
        """Count a wrong token of this address."""
        failures = self._by_address.pop(address, None)
        if failures is None or now - failures.latest_at > FORGIVEN_AFTER_S:
            failures = _Failures(0, now)
        failures.count += 1
        failures.latest_at = now
        self._by_address[address] = failures
        if len(self._by_address) > self._max_addresses:
            del self._by_address[next(iter(self._by_address))]
