"""Client secrets: short-lived keys, so that a program's page need not know the token.

A secret is bound to the session settings that it was made for. It opens any number of sessions until it expires; open
sessions continue after that. `realtime.server.short_lived` says which server knows it. A signed secret would need no
memory, but it would have to carry the settings, and instructions and tools do not fit into handshake headers.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from realtime.dialects.openai_family.client import EventRefusal, Json
from realtime.dialects.openai_family.openai import DEFAULT_MODEL
from realtime.dialects.openai_family.openai_client import Session, read_as
from realtime.dialects.openai_family.openai_settings import default_session, merged
from realtime.runtime import Runtime
from realtime.server.short_lived import MAX_BYTES, MAX_KEYS, ShortLived

PREFIX = "ek_"
DEFAULT_S = 600
MAX_USER_CHARS = 128


class ExpiresAfter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lifetime of a secret in seconds."""

    anchor: Literal["created_at"] = "created_at"
    seconds: Annotated[int, msgspec.Meta(ge=10, le=7_200)] = DEFAULT_S


class SecretRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The JSON body of a request for a secret."""

    expires_after: ExpiresAfter | None = None
    session: Session | None = None


class Secret(msgspec.Struct, frozen=True):
    """The sessions a secret opens: their settings; None: the defaults."""

    session: Session | None
    user: str | None
    """The user of the calls; None: no particular one."""


class ClientSecrets:
    """The secrets of one server. `runtime` makes the values and gives the time."""

    def __init__(self, *, max_secrets: int = MAX_KEYS, max_bytes: int = MAX_BYTES) -> None:
        self._secrets: ShortLived[Secret] = ShortLived(PREFIX, max_keys=max_secrets, max_bytes=max_bytes)

    def issue(self, body: bytes, runtime: Runtime, user: str | None = None) -> Json:
        """Issue a secret for a JSON `body`: `value`, `expires_at` (epoch seconds), and the whole `session`.

        `user` is whose calls it opens. Raises EventRefusal where the request is invalid or too many secrets are still
        valid.
        """
        asked = read_as(SecretRequest, body or b"{}")
        session = default_session(DEFAULT_MODEL, 0) | {"id": runtime.new_id("sess")}
        if asked.session is not None:
            session = merged(session, asked.session) | {"model": asked.session.model or DEFAULT_MODEL}
        seconds = (asked.expires_after or ExpiresAfter()).seconds
        if user is not None and not 0 < len(user) <= MAX_USER_CHARS:
            raise EventRefusal(
                f"A user has 1 to {MAX_USER_CHARS} characters.", code="invalid_value", param="OpenAI-Safety-Identifier"
            )
        made = self._secrets.issue(Secret(asked.session, user), seconds=seconds, n_bytes=len(body), runtime=runtime)
        if made is None:
            raise EventRefusal(
                "Too many client secrets are valid at once: try again later.", code="rate_limit_exceeded"
            )
        value, expires_at = made
        return {"value": value, "expires_at": expires_at, "session": session}

    def find(self, value: str, now: float) -> Secret | None:
        """Return the secret if it is valid at `now` (epoch seconds)."""
        return self._secrets.find(value, now)
