"""The models that a server offers: which one a call gets, and what people are told of each before they choose."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from realtime.agent import RealtimeAgent
from realtime.errors import ClientError, ProviderError, UsageError
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.model.choose import SERVICES, Service, default_model, open_model
from realtime.model.local.chat import BASE_URL as CHAT_BASE_URL
from realtime.server.serve import is_loopback

MAX_OPEN = 32
"""Models kept by name; clients may name any model of a provider."""
MAX_NAME_CHARS = 200
TITLES = {"local": "Embedded model", "scripted": "Scripted model"}
STAND_IN = "dashscope"
"""What AgentScope 1.x pages are told to choose where none of the three providers they know can be had."""


class Models:
    """The models of one server. Holds no connection.

    `routes` goes from what clients call a model to what we call it: the first pattern that matches decides (`*`, `?`
    and `[...]` as in file names, case counts). `default` (null: the target of `*`, else the only provider that has a
    key, else `local`) is for calls that name none, and for names that no pattern matches. Raises UsageError for a model
    that does not exist and for a route behind `*`, which no name would ever take.
    """

    def __init__(
        self,
        routes: Mapping[str, str] | None = None,
        default: str | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
        opener: Callable[[str], RealtimeModel] = open_model,
    ) -> None:
        self.routes = dict(routes or {})
        self.default = default or self.routes.get("*") or default_model(environment)
        self._environment = environment
        self._opener = opener
        self._open: OrderedDict[str, RealtimeModel] = OrderedDict()
        if "*" in self.routes and (behind := [*self.routes][[*self.routes].index("*") + 1 :]):
            raise UsageError(f"no name takes the route {behind[0]!r}: put it before '*'", code="unreachable_route")
        # Also those that only clients ask for: a mistake in the environment shows at the start.
        for name in self._names:
            self.open(name)

    @property
    def served(self) -> list[str]:
        """The names of the models that calls get without asking for a provider, the default first."""
        return [*dict.fromkeys((self.default, *self.routes.values()))]

    @property
    def _names(self) -> list[str]:
        return [*dict.fromkeys((*self.served, "local", *SERVICES))]

    def choose(self, config: SessionConfig) -> RealtimeModel:
        """The model of a call. `config.model_provider` names one of ours, alone (`openai`), whole
        (`openai:gpt-realtime-2.1`) or with `config.model` as its second half; without it, `config.model` is routed.

        Raises ClientError for a model that does not exist, ProviderError for one that lacks its key.
        """
        name = self._name(config)
        if (service := self._without_key(name)) is not None:
            variable = service.key_variables[0]
            raise ProviderError(f"the server has no key for {service.title}: set {variable}", code="missing_api_key")
        try:
            return self.open(name)
        except UsageError as error:
            raise ClientError(error.message, code=error.code) from error

    def open(self, name: str) -> RealtimeModel:
        """The model with this name of ours, always the same object while it is in use. Raises UsageError."""
        if len(name) > MAX_NAME_CHARS:
            raise UsageError("no model has a name that long", code="unknown_model")
        model = self._open.get(name)
        if model is None:
            model = self._open[name] = self._opener(name)
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(name)
        return model

    def missing(self, name: str) -> str | None:
        """The variable without which this model cannot be had; null: it can."""
        service = self._without_key(name)
        return service.key_variables[0] if service is not None else None

    def describe(self, name: str) -> dict[str, Any]:
        """What people should know of a model before they choose it. Holds no key and no address.

        `name` is what `config.model_provider` takes. `missing` names the variable to set, null where it is `ready`.
        `heard_by` says who gets the user's speech, `read_by` who else gets the words, null for nobody. The rest is what
        `agent_ready` tells of the model.
        """
        told = RealtimeAgent("", "", self.open(name)).describe()
        service = SERVICES.get(_provider(name))
        missing = self.missing(name)
        chat_url = self._environment.get(CHAT_BASE_URL, "") if name == "local" else ""
        return {
            "name": name,
            "title": service.title if service is not None else TITLES.get(name, name),
            **told,
            "ready": missing is None,
            "missing": missing,
            "heard_by": self._heard_by(service),
            "read_by": f"the chat endpoint that {CHAT_BASE_URL} names" if chat_url else None,
            "may_cost": service is not None or (chat_url != "" and not is_loopback(_host(chat_url))),
        }

    def offered(self) -> list[dict[str, Any]]:
        """What a page lets people choose from, the default first: all that is served, the embedded model, and every
        provider with its best model. No model twice."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for name in self._names:
            told = self.describe(name)
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
    """What AgentScope 1.x pages may choose: their names of providers, and what each means to us.

    Those pages know three names and can do nothing where none is offered: then one of them means `stand_in`.
    """
    ready = {name: name for name, service in SERVICES.items() if service.has_key(environment)}
    return ready or {STAND_IN: stand_in}


def _provider(name: str) -> str:
    return name.partition(":")[0]


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
