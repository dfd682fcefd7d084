"""One agent in one call: its model's connection, its controller, its tools and the settings in force."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from realtime.agent.announcer import Announcer
from realtime.agent.asked_user import consents_of
from realtime.agent.background import ToldOfBackground
from realtime.agent.checking import begin_checking, check_of, end_checking
from realtime.agent.claims import CallDeeds
from realtime.agent.client_servers import ServerConnections
from realtime.agent.consent import Consents
from realtime.agent.context import AgentContext
from realtime.agent.controller import Controller
from realtime.agent.detector import load_silero, silero_detector
from realtime.agent.heard import heard_items
from realtime.agent.permissions import CallPermissions
from realtime.agent.plan_of_call import PlanOfCall, keep_plans
from realtime.agent.run_hooks import HookRunner, RunHooks
from realtime.agent.sampling import sampler_of_connection
from realtime.agent.saying import Saying
from realtime.agent.settings import AgentSpec, RunSettings
from realtime.agent.speakers import messages_of
from realtime.agent.speaking_first import SpeakingFirst
from realtime.agent.told_of_settings import ToldOfSettings
from realtime.agent.tool_events import CallParts, ToolEvents
from realtime.agent.tools import ToolRunner
from realtime.agent.transfer import TRANSFERRED, Chain, Takeover, Transfers
from realtime.call.participant import Host, OwnCall
from realtime.errors import ClientError, ProviderError, RealtimeError, UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import Item
from realtime.event.config import AudioSettings, SessionConfig
from realtime.message import ConfirmResult, HintBlock, Msg
from realtime.model.base import Connection, GuessesWords
from realtime.plan import PlanNotebook
from realtime.tool.background import BackgroundTasks
from realtime.tool.context import ToolScope
from realtime.tool.mcp.of_client import ClientServers
from realtime.turn.machine import State

if TYPE_CHECKING:
    from realtime.agent.memory_of_call import MemoryOfCall, UserMemory

logger = logging.getLogger(__name__)

LEAVE_S = 5.0
"""Seconds that a call's end waits for its tools and its model.

