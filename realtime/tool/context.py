"""`ToolContext`: what a running tool knows of its call, and how it reports.

A tool that wants one takes a parameter with this annotation, of any name; the model does not see it. Each call that an
agent serves has a `ToolScope`. It is in force for everything that runs within it, so that the tools of an agent behind
another one have the same call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, Generic, Protocol, TypeVar, Union, get_args, get_origin

from realtime.errors import BadTool
from realtime.event.server import ProgressKind
from realtime.message import Msg, ToolCallBlock, ToolResultBlock
from realtime.permission import PermissionDecision, PermissionEngine
from realtime.tool.blocking import OnBlocked, ignored
from realtime.tool.running import standing_still

logger = logging.getLogger(__name__)

State = TypeVar("State")

MAX_NOTES = 1_000
"""Notes of one tool call; further ones are dropped."""
NOTE_CHARS = 2_000
"""Characters of one note; the rest is dropped."""
END_S = 1.0
"""Seconds for each thing that tools do at the call's end."""
AGENT_TOOL_S = 600.0
"""How long a tool of an agent may run outside of calls."""

AtEnd = Callable[[], Awaitable[None]]
RunTool = Callable[[ToolCallBlock], Awaitable[ToolResultBlock]]


class RunDecided(Protocol):
    """Runs a call as it was decided about."""

    def __call__(self, call: ToolCallBlock, /, *, failure: str = "") -> Awaitable[ToolResultBlock]:
        """Run the call; with a `failure` (see `PermissionDecision`), return that."""
        ...


Decide = Callable[[ToolCallBlock], PermissionDecision]
"""Decides about a call by what is in force at that moment."""
Elicit = Callable[[str, str, Mapping[str, Any]], Awaitable[dict[str, Any] | None]]
"""Asks the user for what a tool lacks: who asks, the words and a JSON schema in; the answers out, None for a refusal.

Raises TimeoutError where no answer comes, CancelledError where the tool is interrupted meanwhile.
"""


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a tool asks a language model to write."""

    system: str
    messages: Sequence[tuple[str, str]]
    """Who speaks (`user` or `assistant`), and the words."""
    max_tokens: int
    temperature: float | None = None


Sampler = Callable[[Sampling], Awaitable[str]]
"""Writes an answer. It may raise anything where there is none."""


class Around(Protocol):
    """What a voice call does around tools of agents: hooks, and the user's consent."""

    def concerns(self, decision: PermissionDecision) -> bool:
        """Whether there is anything to do about a call decided like this."""
        ...

    async def run(self, call: ToolCallBlock, run: RunDecided, decide: Decide) -> ToolResultBlock:
        """Run the call by `run`; where `decide` asks, once the user agrees.

        Returns its result; a refusal is one, too.
        """
        ...


