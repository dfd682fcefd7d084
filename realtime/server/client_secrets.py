"""Client secrets: short-lived keys, so that a program's page need not know the token.

A secret is bound to the session settings that it was made for. It opens any number of sessions until it expires; open
sessions continue after that. Secrets live in the memory of the process that made them: a restart forgets them, and
behind one address with several servers only that server knows them. There, route a page's socket to the server that
made its secret (sticky routing by the key), or have each page use its server's own address. A signed secret would need
no memory, but it would have to carry the settings, and instructions and tools do not fit into handshake headers.
"""

from __future__ import annotations

import hashlib
import math
from typing import Annotated, Literal

import msgspec

from realtime.dialects.openai_family.client import EventRefusal, Json
from realtime.dialects.openai_family.openai import DEFAULT_MODEL
from realtime.dialects.openai_family.openai_client import Session, read_as
from realtime.dialects.openai_family.openai_settings import default_session, merged
from realtime.runtime import Runtime

PREFIX = "ek_"
DEFAULT_S = 600
MAX_SECRETS = 10_000
MAX_BYTES = 33_554_432
"""Limit for the settings of all secrets together."""


class ExpiresAfter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lifetime of a secret in seconds."""

    anchor: Literal["created_at"] = "created_at"
    seconds: Annotated[int, msgspec.Meta(ge=10, le=7_200)] = DEFAULT_S


class SecretRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The JSON body of a request for a secret."""

    expires_after: ExpiresAfter | None = None
    session: Session | None = None


class Secret(msgspec.Struct, frozen=True):
    """The sessions a secret opens: their settings (None: the defaults) and the expiry (epoch seconds)."""

    session: Session | None
    expires_at: int
    n_bytes: int


class ClientSecrets:
    """The secrets of one server. Stores hashes of their values; `runtime` makes the values and gives the time."""

    def __init__(self, *, max_secrets: int = MAX_SECRETS, max_bytes: int = MAX_BYTES) -> None:
        self._secrets: dict[bytes, Secret] = {}
        self._n_bytes = 0
        self._max_secrets = max_secrets
        self._max_bytes = max_bytes

    def issue(self, body: bytes, runtime: Runtime) -> Json:
        """Issue a secret for a JSON `body`: `value`, `expires_at` (epoch seconds), and the whole `session`.

        Raises EventRefusal where the request is invalid or too many secrets are still valid.
        """
        asked = read_as(SecretRequest, body or b"{}")
        now = runtime.wall_now()
        session = default_session(DEFAULT_MODEL, 0) | {"id": runtime.new_id("sess")}
        if asked.session is not None:
            session = merged(session, asked.session) | {"model": asked.session.model or DEFAULT_MODEL}
        self._forget_expired(now)
        if len(self._secrets) >= self._max_secrets or self._n_bytes + len(body) > self._max_bytes:
            raise EventRefusal(
                "Too many client secrets are valid at once: try again later.", code="rate_limit_exceeded"
            )
        value = PREFIX + runtime.new_id("key").removeprefix("key_")
        expires_at = math.floor(now) + (asked.expires_after or ExpiresAfter()).seconds
        self._secrets[_hash(value)] = Secret(asked.session, expires_at, len(body))
        self._n_bytes += len(body)
        return {"value": value, "expires_at": expires_at, "session": session}

    def find(self, value: str, now: float) -> Secret | None:
        """Return the secret if it is valid at `now` (epoch seconds)."""
        secret = self._secrets.get(_hash(value))
        return secret if secret is not None and now < secret.expires_at else None

    def _forget_expired(self, now: float) -> None:
        for key in [key for key, secret in self._secrets.items() if secret.expires_at <= now]:
            self._n_bytes -= self._secrets.pop(key).n_bytes


def _hash(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
