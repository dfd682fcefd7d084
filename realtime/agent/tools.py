"""Runs the tools that a model calls: the agent's in a task each, those elsewhere by waiting for their results.

Each call is decided by the permissions of the call. One that needs the user's consent waits for that first, as long as
a client's tool for its result. So does one of a thinking agent that works in the call: it is asked for here, and runs
there (`ToolScope.around`).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import msgspec

from realtime.agent.permissions import NOT_ALLOWED, CallPermissions, denial_of
from realtime.agent.settings import AgentSpec
from realtime.errors import ToolError
from realtime.event.config import ToolDeclaration
from realtime.event.server import ProgressKind
from realtime.exits import exits_held
from realtime.message import PermissionRule, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from realtime.message.blocks import ELICITATION, INTERRUPTED_BY_USER
from realtime.permission import PermissionDecision
from realtime.runtime import unique_id
from realtime.tool.background import BackgroundTask, act_for
from realtime.tool.context import Decide, RunDecided, RunTool, ToolScope
from realtime.tool.mcp.of_client import ClientServers
from realtime.tool.secret_fields import as_logged, without_secrets

MAX_PROGRESS = 1_000
"""Reports of one call that listeners get; the result has everything in any case."""


class ToolHooks(Protocol):
    """The hooks around tool calls."""

    @property
    def has_tool_hooks(self) -> bool:
        """Whether there are any."""
        ...

    async def tool_call(self, call: ToolCallBlock, run: RunTool) -> ToolResultBlock:
        """Run a call with the hooks around it."""
        ...


class ToolFollower(Protocol):
    """Learns what happens to tool calls, and what their tools want."""

    def tool_begins(self, call_id: str) -> None:
        """A tool begins to run, here or in the client."""
        ...

    def tool_done(self, result: ToolResultBlock) -> None:
        """A call has its result: one per call, in any order."""
        ...

    def tool_asks(self, within: str, call: ToolCallBlock) -> None:
        """A thinking agent's call waits for consent; `within` is the call it serves."""
        ...

    def asked_tool_done(self, result: ToolResultBlock) -> None:
        """Such a call has its result."""
        ...

    def tool_reports(self, call_id: str, text: str, kind: ProgressKind) -> None:
        """The tool of a call that runs reports."""
        ...

    def tool_says(self, text: str, holds: Callable[[], bool]) -> None:
        """A tool wants words spoken, unless `holds` returns False by then."""
        ...

    def interrupts(self, task: BackgroundTask) -> None:
        """The user has interrupted a background tool: it has to be stopped."""
        ...


@dataclass(slots=True, eq=False)
class _Question:
    """A call that waits for consent."""

    call: ToolCallBlock
    answer: asyncio.Future[ToolCallBlock | str]
    """What shall run, or the words of a refusal."""
    decide: Decide | None
    """Decides again about the call; None until the agent that runs it is there."""
    result: ToolResultBlock | None = None
    """Of a call within another one."""
    failure: str = ""
    """Why the call that the user agreed to cannot run; "": it can."""
    tool: object | None = None
    """What the call was for when the user was asked."""
    within: str = ""
    """The call that a thinking agent makes this one for; "": the model's own."""

    def take(self, answer: ToolCallBlock | str) -> ToolCallBlock | str:
        """Return what becomes of an answer by what is in force now; a refusal instead of a call that may not run."""
        if isinstance(answer, str) or self.decide is None:
            return answer
        decision = self.decide(answer)
        self.failure = self.failure or decision.failure
        if decision.denies:
            return denial_of(decision)
        # The user has agreed to another tool.
        asks_more = decision.asks and answer.name != self.call.name
        return f"{NOT_ALLOWED}: the user has to agree to {answer.name} itself" if asks_more else answer


