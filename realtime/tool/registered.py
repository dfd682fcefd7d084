"""What a toolkit keeps of a tool and of a group."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import msgspec

from realtime.errors import BadOption, BadTool
from realtime.event import ToolDeclaration
from realtime.message import PermissionBehavior, PermissionRule, ToolCallBlock
from realtime.options import check_fields
from realtime.permission import Consent, Match, PermissionContext, PermissionDecision, ToolPermissions
from realtime.permission.tools import rules_of
from realtime.tool.arguments import Arguments, GivenSchema, Reader, write_foreign, written_out
from realtime.tool.background import Announce
from realtime.tool.docstring import parse_docstrings
from realtime.tool.question import named_in, not_places
from realtime.tool.response import ToolResponse

BASIC = "basic"
"""The group that is always active."""

MAX_NAME_CHARS = 64
"""Characters of a tool's name: providers refuse longer ones."""

Postprocess = Callable[[ToolCallBlock, ToolResponse], ToolResponse | Awaitable[ToolResponse | None] | None]


@dataclass(slots=True, eq=False)
class RegisteredToolFunction:
    """A registered tool."""

    name: str
    group: str
    original_func: Callable[..., Any]
    json_schema: dict[str, Any]
    """As chat models take it: `{"type": "function", "function": {name, description, parameters}}`."""
    executor: Executor
    in_thread: bool
    """Whether the function may block its thread."""
    reader: Reader
    source: Literal["function", "mcp_server"] = "function"
    preset_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the program, which the model neither sees nor changes."""
    original_name: str | None = None
    """The function's own name, where the tool has another."""
    extended_model: Any = None
    """A class of pydantic, whose fields the tool takes as well."""
    mcp_name: str | None = None
    """Name of the MCP client whose server has the function."""
    postprocess_func: Postprocess | None = None
    consent: Consent | None = None
    """How an agent asks the user before each call; None: it does not ask."""
    question: str | None = None
    """The template of that question, with `{name}` for arguments."""
    claims: Sequence[str] = ()
    """Sentences that an agent says only after the deed."""
    permissions: ToolPermissions = field(default_factory=ToolPermissions)
    """How permission rules are matched and suggested."""
    async_execution: bool = False
    """Whether it runs in the background."""
    announce: Announce = "spoken"
    """What happens when a background tool has ended."""
    read_only: bool = False
    """Whether it changes nothing."""
    external: bool = False
    """Whether another program runs it."""
    stops_with_reply: bool = False
    """Whether an interruption of the reply stops it. Without that, only cancelling stops a tool in the foreground."""

    # -- permissions (`realtime.permission.engine.DecidedTool`) ----------------------------------------------------

    @property
    def confirm(self) -> bool:
        """Whether an agent asks the user before each call."""
        return self.consent is not None

    def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision | None:
        """Return the tool's own decision: it runs if it is declared without `confirm`; None leaves it to the rules."""
        own = self.permissions.check_permissions(tool_input, context)
        if own is None and not self.confirm:
            return PermissionDecision(PermissionBehavior.ALLOW, f"{self.name} runs without a question")
        return own

    def check_read_only(self, tool_input: dict[str, Any]) -> bool:
        """Return whether a call changes nothing and needs no question."""
        return not self.confirm and (self.read_only or self.permissions.check_read_only(tool_input))

    def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> Match:
        """Return whether a rule is about a call; None where it cannot be read."""
        return self.permissions.match_rule(rule_content, tool_input, self._properties or None)

    def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        """Return rules that would allow a call, the narrowest first."""
        return rules_of(self.name, self.permissions.suggest(tool_input))

    @property
    def _properties(self) -> Mapping[str, Any]:
        """What the schema says of each argument."""
        properties: Mapping[str, Any] = self.extended_json_schema["function"]["parameters"].get("properties", {})
        return properties

    def arguments_of(self, call: ToolCallBlock, extra: Collection[str]) -> dict[str, Any] | None:
        """Return the arguments as the function gets them, in their JSON form; None where they are wrong.

        `extra` names arguments that are not in its signature.
        """
        try:
            arguments = self.reader.read(call.input, extra)
        except ValueError:
            return None
        try:
            builtins: dict[str, Any] = msgspec.to_builtins(arguments, enc_hook=write_foreign)
        except TypeError:
            return call.arguments
        return builtins

    def fault_in(self, call: ToolCallBlock, extra: Collection[str]) -> str:
        """Return what is wrong with the arguments, as the model reads it; "" if nothing is. See `arguments_of`."""
        try:
            self.reader.read(call.input, extra)
        except ValueError as wrong:
            return f"The arguments of {call.name} are wrong: {wrong}"
        return ""

    def with_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as rules see them: with the defaults of those that are missing."""
        in_order = {
            name: of.get("default") for name, of in self._properties.items() if name in arguments or "default" in of
        }
        return {**in_order, **arguments}

    # -- schemas and arguments -------------------------------------------------------------------------------------

    @property
    def extended_json_schema(self) -> dict[str, Any]:
        """The schema with the fields of the extended model. Raises BadTool where both have a field."""
        if self.extended_model is None:
            return self.json_schema
        extension = written_out(self.extended_model.model_json_schema(), f"the extended model of tool {self.name!r}")
        return self.schema_with(extension.get("properties", {}), extension.get("required", ()))

    def schema_with(self, properties: dict[str, Any], required: Any = ()) -> dict[str, Any]:
        """Return the schema with further properties. Raises BadTool where it has one of them already."""
        function = self.json_schema["function"]
        parameters = function["parameters"]
        own = parameters.get("properties", {})
        if taken := own.keys() & properties.keys():
            raise BadTool(f"tool {self.name!r} has a parameter {min(taken)!r} already: give the other another name")
        parameters = {**parameters, "properties": {**own, **properties}}
        if every := [*parameters.get("required", ()), *required]:
            parameters["required"] = every
        return {**self.json_schema, "function": {**function, "parameters": parameters}}

    def bind(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what the function is called with: positional arguments and those by name."""
        return self.reader.bind({**arguments, **self.preset_kwargs})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """How a function becomes a tool.

    A model reads the docstring up to its first section, unless there is a `description`; only one paragraph if
    `is_brief`. `variadic` are the kinds of `*args` and `**kwargs` that the model gives; None refuses both.

    `confirm`: an agent asks the user before each call; `consent` says how and means `confirm` too, `either` is the
    default. `question` is the template of that question, such as `"Shall I book a table for {people}?"`. `claims` are
    sentences, or verbs, of what an agent says after the deed. `permissions` override how permission rules are matched
    and suggested. `external`: the function only declares the tool, another program runs it.
    """

    group: str = BASIC
    description: str | None = None
    confirm: bool = False
    consent: Consent | None = None
    question: str | None = None
    claims: Sequence[str] | str = ()
    permissions: ToolPermissions | None = None
    preset: dict[str, Any] = field(default_factory=dict)
    json_schema: dict[str, Any] | None = None
    is_brief: bool | None = None
    variadic: Collection[Any] | None = None
    postprocess: Postprocess | None = None
    background: bool = False
    announce: Announce = "spoken"
    read_only: bool = False
    external: bool = False
    stops_with_reply: bool = False
    mcp_name: str | None = None

    def check(self, name: str) -> None:
        """Raise BadTool for options that no tool can have."""
        try:
            check_fields(self)
        except BadOption as error:
            raise BadTool(f"tool {name!r}: {error}") from None
        if self.announce != "spoken" and not self.background:
            raise BadTool(f"tool {name!r}: announce is for one in the background: add background=True")

    def over(self, own: ToolOptions) -> ToolOptions:
        """Return these options; an object's `own` ones hold where these say nothing."""
        return replace(
            self,
            description=own.description if self.description is None else self.description,
            confirm=self.confirm or own.confirm,
            consent=self.consent or own.consent,
            question=own.question if self.question is None else self.question,
            claims=self.claims or own.claims,
            permissions=self.permissions or own.permissions,
            json_schema=own.json_schema if self.json_schema is None else self.json_schema,
            mcp_name=own.mcp_name,
            background=self.background or own.background,
            announce=own.announce if self.announce == "spoken" else self.announce,
            read_only=self.read_only or own.read_only,
            stops_with_reply=self.stops_with_reply or own.stops_with_reply,
        )


