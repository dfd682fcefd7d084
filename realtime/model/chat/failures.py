"""Why a chat model gave no response: one sentence that says what to do. No key is ever in one."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from realtime.certificates import trusted_certificates
from realtime.errors import ProviderError, UsageError
from realtime.model.openai_family.shared import without_keys
from realtime.model.proxies import http_proxies, proxy_for
from realtime.options import usable_headers

logger = logging.getLogger(__name__)

MAX_QUOTED_CHARS = 300
_SILENCE = {
    "openai": "APITimeoutError",
    "anthropic": "APITimeoutError",
    "httpx": "TimeoutException",
    "httpx2": "TimeoutException",
}
_LOSS = {
    "openai": "APIConnectionError",
    "anthropic": "APIConnectionError",
    "httpx": "HTTPError",
    "httpx2": "HTTPError",
    "aiohttp": "ClientError",
}
"""How SDKs report a lost connection: some pass on what their transports raise."""
_SHAPE = {"aiohttp": "ContentTypeError"}
"""A lost connection to its library: really an answer that is no JSON."""


class ChatFailure(ProviderError):
    """No response, or a part of one. `repeats`: the same request may succeed at once.

    `retry_after_s` is the wait that the provider asked for, None if it did not.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        retryable: bool = False,
        repeats: bool | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, code=code, retryable=retryable)
        self.repeats = retryable if repeats is None else repeats
        self.retry_after_s = retry_after_s


class Refusal(NamedTuple):
    """A provider's own error: what its status means in HTTP, and its message.

    `is_http`: the status is the one of the response; others send errors inside it.
    """

    status: int
    message: object
    is_http: bool = True
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom a chat model asks; the names of its settings in sentences.

    `name` is the subject of sentences; `model_from`, `key_from` and `address_from` name what sets these. `api_key` may
    be "": the endpoint needs none.
    """

    name: str
    address: str
    model: str
    api_key: str = field(default="", repr=False)
    key_from: str = "`api_key`"
    address_from: str = "`base_url`"
    model_from: str = "`model_name`"
    address_ends_in: str = ""
    """The end of the path that people forget."""

    def named(self, **fields: str) -> Endpoint:
        """Return a copy whose settings have other names: `key_from`, `address_from`, `model_from`."""
        return dataclasses.replace(self, **fields)

    def explain(self, error: Exception, refusal: Refusal | None, *, begun: bool, timeout_s: float) -> ChatFailure:
        """Return what an SDK's exception means. `begun`: the provider had begun to answer."""
        if isinstance(error, ChatFailure):
            return error
        if isinstance(error, _classes(_SHAPE)):
            return self.malformed()
        if isinstance(error, (TimeoutError, *_classes(_SILENCE))):
            return self.silent(timeout_s)
        if isinstance(error, (ConnectionError, *_classes(_LOSS))):
            return self.broke_off() if begun else self.unreachable()
        return self.malformed() if refusal is None else self.refused(refusal)

    def silent(self, timeout_s: float) -> ChatFailure:
        """Nothing came for too long. To wait as long again would be of no use."""
        return ChatFailure(
            f"{self.name} was silent for more than {timeout_s:g} s",
            code="provider_timeout",
            retryable=True,
            repeats=False,
        )

    def broke_off(self) -> ChatFailure:
        """The response is not whole."""
        return ChatFailure(f"{self.name} broke off in the middle of its answer", code="link_lost", retryable=True)

    def unreachable(self) -> ChatFailure:
        """There was no connection."""
        if (proxy := proxy_for(self.address)) is not None:
            return ChatFailure(
                f"{self.name} cannot be reached through {proxy.shown}: is the proxy running, and is {proxy.variable} "
                "right?",
                code="provider_proxy",
                retryable=True,
            )
        return ChatFailure(
            f"no language model answers at {self.address}: is it running, is it within reach, and is "
            f"{self.address_from} right?",
            code="provider_unavailable",
            retryable=True,
        )

    def malformed(self) -> ChatFailure:
        """What came is not in the shape of a response."""
        return ChatFailure(f"what comes from {self.address} is no streamed chat completion", code="malformed_answer")

    def endless(self, max_chars: int) -> ChatFailure:
        """The response has more characters than anyone wants."""
        return ChatFailure(
            f"{self.name} found no end: its answer was cut at {max_chars} characters", code="answer_too_long"
        )

    def held_back(self) -> ChatFailure:
        """The provider's filter left nothing of the response."""
        return ChatFailure(f"{self.name} held the answer back: its content filter objects", code="content_refused")

    def not_structured(self, what: str) -> ChatFailure:
        """The response is not the object that was asked for; another try may be."""
        return ChatFailure(
            f"{self.name} did not answer with the object that `structured_model` describes: {what}",
            code="invalid_structured_output",
            retryable=True,
            repeats=False,
        )

    def refused(self, refusal: Refusal) -> ChatFailure:
        """The provider sent an error."""
        status, at, said = refusal.status, self.name, self._quoted(refusal.message)
        http = f" (HTTP {status})" if refusal.is_http else ""
        if status in (401, 403):
            what = f"refused the key in {self.key_from}" if self.api_key else f"wants a key: set {self.key_from}"
            return ChatFailure(f"{at} {what}{http}", code="invalid_api_key")
        if status == 404:
            hint = (
                f", or the address lacks its end, mostly {self.address_ends_in} ({self.address_from})"
                if self.address_ends_in
                else ""
            )
            return ChatFailure(f"{at} has no model {self.model!r} ({self.model_from}){hint}", code="model_not_found")
        if status == 429:
            return ChatFailure(
                f"{at} takes no more requests now{http}: {said}",
                code="rate_limit_exceeded",
                retryable=True,
                retry_after_s=refusal.retry_after_s,
            )
        if status in (408, 504):
            return ChatFailure(f"{at} ran out of time{http}", code="provider_timeout", retryable=True)
        if status >= 500:
            return ChatFailure(
                f"{at} failed{http}: {said}",
                code="provider_failed",
                retryable=True,
                retry_after_s=refusal.retry_after_s,
            )
        return ChatFailure(f"{at} refused the request{http}: {said}", code="invalid_request")

    def _quoted(self, message: object) -> str:
        """The provider's own words, without keys and shortened."""
        text = message if isinstance(message, str) else ""
        return (without_keys(text, self.api_key) if self.api_key else without_keys(text, "\0"))[:MAX_QUOTED_CHARS]