@dataclass(slots=True, eq=False)
class ToolScope:
    """The call that tools run in. Without a voice call it is the toolkit's own, and has no ids."""

    call_id: str = ""
    user_id: str = ""
    agent_name: str = ""
    say: Callable[[str], None] | None = None
    """Speaks words to the user."""
    progress: Callable[[str, ProgressKind], None] | None = None
    """Takes the progress of the tool call that the scope is for."""
    heard: Callable[[], Sequence[Msg]] = tuple
    """Returns what both sides have heard so far (see `ToolContext.heard`)."""
    states: dict[type[Any], Any] = field(default_factory=dict)
    """The state of the tools: an object by class."""
    of_call: Callable[[ToolCallBlock], ToolScope] | None = None
    """Returns the scope of one tool call, where each has its own; None: the one before holds for all."""
    permissions: Callable[[], PermissionEngine] | None = None
    """Returns the permissions in force for the user whom the call serves; None: no call, and no further rules."""
    around: Around | None = None
    """What happens around a tool of an agent; None: nothing, and no user can be asked."""
    elicit: Elicit | None = None
    """Asks the user of the call; None: there is no one to ask."""
    sample: Sampler | None = None
    """Has the agent's language model write; None: it has none."""
    may_act: Callable[[], Awaitable[object]] | None = None
    """Awaited before anything happens that cannot be undone; raises CancelledError where it may not happen at all."""
    at_end: list[AtEnd] = field(default_factory=list)
    """What is done when the call is over."""
    tool_call_id: str = ""
    """Id of its tool call, as the listeners know it."""
    tool_timeout_s: float | None = AGENT_TOOL_S
    """How long a tool of an agent may run; None: as long as it likes."""
    on_blocked: OnBlocked = ignored
    """Takes the error about a tool that has blocked the event loop."""
    speaker: object | None = None
    """The agent whose words are those of the call: its tool calls are in the log, and it reads the call's hints."""

    def state_of(self, kind: type[State]) -> State:
        """Return this call's object of the class; it is made without arguments."""
        if kind not in self.states:
            self.states.setdefault(kind, kind())
        state: State = self.states[kind]
        return state

    async def end(self) -> None:
        """The call is over: do what is left to do then, each of it within a second."""
        while self.at_end:
            last = self.at_end.pop()
            try:
                async with asyncio.timeout(END_S):
                    await last()
            except Exception as error:
                # The program's code: whatever it raises must not hold up the end of the call.
                logger.warning("what a tool does at the end of its call failed: %s", type(error).__name__)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Make this the scope of tools within the block.

        Tasks that start there keep it.
        """
        token = _SCOPE.set(self)
        try:
            yield
        finally:
            _SCOPE.reset(token)


_SCOPE: ContextVar[ToolScope | None] = ContextVar("tool_scope", default=None)


def current_scope() -> ToolScope | None:
    """Return the scope in force; None outside of calls."""
    return _SCOPE.get()


def scope_of(call: ToolCallBlock, otherwise: ToolScope) -> ToolScope:
    """Return the scope of a tool call: that of the scope in force, else of `otherwise`."""
    scope = _SCOPE.get() or otherwise
    return scope if scope.of_call is None else scope.of_call(call)


class ToolContext(Generic[State]):
    """One tool call, as the tool sees it. All but `heard` may be used from the thread of a plain function.

    `ToolContext[Cart]` has a `state` of class `Cart`, which all tools of one call share; it is made with `Cart()`. For
    `ToolContext` alone it is a dict.
    """

    def __init__(
        self, scope: ToolScope, tool_call_id: str, state_type: type[State], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.call_id = scope.call_id
        """Id of the voice call; "" outside of one."""
        self.user_id = scope.user_id
        """Id of the user, as the application knows it; "" if unknown."""
        self.agent_name = scope.agent_name
        """Name of the agent whose tool this is; "" if unknown."""
        self.tool_call_id = tool_call_id
        self.notes: list[str] = []
        """What `progress` was given where no call takes it."""
        self._scope = scope
        self._state_type = state_type
        self._loop = loop
        self._n_notes = 0

    @property
    def state(self) -> State:
        """The object that all tools of this call share."""
        return self._scope.state_of(self._state_type)

    def heard(self) -> Sequence[Msg]:
        """Return what was heard in the call so far, oldest first: a message by each speaker's name.

        The agent's own words are there once they were played to their end, or cut to what was played; the user's once
        they are known. A message keeps its id. Nothing outside of a voice call. Only on the event loop.
        """
        return self._scope.heard()

    def at_end(self, function: AtEnd) -> None:
        """Await `function()` when the voice call is over; it has a second. Never, outside of one."""
        self._scope.at_end.append(function)

    def say(self, text: str) -> None:
        """Have the agent speak `text` in the next silence.

        That is only while the tool runs. The words are no part of the conversation. Nothing happens outside of a voice
        call, and with models that have no responses beside the conversation (Gemini, DashScope).
        """
        if self._scope.say is not None and text:
            self._on_loop(self._scope.say, text)

    @property
    def sample(self) -> Sampler | None:
        """Has the agent's language model write, beside the conversation; None where the agent has none."""
        return self._scope.sample

    @property
    def may_elicit(self) -> bool:
        """Whether there is a user who can be asked: in a voice call."""
        return self._scope.elicit is not None

    async def elicit(self, message: str, schema: Mapping[str, Any], *, source: str = "") -> dict[str, Any] | None:
        """Ask the user for what the tool lacks, by a form; return the answers.

        `schema` is a JSON Schema of an object with plain properties, `source` says who asks. The tool's time stands
        still meanwhile. None where the user declines, and where there is no one to ask. Raises TimeoutError if no
        answer comes within the time that the client has. Only on the event loop.
        """
        if self._scope.elicit is None:
            return None
        with standing_still():
            return await self._scope.elicit(source, message, schema)

    def progress(self, text: str) -> None:
        """Report what the tool is doing: a note for listeners, neither spoken nor part of the result.

        Outside of a voice call the result's metadata hold the notes, under `progress`.
        """
        self._n_notes += 1
        if text and self._n_notes <= MAX_NOTES:
            self._on_loop(self._note, text[:NOTE_CHARS])

    def _note(self, text: str) -> None:
        if self._scope.progress is not None:
            self._scope.progress(text, "note")
        else:
            self.notes.append(text)

    def _on_loop(self, function: Callable[[str], None], text: str) -> None:
        if asyncio._get_running_loop() is self._loop:
            function(text)
        else:
            self._loop.call_soon_threadsafe(function, text)


def context_state(annotation: Any) -> type[Any] | None:
    """Return the class of the state of a parameter's ToolContext.

    None for every other parameter.

    Raises BadTool where the state is no class.
    """
    origin = get_origin(annotation)
    if origin is Annotated:
        return context_state(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return next((state for one in get_args(annotation) if (state := context_state(one)) is not None), None)
    if annotation is ToolContext:
        return dict
    if origin is not ToolContext:
        return None
    (state_type,) = get_args(annotation)
    state = get_origin(state_type) or state_type
    if state is Any:
        return dict
    if not isinstance(state, type) or state is UnionType:
        raise BadTool(f"the state of a ToolContext is an object of a class that is made without arguments, not {state}")
    return state
