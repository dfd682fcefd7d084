"""Hooks of a `RealtimeAgent`: functions of the program around what happens in a call, beside the audio.

| hook types | `kwargs` | `output` of the post-hooks |
|---|---|---|
| `pre_client_event`, `post_client_event` | `event`: a client event, except audio | whether it was taken |
| `pre_model_event`, `post_model_event` | `event`: an event of the model, except audio | None |
| `pre_transcript`, `post_transcript` | `item_id`: a spoken turn that is over | its words, a `Msg` of the user |
| `pre_response`, `post_response` | `response_id`, `metadata`: a response | its words and tool calls, a `Msg` |
| `pre_tool_call`, `post_tool_call` | `tool_call`: a call of a tool of the agent | its `ToolResultBlock` |
| `pre_end`, `post_end` | `reason`: why the agent leaves the call | None |

A pre-hook is `(self, kwargs)`, a post-hook `(self, kwargs, output)`; `self` is the agent of the call. What a hook
returns replaces `kwargs` or `output` for the hooks behind it; None leaves them. Two kinds of pre-hooks change the call
itself: those of client events (but what takes effect at once: `client_audio_commit`, `client_audio_clear`,
`client_response_cancel`) and of tool calls; of the post-hooks those of tool calls. All others are called afterwards, in
order.

The tools of an agent are its own, and those of a thinking agent that is its language model or a delegate.

A plain function runs in a thread of its own, so a slow one stops no call. A hook that raises, returns something of
another type, or takes longer than `HOOK_S` has no effect and becomes an `agent_error`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, get_args

from realtime.errors import RealtimeError, UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.exits import exits_held
from realtime.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock
from realtime.tool.blocking import watched_callback
from realtime.tool.context import RunTool
from realtime.tool.threads import ToolThreads

logger = logging.getLogger(__name__)

HOOK_S = 1.0
"""The longest that a hook may take."""
MAX_WAITING = 1_000
"""Events that may wait for slow hooks; the hooks do not get what comes then."""

T = TypeVar("T")
Kwargs = dict[str, Any]
Hook = Callable[..., Any]
"""Plain or `async`: `(self, kwargs) -> dict | None`, or `(self, kwargs, output) -> output | None`."""

KINDS = ("client_event", "model_event", "transcript", "response", "tool_call", "end")
HOOK_TYPES = tuple(f"{when}_{kind}" for kind in KINDS for when in ("pre", "post"))
AT_ONCE = (c.ClientAudioCommitEvent, c.ClientAudioClearEvent, c.ClientResponseCancelEvent)
"""Client events that no hook delays: they belong to the audio, or silence the agent."""
_AUDIO = (c.ClientAudioAppendEvent, m.ModelResponseAudioDeltaEvent)
_KEYS: dict[str, tuple[str, Any]] = {
    "client_event": ("event", get_args(c.ClientEvent)),
    "model_event": ("event", get_args(m.ModelEvent)),
    "transcript": ("item_id", str),
    "response": ("response_id", str),
    "tool_call": ("tool_call", ToolCallBlock),
    "end": ("reason", str),
}
_THREADS = ToolThreads()


class RunHooks:
    """The hooks of one agent, by type and name; `has` is the set of kinds that have any."""

    def __init__(self) -> None:
        self.has: frozenset[str] = frozenset()
        self.on_change: Callable[[], None] = lambda: None
        """Called when `has` changes."""
        self._by_type: dict[str, dict[str, Hook]] = {}

    def copy(self) -> RunHooks:
        """Return the same hooks, for another agent."""
        hooks = RunHooks()
        hooks._by_type = {kind: dict(named) for kind, named in self._by_type.items()}
        hooks.has = self.has
        return hooks

    def register(self, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Add a hook, behind those of its type; one of the same name is replaced. Raises UsageError."""
        self._check(hook_type)
        if not callable(hook):
            raise UsageError(f"hook {hook_name!r} is a {type(hook).__name__}, not a function", code="bad_hook")
        self._by_type.setdefault(hook_type, {})[hook_name] = hook
        self._changed()

    def remove(self, hook_type: str, hook_name: str) -> None:
        """Remove a hook. Raises UsageError where there is none of this type and name."""
        self._check(hook_type)
        if self._by_type.get(hook_type, {}).pop(hook_name, None) is None:
            raise UsageError(f"there is no hook {hook_name!r} of type {hook_type}", code="unknown_hook")
        self._changed()

    def clear(self, hook_type: str | None = None) -> None:
        """Remove all hooks of a type; None: of all types. Raises UsageError for an unknown type."""
        if hook_type is None:
            self._by_type.clear()
        else:
            self._check(hook_type)
            self._by_type.pop(hook_type, None)
        self._changed()

    def of(self, hook_type: str) -> list[tuple[str, Hook]]:
        """Return the hooks of a type with their names, in order."""
        return [*self._by_type.get(hook_type, {}).items()]

    def _check(self, hook_type: str) -> None:
        if hook_type not in HOOK_TYPES:
            raise UsageError(f"no hook type {hook_type!r}: there are {', '.join(HOOK_TYPES)}", code="unknown_hook_type")

    def _changed(self) -> None:
        self.has = frozenset(name.split("_", 1)[1] for name, hooks in self._by_type.items() if hooks)
        self.on_change()


