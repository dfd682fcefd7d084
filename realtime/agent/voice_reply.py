"""One reply of an agent in a voice call: from its events to the pieces of responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

import msgspec

from realtime.agent.reply_run import NO_RESULT
from realtime.event import reply as r
from realtime.event.base import Item, UsageDetail
from realtime.event.meaning import Report
from realtime.event.server import ProgressKind
from realtime.message import Msg, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from realtime.model.local.language_model import (
    Reply,
    ReplyReport,
    ReplyText,
    ReplyThought,
    ReplyToolCall,
    ReplyToolRun,
    ReplyUsage,
)
from realtime.permission import PermissionDecision
from realtime.runtime import unique_id
from realtime.tool import Toolkit
from realtime.tool.context import Around, Decide, RunDecided, ToolScope


class _Pause(Enum):
    """Ends a response: what follows comes with the next one."""

    TOOLS = "tools"


@dataclass(slots=True, eq=False)
class _Run:
    """A tool that the agent runs. What it reports waits until a response has taken the call."""

    call: ToolCallBlock
    """As the call knows it."""
    result: asyncio.Future[ToolResultBlock]
    waiting: list[Callable[[], None]] | None = field(default_factory=list)
    """None once it is taken."""
    taken: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, report: Callable[[], None]) -> None:
        """Report something, now or once the call is taken."""
        if self.waiting is None:
            report()
        else:
            self.waiting.append(report)

    def take(self) -> None:
        """A response has taken the call."""
        waiting, self.waiting = self.waiting or [], None
        self.taken.set()
        for report in waiting:
            report()


class _AroundTaken:
    """What the call does around a tool that it knows of."""

    def __init__(self, around: Around, run: _Run, may_act: Callable[[], Awaitable[object]] | None) -> None:
        self._around = around
        self._run = run
        self._may_act = may_act

    def concerns(self, decision: PermissionDecision) -> bool:
        """See `Around.concerns`."""
        return self._around.concerns(decision)

    async def run(self, call: ToolCallBlock, run: RunDecided, decide: Decide) -> ToolResultBlock:
        """See `Around.run`. For a draft that is dropped, no one is asked and no hook is called."""
        own_id, call_id = call.id, self._run.call.id

        async def run_own(allowed: ToolCallBlock, /, *, failure: str = "") -> ToolResultBlock:
            result = await run(msgspec.structs.replace(allowed, id=own_id), failure=failure)
            return msgspec.structs.replace(result, id=call_id)

        if self._may_act is not None:
            await self._may_act()
        await self._run.taken.wait()
        return await self._around.run(msgspec.structs.replace(call, id=call_id), run_own, decide)


class VoiceReply:
    """Follows a reply by its events and yields it in pieces.

    It pauses in each round of tools. `scope` is the call as the agent's tools see it. `kept`: whether a draft counts;
    `undo` takes it back. `call_ids` are the ids that tool calls have had; those of this reply are added. `foreign`
    tools run in the call (`run_in_call`) and not within the agent; `decide` decides about calls of the agent's own.
    """

    def __init__(
        self,
        scope: ToolScope,
        kept: asyncio.Future[bool] | None,
        undo: Callable[[], Awaitable[None]] | None,
        *,
        call_ids: set[str],
        foreign: Container[str],
        decide: Decide | None,
    ) -> None:
        self.task: asyncio.Task[Msg] | None = None
        """Gives the reply; None before and after that."""
        self.pauses = False
        """Whether it waits for the response that follows a round of tools."""
        self.ending: asyncio.Task[None] | None = None
        """Brings it to its end before its time."""
        self._outer = scope
        self._error: BaseException | None = None
        """What the agent raised."""
        self._kept = kept
        self._undo = undo
        self._call_ids = call_ids
        self._foreign = foreign
        self._decide = decide
        self._report_now: Callable[[Report], None] | None = None
        """Takes what the agent's tools tell while they run; None before a response has taken one of them."""
        self._pieces: asyncio.Queue[Reply | _Pause | None] = asyncio.Queue()
        self._msg: Msg | None = None
        """The reply so far."""
        self._text_id: str | None = None
        """The block of the last words; None where the words of a response begin."""
        self._n_tokens = [0, 0]
        """Input and output tokens that no response has told."""
        self._calls_tools = False
        """Whether this round has called a tool."""
        self._runs: dict[str, _Run] = {}
        """The agent's own tools, by its ids of the calls."""
        self._asked: dict[str, asyncio.Future[ToolResultBlock]] = {}
        """Results of foreign tools, by the agent's ids of the calls."""
        self._asked_ids: dict[str, str] = {}
        """Foreign calls without a result: the agent's ids by those of the call."""

    def begin(self, task: asyncio.Task[Msg]) -> None:
        """Follow the task that gives the reply."""
        self.task = task
        task.add_done_callback(self._over)

    @property
    def scope(self) -> ToolScope:
        """The call as the agent's tools see it."""
        return replace(self._outer, of_call=self._scope_of, may_act=None if self._kept is None else self._may_act)

    @property
    def is_over(self) -> bool:
        """Whether the agent has come to its end."""
        return self.task is None

    @property
    def reply_id(self) -> str | None:
        """The id of the agent's message; None before it has begun."""
        return None if self._msg is None else self._msg.id

    @property
    def counts(self) -> bool:
        """Whether it is no draft, or one that was kept."""
        kept = self._kept
        return kept is None or (kept.done() and not kept.cancelled() and kept.result())

    async def undo(self) -> None:
        """Take back what it left in the agent, once."""
        undo, self._undo = self._undo, None
        if undo is not None:
            await undo()

    async def pieces(self) -> AsyncGenerator[Reply, None]:
        """Yield the pieces of one response. Raises what the agent raised."""
        self.pauses, self._text_id, self._report_now = False, None, None
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, _Pause):
                self.pauses = True
                return
            yield piece
        if self._error is not None:
            raise self._error

    # -- tools of the call ---------------------------------------------------------------------------------------------

    async def run_in_call(self, call: ToolCallBlock) -> ToolResultBlock:
        """Return the result of a foreign tool, which a later prompt brings."""
        return await self._asked.setdefault(call.id, _future())

    def take_results(self, history: Sequence[Item]) -> bool:
        """Take the results of foreign tools; False if one is missing."""
        results = {item.tool_result.id: item.tool_result for item in history if item.tool_result is not None}
        if not self._asked_ids.keys() <= results.keys():
            return False
        for call_id, own_id in self._asked_ids.items():
            _resolve(self._asked.setdefault(own_id, _future()), results[call_id])
        self._asked_ids.clear()
        return True

    # -- tools of the agent --------------------------------------------------------------------------------------------

    def _scope_of(self, call: ToolCallBlock) -> ToolScope:
        """Return the scope of one of the agent's tools. What it reports waits until a response has taken the call."""
        run = self._runs.get(call.id)
        of_call = self._outer.of_call
        if run is None or of_call is None:
            return replace(self.scope, of_call=None)
        outer = of_call(run.call)

        def progress(text: str, kind: ProgressKind) -> None:
            if outer.progress is not None:
                run.tell(partial(outer.progress, text, kind))

        def say(text: str) -> None:
            if outer.say is not None:
                run.tell(partial(outer.say, text))

        inner = self.scope
        around = None if outer.around is None else _AroundTaken(outer.around, run, inner.may_act)
        return replace(outer, progress=progress, say=say, around=around, may_act=inner.may_act, speaker=inner.speaker)

    async def _may_act(self) -> None:
        assert self._kept is not None
        await asyncio.wait({self._kept})
        if not self.counts:
            raise asyncio.CancelledError

    # -- events --------------------------------------------------------------------------------------------------------

    def take(self, event: r.AgentEvent) -> None:
        """Take the next event of the reply."""
        if isinstance(event, r.ReplyStartEvent):
            self._msg = Msg.from_events([event])
        elif self._msg is not None:
            self._msg.append_event(event)
        match event:
            case r.ToolCallStartEvent() | r.ToolCallDeltaEvent():
                pass
            case r.ToolCallEndEvent(tool_call_id=own_id):
                self._call(own_id)
            case r.ModelCallEndEvent():
                self._n_tokens[0] += event.input_tokens
                self._n_tokens[1] += event.output_tokens
                self._end_round()
            case r.TextBlockDeltaEvent(block_id=block_id, delta=delta):
                self._end_round()
                apart = "\n" if self._text_id not in (None, block_id) else ""
                self._text_id = block_id
                self._pieces.put_nowait(ReplyText(f"{apart}{delta}"))
            case r.ThinkingBlockDeltaEvent(delta=delta):
                self._end_round()
                self._pieces.put_nowait(ReplyThought(delta))
            case r.ToolResultStartEvent():
                self._end_round()
            case r.ToolResultEndEvent(tool_call_id=own_id):
                self._answer(own_id)
            case r.CustomEvent() if self.pauses and self._report_now is not None:
                self._report_now(event)
            case r.HintBlockEvent() | r.CustomEvent() | r.ExceedMaxItersEvent() | r.RequestStopEvent():
                self._pieces.put_nowait(ReplyReport(event))
            case r.ReplyEndEvent(finished_reason=reason):
                if reason != "completed" or event.message:
                    self._pieces.put_nowait(ReplyReport(event))
            case _:
                pass

    def _call(self, own_id: str) -> None:
        block = None if self._msg is None else self._msg.growing_content.get("tool_call", own_id)
        if not isinstance(block, ToolCallBlock):
            return
        self._calls_tools, self._text_id = True, None
        call_id = unique_id() if own_id in self._call_ids else own_id
        self._call_ids.add(call_id)
        call = ToolCallBlock(id=call_id, name=block.name, input=block.input or "{}")
        if call.name in self._foreign:
            self._asked_ids[call_id] = own_id
            self._pieces.put_nowait(ReplyToolCall(call.name, call.input, call_id))
        else:
            if self._decide is not None:
                call = _decided(call, self._decide(call))
            run = self._runs[own_id] = _Run(call, _future())
            self._pieces.put_nowait(ReplyToolRun(call, run.result, partial(self._taken, run)))

    def _taken(self, run: _Run, report: Callable[[Report], None]) -> None:
        self._report_now = report
        run.take()

    def _answer(self, own_id: str) -> None:
        run = self._runs.get(own_id)
        block = None if self._msg is None else self._msg.growing_content.get("tool_result", own_id)
        if run is not None and isinstance(block, ToolResultBlock):
            result = msgspec.structs.replace(block, id=run.call.id, created_at=None, finished_at=None)
            _resolve(run.result, result)

    def _end_round(self) -> None:
        """A response ends where the agent has called tools."""
        if self._calls_tools:
            self._calls_tools = False
            self._tell_usage()
            self._pieces.put_nowait(_Pause.TOOLS)

    def _tell_usage(self) -> None:
        (n_input, n_output), self._n_tokens = self._n_tokens, [0, 0]
        if n_input or n_output:
            detail = UsageDetail(input_text_tokens=n_input, output_text_tokens=n_output)
            self._pieces.put_nowait(ReplyUsage(n_input, n_output, detail))

    def _over(self, task: asyncio.Task[Msg]) -> None:
        for run in self._runs.values():
            call = run.call
            _resolve(
                run.result,
                ToolResultBlock(id=call.id, name=call.name, output=NO_RESULT, state=ToolResultState.INTERRUPTED),
            )
        self._tell_usage()
        self._pieces.put_nowait(None)
        self._error = None if task.cancelled() else task.exception()
        self.task = None  # refers back to this


def decider_of(agent: object, scope: ToolScope) -> Decide | None:
    """Return what decides about calls of the agent's tools within a scope; None for an agent without a toolkit."""
    toolkit = getattr(agent, "toolkit", None)
    return toolkit.decider(scope) if isinstance(toolkit, Toolkit) else None


def _decided(call: ToolCallBlock, decision: PermissionDecision) -> ToolCallBlock:
    """Return a call as listeners get it. One that is denied looks like any other: its result says so."""
    if decision.asks:
        return decision.asking(call)
    return msgspec.structs.replace(call, state=ToolCallState.ALLOWED) if decision.is_consent else call


def _future() -> asyncio.Future[ToolResultBlock]:
    return asyncio.get_running_loop().create_future()


def _resolve(future: asyncio.Future[ToolResultBlock], result: ToolResultBlock) -> None:
    if not future.done():
        future.set_result(result)
