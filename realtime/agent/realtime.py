"""`RealtimeAgent`: a name, instructions, a model and tools."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Self, assert_never, cast

from realtime.agent.announcer import reminder_of
from realtime.agent.event_stream import EventStream
from realtime.agent.other_agents import OthersWords
from realtime.agent.run import AgentRun
from realtime.agent.run_hooks import Hook
from realtime.agent.saying import SpokenWords
from realtime.agent.settings import AgentSpec, RunSettings
from realtime.agent.text_reply import ReplyQueue
from realtime.call.session import Session, queue_listener
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.base import Item
from realtime.event.config import SessionConfig
from realtime.message import HintBlock, Msg, TextBlock, fold_messages
from realtime.message.outcome import Usage
from realtime.permission import PermissionEngine
from realtime.runtime import Runtime
from realtime.tool.background import Announce

InputEvent = r.ExternalExecutionResultEvent | r.UserInterruptEvent | r.UserConfirmResultEvent
Outlet = Callable[[s.ServerEvent], None] | asyncio.Queue[Any]


@dataclass(slots=True)
class _OwnCall:
    """The private call of an agent that is used without a server."""

    session: Session
    replies: ReplyQueue
    others: OthersWords

    @property
    def run(self) -> AgentRun:
        """The agent that has the call at present."""
        return cast(AgentRun, self.session.participant)


class RealtimeAgent(AgentSpec):
    """An agent that talks: a specification, of which each call makes a run.

    One object may serve many calls at a time (`run`); without a server it serves one (`start`). A change of its
    attributes counts for the calls that begin after it.

    `toolkit` holds the functions that the model may call. `turn_detection` says who decides about turns; None: the
    provider if its profile has a detector, else this server. `voice` overrides the model's own. `make_detector` makes
    the detector that this server uses where it decides; the default is Silero VAD. `recognise` writes the words of a
    voice over a reply; the default is the recogniser of `engine`, else of the running event loop once the embedded
    model is loaded there. A client that declares a tool with the name of one of the toolkit is refused unless
    `client_may_replace_tools`: then its tool takes the calls. `tool_timeout_s` is how long a tool may run;
    `client_timeout_s` is how long the client has for the result of its tool, and the user to consent to a call.
    `consent_silence_s` is how long a spoken question for consent awaits an answer, before it is asked once more or
    counts as refused.

    The agent may speak first. `greeting` are instructions for what it says when a call begins; a call that goes on
    after a lost server, and one whose conversation was restored, gets none. `on_enter(agent)` runs when a call has
    begun, `on_turn(agent, msg)` after each turn of the user; a subclass may override these methods instead. Both get
    the agent of the call, may `say` things, and delay nothing. `fillers` are said while a tool takes long, the first
    after 0.8 s, then one every 6 to 8 s, at most three; None: sentences in the language of the call; empty: none.
    After `idle_prompt_s` of silence the agent asks whether the user is there, after as long again it takes leave and
    ends the call with the reason `idle`. Clients of other protocols (OpenAI, DashScope, Gemini) are not spoken to
    unasked: neither greeting nor fillers nor questions.

    `transfers` are agents that the model may hand a call over to, by a tool for each, which tells it their
    `description` (by default the first sentence of their instructions). The other agent goes on with the same call: it
    has its own model, voice, instructions and tools, knows what was heard, and greets no second time.

    `permissions` decide which calls of its tools run, are asked for or are denied (`realtime.permission`).

    With `claims="checked"`, sentences that claim the deed of a tool ("I have booked the table") are withheld unless a
    call of it has succeeded in this call, and corrected (`docs/claims.md`). Tools say what claims their deeds
    (`Toolkit.register`). In English, German, Spanish, Chinese; default: "off".

    With a `plan_notebook` the agent has its tools, its instructions end with the hint for its plan, and listeners get
    `plan_updated` events. Each call that a server makes has a copy of it (`docs/plans.md`).

    `long_term_memory` is that of one user, over all calls (`docs/memory.md`). With `long_term_memory_mode`
    "agent_control" the model has tools for it; with "static_control" it is recalled for each turn, which waits 50 ms
    for it at most, and what was heard is recorded after each reply; "both" is both. In each mode callers have tools to
    hear, correct and forget what is remembered.

    At the end of a call, `chat_model` (None: the one that the model comes with) fills in its `call_record`, a class of
    pydantic, from what was heard. In the call, the agent asks for what is required there and reads it back. Listeners
    get an event `call_record`, and the calls API has it (`docs/agents.md`).

    `suggestions` are prompts to try, in the user's words: a page offers them (`agent_ready.model.suggestions`).

    Its state is name, instructions, voice, `turn_detection`, greeting, fillers, `idle_prompt_s`, the tokens used, the
    conversation as it was heard, and that of its plan notebook. Hooks are in `realtime.agent.run_hooks`.
    """

    _own: _OwnCall | None = None
    _events: EventStream | None = None

    @property
    def spec(self) -> AgentSpec:
        """What a run needs to know of the agent, as of now."""
        return RealtimeAgent.another(self)

    def run(self) -> AgentRun:
        """Return a new participant for one call (`realtime.call.session.Session`)."""
        return AgentRun(self.spec)

    def another(self) -> Self:
        """Return a copy of this agent that serves no call yet."""
        agent = copy.copy(self)
        agent._own = agent._events = agent._run = None
        agent.hooks = self.hooks.copy()
        return agent

    def describe(self) -> dict[str, Any]:
        """Return which model speaks and what it can do, without secrets."""
        return RunSettings(self.spec).describe()

    # -- without a server ------------------------------------------------------------------------------------------

    async def start(self, outgoing_queue: Outlet, *, config: SessionConfig | Mapping[str, Any] | None = None) -> None:
        """Connect the model; emit events into a queue or a callable.

        The agent makes a private call around itself and hands out speech at most 350 ms ahead of real time. An unread
        or bounded queue never stalls it. Raises ProviderError when the model cannot be had, UsageError when the agent
        was started before. Cancelling leaves nothing running.
        """
        if self._own is not None:
            raise UsageError("this agent was started before: start one agent per call", code="agent_running")
        settings = SessionConfig.of(config)
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        run = self.run()
        run.share(self.hooks, self.plan_notebook)
        session = Session(participant=run, runtime=runtime, session_id=runtime.new_id("session"), private=True)
        self._own = _OwnCall(session, ReplyQueue(session), OthersWords())
        session.attach(queue_listener(outgoing_queue, runtime))
        try:
            await session.start(settings)
        except BaseException:
            self._own = None
            raise
        self.name, self.agent_id = run.name, run.agent_id

    async def stop(self) -> None:
        """End the call: closes the model's session, leaves no task; `agent_ended` is the last event. Idempotent.

        The agent that `on_enter`, `on_turn` and hooks get ends its call soon; in a room it does nothing.
        """
        if self._own is not None:
            await self._own.session.end("stopped")
        elif self._run is not None:
            self._run.hang_up("stopped")

    async def __aenter__(self) -> Self:
        """Start the agent; `async for event in agent` gives its events. Raises what `start` raises."""
        events = EventStream()
        await self.start(events.put)
        self._events = events
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop the agent."""
        await self.stop()

    def __aiter__(self) -> AsyncIterator[s.ServerEvent]:
        """Return the events of the agent, up to `agent_ended`; it keeps the latest 2,000 for a slow reader.

        Raises UsageError outside `async with agent`.
        """
        if self._events is None:
            raise UsageError("only `async with agent` gives events to iterate over", code="agent_not_running")
        return self._events

    async def handle_input(self, event: c.ClientEvent | s.ServerEvent) -> None:
        """Take a client event, or an event of another agent. An `agent_error` event reports what cannot be done.

        Hand over all events of the other agent: what it said becomes a typed turn `[Name]: words` when its response is
        done, and this agent responds to it. Its own events are ignored. Two agents that hear each other talk without
        end: use a `ChatRoom` for that. Raises UsageError before `start`.
        """
        own = self._running()
        if not isinstance(event, c.ClientEventBase):
            line = own.others.take(event, me=own.run.agent_id)
            if line is None:
                return
            event = line
        own.session.receive(event)

    def reply_stream(self, msg: Msg, *, keeps_audio: bool = False) -> AsyncGenerator[r.AgentEvent]:
        """Take one turn in text, or text and pictures; yield the events of the reply, up to its end.

        The agent still speaks as in any call; `keeps_audio` puts the speech into the events as well. The turn begins
        when nothing is being said any more; callers are served in order. The user may cut the words of the reply by
        speaking. A question of an agent behind the voice comes in between, as a reply of its own (`fold_messages` keeps
        them apart); one that has been open since an earlier turn comes again. Answer tools that run in the client, and
        calls that ask for the user's consent, with `send`.
        Closing the stream (`contextlib.aclosing`) or cancelling its reader cancels the response.

        Raises UsageError before `start`, ClientError for what the model cannot take, ProviderError where it refuses.
        """
        return self._running().replies.stream(msg, keeps_audio=keeps_audio)

    stream_events = reply_stream

    async def reply(self, msg: Msg) -> Msg:
        """Return the whole reply to `msg` (see `reply_stream`); `finished_reason` is `error` if it failed."""
        async with aclosing(self.reply_stream(msg)) as events:
            own, *_ = fold_messages([event async for event in events])
        return own

    async def __call__(self, msg: Msg) -> Msg:
        """Return the whole reply to `msg`, as `reply` does."""
        return await self.reply(msg)

    async def send(self, event: InputEvent) -> None:
        """Answer an open reply: results of client tools, consent to calls, or a request to stop.

        Consent may change name and input of the call, and accept rules that were suggested for it. A request to stop
        another reply does nothing. Raises UsageError before `start`; ClientError for a call that does not wait and for
        other rules, with what precedes it done.
        """
        run = self._running().run
        match event:
            case r.ExternalExecutionResultEvent():
                for result in event.execution_results:
                    run.act(
                        c.ClientToolResultEvent(
                            id=result.id, name=result.name, output=result.output, state=result.state
                        )
                    )
            case r.UserInterruptEvent():
                run.act(c.ClientResponseCancelEvent(response_id=event.reply_id or None))
            case r.UserConfirmResultEvent():
                for answer in event.confirm_results:
                    run.confirm(answer)
            case _:
                assert_never(event)

    @property
    def permissions(self) -> PermissionEngine:
        """The rules and the mode of its tools; in a call those of that call, else those that its calls begin with.

        They may be changed at any time, from any thread; listeners of the call get `permission_updated`.
        """
        run: AgentRun | None = self._own.run if self._own is not None else self._run
        return self.toolkit.permissions if run is None else run.permissions

    # -- of its own accord -----------------------------------------------------------------------------------------

    async def say(self, text: str) -> SpokenWords:
        """Say these words once no one speaks; return what was played of them, and whether the user interrupted.

        A model that cannot speak given words is asked to say exactly these. Cancelling it does not stop the voice.
        Raises UsageError outside a running call, in a room and for an empty text, ProviderError where the model
        refuses or fails.
        """
        return await self._call.saying.say(text)

    async def generate_reply(self, *, instructions: str) -> SpokenWords:
        """Have the model say something by instructions, as `say` says words."""
        return await self._call.saying.generate_reply(instructions)

    async def transfer_to(self, agent: RealtimeAgent | str, *, greets: bool = False) -> RealtimeAgent:
        """Hand the call over to another agent; return the agent of the call.

        `agent` may be the name of one in `transfers`.

        It happens once no one speaks or is about to; what the user says meanwhile is the other agent's. That one speaks
        if the user waits for an answer, or with its greeting where it `greets`. In a tool it returns at once, and
        happens after the reply. Cancelling it does not stop it.

        Raises UsageError outside a running call, in a room, for the agent that has the call already, for one that was
        started for another call, for an unknown name, and for a fourth transfer without a turn of the user. Raises
        ProviderError where the other agent's model cannot be had: then this agent goes on.
        """
        return cast(RealtimeAgent, await self._call.transfer_to(agent, greets=greets))

    async def hint(
        self, hint: str | Sequence[TextBlock] | HintBlock, source: str | None = None, *, announce: Announce = "spoken"
    ) -> None:
        """Give the model a hint in the call: a scheduled trigger, a team message, a result from the background.

        The user does not hear it. With `announce="spoken"` the model answers it in the next silence, in a room once it
        has the floor, or with the answer to a turn before that; with "silently" it knows it at once. `source` names its
        origin. It is in the log, and a HintBlock of the reply.

        Raises UsageError outside a running call, for a hint without words, and for data such as pictures.
        """
        self._call.hint(reminder_of(hint, source), speaks=announce == "spoken")

    def emit_custom_event(self, name: str, value: dict[str, Any] | None = None) -> None:
        """Tell the listeners of the call something of the program's own (`server_custom`). May be called in a thread.

        Raises UsageError outside a running call, ValueError where `value` is not JSON.
        """
        self._call.emit_custom(s.ServerCustomEvent(name=name, value=value or {}))

    # -- hooks -----------------------------------------------------------------------------------------------------

    def register_instance_hook(self, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Call `hook` around what happens in this agent's calls; types and signatures: `realtime.agent.run_hooks`.

        A hook of the same type and name is replaced. It counts for the agent's own call at once, else for the calls
        that begin after it. Raises UsageError for an unknown type.
        """
        self.hooks.register(hook_type, hook_name, hook)

    def remove_instance_hook(self, hook_type: str, hook_name: str) -> None:
        """Remove a hook. Raises UsageError where there is none of this type and name."""
        self.hooks.remove(hook_type, hook_name)

    def clear_instance_hooks(self, hook_type: str | None = None) -> None:
        """Remove all hooks of a type; None: of all types. Raises UsageError for an unknown type."""
        self.hooks.clear(hook_type)

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def conversation(self) -> tuple[Item, ...]:
        """What was heard so far, oldest first. Set it before a call to begin that with it."""
        run = self._own.run if self._own is not None else self._run
        return self.history if run is None else run.heard()

    @conversation.setter
    def conversation(self, items: Sequence[Item]) -> None:
        self.history = tuple(items)

    @property
    def usage(self) -> Usage:
        """The tokens of all responses so far."""
        if self._own is None:
            return self.spent
        run = self._own.run
        return run.spec.spent if run.spec.origin is self.origin else run.chain.spent.get(self.origin, self.spent)

    @usage.setter
    def usage(self, usage: Usage) -> None:
        self.spent = usage

    def serves_another(self, call_id: str) -> bool:
        """Whether it was started for another call, which goes on."""
        own = self._own
        return own is not None and own.session.end_reason is None and own.session.call_id != call_id

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Restore what `state_dict` returned; the next call begins with the conversation, as it was heard.

        An agent that has stopped may be started again after it. Raises UsageError in a running call, and for a state
        that is damaged; KeyError where a name is missing, with `strict`.
        """
        own = self._own
        if self._run is not None or (own is not None and own.session.end_reason is None):
            raise UsageError("the agent is in a call: load its state before the call begins", code="agent_running")
        self._own = self._events = None
        super().load_state_dict(state_dict, strict)

    # -- inside ----------------------------------------------------------------------------------------------------

    @property
    def _call(self) -> AgentRun:
        """The running call of this agent. Raises UsageError outside one."""
        run: AgentRun | None = self._own.run if self._own is not None else self._run
        if run is None:
            raise UsageError(
                "the agent is in no call: this works between start() and stop(), and on the agent that `on_enter`, "
                "`on_turn` and hooks get",
                code="agent_not_running",
            )
        return run

    def _running(self) -> _OwnCall:
        """Return the private call. Raises UsageError before `start`."""
        if self._own is None:
            raise UsageError("the agent is not running: call start() first", code="agent_not_running")
        return self._own

    def __repr__(self) -> str:
        return f"RealtimeAgent(name={self.name!r}, model={self.model.profile.model!r})"
