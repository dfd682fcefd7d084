"""The models that a server offers: selection for a call, and descriptions for people who choose."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from realtime.agent import RealtimeAgent
from realtime.errors import ClientError, ProviderError, UsageError
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.model.credentials import is_loopback
from realtime.model.local.chat import choice_in
from realtime.model.local.choices import SMALL, Choice, Found, choice_of
from realtime.model.local.weights import small_model_looks_installed
from realtime.model.open import open_model
from realtime.model.services import SERVICES, Service, default_model

MAX_OPEN = 32
"""Models kept open by name; clients may name any model of a provider."""
MAX_NAME_CHARS = 200
TITLES = {"local": "Embedded model", "scripted": "Scripted model"}
PAGE_PROVIDERS = ("openai", "gemini", "dashscope")
"""The providers that AgentScope 1.x pages know."""
STAND_IN = "dashscope"
"""Their default where none of the three has a key."""


class Models:
    """The models of one server. Holds no connection.

    `routes` maps what clients call a model to the server's name: the first pattern that matches decides (`*`, `?` and
    `[...]` as in file names, case-sensitive). `default` (None: the target of `*`, else the only provider that has a
    key, else `local`) serves calls that name no model and names that no pattern matches. Raises UsageError for an
    unknown model and for a route after `*`, which no name would ever reach. `offers_servers`: calls may choose language
    models of other programs on this computer (`realtime.model.local.choices`), which only a server without callers from
    elsewhere should allow.
    """

    def __init__(
        self,
        routes: Mapping[str, str] | None = None,
        default: str | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
        opener: Callable[[str], RealtimeModel] = open_model,
        offers_servers: bool = False,
    ) -> None:
        self.routes = dict(routes or {})
        self.default = default or self.routes.get("*") or default_model(environment)
        self.offers_servers = offers_servers
        self._environment = environment
        self._open = lru_cache(MAX_OPEN)(opener)
        if "*" in self.routes and (behind := [*self.routes][[*self.routes].index("*") + 1 :]):
            raise UsageError(f"no name takes the route {behind[0]!r}: put it before '*'", code="unreachable_route")
        # Also those that only clients ask for: a mistake in the environment shows at the start.
        for name in self._names:
            self.open(name)

    @property
    def served(self) -> list[str]:
        """Names of the models served without `config.model_provider`, the default first."""
        return [*dict.fromkeys((self.default, *self.routes.values()))]

    @property
    def _names(self) -> list[str]:
        return [*dict.fromkeys((*self.served, "local", *SERVICES))]

    def choose(self, config: SessionConfig) -> RealtimeModel:
        """Return the model of a call.

        `config.model_provider` holds a server name: a provider (`openai`), a provider with its model
        (`openai:gpt-realtime-2.1`), or a provider whose model is `config.model`. Without it, `config.model` is routed.
        Raises ClientError for an unknown model, ProviderError for one whose key is missing.
        """
        name = self._name(config)
        if (service := self._without_key(name)) is not None:
            variable = service.key_variables[0]
            raise ProviderError(f"the server has no key for {service.title}: set {variable}", code="missing_api_key")
        if not (self.offers_servers or name in self.served) and _on_a_server(name):
            raise ClientError(f"this server offers no model {name!r}", code="unknown_model")
        try:
            return self.open(name)
        except UsageError as error:
            raise ClientError(error.message, code=error.code) from error

    def open(self, name: str) -> RealtimeModel:
        """Return the model with this name, the same object while in use. Raises UsageError."""
        if len(name) > MAX_NAME_CHARS:
            raise UsageError("no model has a name that long", code="unknown_model")
        return self._open(name)

    def missing(self, name: str) -> str | None:
        """Return the environment variable that this model lacks; None: it is ready."""
        service = self._without_key(name)
        return service.key_variables[0] if service is not None else None

    def describe(self, name: str) -> dict[str, Any]:
        """Describe a model for people who choose one. Contains no key and no address.

        `name` is what `config.model_provider` takes. `missing` names the variable to set, None where the model is
        `ready`. `heard_by` says who receives the user's speech, `read_by` who else receives the words, None for no
        other party. The rest is what `agent_ready` says of the model.
        """
        told = RealtimeAgent("agent", "", self.open(name)).describe()
        del told["suggestions"]  # an agent's, not a model's
        service = SERVICES.get(_provider(name))
        missing = self.missing(name)
        chat = choice_in(self._environment) if name == "local" else None
        choice = _choice(name)
        read_by = chat.read_by if chat is not None else choice.read_by if choice is not None else None
        title = service.title if service is not None else TITLES.get(name, name)
        return {
            "name": name,
            "title": choice.title if choice is not None else title,
            **told,
            "ready": missing is None,
            "missing": missing,
            "heard_by": self._heard_by(service),
            "read_by": read_by,
            "may_cost": service is not None or (chat is not None and not is_loopback(_host(chat.address))),
        }

    def offered(self, running: Iterable[Found] = ()) -> list[dict[str, Any]]:
        """Return what a page lets people choose from, the default first.

        It contains all served models, the embedded model, every provider with its best model, the language models of
        the servers that are `running` on this computer, and the small one if it is installed; no model twice. Opens
        them, which may load an SDK (1 s).
        """
        found: dict[tuple[str, str], dict[str, Any]] = {}
        optional = [name for one in running for name in one.names]
        optional += [f"local:{SMALL}"] if small_model_looks_installed() else []
        for name in (*self._names, *optional):
            try:
                told = self.describe(name)
            except UsageError:
                # The package for chat endpoints is missing: what needs it is not on offer.
                if name in optional:
                    continue
                raise
            found.setdefault((told["provider"], told["model"]), told)
        return [*found.values()]

    def _name(self, config: SessionConfig) -> str:
        if config.model_provider:
            whole = ":" in config.model_provider or not config.model
            return config.model_provider if whole else f"{config.model_provider}:{config.model}"
        if config.model:
            return next((ours for named, ours in self.routes.items() if fnmatchcase(config.model, named)), self.default)
        return self.default

    def _without_key(self, name: str) -> Service | None:
        service = SERVICES.get(_provider(name))
        return None if service is None or service.has_key(self._environment) else service

    def _heard_by(self, service: Service | None) -> str:
        if service is None:
            return "this computer"
        if self._environment.get(service.base_url_variable):
            return f"the service that {service.base_url_variable} names"
        return service.company


def page_providers(environment: Mapping[str, str] = os.environ, *, stand_in: str = STAND_IN) -> dict[str, str]:
    """Map the provider names of AgentScope 1.x pages to server names.

    Those pages know three names and cannot start a call where none is offered: in that case one of them maps to
    `stand_in`.
    """
    ready = {name: name for name in PAGE_PROVIDERS if SERVICES[name].has_key(environment)}
    return ready or {STAND_IN: stand_in}


def _choice(name: str) -> Choice | None:
    """Return the language model in an embedded model's name. Raises UsageError."""
    provider, _, choice = name.partition(":")
    return choice_of(choice) if provider == "local" and choice else None


def _on_a_server(name: str) -> bool:
    try:
        choice = _choice(name)
    except UsageError:
        return False
    return choice is not None and choice.server is not None


def _provider(name: str) -> str:
    return name.partition(":")[0]


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
