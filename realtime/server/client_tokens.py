"""Client tokens: short-lived keys to calls, which an application's backend gets for its own pages.

A token opens any number of calls until it expires, always as the user that it was made for; calls go on after that. It
opens nothing else: no records of calls, no other tokens.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from realtime.errors import ClientError
from realtime.event.decode import explain
from realtime.runtime import Runtime
from realtime.server.short_lived import MAX_KEYS, ShortLived

PREFIX = "ct_"
DEFAULT_S = 300
MAX_BODY_BYTES = 4_096


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The JSON body of a request for a token."""

    user_id: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] | None = None
    """The user of the calls; None: the one in the address of each socket."""
    expires_in_s: Annotated[int, msgspec.Meta(ge=10, le=7_200)] = DEFAULT_S


class ClientToken(msgspec.Struct, frozen=True):
    """The calls that a token opens: those of this user; None: of any."""

    user_id: str | None


class ClientTokens:
    """The client tokens of one server. `runtime` makes them and gives the time."""

    def __init__(self, runtime: Runtime, *, max_tokens: int = MAX_KEYS) -> None:
        self._runtime = runtime
        self._tokens: ShortLived[ClientToken] = ShortLived(PREFIX, max_keys=max_tokens)

    def issue(self, body: bytes) -> dict[str, object]:
        """Issue a token for a JSON `body`: `token`, `expires_at` (epoch seconds) and `user_id`.

        Raises ClientError where the request is invalid or too many tokens are still valid.
        """
        try:
            asked = msgspec.json.decode(body or b"{}", type=TokenRequest)
        except msgspec.ValidationError as error:
            raise ClientError(explain(error), code="invalid_request") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise ClientError("the request is not JSON", code="malformed_json") from error
        opens = ClientToken(asked.user_id)
        made = self._tokens.issue(opens, seconds=asked.expires_in_s, n_bytes=len(body), runtime=self._runtime)
        if made is None:
            raise ClientError(
                "too many client tokens are valid at once: try again later", code="too_many_tokens", retryable=True
            )
        token, expires_at = made
        return {"token": token, "expires_at": expires_at, "user_id": asked.user_id}

    def find(self, token: str) -> ClientToken | None:
        """Return what the token opens, if it is valid now."""
        return self._tokens.find(token, self._runtime.wall_now())
