"""Client secrets: keys of short life that a program asks for, so that a page of its own need not know the token.

A secret is bound to the session settings that it was made for. It opens any number of sessions until it expires; those
go on after that. Secrets are kept in the memory of the process that made them: a restart forgets them, and of several
servers behind one address only that one knows them. There, send a page's socket to the server that made its secret
(sticky routing by the key), or have each page talk to its server's own address. A signed secret would need no memory,
but it would have to carry the settings, and instructions and tools do not fit into the headers of a handshake.
"""

from __future__ import annotations

import hashlib
import math
from typing import Annotated, Literal

import msgspec

from realtime.dialects.openai_family.openai import DEFAULT_MODEL
from realtime.dialects.openai_family.openai_client import Json, Refusal, Session, read_as
from realtime.dialects.openai_family.openai_settings import default_session, merged
from realtime.runtime import Runtime

PREFIX = "ek_"
DEFAULT_S = 600
MAX_SECRETS = 10_000
MAX_BYTES = 33_554_432
"""Of the settings of all secrets together."""


class ExpiresAfter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a secret expires, in seconds after it was made."""

    anchor: Literal["created_at"] = "created_at"
    seconds: Annotated[int, msgspec.Meta(ge=10, le=7_200)] = DEFAULT_S


class SecretRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked for."""

    expires_after: ExpiresAfter | None = None
    session: Session | None = None


class Secret(msgspec.Struct, frozen=True):
    """What a secret opens: sessions with these settings (null: the defaults), until then (epoch seconds)."""

    session: Session | None
    expires_at: int
    n_bytes: int


class ClientSecrets:
    """The secrets of one server. Values are kept as hashes; `runtime` makes them and tells the time."""

    def __init__(self, *, max_secrets: int = MAX_SECRETS, max_bytes: int = MAX_BYTES) -> None:
        self._secrets: dict[bytes, Secret] = {}
        self._n_bytes = 0
        self._max_secrets = max_secrets
        self._max_bytes = max_bytes

    def issue(self, body: bytes, runtime: Runtime) -> Json:
        """A new secret for what a JSON `body` asks for: `value`, `expires_at` (epoch seconds), the whole `session`.

        Raises Refusal where the request cannot be met, or too many secrets are still valid.
        """
        asked = read_as(SecretRequest, body or b"{}")
        now = runtime.wall_now()
        session = default_session(DEFAULT_MODEL, 0) | {"id": runtime.new_id("sess")}
        if asked.session is not None:
            session = merged(session, asked.session) | {"model": asked.session.model or DEFAULT_MODEL}
        self._forget_expired(now)
        if len(self._secrets) >= self._max_secrets or self._n_bytes + len(body) > self._max_bytes:
            raise Refusal("Too many client secrets are valid at once: try again later.", code="rate_limit_exceeded")
        value = PREFIX + runtime.new_id("key").removeprefix("key_")
        expires_at = math.floor(now) + (asked.expires_after or ExpiresAfter()).seconds
        self._secrets[_hash(value)] = Secret(asked.session, expires_at, len(body))
        self._n_bytes += len(body)
        return {"value": value, "expires_at": expires_at, "session": session}

    def find(self, value: str, now: float) -> Secret | None:
        """The secret, where it is valid at `now` (epoch seconds)."""
        secret = self._secrets.get(_hash(value))
        return secret if secret is not None and now < secret.expires_at else None

    def _forget_expired(self, now: float) -> None:
        for key in [key for key, secret in self._secrets.items() if secret.expires_at <= now]:
            self._n_bytes -= self._secrets.pop(key).n_bytes


def _hash(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
