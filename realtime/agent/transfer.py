"""Handing a call over: another agent goes on with it, between two turns."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from realtime.agent.controller import Controller
from realtime.agent.saying import Saying
from realtime.agent.settings import AgentSpec, transfer_tools
from realtime.call.participant import Host, Participant
from realtime.errors import ClientError, ProviderError, RealtimeError, UsageError, public_error
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import HintBlock, Msg
from realtime.message.outcome import Usage
from realtime.model.base import Profile
from realtime.plan import PlanNotebook
from realtime.state.restore import AGENT_CHANGED
from realtime.tool import ToolResponse
from realtime.tool.context import current_scope
from realtime.tool.mcp.of_client import ClientServers
from realtime.tool.output import failed

if TYPE_CHECKING:
    from realtime.agent.call_record import RecordForm
    from realtime.agent.memory_of_call import MemoryOfCall, UserMemory

logger = logging.getLogger(__name__)

TRANSFERRED = "transferred"
"""Why an agent ends that has handed its call over."""
MAX_TRANSFERS = 3
"""Transfers without a turn of the user between them."""
JOIN_S = 10.0
"""How long the next agent has to begin; the user waits, and is heard later."""
NEWEST_MS = 300
"""Audio from before the silence that the next model gets: a detector reports a voice some 80 ms late."""
MAX_HELD_BYTES = 2_000_000
"""Audio kept for the next model: more than `JOIN_S` of it at 48 kHz."""
TOLD = (
    "{name} has the call as soon as you have finished speaking. Tell the user so in at most one short sentence, unless "
    "you have just done it; do not answer in {name}'s place."
)
TAKES_OVER = (
    "You have just taken over this call from {before}. Go on where the conversation stands: answer what the user still "
    "waits for. Do not greet, and do not ask again for what was said. You may say your name."
)
STILL_YOURS = "You still have the call: tell the user, and help as far as you can."


def reachable(agent: AgentSpec, name: str) -> AgentSpec | None:
    """Return the agent of this name among those reachable by transfers; None if there is none."""
    seen: list[AgentSpec] = []
    waiting = deque([agent])
    while waiting:
        one = waiting.popleft()
        if one.name == name:
            return one
        seen.append(one)
        waiting += [other for other in one.transfers if other not in seen and other not in waiting]
    return None


def config_for(config: SessionConfig, before: Profile, profile: Profile) -> SessionConfig:
    """Return a client's settings for the next agent of its call.

    Instructions, voice and name are those of the agent. What is of one provider counts for models of that one only.
    """
    detection = config.turn_detection
    is_other = profile.provider != before.provider
    if is_other and isinstance(detection, TurnDetection):
        detection = msgspec.structs.replace(detection, type=None)
    return msgspec.structs.replace(
        config,
        instructions=None,
        voice=None,
        agent_name=None,
        turn_detection=detection,
        extra=None if is_other else config.extra,
    )


@dataclass(slots=True, eq=False)
class Chain:
    """What the agents share that have one call, one after the other. Agents are named by their `origin`."""

    agent_ids: dict[object, str] = field(default_factory=dict)
    spent: dict[object, Usage] = field(default_factory=dict)
    plans: dict[object, PlanNotebook] = field(default_factory=dict)
    earlier_ids: frozenset[str] = frozenset()
    """Items of earlier calls, with which this one began."""
    record_form: RecordForm | None = None
    """The record of the call: that of the latest agent which has one."""
    of_user: UserMemory | None = None
    """The long-term memory of the call's user; None: the server has none for it."""
    memories: list[tuple[MemoryOfCall, Sequence[Msg]]] = field(default_factory=list)
    """Those of agents before, with what was heard until then."""
    leaving: set[asyncio.Task[None]] = field(default_factory=set)
    """Agents that have handed the call over and are not quite gone."""
    n_turns: int = 0
    """The user's turns before the latest transfer."""
    n_transfers: int = 0
    """Transfers since the user's latest turn."""

    def may_transfer(self, n_turns: int) -> bool:
        """Whether the user has said something since the latest transfers; there are `n_turns` now."""
        return n_turns != self.n_turns or self.n_transfers < MAX_TRANSFERS

    def note(self, n_turns: int) -> None:
        """The call is handed over."""
        self.n_transfers = self.n_transfers + 1 if n_turns == self.n_turns else 1
        self.n_turns = n_turns


class Run(Participant, Protocol):
    """One agent in one call, as `realtime.agent.run.AgentRun` is."""

    spec: AgentSpec
    asked: SessionConfig
    """What the client has set."""
    chain: Chain
    takeover: Takeover | None
    """What it takes over, until it has begun."""
    client_servers: ClientServers | None
    """The MCP servers that the client names."""

    @property
    def controller(self) -> Controller:
        """Its part in the call. Raises UsageError outside one."""

    @property
    def saying(self) -> Saying:
        """What it says of its own accord. Raises UsageError outside a running call, and in a room."""

    def tell_user(self, hint: HintBlock) -> None:
        """Have the model tell the user something."""

    def withdraw_questions(self) -> None:
        """End the questions for consent that are asked aloud."""

    def retire(self) -> list[HintBlock]:
        """End without a word; return what the next model has to know."""


