"""Agent cards: what a remote agent says of itself.

A card is taken by its fields: ours, those of either SDK, a mapping or JSON, in camelCase or snake_case, in the shape of
0.3 (`url`) or 1.0 (`supportedInterfaces`). What a remote agent cannot be reached without is required; all else that
is wrong is left out, and a sentence in `faults` says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from realtime.a2a.parts import kind_of, plain
from realtime.errors import UsageError

T = TypeVar("T")

MAX_CARD_BYTES = 1024 * 1024
"""The largest card that is read."""
MAX_NAME_CHARS = 200
OLD_VERSION = "0.3.0"
"""The protocol of a card with `url` that names none."""
NEW_VERSION = "1.0"
"""The protocol of an interface that names none."""
BINDINGS = ("JSONRPC", "HTTP+JSON")
"""The transports that are spoken here."""


class BadCard(UsageError, ValueError):
    """A card with which no remote agent can be reached. The sentence begins with the path to the field."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="bad_agent_card")


@dataclass(kw_only=True)
class AgentCapabilities:
    """What a remote agent can do beside answering."""

    push_notifications: bool = False
    state_transition_history: bool = False
    """Of protocol 0.3 alone."""
    streaming: bool = False


@dataclass(kw_only=True)
class AgentSkill:
    """One thing that a remote agent is good at."""

    id: str
    name: str
    description: str = ""
    tags: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    input_modes: list[str] = field(default_factory=list)
    output_modes: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class AgentInterface:
    """One address of a remote agent, and what is spoken there."""

    url: str
    protocol_binding: str = "JSONRPC"
    protocol_version: str = OLD_VERSION
    tenant: str = ""


@dataclass(kw_only=True)
class AgentCard:
    """A remote agent: its name, its addresses (`url`, or several `interfaces`), what it takes, gives and can do.

    `origin`: the `HOST:PORT` from which the card was fetched; None for one of the program's own. The addresses of a
    fetched card lead to private networks only where that host, or the program, is named (see `A2AAgent`).
    """

    name: str
    url: str = ""
    description: str = ""
    version: str = ""
    capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    default_input_modes: list[str] = field(default_factory=list)
    default_output_modes: list[str] = field(default_factory=list)
    skills: list[AgentSkill] = field(default_factory=list)
    interfaces: list[AgentInterface] = field(default_factory=list)
    origin: str | None = None
    faults: list[str] = field(default_factory=list, repr=False)
    """A sentence for each field that was left out."""

    def model_dump(self) -> dict[str, Any]:
        """Return the card in snake_case, as a file holds it."""
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return {key: value for key, value in dumped.items() if key not in ("origin", "faults")}

    def to_sdk(self) -> dict[str, Any]:
        """Return what the SDK needs, in the JSON of 1.0."""
        return {
            "name": self.name,
            "capabilities": {"streaming": self.capabilities.streaming},
            "supportedInterfaces": [
                {
                    "url": one.url,
                    "protocolBinding": one.protocol_binding,
                    "protocolVersion": one.protocol_version,
                    "tenant": one.tenant,
                }
                for one in self.interfaces
                if one.protocol_binding in BINDINGS
            ],
        }


def read_card(given: Any, path: str = "card", *, origin: str | None = None) -> AgentCard:
    """Return a card from whatever holds its fields; `given` stays as it is.

    Raises BadCard without a name, or without an address that can be spoken to.
    """
    if isinstance(given, AgentCard):
        origin = given.origin if origin is None else origin
        given = msgspec.to_builtins(given)
    if isinstance(given, str | bytes):
        given = _json(given, path)
    try:
        fields = plain(given)
    except RecursionError:
        raise BadCard(f"{path}: it is nested too deeply") from None
    if not isinstance(fields, Mapping):
        raise BadCard(f"{path}: a card is an object with `name` and `url`, not {kind_of(fields)}")
    reader = _Reader(fields, path)
    name = " ".join(reader.text("name").split())[:MAX_NAME_CHARS]
    if not name:
        raise BadCard(f"{path}.name: a card names its agent, and this one does not")
    interfaces = reader.interfaces()
    return AgentCard(
        name=name,
        url=interfaces[0].url,
        description=reader.text("description"),
        version=reader.text("version"),
        capabilities=reader.capabilities(),
        default_input_modes=reader.texts("defaultInputModes"),
        default_output_modes=reader.texts("defaultOutputModes"),
        skills=reader.skills(),
        interfaces=interfaces,
        origin=origin,
        faults=reader.faults,
    )


def _json(text: str | bytes, path: str) -> Any:
    size = len(text.encode() if isinstance(text, str) else text)
    if size > MAX_CARD_BYTES:
        raise BadCard(f"{path}: a card has at most {MAX_CARD_BYTES} bytes, and this one has {size}")
    try:
        data = text.encode() if isinstance(text, str) else text
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadCard(f"{path}: it is no JSON ({str(error)[:120]})") from None