def foreign_failure(name: str, error: Exception) -> ChatFailure:
    """Return what an exception of a foreign language model means.

    Its text is not quoted: it may hold a key, or what was said.
    """
    status: int | None
    if isinstance(error, (TimeoutError, *_classes(_SILENCE))):
        status = 408
    elif isinstance(error, (ConnectionError, *_classes(_LOSS))):
        status = 0
    else:
        status = _status_of(error)
    code, what = _FOREIGN.get(status, _OWN_CODE)
    return ChatFailure(
        f"the language model {name} {what} ({type(error).__name__})", code=code, retryable=code in _PASSING
    )


_PASSING = {"provider_timeout", "provider_unavailable", "provider_failed", "rate_limit_exceeded"}
_OWN_CODE = "language_model_failed", "failed in its own code, which is not this server's: the server's log says where"
_FOREIGN: dict[int | None, tuple[str, str]] = {
    0: ("provider_unavailable", "has no connection: is its server running, and its address right?"),
    400: ("invalid_request", "sends what its provider refuses: check its settings"),
    401: ("invalid_api_key", "has a key that its provider refuses: check the key that it is given"),
    403: ("invalid_api_key", "has a key that its provider refuses: check the key that it is given"),
    404: ("model_not_found", "asks for a model that its provider does not have: check its name and address"),
    408: ("provider_timeout", "took too long: try again, or give it more time"),
    429: ("rate_limit_exceeded", "may send no more requests now: try again later"),
    500: ("provider_failed", "has a provider that fails now: try again later"),
}
"""What the statuses of HTTP mean, and 0: no connection."""