@dataclass(frozen=True, slots=True, eq=False)
class Takeover:
    """A call that an agent takes over, as its run sees it."""

    transfers: Transfers
    before: str
    """Name of the agent that hands it over."""
    greets: bool
    responds: bool
    """Whether the user waits for an answer."""


class Transfers:
    """Hands the call of one run over, at most once."""

    def __init__(self, run: Run, host: Host) -> None:
        """Give the model a tool for each agent that the specification names. Raises UsageError."""
        self._run = run
        self._host = host
        self._task: asyncio.Task[AgentSpec] | None = None
        self._target = ""
        self._context = contextvars.copy_context()
        """Without the scope of a tool that transfers: the other agent is not within it."""
        self._held: deque[c.ClientEvent] = deque()
        self._held_bytes = 0
        self._asked = run.asked
        """The client's settings that the next agent has joined with."""
        self._hints: list[HintBlock] = []
        self.holds = False
        """Whether what the client sends waits, or is the next agent's."""
        self.successor: Run | None = None
        """Who has the call; None while this run has it."""
        for tool_name, target in transfer_tools(run.spec.transfers).items():
            what = target.description or _first_sentence(target.sys_prompt)
            about = f"Hand the call over to {target.name}. {what}".strip()
            claim = f"I have handed you over to {target.name}"
            run.spec.toolkit.register(self._tool(target), name=tool_name, description=about, claims=[claim])

    def _tool(self, target: AgentSpec) -> Callable[..., Any]:
        async def transfer() -> ToolResponse | str:
            try:
                self._begin(target, greets=False, by_model=True)
            except UsageError as error:
                return failed(error.message)
            return TOLD.format(name=target.name)

        return transfer

    async def to(self, target: AgentSpec | str, *, greets: bool) -> AgentSpec:
        """See `RealtimeAgent.transfer_to`."""
        if isinstance(target, str):
            target = self._named(target)
        scope = current_scope()
        if scope is not None and scope.call_id == self._host.call_id:
            # The reply, which this waits for, waits for the tool.
            self._begin(target, greets=greets, by_model=True)
            return target
        moving = self._begin(target, greets=greets, by_model=False)
        try:
            return await asyncio.shield(moving)
        except asyncio.CancelledError:
            if not moving.cancelled():
                raise
            raise UsageError("the call ended before the transfer", code="agent_not_running") from None
        except (ProviderError, ClientError) as error:
            raise _cannot(target, error, error) from error

    def _named(self, name: str) -> AgentSpec:
        known = self._run.spec.transfers
        for agent in known:
            if agent.name == name:
                return agent
        names = ", ".join(agent.name for agent in known) or "none"
        raise UsageError(f"{self._run.name} cannot transfer to {name!r} (known: {names})", code="unknown_agent")

    def _begin(self, target: AgentSpec, *, greets: bool, by_model: bool) -> asyncio.Task[AgentSpec]:
        """Begin a transfer. Raises UsageError for one that cannot be."""
        self._check(target)
        self._target = target.name
        move = self._move_for_model(target, greets) if by_model else self._move(target, greets, responds=False)
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(move, name=f"transfer to {target.name}", context=self._context)
        self._task.add_done_callback(_retrieved)
        return self._task

    def _check(self, target: AgentSpec) -> None:
        run = self._run
        if not isinstance(target, AgentSpec):
            raise UsageError(f"a call is handed over to a RealtimeAgent, not to a {type(target).__name__}")
        _ = run.saying  # raises outside a running call, and in a room
        if target.origin is run.spec.origin:
            raise UsageError(f"{target.name} has the call already", code="transfer_to_itself")
        if target.serves_another(self._host.call_id):
            raise UsageError(f"{target.name} was started for a call of its own: stop it first", code="agent_running")
        if self._task is not None and not self._task.done():
            raise UsageError(f"the call is being handed over to {self._target} already", code="transfer_under_way")
        if not run.chain.may_transfer(self._n_turns()):
            raise UsageError(
                f"the call was handed over {MAX_TRANSFERS} times since the user spoke: answer the user first",
                code="too_many_transfers",
            )

    def _n_turns(self) -> int:
        return sum(item.role == "user" for item in self._host.conversation.items())

    # -- the transfer ----------------------------------------------------------------------------------------------

    async def _move_for_model(self, target: AgentSpec, greets: bool) -> AgentSpec:
        try:
            return await self._move(target, greets, responds=True)
        except RealtimeError as error:
            told = _cannot(target, error, public_error(error))
            logger.warning("a call could not be handed over: %s", error)
            self._run.controller.tell_error(told)
            self._run.tell_user(HintBlock(hint=f"{told.message} {STILL_YOURS}", source="transfer"))
            raise

    async def _move(self, target: AgentSpec, greets: bool, *, responds: bool) -> AgentSpec:
        """Wait for the reply's end, and let the other agent join. Raises what its `join` raises."""
        run = self._run
        run.withdraw_questions()
        async with run.saying.silence_kept():
            self.holds = True
            try:
                successor: Run = target.run()
                successor.chain, successor.client_servers = run.chain, run.client_servers
                successor.agent_id = successor.agent_id or run.chain.agent_ids.get(target.origin)
                successor.spec.plan_notebook = run.chain.plans.get(target.origin, successor.spec.plan_notebook)
                successor.spec.spent = run.chain.spent.get(target.origin, successor.spec.spent)
                successor.takeover = Takeover(self, run.name, greets, responds or self._is_unanswered())
                await self._join(successor)
            finally:
                if self.successor is None:
                    self._give_back()
            return successor.spec

    async def _join(self, successor: Run) -> None:
        run = self._run
        own = self._host.own
        assert own is not None
        host = replace(self._host, own=replace(own, is_new=True))
        self._asked = run.asked
        config = config_for(run.asked, run.spec.model.profile, successor.spec.model.profile)
        joining = asyncio.create_task(successor.join(host, config), name=f"{successor.name} joins")
        try:
            await asyncio.wait([joining], timeout=JOIN_S)
            is_late = not joining.done() and self.successor is None
        finally:
            # Once it has the call, it is not ours to stop.
            if not joining.done() and self.successor is None:
                joining.cancel()
                await asyncio.wait([joining])
        if is_late:
            raise ProviderError(f"it was not ready within {JOIN_S:g} s", code="transfer_timeout", retryable=True)
        await joining

    def _is_unanswered(self) -> bool:
        messages = [item for item in self._host.conversation.items() if item.type == "message"]
        return bool(messages) and messages[-1].role == "user"

    def _give_back(self) -> None:
        """The other agent has not come: this one takes what the client has sent meanwhile."""
        self.holds = False
        held, self._held = self._held, deque()
        self._held_bytes = 0
        for event in held:
            self._run.receive(event)

    def hand(self, successor: Run) -> None:
        """The other agent is there, and begins when this returns. Raises UsageError where the call has ended."""
        run, own = self._run, self._host.own
        _ = run.saying  # raises where the call has ended meanwhile
        assert own is not None
        before, profile = run.controller, run.spec.model.profile
        pcm = before.turns.unanswered_audio(NEWEST_MS)
        if pcm and "audio" in successor.spec.model.profile.input_modalities:
            tail = c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(profile.input_rate_hz))
            successor.controller.on_client(tail)
        successor.controller.input.go_on_from(before.input)
        self.successor = successor
        run.chain.note(self._n_turns())
        run.chain.agent_ids[run.spec.origin] = run.agent_id or ""
        run.chain.spent[run.spec.origin] = run.spec.spent
        if run.spec.plan_notebook is not None:
            run.chain.plans[run.spec.origin] = run.spec.plan_notebook
        who = {"from": run.name, "from_id": run.agent_id or "", "to": successor.name, "to_id": successor.agent_id or ""}
        emit = self._host.emit
        self._hints = run.retire()
        own.replace(successor)
        emit(s.ServerCustomEvent(name=AGENT_CHANGED, value=who))

    def release(self) -> None:
        """The other agent has begun: it takes what the client has sent meanwhile."""
        successor = self.successor
        assert successor is not None
        run = self._run
        if run.asked is not self._asked:
            with suppress(ClientError):  # the client was told that the agent before it could do it
                successor.configure(config_for(run.asked, run.spec.model.profile, successor.spec.model.profile))
        for hint in self._hints:
            successor.tell_user(hint)
        held, self._held = self._held, deque()
        for event in held:
            successor.receive(event)

    def take(self, event: c.ClientEvent) -> bool:
        """Keep what the client sends while no agent can take it; later, pass it on."""
        if self.successor is not None and not self._held:
            return self.successor.receive(event)
        self._held.append(event)
        if isinstance(event, c.ClientAudioAppendEvent):
            self._held_bytes += len(event.audio)
            while self._held_bytes > MAX_HELD_BYTES:
                oldest = next(one for one in self._held if isinstance(one, c.ClientAudioAppendEvent))
                self._held.remove(oldest)
                self._held_bytes -= len(oldest.audio)
        return True

    async def close(self) -> None:
        """The run ends: so does a transfer that has not happened."""
        if self._task is not None and not self._task.done() and self.successor is None:
            self._task.cancel()
            await asyncio.wait([self._task])


def _cannot(target: AgentSpec, error: RealtimeError, told: RealtimeError) -> ProviderError:
    """Return the error of a failed transfer, in the words of `told`."""
    why = told.message.rstrip(".")
    return ProviderError(f"{target.name} cannot take the call: {why}.", code=error.code, retryable=error.retryable)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?。！？])\s*", text.strip(), maxsplit=1)[0]


def _retrieved(task: asyncio.Task[AgentSpec]) -> None:
    """Mark the error of a transfer as known: the model was told, or the program awaits it."""
    if not task.cancelled():
        task.exception()
