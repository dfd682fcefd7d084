"""Answers what a server asks its client: for the roots, for a word of a language model, and for the user's."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypedDict

from realtime.errors import ToolError, UsageError
from realtime.options import check_options
from realtime.tool.context import Sampler, Sampling
from realtime.tool.mcp.remote_call import MAX_QUESTIONS, OnElicit, current_call
from realtime.tool.mcp.running_calls import RunningCalls
from realtime.tool.mcp.words import plain, plain_values

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext
    from mcp_types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
    )

logger = logging.getLogger(__name__)

MAX_QUESTION_CHARS = 20_000
"""Characters of a question to the user, with its schema."""
MAX_SAMPLED_TOKENS = 4_096
"""Tokens of one answer that a language model writes for a server."""
MAX_SAMPLED_CHARS = 100_000
"""Characters that it gets to read for that."""


class CanSample(Protocol):
    """What writes answers: any of this package's chat models."""

    async def sample(self, asked: Sampling) -> str:
        """Write an answer. It may raise anything where there is none."""
        ...


class Grants(TypedDict, total=False):
    """What every client takes: what its server may ask for, and the protocol."""

    roots: Sequence[str | Path] | None
    """The folders, or `file://` URIs, that the server may be told of; None: it may not ask."""
    sampling: Sampler | CanSample | None
    """What writes where the server wants a language model; refused without it and `allow_sampling`."""
    allow_sampling: bool
    """Whether the language model of the agent may write, whose tool runs."""
    on_elicit: OnElicit | None
    """Answers what the user is asked where no call shows it; declined without it."""
    protocol: str
    """How the version is found: `auto`, `legacy` (the handshake of before 2026), or a version."""


@dataclass(frozen=True, slots=True)
class Permits:
    """What a client grants its server."""

    roots: Sequence[str | Path] | None = None
    sampler: Sampler | None = None
    allow_sampling: bool = False
    on_elicit: OnElicit | None = None

    @classmethod
    def of(cls, grants: Grants, known: type[Grants]) -> Self:
        """Return what is granted. Raises UsageError for what `known` has not, ValueError for a root that is none."""
        if unknown := grants.keys() - known.__annotations__.keys():
            raise UsageError(
                f"an MCP client has no option {min(unknown)!r}; there are: {', '.join(sorted(known.__annotations__))}"
            )
        check_options(known, grants)
        for root in (roots := grants.get("roots")) or ():
            uri_of(root)
        sampling = grants.get("sampling")
        sampler = sampling.sample if sampling is not None and not callable(sampling) else sampling
        return cls(roots, sampler, grants.get("allow_sampling", False), grants.get("on_elicit"))


class Answers:
    """The callbacks of one connection, whose `calls` wait for the server."""

    def __init__(self, permits: Permits, calls: RunningCalls) -> None:
        self._permits = permits
        self._calls = calls
        self._n_open = 0
        """Questions beside calls that wait for the program's answer."""

    def callbacks(self) -> dict[str, Any]:
        """Return the callbacks for the SDK's client. One that is missing refuses, and is not announced."""
        permits = self._permits
        found: dict[str, Any] = {"elicitation_callback": self.elicit}
        if permits.roots is not None:
            found["list_roots_callback"] = self.roots
        if permits.sampler is not None or permits.allow_sampling:
            found["sampling_callback"] = self.sample
        return found

    async def roots(self, context: ClientRequestContext) -> ListRootsResult:
        """Tell the server which folders are for it."""
        from mcp_types import ListRootsResult, Root
        from pydantic import FileUrl

        return ListRootsResult(roots=[Root(uri=FileUrl(uri_of(root))) for root in self._permits.roots or ()])

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Ask the user of the call; decline where there is no one to ask, and to open a page."""
        from mcp_types import INVALID_REQUEST, ElicitResult, ErrorData

        if params.mode != "form":
            return ElicitResult(action="decline")
        message, schema = plain(params.message), params.requested_schema
        if len(message) + len(json.dumps(schema)) > MAX_QUESTION_CHARS:
            return ErrorData(code=INVALID_REQUEST, message=f"more than {MAX_QUESTION_CHARS:,} characters to ask")
        call, shown = await self._calls.asking(), plain_values(schema)
        try:
            if call is not None:
                content = await call.ask(message, shown, self._permits.on_elicit)
            else:
                content = await self._ask_program(message, shown)
        except TimeoutError:
            return ElicitResult(action="cancel")
        except ToolError as error:
            return ErrorData(code=INVALID_REQUEST, message=error.message)
        if content is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={**defaults_of(schema), **_fit_content(content, schema)})

    async def _ask_program(self, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        on_elicit = self._permits.on_elicit
        if on_elicit is None or self._n_open >= MAX_QUESTIONS:
            return None
        self._n_open += 1
        try:
            return await on_elicit(message, {**schema})
        finally:
            self._n_open -= 1

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """Have the language model write for a call, if there is one."""
        from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, CreateMessageResult, ErrorData, TextContent

        call, sampler = current_call(), self._permits.sampler
        if sampler is None and self._permits.allow_sampling:
            call = await self._calls.asking()
            if call is not None and call.context is not None:
                sampler = call.context.sample
        payer = call or self._calls.latest
        if sampler is None or payer is None:
            return ErrorData(code=INVALID_REQUEST, message="no language model is allowed to answer here")
        messages: list[tuple[str, str]] = []
        for message in params.messages:
            texts = [getattr(one, "text", None) for one in message.content_as_list]
            if None in texts:
                return ErrorData(code=INVALID_REQUEST, message="only text can be sampled here")
            messages.append((message.role, "".join(text or "" for text in texts)))
        system = params.system_prompt or ""
        if len(system) + sum(len(text) for _, text in messages) > MAX_SAMPLED_CHARS:
            return ErrorData(code=INVALID_REQUEST, message=f"more than {MAX_SAMPLED_CHARS:,} characters to read")
        asked = Sampling(system, messages, min(params.max_tokens, MAX_SAMPLED_TOKENS), params.temperature)
        try:
            payer.count("samples")
            text = await sampler(asked)
        except ToolError as error:
            return ErrorData(code=INVALID_REQUEST, message=error.message)
        except Exception as error:
            # The program's code, or its provider's: it may not end the connection.
            logger.warning("sampling for an MCP server failed: %s", type(error).__name__)
            return ErrorData(code=INTERNAL_ERROR, message="the language model gave no answer")
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=text), model="agent", stop_reason="endTurn"
        )


def uri_of(root: str | Path) -> str:
    """Return the URI of a root. Raises ValueError for an address of another kind than `file`."""
    if isinstance(root, Path) or "://" not in root:
        return Path(root).absolute().as_uri()
    if not root.startswith("file://"):
        raise ValueError(f"a root is a folder or a file:// URI, not {root!r}")
    return root


def defaults_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers that a requested schema has as defaults."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {key: one["default"] for key, one in properties.items() if isinstance(one, dict) and "default" in one}


def _fit_content(content: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers that the schema has, if of the protocol's kinds."""
    properties = schema.get("properties")
    asked = properties if isinstance(properties, dict) else {}
    return {key: value for key, value in content.items() if key in asked and _is_answer(value)}


def _is_answer(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return value is None or isinstance(value, str | int | float)