class ToolObject:
    """A callable object that knows itself which tool it is.

    A toolkit takes it like a function. `tool_name` and `tool_options` hold unless the program registers it otherwise.
    """

    tool_name: str
    tool_options: ToolOptions

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do what the tool does. The signature of the override is what the model sees."""
        raise NotImplementedError


def make_tool(
    function: Callable[..., Any],
    name: str | None,
    options: ToolOptions,
    *,
    docs: tuple[str, ...],
    executor: Executor,
    may_block: bool,
) -> RegisteredToolFunction:
    """Return the tool that a function makes; `docs` are its docstrings, the nearest first.

    Raises BadTool for a name that providers refuse, for arguments that cannot be described, and for another
    `json_schema`.
    """
    own_name = name_of(function)
    renamed, name = name is not None, name or own_name
    _check_name(name)
    options.check(name)
    said, descriptions = parse_docstrings(docs)
    if options.is_brief is not None:
        said = said.partition("\n\n")[0] if options.is_brief else _SHORT_AND_LONG.sub(r"\1\n", said)
    _check_presets(function, name, options)
    reader: Reader
    if options.json_schema is None:
        said = said if options.description is None else options.description
        arguments = Arguments(function, name, descriptions, hidden=options.preset, variadic=options.variadic)
        schema, reader = schema_of(name, said, arguments.schema), arguments
    else:
        schema = given_schema(options.json_schema, name, options.description, hidden=options.preset)
        reader = GivenSchema(function, name, schema["function"]["parameters"])
    plain = unbound(function)
    body = plain if inspect.isroutine(plain) else type(plain).__call__
    begins_only = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
    return RegisteredToolFunction(
        name=name,
        group=options.group,
        original_func=function,
        json_schema=schema,
        executor=executor,
        in_thread=may_block and not any(is_one(body) for is_one in begins_only),
        reader=reader,
        source="function" if options.mcp_name is None else "mcp_server",
        mcp_name=options.mcp_name,
        preset_kwargs=options.preset,
        original_name=own_name if renamed else None,
        postprocess_func=options.postprocess,
        consent=_consent(options),
        question=_question(options, name, schema),
        claims=(options.claims,) if isinstance(options.claims, str) else (*options.claims,),
        permissions=_permissions(options.permissions, name),
        async_execution=options.background,
        announce=options.announce,
        read_only=options.read_only,
        external=options.external,
        stops_with_reply=options.stops_with_reply,
    )


def _check_presets(function: Callable[..., Any], name: str, options: ToolOptions) -> None:
    """Raise BadTool for a preset value of an unknown argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return  # it says nothing of its arguments
    named = [one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    if not takes_any and (unknown := [one for one in options.preset if one not in named]):
        raise BadTool(f"tool {name!r} has no argument {unknown[0]!r} to preset; it has {', '.join(named) or 'none'}")


def _consent(options: ToolOptions) -> Consent | None:
    """Return how a tool asks. One with a question asks."""
    return options.consent or ("either" if options.confirm or options.question else None)


def _question(options: ToolOptions, name: str, schema: dict[str, Any]) -> str | None:
    """Return the template of the question. Raises BadTool where it names an argument that the tool does not have."""
    parameters = schema["function"]["parameters"]
    known = {*parameters.get("properties", {}), *options.preset}
    if odd := not_places(options.question or ""):
        raise BadTool(
            f"the question of tool {name!r} has {odd[0]!r}: braces hold the name of an argument and nothing "
            "else; a voice says numbers and days as they are said"
        )
    unknown = [one for one in named_in(options.question or "") if one not in known]
    if unknown and not options.variadic and parameters.get("additionalProperties", False) is False:
        raise BadTool(
            f"the question of tool {name!r} names {{{unknown[0]}}}, which is no argument of it; it has "
            f"{', '.join(sorted(known)) or 'none'}"
        )
    return options.question


def _permissions(given: ToolPermissions | None, name: str) -> ToolPermissions:
    """Return the permissions of a tool. Raises BadTool for coroutine functions: calls are decided at once."""
    permissions = given or ToolPermissions()
    for method in ("check_permissions", "check_read_only", "match_rule", "suggest"):
        if inspect.iscoroutinefunction(getattr(permissions, method)):
            raise BadTool(f"the permissions of tool {name!r} have a coroutine function {method!r}: make it a plain one")
    return permissions


_SHORT_AND_LONG = re.compile(r"\A(.*)\n\s*\n")
"""A first line that is a paragraph of its own: the documented description has no blank line behind it."""


def unbound(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a partial's function, which has the name and the docstring."""
    while isinstance(function, partial):
        function = function.func
    return function


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, or that of an object's class."""
    plain = unbound(function)
    return str(getattr(plain, "__name__", type(plain).__name__))


def _check_name(name: str) -> None:
    if not re.fullmatch(rf"[a-zA-Z_][a-zA-Z0-9_-]{{0,{MAX_NAME_CHARS - 1}}}", name):
        raise BadTool(
            f"{name!r} cannot name a tool: use 1 to {MAX_NAME_CHARS} letters, digits, `_` and `-`; "
            "give a lambda a `name`"
        )


def declaration_of(schema: dict[str, Any]) -> ToolDeclaration:
    """Return the declaration for realtime models."""
    function = schema["function"]
    return ToolDeclaration(
        name=function["name"],
        description=function.get("description", ""),
        parameters=function.get("parameters", {"type": "object", "properties": {}}),
    )


def schema_of(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool as chat models take it."""
    said = {"description": description} if description else {}
    return {"type": "function", "function": {"name": name, **said, "parameters": parameters}}


def given_schema(given: Any, name: str, description: str | None, *, hidden: Collection[str]) -> dict[str, Any]:
    """Return a schema that the program gave, without the hidden arguments. Raises BadTool for anything else."""
    function = given.get("function") if isinstance(given, dict) and given.get("type") == "function" else None
    if not isinstance(function, dict):
        raise BadTool('a json_schema is {"type": "function", "function": {"name": ..., "parameters": {...}}}')
    parameters = {"type": "object", "properties": {}, **function.get("parameters", {})}
    parameters["properties"] = {key: of for key, of in parameters["properties"].items() if key not in hidden}
    required = [key for key in parameters.pop("required", ()) if key not in hidden]
    if required:
        parameters["required"] = required
    return schema_of(name, function.get("description", "") if description is None else description, parameters)
