"""How much of the store one call and one address may fill. Pure: time comes in."""

from __future__ import annotations

from realtime.errors import StoreError

PERIOD_S = 86_400.0
"""In such a time an address gets its bound back, evenly."""


class Quota:
    """Counts what is stored. `call_bytes` bounds a call, `address_bytes` what the calls of an address fill in a day;
    0 is no bound. Times in seconds, of one monotonic clock."""

    def __init__(self, *, call_bytes: int = 0, address_bytes: int = 0) -> None:
        self._call_bytes = call_bytes
        self._address_bytes = address_bytes
        self._addresses: dict[str, tuple[float, float]] = {}
        """How much counts of each address, and when that was so."""

    def charge(self, address: str, n_bytes: int, call_bytes: int, now_s: float) -> StoreError | None:
        """So much was stored, and `call_bytes` of the whole call. Returns why no more of it may be, or None."""
        if self._address_bytes:
            self._addresses[address] = (self._counted(address, now_s) + n_bytes, now_s)
        if self._call_bytes and call_bytes > self._call_bytes:
            return _refusal("this call has filled what one call may")
        return self.refusal(address, now_s)

    def refusal(self, address: str, now_s: float) -> StoreError | None:
        """Why no call of this address may be stored now, or None."""
        if self._address_bytes and self._counted(address, now_s) > self._address_bytes:
            return _refusal("calls from this address have filled what an address may in a day")
        return None

    def _counted(self, address: str, now_s: float) -> float:
        counted, since_s = self._addresses.get(address, (0.0, now_s))
        return max(0.0, counted - (now_s - since_s) * self._address_bytes / PERIOD_S)

    def forget(self, now_s: float) -> None:
        """Forget the addresses of which nothing counts any more."""
        for address in [one for one in self._addresses if not self._counted(one, now_s)]:
            del self._addresses[address]


def _refusal(why: str) -> StoreError:
    return StoreError(f"{why}: what comes from now on is not kept; the call goes on", code="store_quota")
