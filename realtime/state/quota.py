"""Limits on what one call and one address may store. Pure: time is an argument."""

from __future__ import annotations

from realtime.errors import StoreError

PERIOD_S = 86_400.0
"""An address regains its limit evenly over this time."""


class Quota:
    """Counts stored bytes.

    `call_bytes` limits a call, `address_bytes` the calls of one address in a day; 0 means no limit. Times are seconds
    of one monotonic clock.
    """

    def __init__(self, *, call_bytes: int = 0, address_bytes: int = 0) -> None:
        self._call_bytes = call_bytes
        self._address_bytes = address_bytes
        self._addresses: dict[str, tuple[float, float]] = {}
        """The counted bytes of each address, and the time of that count."""

    def charge(self, address: str, n_bytes: int, call_bytes: int, now_s: float) -> StoreError | None:
        """Count `n_bytes` more of a call with `call_bytes` in all; returns why it may not grow, or None."""
        if self._address_bytes:
            self._addresses[address] = (self._counted(address, now_s) + n_bytes, now_s)
        if self._call_bytes and call_bytes > self._call_bytes:
            return _refusal("this call has filled what one call may")
        return self.refusal(address, now_s)

    def refusal(self, address: str, now_s: float) -> StoreError | None:
        """Return why this address may store no call now, or None."""
        if self._address_bytes and self._counted(address, now_s) > self._address_bytes:
            return _refusal("calls from this address have filled what an address may in a day")
        return None

    def _counted(self, address: str, now_s: float) -> float:
        counted, since_s = self._addresses.get(address, (0.0, now_s))
        return max(0.0, counted - (now_s - since_s) * self._address_bytes / PERIOD_S)

    def forget(self, now_s: float) -> None:
        """Drop the addresses whose count is back at 0."""
        for address in [one for one in self._addresses if not self._counted(one, now_s)]:
            del self._addresses[address]


def _refusal(why: str) -> StoreError:
    return StoreError(f"{why}: later events are not stored; the call continues", code="store_quota")
