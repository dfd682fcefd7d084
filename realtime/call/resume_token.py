"""The right to come back to a call: a token that is good for one resume."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

_SEPARATOR = "."
_MAX_GOOD = 3


def call_of(token: str) -> str:
    """The call that a token names, right or wrong."""
    return token.rpartition(_SEPARATOR)[0]


class ResumeToken:
    """The resume token of one call. `new_id` is the runtime's: unguessable. `kept` is from an earlier one.

    A token is used up when its client has received the next one, which its first event on the new socket proves: that
    socket may be lost as well.
    """

    __slots__ = ("_call_id", "_hashes", "_inherited", "_new_id", "_prepared", "on_change")

    def __init__(self, call_id: str, new_id: Callable[[str], str], kept: str = "") -> None:
        self._call_id = call_id
        self._new_id = new_id
        self._hashes = self._inherited = kept.split()
        self._prepared: str | None = None
        """The next token, which no client has been told yet."""
        self.on_change: Callable[[str], None] = _keep_nothing
        """Called with what a store may keep when that changes."""

    @property
    def kept(self) -> str:
        """What a store may keep: the hashes of the tokens that are good now."""
        return " ".join(self._hashes)

    def renew(self, used: str | None = None) -> str:
        """Make a new token. The one that was `used` for it, or else all before, stay good until `confirm`."""
        token, self._prepared = self._prepared, None
        return token or self._make(used)

    def prepare(self, used: str) -> None:
        """Make the token that `renew` returns next, to be stored first.

        A client forgets its old token. If the server is killed before it has stored the new one, the client is locked
        out.
        """
        self._prepared = self._make(used)

    def _make(self, used: str | None) -> str:
        token = f"{self._call_id}{_SEPARATOR}{self._new_id('resume')}"
        before = self._hashes[-_MAX_GOOD:] if used is None else [_hash_of(used)]
        self._hashes = [*before, _hash_of(token)]
        self.on_change(self.kept)
        return token

    def keep_nothing(self) -> None:
        """Report no more changes: the call is over."""
        self.on_change = _keep_nothing

    def is_good(self, token: str) -> bool:
        """Whether the token opens the call."""
        return _is_one_of(token, self._hashes)

    def is_inherited(self, token: str) -> bool:
        """Whether the token was given before the call was resumed here: its holder has seen nothing of that."""
        return _is_one_of(token, self._inherited)

    def confirm(self) -> None:
        """The newest token has arrived: no other is good any more."""
        if len(self._hashes) > 1:
            self._hashes = self._hashes[-1:]
            self.on_change(self.kept)


def _is_one_of(token: str, hashes: list[str]) -> bool:
    shown = _hash_of(token)
    return any(hmac.compare_digest(shown, one) for one in hashes)


def _hash_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _keep_nothing(kept: str) -> None:
    """Stand in for the store of a call that none keeps."""