class ToolRunner:
    """Runs tool calls inside the agent's task group; `follower` learns what happens to them.

    `on_error` gets the error of a tool that cannot run at all, in addition to its result. `scope` is the call as the
    tools see it; `hooks` are around the tools of the agent. `permissions` decide about calls, for the user whom
    `acts_for` names when a call is first decided. `on_result_within` gets the result of every call of a thinking agent
    within another call. `client_servers` are those that the client has named.
    """

    def __init__(
        self,
        group: asyncio.TaskGroup,
        spec: AgentSpec,
        follower: ToolFollower,
        *,
        on_error: Callable[[ToolError], None],
        scope: ToolScope,
        hooks: ToolHooks,
        permissions: CallPermissions,
        acts_for: Callable[[], str],
        on_result_within: Callable[[ToolResultBlock], None] | None,
        client_servers: ClientServers | None,
    ) -> None:
        self._group = group
        self._toolkit = spec.toolkit
        self._timeout_s = spec.tool_timeout_s
        self._client_timeout_s = spec.client_timeout_s
        self._follower = follower
        self._on_error = on_error
        self._scope = scope
        self._at_model: dict[str, ToolCallBlock] = {}
        """Calls that the model runs itself."""
        self._reports: Counter[str] = Counter()
        """How many reports of each call were passed on."""
        self._known: set[str] = set()
        """Ids of the calls that have begun."""
        self._hooks = hooks
        self._permissions = permissions
        self._acts_for = acts_for
        self._client_servers = client_servers
        self.on_result_within = on_result_within
        self._users: dict[str, str] = {}
        """Whom each call serves."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """Tasks of the calls that have no result yet."""
        self._interruptible: dict[str, ToolCallBlock] = {}
        """Those of them that an interruption of the reply stops."""
        self._asked: dict[str, asyncio.Future[ToolResultBlock]] = {}
        self._questions: dict[str, _Question] = {}
        """Calls that wait for consent."""
        self._client_tools: dict[str, ToolDeclaration] = {}
        self._offered: set[str] = set()

    def set_client_tools(self, tools: tuple[ToolDeclaration, ...]) -> None:
        """Set the tools that run in the client; they precede the agent's of the same name."""
        self._client_tools = {tool.name: tool for tool in tools}

    def offer(self, tools: Iterable[Mapping[str, object]]) -> None:
        """Run these in the client as well; the agent's of the same name come first."""
        self._offered.update(name for tool in tools if isinstance(name := tool.get("name"), str))

    def is_clients(self, name: str) -> bool:
        """Whether a tool runs in the client."""
        return name in self._client_tools or (name in self._offered and name not in self._toolkit)

    def is_of_client_server(self, name: str) -> bool:
        """Whether a tool is one of a client's server."""
        servers = self._client_servers
        return servers is not None and servers.tool(name) is not None and not self.is_clients(name)

    # -- permissions ---------------------------------------------------------------------------------------------------

    def decide(self, call: ToolCallBlock) -> PermissionDecision:
        """Decide about a call of the agent's or the client's tools."""
        permissions = self._permissions.of(self.user_of(call.id))
        if not self.is_clients(call.name):
            return self._toolkit.decide(call, permissions)
        declared = self._client_tools.get(call.name)
        return permissions.decide_unasked(call.name, call.arguments, None if declared is None else declared.parameters)

    def accept(self, call_id: str, rules: Sequence[PermissionRule]) -> None:
        """Let rules hold that the user of a call has accepted."""
        self._permissions.accept(rules, self.user_of(call_id))

    def user_of(self, call_id: str) -> str:
        """Whom a call serves: who was acted for when it was first decided, or asked about."""
        if call_id not in self._users:
            self._users[call_id] = self._acts_for()
        return self._users[call_id]

    def rechecked(self) -> list[tuple[ToolCallBlock, PermissionDecision]]:
        """Return the waiting calls that would not be asked for any more."""
        waiting = [one for one in self._questions.values() if not one.answer.done()]
        decided = [(one.call, one.decide(one.call)) for one in waiting if one.decide is not None]
        return [(call, decision) for call, decision in decided if not decision.asks]

    @property
    def n_waiting(self) -> int:
        """How many calls and forms wait for the user."""
        return sum(not one.answer.done() for one in self._questions.values())

    def decision_of(self, call: ToolCallBlock) -> PermissionDecision | None:
        """Decide about a waiting call as it is now; None while its agent cannot."""
        question = self._questions.get(call.id)
        return None if question is None or question.decide is None else question.decide(call)

    # -- calls ---------------------------------------------------------------------------------------------------------

    @property
    def has_hooks(self) -> bool:
        """Whether there are hooks around tool calls."""
        return self._hooks.has_tool_hooks

    def start_tool(self, call: ToolCallBlock, *, at_model: bool = False, denial: str = "", failure: str = "") -> None:
        """Run the call in its own task; after the user's consent if it is `asking`.

        One that runs `at_model`, also after consent, has its result by `answer_tool`. One with a `denial` does not run:
        these words are its result. One that was decided to have a `failure` fails with that.
        """
        self._known.add(call.id)
        # The answer may come before the task has begun.
        loop = asyncio.get_running_loop()
        if call.state == "asking":
            decide = None if at_model else self.decide
            meant = self._toolkit.tools.get(call.name)
            self._questions[call.id] = _Question(call, loop.create_future(), decide, tool=meant)
        if at_model:
            self._at_model[call.id] = call
        if not denial and (at_model or self.is_clients(call.name)):
            self._asked[call.id] = loop.create_future()
        with replace(self.scope_of(call), around=_Around(self, call, at_model=False)).in_force(), exits_held():
            run = self._run(call, failure) if not denial else self._deny(call, denial)
            task = self._group.create_task(run, name=f"tool {call.name} {call.id}")
        self._tasks[call.id] = task
        if not self.is_clients(call.name) and self._toolkit.stops_with_reply(call.name):
            self._interruptible[call.id] = call
        # A task that is cancelled before its first step cannot report that itself.
        task.add_done_callback(lambda done: self._interrupted(call, done))

    def scope_of(self, call: ToolCallBlock) -> ToolScope:
        """Return the scope of a call that the model runs: what it reports and says is that of its tool."""
        return replace(
            self._scope,
            progress=partial(self._progress, call.id),
            say=partial(self._say, call),
            tool_call_id=call.id,
            permissions=lambda: self._permissions.of(self.user_of(call.id)),
            around=_Around(self, call, at_model=True),
            elicit=partial(self.elicit_within, call),
        )

    def knows(self, call_id: str) -> bool:
        """Whether the call of this id has begun, however long ago."""
        return call_id in self._known

    def is_open(self, call_id: str) -> bool:
        """Whether the call of this id has begun and has no result."""
        return call_id in self._tasks

    def answer_tool(self, result: ToolResultBlock) -> bool:
        """Take the result of a tool that runs elsewhere; False if no such call is open."""
        asked = self._asked.get(result.id)
        if asked is None or asked.done():
            return False
        question = self._questions.get(result.id)
        if question is not None and result.id not in self._at_model and not question.answer.done():
            return False  # the user has not agreed yet
        asked.set_result(result)
        return True

    def confirm_tool(self, call_id: str, answer: ToolCallBlock | str) -> ToolCallBlock | str | None:
        """Take the user's answer: the call as it shall run, or a refusal.

        Returns what becomes of it, as listeners learn it: a refusal where a rule denies the call, a form without the
        answers to its secret fields; None if no call of this id asks.
        """
        question = self._questions.get(call_id)
        if question is None or question.answer.done():
            return None
        answer = question.take(answer)
        question.answer.set_result(answer)
        is_form = question.decide is None and question.call.name == ELICITATION
        return as_logged(question.call, answer) if is_form and isinstance(answer, ToolCallBlock) else answer

    def may_become(self, call_id: str, changed: ToolCallBlock) -> bool:
        """Whether consent to a waiting call holds for another tool: for one that does not ask."""
        question = self._questions.get(call_id)
        if question is None or question.decide is None or changed.name == question.call.name:
            return True
        if call_id in self._tasks and (self.is_clients(changed.name) != self.is_clients(question.call.name)):
            return False  # it would run elsewhere
        return not question.decide(changed).asks

    def runs_at_model(self, call_id: str) -> bool:
        """Whether the model runs this open call itself."""
        return call_id in self._at_model

    def withdraw(self, only: Container[str] | None = None) -> None:
        """End the calls that wait for consent or run at the model.

        Each has the state `interrupted` at once. With `only`, others go on.
        """
        waiting = {one.call.id: one.call for one in self._questions.values() if not one.answer.done()}
        for call in (waiting | self._at_model).values():
            if call.id not in self._tasks or (only is not None and call.id not in only):
                continue  # of an agent within another call, which an interruption stops or leaves at work
            task = self._tasks[call.id]
            self._interrupted(call, task)
            task.cancel()

    def interrupt_tools(self) -> None:
        """Stop what an interruption of the reply stops; each call has its result at once, with state `interrupted`."""
        for call in [*self._interruptible.values()]:
            task = self._tasks[call.id]
            self._interrupted(call, task)
            if not task.cancelling():
                task.cancel()
        for one in [*self._toolkit.background.running.values()]:
            if one.stops_with_reply:
                self._follower.interrupts(one)

    def cancel_tools(self) -> None:
        """Stop every running call; each still gets a result, with state `interrupted`.

        An agent at work in the background is not stopped, and its question stays open.
        """
        for question in self._questions.values():
            if (question.within or question.call.id) in self._tasks:
                question.answer.cancel()
        for task in [*self._tasks.values()]:
            task.cancel()

    async def _run(self, call: ToolCallBlock, failure: str) -> None:
        task = asyncio.current_task()
        act_for(None)  # What an agent does may have led here.
        try:
            if (asked := self._asked.get(call.id)) is not None and call.id in self._at_model:
                if call.id not in self._questions:
                    self._follower.tool_begins(call.id)
                result = await asked
            elif call.id in self._questions:
                result = await self._ask_user(call, self._questions[call.id])
            elif asked is not None:
                result = await self._ask_client(call, asked)
            else:
                result = await self._run_own(call, failure)
        except asyncio.CancelledError:
            self._interrupted(call, task)
            raise
        self._tell(result, task)

    async def _deny(self, call: ToolCallBlock, denial: str) -> None:
        self._tell(_denied(call, denial), asyncio.current_task())

    async def _run_own(self, call: ToolCallBlock, failure: str) -> ToolResultBlock:
        self._follower.tool_begins(call.id)
        try:
            run = partial(self._toolkit.run, timeout_s=self._timeout_s)
            return await self._hooks.tool_call(call, partial(run, failure=failure) if failure else run)
        except ToolError as error:
            self._on_error(error)
            return ToolResultBlock(id=call.id, name=call.name, output=error.message, state=ToolResultState.ERROR)

    async def _ask_user(self, call: ToolCallBlock, question: _Question) -> ToolResultBlock:
        answer = await self._answer_to(question.answer)
        if isinstance(answer, str):
            return _denied(call, answer)
        meant, now = question.tool, self._toolkit.tools.get(answer.name)
        if answer.name == call.name and meant is not None and now is not None and now is not meant:
            return _denied(call, f"{call.name} has changed since the user was asked, so it was not called")
        asked = self._asked.get(call.id)
        result = await (self._run_own(answer, question.failure) if asked is None else self._ask_client(answer, asked))
        # The model knows the call by the name that it gave.
        return msgspec.structs.replace(result, id=call.id, name=call.name)

    async def _answer_to(self, question: asyncio.Future[ToolCallBlock | str]) -> ToolCallBlock | str:
        """Return what may run, or the words of a refusal."""
        try:
            async with asyncio.timeout(self._client_timeout_s):
                return await question
        except TimeoutError:
            return f"the user did not answer within {self._client_timeout_s:g} s, which counts as a refusal"

    # -- tools of thinking agents --------------------------------------------------------------------------------------

    async def run_at_model(self, call: ToolCallBlock, run: RunDecided, decide: Decide) -> ToolResultBlock:
        """Run a call of an agent that is the model.

        With hooks, and after the user's consent where `decide` asks or listeners were told so.
        """
        if call.id not in self._tasks:
            return _interruption(call)
        question = self._questions.get(call.id)
        if question is None:
            return await self.run_within(call, call, run, decide)
        question.decide = decide
        answer = await self._answer_to(question.answer)
        if isinstance(answer, ToolCallBlock):
            self._follower.tool_begins(call.id)
        return await self._answered(call, answer, run, question)

    async def run_within(
        self, outer: ToolCallBlock, call: ToolCallBlock, run: RunDecided, decide: Decide
    ) -> ToolResultBlock:
        """Run a call of an agent that works for the call `outer`.

        With hooks, and after the user's consent where `decide` asks.
        """
        decision = decide(call)
        if decision.denies:
            return _denied(call, denial_of(decision))
        if not decision.asks:
            return await self._hooks.tool_call(call, partial(run, failure=decision.failure))
        # The page and the provider may know another call of this id.
        shown = msgspec.structs.replace(decision.asking(call), id=unique_id())
        with self._asking(outer, shown, decide) as question:
            result = await self._answered(call, await self._answer_to(question.answer), run, question)
            question.result = msgspec.structs.replace(result, id=shown.id, name=shown.name)
        return result

    @contextmanager
    def _asking(self, outer: ToolCallBlock, shown: ToolCallBlock, decide: Decide | None) -> Iterator[_Question]:
        """Ask for consent to a call within `outer`; at the end pass on its result, else an interruption."""
        question = _Question(shown, asyncio.get_running_loop().create_future(), decide, within=outer.id)
        self._questions[shown.id] = question
        self._users[shown.id] = self.user_of(outer.id)
        try:
            self._follower.tool_asks(outer.id, shown)
            yield question
        finally:
            self._questions.pop(shown.id, None)
            self._follower.asked_tool_done(question.result or _interruption(shown))

    async def elicit_within(
        self, outer: ToolCallBlock, server: str, message: str, schema: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Ask the user for what the tool of the call `outer` lacks; None for a refusal (see `ToolScope.elicit`).

        It is shown as a call that asks for consent; the answers are the `content` of its input, which has the defaults.
        """
        schema = without_secrets(schema)
        properties = schema.get("properties")
        asked = properties if isinstance(properties, dict) else {}
        content = {name: one["default"] for name, one in asked.items() if isinstance(one, dict) and "default" in one}
        shown = {"server": server, "message": message, "requested_schema": schema, "content": content}
        call = ToolCallBlock(
            id=unique_id(), name=ELICITATION, input=json.dumps(shown, ensure_ascii=False), state=ToolCallState.ASKING
        )
        with self._asking(outer, call, decide=None) as question:
            async with asyncio.timeout(self._client_timeout_s):
                answer = await question.answer
            given = answer.arguments if isinstance(answer, ToolCallBlock) else None
            answers = None if given is None else given.get("content")
            if not isinstance(answers, dict):
                question.result = _denied(call, "declined")
                return None
            question.result = ToolResultBlock(id=call.id, name=call.name, output="answered")
            return answers

    async def _answered(
        self, call: ToolCallBlock, answer: ToolCallBlock | str, run: RunDecided, question: _Question
    ) -> ToolResultBlock:
        """Run what the user allows instead of `call`, or return a refusal."""
        answer = question.take(answer)
        if isinstance(answer, str):
            return _denied(call, answer)
        allowed = msgspec.structs.replace(call, name=answer.name, input=answer.input, state=answer.state)
        return await self._hooks.tool_call(allowed, partial(run, failure=question.failure))

    async def _ask_client(self, call: ToolCallBlock, asked: asyncio.Future[ToolResultBlock]) -> ToolResultBlock:
        self._follower.tool_begins(call.id)
        try:
            async with asyncio.timeout(self._client_timeout_s):
                return await asked
        except TimeoutError:
            text = f"the client did not answer within {self._client_timeout_s:g} s"
            return ToolResultBlock(id=call.id, name=call.name, output=text, state=ToolResultState.ERROR)

    def _say(self, call: ToolCallBlock, text: str) -> None:
        background = self._toolkit.background.running
        self._follower.tool_says(
            text, lambda: call.id in self._tasks or any(one.call_id == call.id for one in background.values())
        )

    def _progress(self, call_id: str, text: str, kind: ProgressKind) -> None:
        """Pass on what a tool reports, while it runs."""
        if call_id in self._tasks and self._reports[call_id] < MAX_PROGRESS:
            self._reports[call_id] += 1
            self._follower.tool_reports(call_id, text, kind)

    def _interrupted(self, call: ToolCallBlock, task: asyncio.Task[None] | None) -> None:
        self._tell(_interruption(call), task)

    def _tell(self, result: ToolResultBlock, task: asyncio.Task[None] | None) -> None:
        """Pass on the result of the call that `task` runs, once."""
        if self._tasks.get(result.id) is not task:
            return
        del self._tasks[result.id]
        del self._reports[result.id]
        self._interruptible.pop(result.id, None)
        self._asked.pop(result.id, None)
        self._at_model.pop(result.id, None)
        self._questions.pop(result.id, None)
        self._follower.tool_done(result)


def _denied(call: ToolCallBlock, words: str) -> ToolResultBlock:
    return ToolResultBlock(id=call.id, name=call.name, output=words, state=ToolResultState.DENIED)


def _interruption(call: ToolCallBlock) -> ToolResultBlock:
    state = ToolResultState.INTERRUPTED
    return ToolResultBlock(id=call.id, name=call.name, output=INTERRUPTED_BY_USER, state=state)


class _Around:
    """What a call does around the tools of an agent.

    The agent is the model, or works for a tool call (`outer`).
    """

    def __init__(self, tools: ToolRunner, outer: ToolCallBlock, *, at_model: bool) -> None:
        self._tools = tools
        self._outer = outer
        self._at_model = at_model

    def concerns(self, decision: PermissionDecision) -> bool:
        """See `Around.concerns`."""
        follows = self._tools.on_result_within is not None and not self._at_model
        return decision.asks or self._tools.has_hooks or follows

    async def run(self, call: ToolCallBlock, run: RunDecided, decide: Decide) -> ToolResultBlock:
        """See `Around.run`."""
        if self._at_model:
            return await self._tools.run_at_model(call, run, decide)
        result = await self._tools.run_within(self._outer, call, run, decide)
        if self._tools.on_result_within is not None:
            self._tools.on_result_within(result)
        return result
