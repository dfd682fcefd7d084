"""`RealtimeAgent`: a name, instructions, a model and tools, bridged to a call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, assert_never

from realtime.agent.controller import Controller
from realtime.agent.detector import VAD_UNAVAILABLE, DetectorFactory, load_silero, silence_ms_of, silero_detector
from realtime.agent.input import Detector
from realtime.agent.others import OthersWords
from realtime.agent.replying import OwnCall, ReplyQueue
from realtime.agent.tools import DEFAULT_CLIENT_TOOL_TIMEOUT_S, DEFAULT_TOOL_TIMEOUT_S, ToolRunner
from realtime.call.participant import Host
from realtime.call.session import Session, queue_listener
from realtime.errors import ClientError, ProviderError, ToolError, UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import SessionConfig, ToolDeclaration, TurnAuthority, TurnDetection
from realtime.event.reply import (
    AgentEvent,
    ExternalExecutionResultEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from realtime.message import ConfirmResult, Msg
from realtime.model.base import Connection, RealtimeModel, SessionUpdate, Settings
from realtime.model.voices import voice_here
from realtime.runtime import Runtime
from realtime.tool import Toolkit
from realtime.turn.machine import State, Turn

logger = logging.getLogger(__name__)

InputEvent = ExternalExecutionResultEvent | UserInterruptEvent | UserConfirmResultEvent
Outlet = Callable[[s.ServerEvent], None] | asyncio.Queue[Any]


LEAVE_S = 5.0
"""How long the end of a call waits for a tool that swallows its cancellation, or for a model that does not close."""


class RealtimeAgent:
    """An agent that talks. One object serves one call; make a new one for each.

    `toolkit` holds the functions that the model may call. `turn_detection` says who decides about turns (null: the
    provider where its profile has a detector, else this server). `voice` overrides the model's own. `make_detector`
    makes the detector that this server uses where it decides; the default is Silero VAD. A client that declares a tool
    with the name of one of the toolkit is refused, unless `client_may_replace_tools`: its tool then takes the calls.
    `client_timeout_s` is how long the client has for the result of its tool and the user for consent to a call.
    """

    def __init__(
        self,
        name: str,
        sys_prompt: str,
        model: RealtimeModel,
        *,
        toolkit: Toolkit | None = None,
        turn_detection: TurnDetection | None = None,
        voice: str | None = None,
        agent_id: str | None = None,
        tool_timeout_s: float = DEFAULT_TOOL_TIMEOUT_S,
        client_timeout_s: float = DEFAULT_CLIENT_TOOL_TIMEOUT_S,
        make_detector: DetectorFactory | None = None,
        client_may_replace_tools: bool = False,
    ) -> None:
        if not isinstance(model, RealtimeModel):
            raise TypeError(f"model is a {type(model).__name__}: give a model, such as open_model('local')")
        self.name = name
        self.sys_prompt = sys_prompt
        self.model = model
        self.toolkit = toolkit or Toolkit()
        self.agent_id = agent_id
        self._given = (turn_detection, voice)
        self._config = SessionConfig(turn_detection=turn_detection, voice=voice)
        self._tool_timeout_s = tool_timeout_s
        self._client_timeout_s = client_timeout_s
        self._make_detector = make_detector or silero_detector
        self._no_detector: str | None = None
        """Why there is no detector of ours, once that is known."""
        self._client_may_replace_tools = client_may_replace_tools
        self._host: Host | None = None
        self._controller: Controller | None = None
        self._connection: Connection | None = None
        self._tools: ToolRunner | None = None
        self._task: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._joined = False
        self._stopping = asyncio.Event()
        self._ended = False
        self._leave_reason: str | None = None
        self._own_session: OwnCall | None = None
        self._replies = ReplyQueue()
        self._others = OthersWords()
        self._early: list[m.ModelEvent] | None = []

    def another(self) -> RealtimeAgent:
        """A new agent like this one for another call: with the name, model, tools and settings that it was given."""
        return RealtimeAgent(
            self.name,
            self.sys_prompt,
            self.model,
            toolkit=self.toolkit,
            turn_detection=self._given[0],
            voice=self._given[1],
            agent_id=self.agent_id,
            tool_timeout_s=self._tool_timeout_s,
            client_timeout_s=self._client_timeout_s,
            make_detector=self._make_detector,
            client_may_replace_tools=self._client_may_replace_tools,
        )

    # -- used alone ------------------------------------------------------------------------------------------------

    async def start(self, outgoing_queue: Outlet, *, config: SessionConfig | None = None) -> None:
        """Connect and begin to emit events into `outgoing_queue`, a queue of any bound or a callable.

        The agent makes a private call around itself; speech is handed out at most 350 ms ahead of real time. An unread
        or bounded queue never stalls the agent. Raises ProviderError when the model cannot be had, UsageError when it
        runs already. Cancelling leaves nothing running.
        """
        if self._own_session is not None or self._joined:
            raise UsageError("this agent runs already; make one agent per call", code="agent_running")
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        session = Session(participant=self, runtime=runtime, session_id=runtime.new_id("session"), private=True)
        session.attach(queue_listener(outgoing_queue, runtime))
        self._own_session = session
        try:
            await session.start(config or SessionConfig())
        except BaseException:
            self._own_session = None
            raise

    async def stop(self) -> None:
        """End it: the model's session is closed, no task is left, `agent_ended` is the last event. Idempotent."""
        if self._own_session is not None:
            await self._own_session.end("stopped")
        else:
            await self.leave("stopped")

    async def handle_input(self, event: c.ClientEvent | s.ServerEvent) -> None:
        """Take a client event, or what another agent tells. What cannot be done is answered by an `agent_error` event,
        never by an exception.

        Hand over all events of the other agent: what it said becomes a typed turn `[Name]: words` when its response is
        done, and is answered like one. This agent's own events are ignored. Nothing keeps two agents that hear each
        other from talking for ever: that is what a `ChatRoom` is for.

        Raises UsageError before `start`.
        """
        if self._own_session is None and self._controller is None:
            raise _not_running()
        if not isinstance(event, c.ClientEventBase):
            line = self._others.take(event, me=self.agent_id)
            if line is None:
                return
            event = line
        if self._own_session is not None:
            self._own_session.receive(event)
        else:
            self.receive(event)

    def reply_stream(self, msg: Msg, *, keeps_audio: bool = False) -> AsyncGenerator[AgentEvent]:
        """One turn in text, or text and pictures: the events of the agent's reply to `msg`, up to its end.

        The agent goes on to speak as in any call; `keeps_audio` puts the speech into the events as well. It begins when
        nothing is being said any more; callers are served in order. Words may be cut by what the user says meanwhile.
        Tools that run in the client, and calls that ask for the user's consent, are answered by `send`. Closing the
        stream (`contextlib.aclosing`) or cancelling whoever reads it cancels the response.

        Raises UsageError before `start`, ClientError for what the model cannot take, ProviderError where it refuses.
        """
        call = self._own_session
        if call is None or self._controller is None:
            raise _not_running()
        return self._replies.stream(
            msg,
            call=call,
            profile=self.model.profile,
            act=self.act,
            is_busy=lambda: self._turn is not None and self._turn.state in (State.THINKING, State.AGENT_SPEAKING),
            ready=self._ready(),
            client_tools=[tool.name for tool in self._config.tools or ()],
            keeps_audio=keeps_audio,
        )

    stream_events = reply_stream

    async def reply(self, msg: Msg) -> Msg:
        """The whole reply to `msg` (see `reply_stream`). One that failed has the `finished_reason` `error`."""
        async with aclosing(self.reply_stream(msg)) as events:
            return Msg.from_events([event async for event in events])

    async def __call__(self, msg: Msg) -> Msg:
        """The same as `reply`."""
        return await self.reply(msg)

    async def send(self, event: InputEvent) -> None:
        """Answer a reply that goes on: with the results of tools that run elsewhere, with the user's answers to calls
        that ask for consent (name and input of the call may be changed), or that it is to stop. A wish to stop another
        reply than the one that goes on does nothing.

        Raises UsageError before `start` and for permission rules, which nobody suggests; ClientError for a call that
        does not wait. What stands before it is done.
        """
        match event:
            case ExternalExecutionResultEvent():
                for result in event.execution_results:
                    self.act(
                        c.ClientToolResultEvent(
                            id=result.id, name=result.name, output=result.output, state=result.state
                        )
                    )
            case UserInterruptEvent():
                self.act(c.ClientResponseCancelEvent(response_id=event.reply_id or None))
            case UserConfirmResultEvent():
                for answer in event.confirm_results:
                    self._confirm(answer)
            case _:
                assert_never(event)

    # -- used by a call --------------------------------------------------------------------------------------------

    async def join(self, host: Host, config: SessionConfig) -> None:
        """Connect the model and become part of the call. Raises ProviderError or ClientError; leaves nothing behind."""
        if self._joined:
            raise UsageError("this agent runs already; make one agent per call", code="agent_running")
        self._take_on(config)
        self._joined = True
        self._host = host
        self.agent_id = self.agent_id or host.runtime.new_id("agent")
        if config.agent_name:
            self.name = config.agent_name
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = task = asyncio.create_task(self._live(started), name=f"agent {self.agent_id}")
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
        """Stop everything and say `agent_ended`. Idempotent, and safe before `join`."""
        if self._task is None:
            return
        self._leave_reason = reason
        if self._controller is not None:
            self._controller.responses.settle_cut()
        self._stopping.set()
        task, self._task = self._task, None
        if self._connection is None:
            task.cancel()
        _, left = await asyncio.wait([task], timeout=LEAVE_S)
        if left:
            logger.error("agent %s is left behind: a tool or its model does not end", self.agent_id)
        self._say_ended(reason)
        # What refers back to the call goes, so that both are freed at once and not by the collector.
        self._host = self._controller = self._connection = self._tools = None

    def receive(self, event: c.ClientEvent) -> bool:
        """Take a client event at once. False: a ClientError became an `agent_error`.

        Raises UsageError before `join`.
        """
        if self._controller is None or self._host is None:
            raise _not_running()
        try:
            self._controller.on_client(event)
        except ClientError as error:
            error.client_event_id = event.event_id
            self._host.emit(s.error_event(error, agent_id=self.agent_id or "", agent_name=self.name))
            return False
        return True

    def label_of(self, item_id: str) -> str | None:
        """The `event_id` of the client's commit that ended this turn of the user; None where nobody knows."""
        return self._controller.user_turns.label_of(item_id) if self._controller is not None else None

    @property
    def wants_audio_stopped(self) -> bool:
        """Whether the server's own detector finds the turns of the user."""
        return self._authority() == "server"

    def audio_stopped(self) -> None:
        """The client has sent no audio for a while, in the middle of a turn that silence would end."""
        if self._controller is not None:
            self._controller.audio_stopped()

    def set_away(self, away: bool) -> None:
        """Do nothing: an agent goes on while its listeners are away."""

    def is_dropped(self, response_id: str) -> bool:
        """Whether nothing counts of a response that runs or has just begun: it was interrupted, or is not wanted."""
        return self._controller is not None and self._controller.ledger.is_cancelled(response_id)

    def end_responses(self) -> None:
        """The model is gone for good: every response that runs ends as it stands."""
        if self._controller is not None:
            self._controller.end_responses()

    def give_up(self) -> None:
        """Nobody waits any longer for what the model was asked for: what it has not begun for long is taken to be lost,
        and the next response to answer the next request."""
        if self._controller is not None and self._host is not None:
            self._controller.ledger.give_up(self._host.runtime.now())

    def drop(self, response_id: str) -> None:
        """Cancel a response that nobody has asked for. An unknown one is none, and so is any before `join`."""
        if self._controller is not None:
            self._controller.responses.drop(response_id)

    def act(self, event: c.ClientEvent) -> None:
        """Take a client event at once. Raises ClientError for what cannot be done, UsageError before and after."""
        if self._controller is None:
            raise _not_running()
        self._controller.on_client(event)

    def _confirm(self, answer: ConfirmResult) -> None:
        """See `send`."""
        if self._controller is None:
            raise _not_running()
        if answer.rules:
            raise UsageError("permission rules are not kept: answer each call", code="unsupported_rules")
        self._controller.confirm(answer.tool_call.id, answer.confirmed, changed=answer.tool_call)

    def configure(self, change: SessionConfig) -> SessionConfig:
        """Apply new settings to the running agent; returns the effective ones.

        Raises ClientError, with nothing applied, for what cannot be (`_check`).
        """
        settled, detects = self._config, self._authority() == "server"
        self._take_on(change)
        controller, connection, tools = self._controller, self._connection, self._tools
        if controller is None or connection is None or tools is None:
            return self._config
        if detects != (self._authority() == "server"):
            try:
                controller.detect_with(self._new_detector())
            except UsageError as error:
                self._config = settled
                raise ClientError(error.message, code=error.code) from error
        elif detects and (silence_ms := silence_ms_of(self._config.detection)) != silence_ms_of(settled.detection):
            controller.wait_for(silence_ms)
        self._apply(controller, tools)
        connection.send(SessionUpdate(self._settings()))
        if change.tools:
            self._say_what_is_left_out()
        return self._config

    def _take_on(self, change: SessionConfig) -> None:
        """Merge the settings. Raises ClientError, with nothing changed, for what cannot be."""
        settled, authority = self._config, self._authority()
        self._config = settled.merged(change)
        try:
            self._check(authority)
        except ClientError:
            self._config = settled
            raise

    def _check(self, before: TurnAuthority) -> None:
        """Refuse what the model cannot do; turns that would pass to or from this server's detector when there was audio
        (what it holds back belongs to the whole call); and a tool that would take the calls of one of ours."""
        authority, model = self._authority(), self.model.profile
        if authority != "provider" and not model.supports_manual_turns:
            raise ClientError(
                f"{model.model} always decides about turns itself; leave turn_detection.authority to it",
                code="unsupported_turn_detection",
            )
        if self.received_samples and authority != before and "server" in (authority, before):
            raise ClientError(
                "turns cannot pass to or from this server's detector once there was audio; create a new call",
                code="unsupported_turn_detection",
            )
        taken = [tool.name for tool in self._config.tools or () if tool.name in self.toolkit]
        if taken and not self._client_may_replace_tools:
            raise ClientError(
                f"the agent has a tool {taken[0]!r} of its own; give yours another name", code="tool_name_taken"
            )

    @property
    def received_samples(self) -> int:
        """How many samples of the client's audio have arrived, at the client's rate."""
        return self._controller.received_samples if self._controller is not None else 0

    @property
    def hasty_turns(self) -> int:
        """How many hasty turn ends were undone in this call."""
        return self._turn.hasty_turns if self._turn is not None else 0

    def describe(self) -> dict[str, Any]:
        """Which model speaks and what it can, for people and pages. Holds no secrets."""
        profile = self.model.profile
        return {
            "provider": profile.provider,
            "model": profile.model,
            "voice": self.model.voice_for(self._wanted_voice),
            "voices": list(profile.voices),
            "languages": list(profile.languages),
            "input_modalities": sorted(profile.input_modalities),
            "output_modalities": sorted(profile.output_modalities),
            "supports_tools": profile.supports_tools,
            "turn_authority": self._authority(),
        }

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _live(self, started: asyncio.Future[None]) -> None:
        """The agent's whole life: one task group, inside it the model's connection."""
        assert self._host is not None
        host = self._host
        try:
            async with asyncio.TaskGroup() as group:
                self._tools = tools = ToolRunner(
                    group,
                    self.toolkit,
                    self._tool_done,
                    on_error=self._tool_refused,
                    timeout_s=self._tool_timeout_s,
                    client_timeout_s=self._client_timeout_s,
                )
                if self._make_detector is silero_detector and self._authority() == "server":
                    # Loaded once in a process, for 90 ms: not on the loop, where other calls speak.
                    await asyncio.get_running_loop().run_in_executor(None, load_silero)
                # First, since the model is told whether it is to find the turns.
                detector = self._new_detector()
                connection = await self.model.connect(
                    settings=self._settings(),
                    on_event=self._on_model_event,
                    history=host.conversation.items,
                    runtime=host.runtime,
                )
                self._connection = connection
                try:
                    detector = detector or self._new_detector()
                    self._controller = self._make_controller(host, connection, tools, detector)
                    self._turn = self._controller.turn
                    self._apply(self._controller, tools)
                    self._say_ready()
                    self._say_what_is_left_out()
                    if not started.done():
                        started.set_result(None)
                    early, self._early = self._early or [], None
                    for event in early:
                        self._on_model_event(event)
                    await self._stopping.wait()
                finally:
                    tools.cancel_tools()
                    await connection.close()
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
            if not started.done():
                started.set_exception(UsageError("the agent was stopped before it had started", code="agent_stopped"))

    def _make_controller(
        self, host: Host, connection: Connection, tools: ToolRunner, detector: Detector | None
    ) -> Controller:
        return Controller(
            host=host,
            agent_id=self.agent_id or "",
            agent_name=self.name,
            profile=connection.profile,
            send=connection.send,
            tools=tools,
            authority=self._authority(),
            detector=detector,
        )

    def _new_detector(self) -> Detector | None:
        """Ours, where this server decides about turns.

        Where its parts are not installed, the model or else the client decides. Raises UsageError where the settings
        ask for it by name.
        """
        if self._authority() != "server":
            return None
        try:
            return self._make_detector(self._config.detection)
        except UsageError as error:
            if error.code != VAD_UNAVAILABLE or self._config.detection.authority is not None:
                raise
            self._no_detector = error.message
            return None

    def _apply(self, controller: Controller, tools: ToolRunner) -> None:
        config = self._config
        tools.set_client_tools(config.tools or ())
        controller.auto_response = config.auto_response is not False
        controller.text_auto_response = config.text_auto_response is not False
        controller.ledger.configure(tool_auto_response=config.tool_auto_response is not False)
        controller.user_turns.user_name = config.user_name
        detection = self._config.detection
        controller.turn.configure(
            self._authority(),
            creates=detection.create_response is not False,
            interrupts=detection.interrupt_response is not False,
        )

    def _authority(self) -> TurnAuthority:
        wanted = self._config.detection.authority
        if wanted is not None:
            return wanted
        if self.model.profile.emits_speech_events:
            return "provider"
        if self._no_detector is None:
            return "server"
        # One that stops for a voice finds turns, and only does not tell of them.
        return "provider" if self.model.profile.interrupts_itself else "client"

    @property
    def _wanted_voice(self) -> str | None:
        return voice_here(self._config.voice, self.model.profile)

    def _settings(self) -> Settings:
        config = self._config
        authority = self._authority()
        declared = self._declared_tools()
        return Settings(
            agent_name=self.name,
            instructions=config.instructions if config.instructions is not None else self.sys_prompt,
            voice=self._wanted_voice or self.model.voice,
            tools=declared if self.model.profile.supports_tools else (),
            output_modalities=config.output_modalities or ("audio",),
            turn_detection=self._config.detection if authority == "provider" else "none",
            input_audio_transcription=config.input_audio_transcription is not False,
            temperature=config.temperature,
            max_output_tokens=None if config.max_output_tokens == "inf" else config.max_output_tokens,
            extra=config.extra or {},
        )

    def _declared_tools(self) -> tuple[ToolDeclaration, ...]:
        """Ours and the client's; of two with one name, the client's, which runs then."""
        return tuple({tool.name: tool for tool in (*self.toolkit.declarations(), *(self._config.tools or ()))}.values())

    def _on_model_event(self, event: m.ModelEvent) -> None:
        if self._controller is None:
            if self._early is not None:
                self._early.append(event)
        elif isinstance(event, m.ModelSessionEndedEvent):
            self._say_ended(self._leave_reason or event.reason)
            self._stopping.set()
        else:
            self._controller.on_model(event)

    def _tool_done(self, result: Any) -> None:
        if self._controller is not None and not self._stopping.is_set():
            self._controller.tool_done(result)

    def _tool_refused(self, error: ToolError) -> None:
        if self._host is not None:
            self._host.emit(s.error_event(error, agent_id=self.agent_id or "", agent_name=self.name))

    def _say_ready(self) -> None:
        assert self._host is not None
        self._host.emit(self._ready())

    def _ready(self) -> s.AgentReadyEvent:
        return s.AgentReadyEvent(model=self.describe(), agent_id=self.agent_id or "", agent_name=self.name)

    def _say_what_is_left_out(self) -> None:
        """An agent whose tools its model cannot use, or that finds no turns in speech, goes on without, and says so."""
        profile = self.model.profile
        if not profile.supports_tools and self._declared_tools():
            self._say_left_out("unsupported_tools", f"{profile.model} cannot use tools: the agent goes on without them")
        if self._no_detector is not None and self._authority() == "client" and "audio" in profile.input_modalities:
            self._say_left_out(VAD_UNAVAILABLE, f"{self._no_detector} Until then a spoken turn ends by push-to-talk.")

    def _say_left_out(self, code: str, message: str) -> None:
        if self._host is not None:
            self._host.emit(
                s.AgentErrorEvent(
                    error_type="server_error",
                    code=code,
                    message=message,
                    agent_id=self.agent_id or "",
                    agent_name=self.name,
                )
            )

    def _say_ended(self, reason: str) -> None:
        if self._host is not None and not self._ended and self._controller is not None:
            self._ended = True
            self._controller.user_turns.settle_words()
            self._host.emit(s.AgentEndedEvent(reason=reason, agent_id=self.agent_id or "", agent_name=self.name))

    def __repr__(self) -> str:
        return f"RealtimeAgent(name={self.name!r}, model={self.model.profile.model!r})"


def _not_running() -> UsageError:
    return UsageError("the agent is not running: call start() first", code="agent_not_running")
