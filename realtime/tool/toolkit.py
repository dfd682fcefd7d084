"""Functions as tools: declared to the model, called with its input, always answered."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, TypeVar
from weakref import WeakSet

from realtime.errors import BadOption, BadTool, ToolError
from realtime.event import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock, ToolResultState, read_block
from realtime.options import check_options, checked
from realtime.permission import Consent, PermissionDecision, PermissionEngine, ToolPermissions
from realtime.runtime import unique_id
from realtime.tool.background import BACKGROUND_TIMEOUT_S, Announce, BackgroundTasks, current_owner
from realtime.tool.calling import Middleware, ToolResponses, responses_of, through
from realtime.tool.context import Decide, ToolScope, current_scope, scope_of
from realtime.tool.deciding import decision_of, decision_of_failing
from realtime.tool.docstring import docstrings_of
from realtime.tool.groups import RESET_DESCRIPTION, RESET_TOOLS, GroupedTools
from realtime.tool.mcp.client import MCPClientBase
from realtime.tool.mcp.registration import Choice, Registration, Which
from realtime.tool.output import failed, within_limits
from realtime.tool.registered import (
    BASIC,
    MAX_NAME_CHARS,
    Postprocess,
    RegisteredToolFunction,
    ToolObject,
    ToolOptions,
    declaration_of,
    make_tool,
    name_of,
    unbound,
)
from realtime.tool.response import Pieces, ToolResponse
from realtime.tool.threads import TOOL_THREADS

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 30.0
"""How long a tool may run in a voice call."""
Function = TypeVar("Function", bound=Callable[..., Any])
NamesakeStrategy = Literal["override", "skip", "raise", "rename"]


class Toolkit(GroupedTools):
    """The tools of an agent.

    A tool is a function that its signature and docstring (Google, numpy or reST) fully describe: plain or `async`, one
    that returns its result or a generator of its pieces. Plain functions run in `executor`, so they may block; without
    one, each call runs in a thread of its own, of which there is a bounded number (`realtime.tool.threads`). Text,
    content blocks and a ToolResponse become the result unchanged, None becomes "done", anything else JSON text. An
    agent runs the tools in `confirm` only with the user's consent to the call, unless a rule of `permissions` allows
    it. A parameter of type `ToolContext` gets the context of the call.

    Tools in a group are there while the group is active; those in `basic` always are. The state is which groups are.
    One toolkit may serve many voice calls: each has a copy of its own (`for_call`).
    """

    @checked()
    def __init__(
        self,
        functions: Iterable[Callable[..., Any]] = (),
        *,
        confirm: Iterable[Callable[..., Any]] = (),
        permissions: PermissionEngine | None = None,
        executor: Executor | None = None,
    ) -> None:
        super().__init__()
        self._executor = executor
        self._middlewares: list[Middleware] = []
        self._mcp: list[Registration] = []
        self._scope = ToolScope()
        self._origin: Toolkit | None = None
        self.permissions = permissions or PermissionEngine()
        """The rules and the mode of these tools. A voice call begins with a copy of them."""
        self.background = BackgroundTasks()
        """The tools that run in the background, outside of voice calls: those of a call are together, in its scope."""
        for function in functions:
            self.register(function)
        for function in confirm:
            self.register(function, confirm=True)

    # -- tools -----------------------------------------------------------------------------------------------------

    def register(
        self,
        function: Function,
        *,
        name: str | None = None,
        description: str | None = None,
        confirm: bool = False,
        group: str = BASIC,
        background: bool = False,
        announce: Announce = "spoken",
        read_only: bool = False,
        external: bool = False,
        consent: Consent | None = None,
        question: str | None = None,
        claims: Sequence[str] = (),
        permissions: ToolPermissions | None = None,
    ) -> Function:
        """Add a function, by default with its own name and docstring.

        `confirm`: an agent asks the user before each call. `background`: the model hears at once that the tool has
        started, and talks on; the result comes as a hint when it is there. With `announce="spoken"` the agent then
        speaks as soon as nothing else is said. The model also gets tools that list and stop what runs. `read_only`: it
        changes nothing, so it may also run for a reply that is dropped before anybody hears of it. `external`: the
        function only declares the tool; a ReActAgent without a call waits for the result that another program gives,
        elsewhere the call fails. `consent`,
        `question`, `claims` and `permissions`: see `ToolOptions`.

        Returns the function, so it serves as a decorator. Raises BadTool for a name that is taken or that providers
        refuse, an unknown group, and a function whose arguments cannot be described.
        """
        options = ToolOptions(
            group=group,
            description=description,
            confirm=confirm,
            background=background,
            announce=announce,
            read_only=read_only,
            external=external,
            consent=consent,
            question=question,
            claims=claims,
            permissions=permissions,
        )
        self._add(self._registered(function, name, options), "raise")
        return function

    def register_tool_function(
        self,
        tool_func: Callable[..., Any],
        group_name: str = BASIC,
        preset_kwargs: dict[str, Any] | None = None,
        func_name: str | None = None,
        func_description: str | None = None,
        json_schema: dict[str, Any] | None = None,
        include_long_description: bool = True,
        include_var_positional: bool = False,
        include_var_keyword: bool = False,
        postprocess_func: Postprocess | None = None,
        namesake_strategy: NamesakeStrategy = "raise",
        async_execution: bool = False,
        announce: Announce = "spoken",
        read_only: bool = False,
        confirm: bool = False,
        consent: Consent | None = None,
        question: str | None = None,
        claims: Sequence[str] = (),
        permissions: ToolPermissions | None = None,
    ) -> None:
        """Add a function, with the arguments that AgentScope documents.

        `preset_kwargs` are arguments of the program, which the model neither sees nor changes. `json_schema` describes
        the tool in place of its signature, as chat models take it. `include_long_description=False` keeps the first
        paragraph of the docstring. `*args` and `**kwargs` are left out unless included. `postprocess_func` may replace
        each response. `namesake_strategy` says what happens where the name is taken: the new tool replaces the other
        one, is skipped, refused or gets another name. `async_execution`: the tool runs in the background (see
        `register`, also for `announce`); outside of a voice call `view_task`, `wait_task` and `cancel_task` are for its
        result. `read_only` and what follows, which AgentScope lacks: see `register`. Raises BadTool as `register` does,
        and for another schema.
        """
        kinds = (
            (inspect.Parameter.VAR_POSITIONAL, include_var_positional),
            (inspect.Parameter.VAR_KEYWORD, include_var_keyword),
        )
        options = ToolOptions(
            group=group_name,
            description=func_description or None,
            preset=preset_kwargs or {},
            json_schema=json_schema,
            is_brief=not include_long_description,
            variadic=[kind for kind, is_included in kinds if is_included],
            postprocess=postprocess_func,
            background=async_execution,
            announce=announce,
            read_only=read_only,
            confirm=confirm,
            consent=consent,
            question=question,
            claims=claims,
            permissions=permissions,
        )
        self._add(self._registered(tool_func, func_name, options), namesake_strategy)

    async def register_mcp_client(
        self,
        mcp_client: MCPClientBase,
        group_name: str = BASIC,
        enable_funcs: Sequence[str] | None = None,
        disable_funcs: Sequence[str] | None = None,
        preset_kwargs_mapping: Mapping[str, Mapping[str, Any]] | None = None,
        postprocess_func: Postprocess | None = None,
        namesake_strategy: NamesakeStrategy = "raise",
        execution_timeout: float | None = None,
        *,
        prefix: str = "",
        renames: Mapping[str, str] | None = None,
        confirm: Which = "annotated",
        read_only: Which = "annotated",
        consent: Consent | Mapping[str, Consent] | None = None,
    ) -> None:
        """Add the functions of an MCP server: all, or those in `enable_funcs`, without those in `disable_funcs`.

        A function has its own name behind `prefix`, or that in `renames`; where providers refuse that, a similar one.
        `confirm` and `read_only` (see `register`) are True, False, names of functions, or "annotated": the server says
        which of them destroy something, and which change nothing. `consent` is how all of them ask before each call, or
        those that it names, one by one. All other names are those at the server, too.
        `execution_timeout` (seconds) bounds each call. Tools that the server adds, changes or removes later change here
        and in running calls, if the client keeps a connection.

        Raises BadTool, and adds nothing, for a function that the server lacks, a name that is taken, and an unknown
        group; WrongTime for a client that is not connected; ToolError where the server does not answer.
        """
        choice = Choice(
            group=group_name,
            enable=enable_funcs,
            disable=disable_funcs,
            preset={} if preset_kwargs_mapping is None else preset_kwargs_mapping,
            postprocess=postprocess_func,
            strategy=namesake_strategy,
            timeout_s=execution_timeout,
            prefix=prefix,
            renames=renames or {},
            confirm=confirm,
            read_only=read_only,
            consent=consent,
        )
        choice.check()
        registration = Registration(self, mcp_client, choice)
        await registration.begin()
        self._mcp.append(registration)

    async def remove_mcp_clients(self, client_names: Sequence[str]) -> None:
        """Remove the tools of the MCP clients of these names. Their connections stay as they are."""
        if isinstance(client_names, str):
            raise TypeError("client_names is a list of names")
        for one in [*self._mcp]:
            if one.mcp_name in client_names:
                one.end()
                self._mcp.remove(one)

    def set_extended_model(self, func_name: str, model: type[Any] | None) -> None:
        """Let a tool also take the fields of a class of pydantic; None: only its own.

        The function gets them by name, as they come. Raises BadTool for an unknown tool and for a field that is a
        parameter of the tool, TypeError for another class.
        """
        if model is not None and not hasattr(model, "model_json_schema"):
            raise TypeError(f"an extended model is a class of pydantic, not {model!r}")
        before = self.tools.get(func_name)
        if before is None:
            raise BadTool(f"there is no tool named {func_name!r}")
        extended = replace(before, extended_model=model)
        _ = extended.extended_json_schema
        self._swap(func_name, before, extended)

    def register_middleware(self, middleware: Middleware) -> None:
        """Wrap every later tool call: the first middleware is the outermost.

        It is an async generator function of `(kwargs, next_handler)`. `kwargs["tool_call"]` is the call;
        `await next_handler(**kwargs)` gives its responses. It yields responses: those, others, or none.
        """
        self._middlewares = [*self._middlewares, middleware]
        for one in self._copies:
            one.register_middleware(middleware)

    def clear(self) -> None:
        """Remove all tools and groups."""
        for registration in self._mcp:
            registration.end()
        self._mcp = []
        self.tools, self.groups = {}, {}
        for one in self._copies:
            one.clear()
        self._tell()

    # -- background tools ------------------------------------------------------------------------------------------

    async def view_task(self, task_id: str) -> ToolResponse:
        """Return the result of a background tool, once; or that it still runs.

        Args:
            task_id: The id of the task.
        """
        return self._background_in_force.view(task_id, current_owner())

    async def wait_task(self, task_id: str, timeout: float = 10) -> ToolResponse:  # noqa: ASYNC109
        """Wait for the result of a background tool.

        Args:
            task_id: The id of the task.
            timeout: How many seconds to wait at most.
        """
        return await self._background_in_force.wait(task_id, current_owner(), timeout)

    async def cancel_task(self, task_id: str) -> ToolResponse:
        """Stop a tool that runs in the background.

        Args:
            task_id: The id of the task.
        """
        return self._background_in_force.cancel_for(task_id, current_owner())

    def list_background_tools(self) -> list[dict[str, Any]]:
        """List the tools that run in the background, with their latest reports.

        An agent gets its own, a voice those of its whole call.
        """
        return [task.describe() for task in self._background_in_force.of(current_owner())]

    @property
    def _background_in_force(self) -> BackgroundTasks:
        return self._background_of(current_scope())

    def _background_of(self, scope: ToolScope | None) -> BackgroundTasks:
        """Return what runs in the background of the scope's call; without one, what this toolkit has."""
        found: BackgroundTasks | None = None if scope is None else scope.states.get(BackgroundTasks)
        return self.background if found is None else found

    # -- what the model sees ---------------------------------------------------------------------------------------

    def get_json_schemas(self) -> list[dict[str, Any]]:
        """Return the schemas of the active tools for chat models.

        They are in order of registration. Do not change them.
        """
        return [self._schema_of(tool) for tool in self._active_tools()]

    @property
    def json_schemas(self) -> list[dict[str, Any]]:
        """The schemas of the active tools (see `get_json_schemas`)."""
        return self.get_json_schemas()

    def declarations(self) -> tuple[ToolDeclaration, ...]:
        """Return the declarations of the active tools for realtime models."""
        return tuple(declaration_of(schema) for schema in self.get_json_schemas())

    def decide(self, call: ToolCallBlock, permissions: PermissionEngine | None = None) -> PermissionDecision:
        """Return whether a call runs, is asked for or is denied.

        By the rules of this toolkit, and by those of a voice call in `permissions`. One that cannot run (its tool is
        unknown or inactive, or its arguments are wrong) has a `failure`, unless a rule denies it: give that to `run`,
        so that the call fails even if the tool is there by then.
        """
        engine = self.permissions if permissions is None else permissions.joined(self.permissions)
        tool, failure = self.tools.get(call.name), self._why_absent(call)
        if tool is None:
            return decision_of_failing(engine, call, None, failure)
        arguments = tool.arguments_of(call, self._extra_names(tool))
        if failure or arguments is None:
            failure = failure or tool.fault_in(call, self._extra_names(tool))
            return decision_of_failing(engine, call, tool, failure, arguments)
        return decision_of(engine, tool, arguments)

    def decider(self, scope: ToolScope) -> Decide:
        """Return what decides about calls within a scope, now or later."""
        in_force = scope.permissions
        return lambda call: self.decide(call, None if in_force is None else in_force())

    def stops_with_reply(self, name: str) -> bool:
        """Return whether an interruption of the reply stops this tool; False for an unknown name."""
        tool = self.tools.get(name)
        return tool is not None and tool.stops_with_reply

    # -- calls -----------------------------------------------------------------------------------------------------

    async def run(
        self, call: ToolCallBlock, *, timeout_s: float | None = DEFAULT_TIMEOUT_S, failure: str = ""
    ) -> ToolResultBlock:
        """Run one call, whatever `decide` says of it; calls may run at the same time. `timeout_s=None`: no timeout.

        With the `failure` of a decision, no function runs: the middlewares get that error.

        The pieces of a generator go to the scope in force (`ToolScope.progress`). Every failure (no such tool, wrong
        arguments, an exception, a timeout) is a result with state `error` that tells the model what happened.
        Cancelling ends the function; a plain one continues in its thread and its result is dropped, as after a timeout.
        Raises ToolError (`tools_busy`) where so many of those run that no thread is left.
        """
        scope, pieces = current_scope() or self._scope, Pieces()
        last: ToolResponse | None = None
        async with aclosing(self._responses(call, timeout_s, failure)) as responses:
            async for last in responses:
                if (piece := pieces.of(last)) and scope.progress is not None:
                    scope.progress(piece, "result")
        if last is None:
            return failed(f"{call.name} gave no result: a middleware dropped it").result_of(call)
        if last.state is ToolResultState.INTERRUPTED:
            # A call that is cancelled from outside raises; here the function has cancelled itself.
            return failed(f"{call.name} was cancelled from within").result_of(call)
        return last.result_of(call)

    def call_tool_function(
        self,
        tool_call: ToolCallBlock | Mapping[str, Any],
        *,
        timeout_s: float | Literal["scope"] | None = "scope",
        failure: str = "",
    ) -> ToolResponses:
        """Run one call; gives its responses, each of which holds all of the result so far.

        The call may be the JSON object of a block, also of a `tool_use`.

        `async for response in await toolkit.call_tool_function(call)` works with and without the `await`. The limit of
        time is that of the scope in force: in a voice call its `tool_timeout_s`, else 600 s. Every failure
        is a response with state `error`; `failure` as in `run`. Closing the responses ends the function. So does
        cancelling their reader: it gets the response with state `interrupted`, then its CancelledError.
        """
        if timeout_s == "scope":
            timeout_s = (current_scope() or self._scope).tool_timeout_s
        call = tool_call if isinstance(tool_call, ToolCallBlock) else read_block(tool_call)
        if not isinstance(call, ToolCallBlock):
            raise BadOption(f"tool_call is a block of the type tool_call, not {call.type}")
        return ToolResponses(self._without_errors(call, timeout_s, failure))

    async def _without_errors(
        self, call: ToolCallBlock, timeout_s: float | None, failure: str
    ) -> AsyncGenerator[ToolResponse, None]:
        scope, pieces = current_scope(), Pieces()
        progress = None if scope is None or scope.of_call is None else scope.of_call(call).progress
        try:
            async with aclosing(self._responses(call, timeout_s, failure)) as responses:
                async for response in responses:
                    if progress is not None and (piece := pieces.of(response)):
                        progress(piece, "result")
                    yield response
        except ToolError as error:
            yield failed(error.message)

    async def _responses(
        self, call: ToolCallBlock, timeout_s: float | None, failure: str
    ) -> AsyncGenerator[ToolResponse, None]:
        """Yield the responses of a call. Raises ToolError where no thread is left."""

        async def run_tool(tool_call: ToolCallBlock) -> AsyncGenerator[ToolResponse, None]:
            return self._execute(tool_call, timeout_s, failure)

        async with aclosing(through(self._middlewares, run_tool, call)) as responses:
            async for response in responses:
                yield within_limits(response)

    def _why_absent(self, call: ToolCallBlock) -> str:
        """Return why there is no tool for a call; "" if there is."""
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(one.name for one in self._active_tools()) or "none"
            return f"There is no tool named {call.name!r}. There are: {known}."
        if self._is_active(tool):
            return ""
        return (
            f"FunctionInactiveError: The function {call.name!r} is in the inactive group {tool.group!r}. "
            f"Activate the tool group by calling {RESET_TOOLS!r} first to use this tool."
        )

    async def _execute(
        self, call: ToolCallBlock, timeout_s: float | None, failure: str
    ) -> AsyncGenerator[ToolResponse, None]:
        tool, failure = self.tools.get(call.name), failure or self._why_absent(call)
        if tool is None or failure:
            yield failed(failure)
            return
        if tool.external:
            yield failed(f"{call.name} is run by another program, which cannot be reached here")
            return
        scope = scope_of(call, self._scope)
        if scope.may_act is not None and (tool.async_execution or not tool.read_only):
            await scope.may_act()
        run = partial(responses_of, tool, self._own(tool.original_func), call, self._extra_names(tool))
        if tool.async_execution and tool.arguments_of(call, self._extra_names(tool)) is not None:
            run_later = partial(run, timeout_s=BACKGROUND_TIMEOUT_S)
            background = self._background_of(scope)
            yield background.start(call, tool.announce, scope, run_later, stops_with_reply=tool.stops_with_reply)
            return
        async with aclosing(run(scope, timeout_s=timeout_s)) as responses:
            async for response in responses:
                yield response

    # -- copies ----------------------------------------------------------------------------------------------------

    def for_call(self) -> Self:
        """Return a copy for one voice call.

        It has active groups and a scope of its own. It follows later changes of this toolkit; its own change nothing
        here.
        """
        made = copy.copy(self)
        made.groups = {name: replace(group) for name, group in self.groups.items()}
        made._scope, made.background = ToolScope(), BackgroundTasks()
        # Not part of the copy's state, as an assignment would make it.
        object.__setattr__(made, "_origin", self)
        made._copies = WeakSet()
        made._listeners = []
        made._mcp = []
        self._copies.add(made)
        return made

    def _own(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return this copy's method for a method of its origin."""
        owner, origin = getattr(function, "__self__", None), self._origin
        while origin is not None:
            if owner is origin:
                method: Callable[..., Any] = getattr(self, getattr(function, "__name__", ""))
                return method
            origin = origin._origin
        return function

    # -- inside ----------------------------------------------------------------------------------------------------

    def _is_reset(self, tool: RegisteredToolFunction) -> bool:
        function = tool.original_func
        return isinstance(getattr(function, "__self__", None), Toolkit) and function.__name__ == RESET_TOOLS

    def _schema_of(self, tool: RegisteredToolFunction) -> dict[str, Any]:
        return self._reset_schema(tool) if self._is_reset(tool) else tool.extended_json_schema

    def _extra_names(self, tool: RegisteredToolFunction) -> Collection[str]:
        """Return the names of the arguments beyond those of the function's signature."""
        if self._is_reset(tool):
            return self.groups
        fields: Collection[str] = tool.extended_model.model_fields if tool.extended_model is not None else ()
        return fields

    def _registered(
        self, function: Callable[..., Any], name: str | None, options: ToolOptions
    ) -> RegisteredToolFunction:
        """Return the tool that a function makes (see `make_tool`). Raises BadTool."""
        check_options(Toolkit._registered, {"function": function, "name": name})
        if name == "":
            raise BadTool("name is empty: leave it out for the function's own name")
        if options.group != BASIC and options.group not in self.groups:
            raise BadTool(f"there is no group of tools named {options.group!r}: create it first")
        if isinstance(function, ToolObject):
            name, options = name or function.tool_name, options.over(function.tool_options)
        plain = unbound(function)
        of_toolkit = isinstance(getattr(plain, "__self__", None), Toolkit)
        is_reset = of_toolkit and plain.__name__ == RESET_TOOLS
        docs = (RESET_DESCRIPTION,) if is_reset else docstrings_of(plain)
        executor = self._executor or TOOL_THREADS.of(plain, name or name_of(function))
        return make_tool(function, name, options, docs=docs, executor=executor, may_block=not of_toolkit)

    def _add_helpers(self) -> None:
        """Add the tools that list and stop background tools."""
        for function, name in ((self.list_background_tools, None), (self.cancel_task, "cancel_background_tool")):
            self._add(self._registered(function, name, ToolOptions()), "skip")

    def _add(self, tool: RegisteredToolFunction, strategy: NamesakeStrategy) -> RegisteredToolFunction | None:
        """Put a tool into its place; return it as it is there, None if it is skipped.

        Raises BadTool if its place is taken and `strategy` is to raise.
        """
        before = self.tools.get(tool.name)
        match strategy:
            case _ if before is None:
                self._swap(tool.name, None, tool)
                if tool.async_execution:
                    self._add_helpers()
            case "raise":
                raise BadTool(f"there is a tool named {tool.name!r} already")
            case "skip":
                logger.info("tool %s is there already: the other one is skipped", tool.name)
                return None
            case "override":
                self._swap(tool.name, before, tool)
            case "rename":
                name = f"{tool.name[: MAX_NAME_CHARS - 6]}_{unique_id()[:5]}"
                function = {**tool.json_schema["function"], "name": name}
                renamed = replace(
                    tool,
                    name=name,
                    json_schema={**tool.json_schema, "function": function},
                    original_name=tool.original_name or tool.name,
                )
                return self._add(renamed, "rename")
            case _:
                raise BadTool(
                    f"there is no strategy {strategy!r} for tools with one name: override, skip, raise, rename"
                )
        return tool


def toolkit_of(given: object) -> Toolkit:
    """Return the toolkit of an agent; functions make one."""
    match given:
        case None:
            return Toolkit()
        case Toolkit():
            return given
        case list() | tuple() | set():
            return Toolkit(given)
        case _:
            raise BadOption(f"toolkit is a Toolkit or a list of functions, not {given!r:.80}", code="bad_toolkit")