class _Reader:
    """Reads the fields of a card; notes what is wrong."""

    def __init__(self, fields: Mapping[str, Any], path: str, faults: list[str] | None = None) -> None:
        self._fields = fields
        self._path = path
        self.faults: list[str] = [] if faults is None else faults

    def text(self, name: str) -> str:
        value = self._fields.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        return self._wrong(name, f"it is text, not {kind_of(value)}", "")

    def flag(self, name: str) -> bool:
        value = self._fields.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        return self._wrong(name, f"it is true or false, not {kind_of(value)}", False)

    def texts(self, name: str) -> list[str]:
        value = self._fields.get(name)
        if value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            return [*(value or ())]
        kept = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
        return self._wrong(name, "it is a list of texts", kept)

    def capabilities(self) -> AgentCapabilities:
        inner = self._inner("capabilities")
        if inner is None:
            return AgentCapabilities()
        return AgentCapabilities(
            push_notifications=inner.flag("pushNotifications"),
            state_transition_history=inner.flag("stateTransitionHistory"),
            streaming=inner.flag("streaming"),
        )

    def skills(self) -> list[AgentSkill]:
        skills = []
        for one in self._objects("skills"):
            name = one.text("name") or one.text("id")
            if not name:
                one._wrong("name", "a skill has a name, and this one has not", None)
                continue
            skills.append(
                AgentSkill(
                    id=one.text("id") or name,
                    name=name,
                    description=one.text("description"),
                    tags=one.texts("tags"),
                    examples=one.texts("examples"),
                    input_modes=one.texts("inputModes"),
                    output_modes=one.texts("outputModes"),
                )
            )
        return skills

    def interfaces(self) -> list[AgentInterface]:
        """Return the addresses, the preferred one first. Raises BadCard where none can be used."""
        name = "supportedInterfaces" if self._fields.get("supportedInterfaces") else "interfaces"
        newest = NEW_VERSION if name == "supportedInterfaces" else ""
        found = [self._interface(one, "protocolBinding", newest) for one in self._objects(name)]
        if not found:
            version = self.text("protocolVersion") or OLD_VERSION
            found = [self._interface(self, "preferredTransport", version)]
            more = self._objects("additionalInterfaces")
            found += [self._interface(one, "transport", version) for one in more]
        usable = [one for one in found if one is not None]
        if not usable:
            where = self.faults[-1] if self.faults else f"{self._path}.url: a card has an address, and this one has not"
            raise BadCard(where)
        if not any(one.protocol_binding in BINDINGS for one in usable):
            others = ", ".join(sorted({one.protocol_binding[:40] for one in usable}))
            raise BadCard(f"{self._path}: its agent speaks {others} alone; {' and '.join(BINDINGS)} are spoken here")
        return list({(one.url, one.protocol_binding, one.protocol_version): one for one in usable}.values())

    def _interface(self, one: _Reader, binding: str, version: str = "") -> AgentInterface | None:
        url = one.text("url").strip()
        if why := wrong_url(url):
            return one._wrong("url", why, None) if url or one is not self else None
        return AgentInterface(
            url=url,
            protocol_binding=one.text(binding) or "JSONRPC",
            protocol_version=one.text("protocolVersion") or version or OLD_VERSION,
            tenant=one.text("tenant"),
        )

    def _inner(self, name: str) -> _Reader | None:
        value = self._fields.get(name)
        if value is None:
            return None
        if isinstance(value, Mapping):
            return _Reader(value, f"{self._path}.{name}", self.faults)
        return self._wrong(name, f"it is an object, not {kind_of(value)}", None)

    def _objects(self, name: str) -> list[_Reader]:
        value = self._fields.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            return self._wrong(name, f"it is a list, not {kind_of(value)}", [])
        found = []
        for place, one in enumerate(value):
            if isinstance(one, Mapping):
                found.append(_Reader(one, f"{self._path}.{name}[{place}]", self.faults))
            else:
                self._wrong(f"{name}[{place}]", f"it is an object, not {kind_of(one)}", None)
        return found

    def _wrong(self, name: str, why: str, instead: T) -> T:
        self.faults.append(f"{self._path}.{name}: {why}")
        return instead


def wrong_url(url: str) -> str:
    """Return why no agent can be reached at an address; "" if one can. The address is not repeated whole."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\\]", url):
        return f"it is no http or https address with a host: {url[:60]!r}"
    return "it holds a user name or a password: give `headers`" if "@" in parts.netloc else ""


def place_of_url(url: str) -> str:
    """Return the `HOST:PORT` of an address."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".").lower()
    port = parts.port or (443 if parts.scheme.lower() == "https" else 80)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