A tool may swallow its cancellation, and a model may not close.
"""


class AgentRun:
    """One agent in one call: a `realtime.call.participant.Participant`."""

    room = None
    """See `realtime.call.participant.Participant`: an agent's call is its own, also where that agent is in a room."""

    def __init__(self, spec: AgentSpec) -> None:
        # The model of one call chooses among its own tools.
        self.spec = spec = copy.copy(spec)
        spec.toolkit = spec.toolkit.for_call()
        self.permissions = spec.toolkit.permissions = CallPermissions(spec.toolkit.permissions)
        self.plan = PlanOfCall(spec)
        """The plan that it follows, if it makes plans."""
        self._memory: MemoryOfCall | None = None
        self.name = spec.name
        self.agent_id = spec.agent_id
        self._settings = RunSettings(spec)
        self._controller: Controller | None = None
        self._connection: Connection | None = None
        self._announcer: Announcer | None = None
        self.consents: Consents | None = None
        """Its questions for consent; None while it is in no call."""
        self._background: ToldOfBackground | None = None
        self._task: asyncio.Task[None] | None = None
        self._joined = False
        self._stopping = asyncio.Event()
        self._tool_events = ToolEvents(self._stopping)
        self._told_of_settings: ToldOfSettings | None = None
        self._ended = False
        self._leave_reason: str | None = None
        self._end_reason: str | None = None
        self._host: Host | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hooks = spec.hooks
        self._hook_runner: HookRunner | None = None
        self._initiative: SpeakingFirst | None = None
        self._hasty_turns = 0
        self._early: list[m.ModelEvent] | None = []
        """What the model reports before the controller exists."""
        self.client_servers: ClientServers | None = None
        """The MCP servers that the client names; set before `join`."""
        self.asked = SessionConfig()
        """What the client has set."""
        self.chain = Chain()
        self.takeover: Takeover | None = None
        """What it takes over, until it has begun."""
        self._transfers: Transfers | None = None

    def share(self, hooks: RunHooks, plan_notebook: PlanNotebook | None = None) -> None:
        """Use these hooks and this notebook themselves, not copies: later changes count too. Before `join`."""
        self._hooks = self.spec.hooks = hooks
        self.plan.use(plan_notebook)

    def remember_user(self, memory: UserMemory) -> None:
        """Give the call its user's memory. Before `join`.

        It is for agents without one of their own.
        """
        self.chain.of_user = memory

    # -- its life --------------------------------------------------------------------------------------------------

    async def join(self, host: Host, config: SessionConfig) -> None:
        """Connect the model and join the call. Raises ProviderError or ClientError; leaves nothing behind."""
        if self._joined:
            raise UsageError("a run is for one call: make another with RealtimeAgent.run()", code="agent_running")
        if host.own is not None and self._transfers is None:
            self._transfers = Transfers(self, host)
        self.plan.begin()
        if host.own is not None and (self.spec.long_term_memory is not None or self.chain.of_user is not None):
            # Agents without a memory load none.
            from realtime.agent.memory_of_call import MemoryOfCall

            self._memory = MemoryOfCall(self.spec, self.chain.of_user)
            self._memory.begin()
        self.chain.record_form = self.spec.record_form or self.chain.record_form
        self._settings.take_on(config, had_audio=False)
        self._settings.client_servers = self.client_servers
        self._joined, self.asked = True, config
        self.agent_id = self.agent_id or host.runtime.new_id("agent")
        if config.agent_name:
            self.name = config.agent_name
        self._host, self._loop = host, asyncio.get_running_loop()
        started: asyncio.Future[None] = self._loop.create_future()
        self._task = task = asyncio.create_task(self._live(host, started), name=f"agent {self.agent_id}")
        try:
            await started
        except asyncio.CancelledError:
            await self.leave("cancelled")
            raise
        except BaseException:
            await asyncio.wait([task])
            self._joined, self._task, self._host = False, None, None
            raise

    async def leave(self, reason: str) -> None:
        """Stop everything and report `agent_ended`. Idempotent, and safe before `join`."""
        if self._task is None:
            return
        self._leave_reason = reason
        self._close_questions()
        if self._controller is not None:
            end_checking(self._controller)
            self._controller.responses.end_heard()
        self._stopping.set()
        task, self._task = self._task, None
        if self._connection is None:
            task.cancel()
        left = {task, *self.chain.leaving}
        for before in self.chain.leaving:
            before.cancel()
        _, left = await asyncio.wait(left, timeout=LEAVE_S)
        if left:
            logger.error("agent %s is left behind: a tool or its model does not end", self.agent_id)
        await self._fill_record(reason)
        self._end(reason)
        self._hasty_turns = self.hasty_turns
        self.spec.history = self.heard()
        self.plan.leave()
        self._leave_memory()
        await asyncio.gather(*(memory.finish(heard) for memory, heard in self.chain.memories))
        await keep_plans({*self.chain.plans.values(), *filter(None, [self.spec.plan_notebook])})
        self._release()
        self.spec.in_call(None)

    async def _fill_record(self, reason: str) -> None:
        """The call is over: tell its record, if it has one."""
        form, host = self.chain.record_form, self._host
        if form is None or host is None or host.own is None:
            return
        heard = [item for item in self.heard() if item.id not in self.chain.earlier_ids]
        event = await form.event(heard, self.name, reason)
        if event is not None:
            host.emit(event)

    def withdraw_questions(self) -> None:
        """Another agent will have the call: end the questions that are asked aloud."""
        if self.consents is not None:
            self.consents.withdraw()

    def retire(self) -> list[HintBlock]:
        """Another agent has the call from now on: end without a word. Returns what its model has to be told."""
        controller, background, task = self.controller, self._background, self._task
        assert background is not None
        assert task is not None
        self._close_questions()
        end_checking(controller)
        controller.end_responses()
        controller.resumption.forget()
        controller.user_turns.settle_words()
        hints = background.hand_over()
        self.plan.leave()
        self._ended, self._leave_reason = True, TRANSFERRED
        self._hasty_turns = self.hasty_turns
        self.spec.history = self.heard()
        self._leave_memory()
        self.spec.in_call(None)
        self.saying.is_over = True
        self._controller = self._announcer = self._background = self._told_of_settings = None
        self._tool_events.end()
        self._stopping.set()
        self.chain.leaving.add(task)
        task.add_done_callback(self._gone)
        return hints

    def _gone(self, task: asyncio.Task[None]) -> None:
        self.chain.leaving.discard(task)
        self._release()

    def _release(self) -> None:
        """Release what refers back to the call: the collector is not needed."""
        self._controller = self._connection = self._announcer = self._host = self._initiative = self._hook_runner = None
        self._transfers = self._background = self._told_of_settings = None
        self._tool_events.end()
        self.permissions.end()

    async def _live(self, host: Host, started: asyncio.Future[None]) -> None:
        """Run the agent's whole life: one task group around the model's connection."""
        settings, background, deeds = self._settings, BackgroundTasks(), CallDeeds()
        servers: ServerConnections | None = None
        self.spec.toolkit.background = background
        scope = ToolScope(
            host.call_id,
            host.user_id,
            self.name,
            heard=partial(self._words_heard, host),
            tool_timeout_s=self.spec.tool_timeout_s,
            states={BackgroundTasks: background, CallDeeds: deeds},
            permissions=lambda: self.permissions.of(host.acts_for()),
            on_blocked=self._tell_error,
        )
        try:
            async with asyncio.TaskGroup() as group:
                hooks = self._hook_runner = HookRunner(
                    self._hooks,
                    self.spec,
                    group,
                    take=partial(self.receive, hooked=True),
                    follow=host.own.follow if host.own is not None else None,
                    tell_error=self._tell_error,
                )
                tools = ToolRunner(
                    group,
                    self.spec,
                    self._tool_events,
                    on_error=self._tell_error,
                    scope=scope,
                    hooks=hooks,
                    permissions=self.permissions,
                    acts_for=host.acts_for,
                    on_result_within=deeds.add if self.spec.claims == "checked" else None,
                    client_servers=self.client_servers,
                )
                if self.spec.make_detector is silero_detector and settings.authority == "server":
                    # Loads once in a process, for 90 ms: not on the loop, where other calls speak.
                    await asyncio.get_running_loop().run_in_executor(None, load_silero)
                # Made before the model connects: its settings depend on who finds the turns.
                detector = settings.new_detector()
                first = settings.for_model(self.name)
                begins_with = self._prime(host)
                self.chain.earlier_ids |= {item.id for item in begins_with}
                # A model may run tools itself: they belong to this call too.
                with replace(scope, of_call=tools.scope_of).in_force():
                    connection = await self.spec.model.connect(
                        settings=first,
                        on_event=self._on_model_event,
                        history=host.conversation.items,
                        runtime=host.runtime,
                    )
                self._connection, scope.sample = connection, sampler_of_connection(connection)
                try:
                    detector = detector or settings.new_detector()
                    check = check_of(self.spec, settings, host, deeds)
                    context = AgentContext(host, connection, self.agent_id or "", self.name, check)
                    self._controller = controller = Controller(
                        context,
                        tools,
                        authority=settings.authority,
                        detector=detector,
                        recognise=self.spec.recognise if settings.interruption == "selective" else None,
                        echo_found=partial(self._remove_echo, host),
                    )
                    controller.configure(settings.config, settings.authority, settings.interruption)
                    told_of_settings = self._told_of_settings = ToldOfSettings(
                        settings, self.name, controller, connection, first, self._tell_error
                    )
                    if self.client_servers is not None:
                        told_of_settings.servers = servers = ServerConnections(
                            self.client_servers,
                            self.spec.toolkit,
                            group,
                            taken=lambda: self.client_tools,
                            emit=host.emit,
                            tell_left_out=told_of_settings.tell_left_out,
                        )
                    consents = self.consents = consents_of(self.spec, settings, host, context, controller, tools)
                    begin_checking(context, controller, connection, settings, host)
                    self._announcer = announcer = Announcer(group, context, controller)
                    told = ToldOfBackground(self.spec.toolkit, settings, host, tools, controller, announcer, deeds.add)
                    self._background = told
                    if host.own is not None:
                        self._initiative = SpeakingFirst(
                            self.spec, settings, host, host.own, connection, controller, group, self._tell_error
                        )
                    self._tool_events.begin(
                        CallParts(controller, told_of_settings, consents, announcer, told, self._initiative)
                    )
                    if self.takeover is not None:
                        self.takeover.transfers.hand(self)
                    self.spec.in_call(self)
                    host.emit(self.ready())
                    self.plan.follow(host.emit, context.who, told_of_settings.instructions_changed, told.tell)
                    controller.turns.on_cut = self.plan.cut
                    controller.on_plan_edit = partial(self.plan.edit, by="", refuse=self._tell_error)
                    for item in begins_with:
                        context.add_item(item)
                        context.item_done(item)
                    self._remember(host, host.own, controller, told_of_settings)
                    told_of_settings.tell_what_is_left_out()
                    self.permissions.begin(host.accepted, self._permissions_changed, lambda: settings.keeps_rules)
                    if self.takeover is None:
                        told.tell_what_was_lost()
                    if not started.done():
                        started.set_result(None)
                    early, self._early = self._early or [], None
                    for event in early:
                        self._on_model_event(event)
                    if self._initiative is not None:
                        self._initiative.begin(self.takeover)
                    if self.takeover is not None:
                        self.takeover.transfers.release()
                        self.takeover = None
                    loop = asyncio.get_running_loop()
                    forget = self.spec.toolkit.on_change(
                        partial(loop.call_soon_threadsafe, self._tool_events.tools_changed)
                    )
                    if servers is not None:
                        servers.follow(settings.config.hosted_tools or ())
                    try:
                        await self._stopping.wait()
                    finally:
                        forget()
                finally:
                    if self._transfers is not None:
                        await self._transfers.close()
                    if self._initiative is not None:
                        self._initiative.close(handed_over=self._leave_reason == TRANSFERRED)
                    self._close_questions()
                    tools.cancel_tools()
                    if servers is not None:
                        servers.close()
                    if self._background is not None:
                        self._background.close()
                    await background.close()
                    await scope.end()
                    reason = self._end_reason or self._leave_reason or "failed"
                    heard = None if self._controller is None else self._controller.responses
                    await hooks.end(reason, connection.close if heard is None else partial(heard.close, connection))
                    hooks.close()
        except* (ProviderError, UsageError, ClientError) as errors:
            if started.done():
                raise
            started.set_exception(errors.exceptions[0])
        except* Exception as errors:
            logger.exception("agent %s failed", self.agent_id)
            error = ProviderError(
                f"the model could not be started: {type(errors.exceptions[0]).__name__}", code="internal"
            )
            if not started.done():
                started.set_exception(error)
        finally:
            if self._hook_runner is not None:
                self._hook_runner.close()
            if not started.done():
                started.set_exception(UsageError("the agent was stopped before it had started", code="agent_stopped"))

    # -- what it takes ---------------------------------------------------------------------------------------------

    @property
    def controller(self) -> Controller:
        """The controller of the call. Raises UsageError before `join` and after `leave`."""
        if self._controller is None:
            raise UsageError("the agent is not running: call start() first", code="agent_not_running")
        return self._controller

    def receive(self, event: c.ClientEvent, *, hooked: bool = False) -> bool:
        """Take a client event at once, or after its hooks. False: a ClientError became an `agent_error`.

        `hooked`: it has had its hooks. Raises UsageError before `join`.
        """
        if self._transfers is not None and self._transfers.holds and self._transfers.take(event):
            return True
        if self._hooks.has and not hooked and self._delayed(event):
            return True
        controller = self._controller or self.controller  # without a further call for each frame of audio
        try:
            controller.on_client(event)
        except ClientError as error:
            error.client_event_id = event.event_id
            self._tell_error(error)
            return False
        if type(event) is c.ClientResponseCreateEvent and event.response is not None and self._told_of_settings:
            self._told_of_settings.tell_without(event.response.hosted_tools)
        return True

    def act(self, event: c.ClientEvent) -> None:
        """Take a client event at once. Raises ClientError for what cannot be done, UsageError while not in a call."""
        if self._transfers is not None and self._transfers.holds and self._transfers.take(event):
            return
        self.controller.on_client(event)

    def confirm(self, answer: ConfirmResult) -> None:
        """Take the user's answer to a call that asks for consent.

        Raises ClientError if no such call asks, and for rules that were not suggested for it.
        """
        call, rules = answer.tool_call, answer.rules or ()
        self.controller.confirm(call.id, answer.confirmed, changed=call, rules=rules)

    def audio_stopped(self) -> None:
        """The client sends no audio in the middle of a turn: end the turn."""
        if self._controller is not None:
            self._controller.turns.audio_stopped()

    def set_away(self, away: bool) -> None:
        """Go on while the listeners are away, but ask them nothing."""
        if self._initiative is not None:
            self._initiative.is_away = away
        if self.consents is not None:
            self.consents.set_away(away)

    # -- what the agent does of its own accord ---------------------------------------------------------------------

    @property
    def saying(self) -> Saying:
        """What the agent says of its own accord. Raises UsageError outside a running call, and in a room."""
        if self._initiative is not None and not self._stopping.is_set():
            return self._initiative.saying
        if self._host is not None and self._host.own is None:
            raise UsageError("in a room the floor decides who speaks: ask the room", code="agent_in_room")
        raise UsageError("the agent is in no running call: there is no one to speak to", code="agent_not_running")

    def emit_custom(self, event: s.ServerCustomEvent) -> None:
        """Tell the listeners an event of the program; from any thread. Raises UsageError outside a running call."""
        host, loop = self._host, self._loop
        if host is None or loop is None or self._ended:
            raise UsageError("the agent is in no running call: no one would get the event", code="agent_not_running")
        if asyncio._get_running_loop() is loop:
            host.emit(event)
        else:
            loop.call_soon_threadsafe(host.emit, event)

    def _permissions_changed(self, event: s.ServerCustomEvent) -> None:
        """Tell of changed permissions, and answer what is no question any more."""
        if self._host is not None and self._controller is not None and not self._ended:
            self._host.emit(event)
            self._controller.responses.tool_calls.permissions_changed()

    def hang_up(self, reason: str) -> None:
        """End the call soon; does nothing outside one, and in a room."""
        if self._host is not None and self._host.own is not None:
            self._host.own.end(reason)

    async def transfer_to(self, target: AgentSpec | str, *, greets: bool) -> AgentSpec:
        """See `RealtimeAgent.transfer_to`."""
        _ = self.saying  # raises outside a call, and in a room
        assert self._transfers is not None
        return await self._transfers.to(target, greets=greets)

    def tell_user(self, hint: HintBlock) -> None:
        """Have the model tell the user something when the floor is free."""
        if self._announcer is not None:
            self._announcer.hint(hint, speaks=True)

    def hint(self, hint: HintBlock, *, speaks: bool, holds: Callable[[], bool] = lambda: True) -> None:
        """Tell the model something of the program; with `speaks` it is to answer that once the floor is free.

        A hint that no longer `holds` by then is dropped. Raises UsageError outside a running call.
        """
        host, announcer = self._host, self._announcer
        if host is None or announcer is None or self._stopping.is_set():
            raise UsageError("the agent is in no running call: no model would get the hint", code="agent_not_running")
        announcer.hint(hint, speaks=speaks and self._settings.may_speak_unasked, holds=holds)
        if speaks and host.own is None:
            host.ask_for_floor()

    def heard(self) -> tuple[Item, ...]:
        """What was heard in the call so far; before and after it, what the next one begins with."""
        host = self._host
        if host is None:
            return self.spec.history
        return heard_items(host.conversation, host.ears, host.own.unplayed_items() if host.own is not None else ())

    def configure(self, change: SessionConfig) -> SessionConfig:
        """Apply new settings; return the effective ones.

        Raises ClientError, with nothing applied, for what cannot be done.
        """
        settings = self._settings
        before, authority = settings.config, settings.authority
        settings.take_on(change, had_audio=self.received_samples > 0)
        self.asked = self.asked.merged(change)
        if self._told_of_settings is not None:
            self._told_of_settings.changed(change, before, authority)
        return settings.config

    # -- background tools ------------------------------------------------------------------------------------------

    def background_tools(self) -> list[dict[str, Any]]:
        """Return what runs in the background: id, tool, state and latest report of each."""
        return self.spec.toolkit.list_background_tools()

    def cancel_background_tool(self, task_id: str) -> bool:
        """Stop a background tool and tell the model; False if none of this id runs."""
        return self._background is not None and self._background.cancel(task_id)

    # -- what a room asks ------------------------------------------------------------------------------------------

    def label_of(self, item_id: str) -> str | None:
        """Return the `event_id` of the client's commit that ended this turn; None if unknown."""
        return self._controller.user_turns.label_of(item_id) if self._controller is not None else None

    def is_dropped(self, response_id: str) -> bool:
        """Whether a response that runs or has just begun does not count: interrupted, or unwanted."""
        return self._controller is not None and self._controller.ledger.is_cancelled(response_id)

    def drop(self, response_id: str) -> None:
        """Cancel an unsolicited response; does nothing for an unknown id, or before `join`."""
        if self._controller is not None:
            self._controller.responses.drop(response_id)

    def lose_floor(self) -> None:
        """Another participant of the room has the floor: stop as at a voice over the reply."""
        if self._controller is not None:
            self._controller.lose_floor()

    def give_up(self) -> None:
        """Stop waiting for what the model was asked for (see `Ledger.give_up`)."""
        if self._controller is not None:
            self._controller.give_up()

    def end_responses(self) -> None:
        """The model is gone for good: every running response ends as it stands."""
        if self._controller is not None:
            self._controller.end_responses()

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Whether a reply is on its way or being played."""
        controller = self._controller
        return controller is not None and controller.turn.state in (State.THINKING, State.AGENT_SPEAKING)

    @property
    def client_tools(self) -> list[str]:
        """Names of the tools that run in the client."""
        return [tool.name for tool in self._settings.config.tools or ()]

    @property
    def wants_audio_stopped(self) -> bool:
        """Whether this server's detector finds the turns of the user."""
        return self._settings.authority == "server"

    @property
    def received_samples(self) -> int:
        """Samples of client audio that have arrived, at the client's rate."""
        return self._controller.input.received_samples if self._controller is not None else 0

    @property
    def received_ms(self) -> int:
        """Client audio that has arrived, in ms."""
        return self._controller.input.position_ms if self._controller is not None else 0

    @property
    def hasty_turns(self) -> int:
        """Number of hasty turn ends that were undone in this call."""
        return self._controller.turn.hasty_turns if self._controller is not None else self._hasty_turns

    def describe(self) -> dict[str, Any]:
        """Return which model speaks and what it can do, without secrets."""
        return self._settings.describe()

    def ready(self) -> s.AgentReadyEvent:
        """Return the event by which the agent introduces itself."""
        return s.AgentReadyEvent(model=self.describe(), agent_id=self.agent_id or "", agent_name=self.name)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _on_model_event(self, event: m.ModelEvent) -> None:
        if self._controller is None:
            if self._early is not None:
                self._early.append(event)
        elif isinstance(event, m.ModelSessionEndedEvent):
            if self._leave_reason is None:  # else `leave` says so, after the record of the call
                self._end(event.reason)
            self._stopping.set()
        else:
            self._controller.on_model(event)
            if type(event) is not m.ModelResponseAudioDeltaEvent:
                self._note(event)

    def _delayed(self, event: c.ClientEvent) -> bool:
        """Whether hooks see the event first, and then pass it on."""
        hooks = self._hook_runner if "client_event" in self._hooks.has else None
        return hooks is not None and hooks.client_event(event)

    def _note(self, event: m.ModelEvent) -> None:
        if type(event) is m.ModelResponseDoneEvent:
            self.spec.spent = self.spec.spent.plus(event.input_tokens, event.output_tokens)
        if "model_event" in self._hooks.has and self._hook_runner is not None:
            self._hook_runner.model_event(event)

    def _prime(self, host: Host) -> tuple[Item, ...]:
        """Let a new call begin with what was said before; return the items."""
        if host.own is None or not host.own.is_new or len(host.conversation):
            return ()
        for item in self.spec.history:
            host.conversation.add(item)
        return self.spec.history

    def _remember(
        self, host: Host, own: OwnCall | None, controller: Controller, told_of_settings: ToldOfSettings
    ) -> None:
        """Recall and record from now on; in a room, whose users are many, nothing."""
        memory = self._memory
        if own is None or memory is None:
            return

        def found(text: str) -> None:
            if text != self._settings.recalled and self._told_of_settings is not None:
                self._settings.recalled = text
                told_of_settings.instructions_changed()

        memory.follow(
            own.follow,
            found=found,
            heard=partial(self._words_heard, host),
            item_ids=lambda: [item.id for item in host.conversation.items()],
            after_reply=self.spec.model.profile.redials_for_instructions,
        )
        controller.responses.waits = memory.wait
        if isinstance(self._connection, GuessesWords):
            self._connection.tell_guesses(memory.hear)

    def _leave_memory(self) -> None:
        """The agent has left the call: recall no more; the end of the call records what was heard until now."""
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.leave()
            self.chain.memories.append((memory, messages_of(self.spec.history, lambda _: True, self.name)))

    def _close_questions(self) -> None:
        """The call is over, or another agent has it: questions without an answer end with it."""
        consents, self.consents = self.consents, None
        if consents is not None:
            consents.close()

    def _words_heard(self, host: Host) -> list[Msg]:
        """What was heard so far, by speakers."""
        controller = self._controller
        if controller is None:
            return []
        return messages_of(host.conversation.items(), controller.is_settled, self.name)

    def _tell_error(self, error: RealtimeError) -> None:
        if self._controller is not None and not self._ended:
            self._controller.tell_error(error)

    def _remove_echo(self, host: Host) -> None:
        """The microphone hears the replies: let this server remove them from now on, unless that was settled."""
        audio = self._settings.config.audio
        if audio is not None and audio.echo_cancellation in ("server", "off"):
            return
        settled = self.configure(SessionConfig(audio=AudioSettings(echo_cancellation="server")))
        host.configured({"audio": msgspec.to_builtins(settled.audio)})

    def _end(self, reason: str) -> None:
        if self._controller is not None and not self._ended:
            self._ended, self._end_reason = True, reason
            self._controller.end(reason)