def _status_of(error: Exception) -> int | None:
    """Return a status of `_FOREIGN` that an SDK's exception has; None without one."""
    places = (error, getattr(error, "response", None))
    found = [getattr(place, name, None) for place in places for name in ("status_code", "code", "status")]
    status = next((one for one in found if isinstance(one, int) and 400 <= one < 600), None)
    if status is None or status in _FOREIGN:
        return status
    return 408 if status == 504 else 500 if status > 500 else 400


def shown_address(address: str) -> str:
    """Return an address without user, password and query, which may be secrets."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "its address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}" if host else address


def retry_after_s(headers: object) -> float | None:
    """Return the seconds of the header Retry-After; None where it is missing or a date."""
    get = getattr(headers, "get", None)
    value = get("retry-after") if callable(get) else None
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def sdk(module: str, package: str, extra: str) -> Any:
    """Return the module of an SDK. Raises UsageError if its package is not installed."""
    try:
        __import__(module)
    except ImportError as error:
        logger.warning("the package %s cannot be imported: %s", package, error)  # the text may name files
        raise UsageError(
            f"this chat model needs the package {package}: pip install -e '.[{extra}]' in the folder of this project, "
            f"or pip install {package}",
            code="missing_package",
        ) from None
    return sys.modules[module]


def check_client_kwargs(given: dict[str, Any], *own: str) -> None:
    """Raise UsageError for one of the model's `own` arguments in `client_kwargs`.

    And for a header that cannot be sent: blanks and line ends around headers are taken off.
    """
    if twice := [name for name in own if name in given]:
        raise UsageError(f"client_kwargs holds {twice[0]!r}: it is an argument of the model", code="bad_client_kwargs")
    if isinstance(headers := given.get("default_headers"), Mapping):
        given["default_headers"] = usable_headers(headers, "client_kwargs")


def client_of(
    make: Callable[..., Any],
    own: dict[str, Any],
    given: dict[str, Any],
    trusting: Callable[[dict[str, Any]], dict[str, Any]],
) -> Any:
    """Return an SDK's client with our `own` arguments and those of `client_kwargs`.

    `trusting` adds this process's certificates to those: each client would read its own, which takes 40 to 130 ms,
    in which no call of this server is served.

    Raises UsageError for a proxy that the client cannot use.
    """
    # Asked before: an SDK that fails half-way leaves a client that cannot be collected.
    try:
        faults = [proxy.fault_for_http() for proxy in http_proxies()]
    except ProviderError as error:
        raise UsageError(error.message, code=error.code) from None
    for fault in filter(None, faults):
        raise fault
    # What stands in the place of the SDK's class is called as users know it: with their arguments alone.
    return make(**own, **(trusting(given) if isinstance(make, type) else given))


def with_http_client(make: Callable[..., Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return `trusting` for an SDK whose clients take an `http_client`."""
    return lambda given: {**given, "http_client": given.get("http_client") or make(verify=trusted_certificates())}


def empty_answer(who: str) -> ChatFailure:
    """Return the error for thoughts or nothing in place of an answer."""
    return ChatFailure(
        f"{who} gave no answer, only thoughts or nothing: ask again", code="empty_answer", retryable=True
    )


ASK_AGAIN = "<system-hint>Your last answer had no words. Answer now, in words.</system-hint>"
"""Ends the prompt after an answer without words."""


def missing_key(who: str, *variables: str) -> UsageError:
    """Return the error for a key that nothing gives."""
    return UsageError(f"there is no key for {who}: set {' or '.join(variables)}", code="missing_api_key")


def _classes(names: dict[str, str]) -> tuple[type[Exception], ...]:
    """Return those of the classes whose packages are loaded."""
    loaded = ((sys.modules.get(package), name) for package, name in names.items())
    return tuple(getattr(module, name) for module, name in loaded if module is not None)