@dataclass(slots=True)
class _Line:
    """Work that a task does in order; the task ends with it."""

    waiting: list[Callable[[], Awaitable[None]]]
    worker: asyncio.Task[None] | None = None


class HookRunner:
    """Runs the hooks of one call, in tasks of `group`.

    `take` takes a client event; `follow` follows the call's events, None in a room; `tell_error` reports to the
    listeners.
    """

    def __init__(
        self,
        hooks: RunHooks,
        agent: Any,
        group: asyncio.TaskGroup,
        *,
        take: Callable[[c.ClientEvent], bool],
        follow: Callable[[Callable[[s.ServerEvent], None]], Callable[[], None]] | None,
        tell_error: Callable[[RealtimeError], None],
        limit_s: float = HOOK_S,
    ) -> None:
        self._hooks = hooks
        self._agent = agent
        self._group = group
        self._take = take
        self._follow_call = follow
        self._tell_error = tell_error
        self._limit_s = limit_s
        self._client, self._told = _Line([]), _Line([])
        self._unfollow: Callable[[], None] | None = None
        self._responses: dict[str, tuple[Kwargs, list[TextBlock | ToolCallBlock]]] = {}
        """What open responses have said, by id."""
        self._is_behind = False
        hooks.on_change = self._attend
        self._attend()

    def close(self) -> None:
        """The call is over: what waits is dropped."""
        self._hooks.on_change = lambda: None
        if self._unfollow is not None:
            self._unfollow()
            self._unfollow = None
        for line in (self._client, self._told):
            line.waiting.clear()
            if line.worker is not None:
                line.worker.cancel()

    # -- what happens in the call ----------------------------------------------------------------------------------

    def client_event(self, event: c.ClientEvent) -> bool:
        """Let the hooks have a client event. False: no hook delays it, so it is to be taken now."""
        if self._follow_call is None or isinstance(event, _AUDIO):
            return False
        if isinstance(event, AT_ONCE):
            self._soon(self._told, partial(self._tell, "client_event", {"event": event}, True))
            return False
        self._soon(self._client, partial(self._take_client_event, event))
        return True

    def model_event(self, event: m.ModelEvent) -> None:
        """Let the hooks have an event of the model."""
        if not isinstance(event, _AUDIO):
            self._soon(self._told, partial(self._tell, "model_event", {"event": event}, None))

    @property
    def has_tool_hooks(self) -> bool:
        """Whether there are hooks around tool calls."""
        return "tool_call" in self._hooks.has

    async def tool_call(self, call: ToolCallBlock, run: RunTool) -> ToolResultBlock:
        """Run a call with the hooks around it; they may change its name, its input and its result."""
        if not self.has_tool_hooks:
            return await run(call)
        kwargs = await self._pre("tool_call", {"tool_call": call})
        asked: ToolCallBlock = kwargs["tool_call"]
        result = await run(asked)
        return await self._post("tool_call", kwargs, result, ToolResultBlock)

    async def end(self, reason: str, close: Callable[[], Awaitable[None]]) -> None:
        """Close the model, with the hooks of the end around it."""
        if "end" not in self._hooks.has:
            await close()
            return
        kwargs: Kwargs = {"reason": reason}
        try:
            if self._told.worker is not None:
                await asyncio.wait([self._told.worker], timeout=self._limit_s)
            kwargs = await self._pre("end", kwargs)
        finally:
            await close()
        await self._post("end", kwargs, None, object)

    def _attend(self) -> None:
        """Follow the call's events while a hook wants any of them."""
        wants = not self._hooks.has.isdisjoint(("transcript", "response"))
        if self._unfollow is not None and not wants:
            self._unfollow()
            self._unfollow = None
        elif self._unfollow is None and wants and self._follow_call is not None:
            self._unfollow = self._follow_call(self._follow)

    def _follow(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentInputCommittedEvent(item_id=item_id):
                self._soon(self._told, partial(self._pre, "transcript", {"item_id": item_id}))
            case s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=text) if text:
                said = Msg("user", [TextBlock(text=text)], "user", id=item_id)
                self._soon(self._told, partial(self._post, "transcript", {"item_id": item_id}, said, Msg))
            case s.AgentResponseCreatedEvent(conversation="auto", response_id=response_id, metadata=metadata):
                kwargs: Kwargs = {"response_id": response_id, "metadata": dict(metadata or {})}
                self._responses[response_id] = kwargs, []
                self._soon(self._told, partial(self._pre, "response", kwargs))
            case s.AgentResponseAudioTranscriptDoneEvent(response_id=response_id, transcript=text) if text:
                self._says(response_id, TextBlock(text=text))
            case s.AgentResponseTextDoneEvent(response_id=response_id, text=text) if text:
                self._says(response_id, TextBlock(text=text))
            case s.AgentResponseToolUseDoneEvent(response_id=response_id, tool_use=call):
                self._says(response_id, call)
            case s.AgentResponseDoneEvent(response_id=response_id) if response_id in self._responses:
                kwargs, blocks = self._responses.pop(response_id)
                message = Msg(self._agent.name, blocks, "assistant", id=response_id)
                kwargs = kwargs | {"status": event.status}
                self._soon(self._told, partial(self._post, "response", kwargs, message, Msg))
            case _:
                pass

    def _says(self, response_id: str, block: TextBlock | ToolCallBlock) -> None:
        if response_id in self._responses:
            self._responses[response_id][1].append(block)

    # -- one after the other ---------------------------------------------------------------------------------------

    def _soon(self, line: _Line, work: Callable[[], Awaitable[Any]]) -> None:
        if len(line.waiting) >= MAX_WAITING:
            if not self._is_behind:
                self._is_behind = True
                self._report("the hooks of the agent are too slow: they miss events", "hooks_behind")
            return
        line.waiting.append(work)
        if line.worker is None or line.worker.done():
            line.worker = self._group.create_task(self._work(line), name="hooks")

    async def _work(self, line: _Line) -> None:
        while line.waiting:
            await line.waiting.pop(0)()
        self._is_behind = False

    async def _take_client_event(self, event: c.ClientEvent) -> None:
        kwargs = await self._pre("client_event", {"event": event})
        taken = self._take(kwargs["event"])
        await self._post("client_event", kwargs, taken, bool)

    async def _tell(self, kind: str, kwargs: Kwargs, output: Any) -> None:
        await self._post(kind, await self._pre(kind, kwargs), output, object)

    # -- calling hooks ---------------------------------------------------------------------------------------------

    async def _pre(self, kind: str, kwargs: Kwargs) -> Kwargs:
        """Call the pre-hooks; return the arguments that are left."""
        key, wanted = _KEYS[kind]
        for name, hook in self._hooks.of(f"pre_{kind}"):
            changed = await self._call(f"pre_{kind}", name, hook, dict(kwargs))
            if changed is None:
                continue
            value = changed.get(key) if isinstance(changed, Mapping) else None
            if isinstance(value, wanted) and _same(value, kwargs[key]):
                kwargs = dict(changed)
            else:
                self._report(f"hook {name!r} (pre_{kind}) returned no dict with another {key!r}", "bad_hook")
        return kwargs

    async def _post(self, kind: str, kwargs: Kwargs, output: T, wanted: Any) -> T:
        """Call the post-hooks; return the output that is left."""
        for name, hook in self._hooks.of(f"post_{kind}"):
            changed = await self._call(f"post_{kind}", name, hook, dict(kwargs), output)
            if changed is None:
                continue
            if isinstance(changed, wanted) and _same(changed, output):
                output = changed
            else:
                self._report(f"hook {name!r} (post_{kind}) returned another kind of output", "bad_hook")
        return output

    async def _call(self, hook_type: str, name: str, hook: Hook, *args: Any) -> Any:
        """Return what a hook returns; None, with an error event, where it raises or takes too long."""
        with exits_held():
            running = asyncio.ensure_future(_result_of(hook, name, self._agent, *args))
        in_thread = not inspect.iscoroutinefunction(hook)
        told_as = f"hook {name} ({hook_type})"
        try:
            with nullcontext() if in_thread else watched_callback(told_as, hook, self._tell_error):
                await asyncio.wait([running], timeout=self._limit_s)
        finally:
            if not running.done():
                running.cancel()
        if not running.done():
            self._report(f"hook {name!r} ({hook_type}) was given up after {self._limit_s:g} s", "hook_timeout")
            return None
        try:
            return running.result()
        except (Exception, asyncio.CancelledError) as error:
            # The program's code: whatever it raises must not end the call.
            logger.warning("hook %s (%s) failed", name, hook_type, exc_info=error)
            told = f"hook {name!r} ({hook_type}) failed ({type(error).__name__}): the server's log says why"
            self._report(told, "hook_failed")
            return None

    def _report(self, message: str, code: str) -> None:
        logger.warning(message)
        self._tell_error(UsageError(f"{message}. The call goes on without it.", code=code))


async def _result_of(hook: Hook, name: str, *args: Any) -> Any:
    if inspect.iscoroutinefunction(hook):
        return await hook(*args)
    loop = asyncio.get_running_loop()
    returned, error = await loop.run_in_executor(_THREADS.of(hook, name), _outcome, hook, args)
    if error is not None:
        raise error
    return await returned if inspect.isawaitable(returned) else returned


def _outcome(hook: Hook, args: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    """Return the hook's result or exception as a value: a future cannot carry StopIteration."""
    try:
        return hook(*args), None
    except Exception as error:
        return None, error
    except BaseException as error:  # a panic of a Rust library, KeyboardInterrupt: in a thread, a failure as any other
        failure = RuntimeError(f"{type(error).__name__}: {error}")
        failure.__cause__ = error
        return None, failure


def _same(changed: Any, before: Any) -> bool:
    """Whether it still belongs to the same tool call."""
    return not isinstance(before, ToolCallBlock | ToolResultBlock) or changed.id == before.id
