"""What an agent is, and the settings in force in one call."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from realtime.agent.claims import ClaimsMode
from realtime.agent.detector import VAD_UNAVAILABLE, DetectorFactory, silero_detector
from realtime.agent.heard import items_from_json, items_to_json
from realtime.agent.input import Detector
from realtime.agent.overlap import Recognise
from realtime.agent.partial_words import recognise_words
from realtime.agent.run_hooks import RunHooks
from realtime.errors import BadOption, ClientError, RealtimeError, UsageError
from realtime.event.base import REMOTE_MCP, HostedTool, Item
from realtime.event.config import InterruptionMode, SessionConfig, ToolDeclaration, TurnAuthority, TurnDetection
from realtime.event.decode import explain
from realtime.message import Msg
from realtime.message.outcome import Usage
from realtime.message.remembered import LongTermMemoryMode
from realtime.model.base import Profile, RealtimeModel, Settings
from realtime.model.local.engine import SpeechEngine
from realtime.model.voices import known_voice, voice_here
from realtime.module import StateModule
from realtime.options import check_options
from realtime.plan import PlanNotebook
from realtime.tool import DEFAULT_TIMEOUT_S, Toolkit
from realtime.tool.mcp.of_client import ClientServers
from realtime.tool.toolkit import toolkit_of
from realtime.turn.consent import CONSENT_SILENCE_S

if TYPE_CHECKING:
    from pydantic import BaseModel

    from realtime.agent.call_record import RecordForm
    from realtime.memory import LongTermMemoryBase
    from realtime.model.chat.base import ChatModelBase

CLIENT_TIMEOUT_S = 60.0
_TIMES_ABOVE_0 = ("tool_timeout_s", "client_timeout_s", "consent_silence_s", "idle_prompt_s")


OnEnter = Callable[[Any], Awaitable[None]]
"""Called with the agent of a call when that has begun."""
OnTurn = Callable[[Any, Msg], Awaitable[None]]
"""Called with the agent of a call, and a user's turn."""
_BLANKS = "\u2800\u3164\u115f\u1160\uffa0"
"""Letters and signs that cannot be seen."""
_CONTROLS = ("Cc", "Zl", "Zp")


class AgentSpec(StateModule):
    """Specification of an agent (see `realtime.agent.RealtimeAgent`)."""

    long_term_memory: LongTermMemoryBase | None

    def __init__(
        self,
        name: str,
        sys_prompt: str,
        model: RealtimeModel,
        *,
        toolkit: Toolkit | Iterable[Callable[..., Any]] | None = None,
        turn_detection: TurnDetection | Mapping[str, Any] | None = None,
        voice: str | None = None,
        agent_id: str | None = None,
        tool_timeout_s: float = DEFAULT_TIMEOUT_S,
        client_timeout_s: float = CLIENT_TIMEOUT_S,
        consent_silence_s: float = CONSENT_SILENCE_S,
        make_detector: DetectorFactory | None = None,
        recognise: Recognise | None = None,
        engine: SpeechEngine | None = None,
        client_may_replace_tools: bool = False,
        greeting: str | None = "",
        on_enter: OnEnter | None = None,
        on_turn: OnTurn | None = None,
        fillers: Sequence[str] | None = None,
        idle_prompt_s: float | None = None,
        description: str = "",
        transfers: Sequence[AgentSpec] = (),
        suggestions: Sequence[str] = (),
        claims: ClaimsMode = "off",
        plan_notebook: PlanNotebook | None = None,
        long_term_memory: LongTermMemoryBase | None = None,
        long_term_memory_mode: LongTermMemoryMode = "both",
        call_record: type[BaseModel] | None = None,
        chat_model: ChatModelBase | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(model, RealtimeModel):
            raise TypeError(f"model is a {type(model).__name__}: give a model, such as open_model('local')")
        if isinstance(transfers, AgentSpec):
            raise BadOption("transfers is a list of RealtimeAgents, also for one")
        self.transfers = tuple(transfers)
        """The agents that the model may hand its calls over to."""
        transfer_tools(self.transfers)
        check_options(AgentSpec.__init__, locals(), above_0=_TIMES_ABOVE_0)
        if not any(unicodedata.category(one)[0] in "LNPS" and one not in _BLANKS for one in name):
            raise UsageError("name is empty: give the agent a name that its users can say", code="bad_name")
        if any(unicodedata.category(one) in _CONTROLS for one in name):
            raise UsageError(f"name {name[:64]!r} holds a line end or a control character", code="bad_name")
        self.name = name
        self.sys_prompt = sys_prompt
        self.model = model
        self.toolkit = toolkit_of(toolkit)
        self.turn_detection = _turn_detection(turn_detection)
        self.voice = known_voice(voice, model.profile)
        self.agent_id = agent_id
        self.tool_timeout_s = tool_timeout_s
        self.client_timeout_s = client_timeout_s
        self.consent_silence_s = consent_silence_s
        self.make_detector = make_detector or silero_detector
        self.recognise = recognise or partial(recognise_words, engine=engine)
        self.client_may_replace_tools = client_may_replace_tools
        self.greeting = greeting or ""
        self.fillers = _lines(fillers)
        self.idle_prompt_s = idle_prompt_s
        self.description = description
        self.suggestions = [*suggestions]
        """Prompts that a page offers to its user."""
        self.claims: ClaimsMode = claims
        self.plan_notebook = plan_notebook
        self.thinking_notebook: PlanNotebook | None = None
        """Of the thinking agent that speaks through this one in a room."""
        if plan_notebook is not None:
            # A name that is taken is an error here, not when a call begins.
            plan_notebook.equip(self.toolkit.for_call())
        # The file or service keeps it, not the state of the agent.
        object.__setattr__(self, "long_term_memory", long_term_memory)
        self.long_term_memory_mode: LongTermMemoryMode = long_term_memory_mode
        if long_term_memory is not None:
            _check_memory(self.toolkit.for_call(), long_term_memory, long_term_memory_mode)
        self.record_form = _record_form(call_record, chat_model, model)
        """What is filled in when a call is over; None: nothing."""
        self.origin = object()
        """The same for all copies of an agent."""
        self._on_enter, self._on_turn = on_enter, on_turn
        self._run: Any = None
        self.hooks = RunHooks()
        self.history: tuple[Item, ...] = ()
        """What was said before: the next call begins with it."""
        self.is_redialled = False
        """Whether its user has called anew: a call that begins with an earlier conversation greets nevertheless."""
        self.spent = Usage(input_tokens=0, output_tokens=0)
        for name in ("name", "sys_prompt", "voice", "greeting", "idle_prompt_s"):
            self.register_state(name)
        self.register_state("fillers", lambda lines: lines if lines is None else [*lines], _lines)
        self.register_state("turn_detection", msgspec.to_builtins, _read_detection)
        self.register_state("conversation", items_to_json, items_from_json)
        self.register_state("usage", msgspec.to_builtins, lambda usage: msgspec.convert(usage, Usage))

    @property
    def conversation(self) -> tuple[Item, ...]:
        """What was heard so far, oldest first. Set it before a call to begin that with it."""
        return self.history

    @conversation.setter
    def conversation(self, items: Sequence[Item]) -> None:
        self.history = tuple(items)

    @property
    def usage(self) -> Usage:
        """The tokens of all responses so far."""
        return self.spent

    @usage.setter
    def usage(self, usage: Usage) -> None:
        self.spent = usage

    def run(self) -> Any:
        """Return a new participant for one call (`realtime.agent.run.AgentRun`)."""
        raise NotImplementedError

    def serves_another(self, call_id: str) -> bool:
        """Whether it was started for another call, which goes on."""
        return False

    def in_call(self, run: Any) -> None:
        """Note that this is the agent of a running call (`AgentRun`); None: that is over."""
        self._run = run

    async def on_enter(self) -> None:
        """Act when a call has begun. The default calls the constructor's `on_enter`; a subclass may override it."""
        if self._on_enter is not None:
            await self._on_enter(self)

    async def on_turn(self, msg: Msg) -> None:
        """Act on a finished turn of the user. The default calls the constructor's `on_turn`."""
        if self._on_turn is not None:
            await self._on_turn(self, msg)

    def callback(self, name: str) -> Callable[..., object]:
        """The function of the program behind `on_enter` or `on_turn`."""
        overridden = getattr(type(self), name) is not getattr(AgentSpec, name)
        function: Callable[..., object] = getattr(self, name if overridden else f"_{name}") or getattr(self, name)
        return function

    def acts_on(self, callback: str) -> bool:
        """Whether `on_enter` or `on_turn` does anything."""
        return getattr(type(self), callback) is not getattr(AgentSpec, callback) or (
            getattr(self, f"_{callback}") is not None
        )


def transfer_tools(agents: Sequence[AgentSpec]) -> dict[str, AgentSpec]:
    """Return the agents by the names of their transfer tools.

    Raises TypeError for what is no agent, UsageError for two of one name.
    """
    found: dict[str, AgentSpec] = {}
    for place, agent in enumerate(agents, 1):
        if not isinstance(agent, AgentSpec):
            raise TypeError(f"transfers is a list of RealtimeAgents, not of {type(agent).__name__}s")
        slug = re.sub(r"[^a-z0-9]+", "_", agent.name.lower()).strip("_") or str(place)
        name = f"transfer_to_{slug}"[:64]
        if name in found:
            raise UsageError(f"two agents to transfer to are called {agent.name!r}: rename one", code="bad_transfers")
        found[name] = agent
    return found


def _turn_detection(given: object) -> TurnDetection | None:
    """Return the turn detection; a mapping of its fields makes one."""
    if given is None or isinstance(given, TurnDetection):
        return given
    try:
        return msgspec.convert(given, TurnDetection)
    except msgspec.ValidationError as error:
        raise UsageError(f"turn_detection: {explain(error, TurnDetection)}", code="bad_turn_detection") from None


def _record_form(call_record: Any, chat_model: Any, model: RealtimeModel) -> RecordForm | None:
    """Return what is filled in at the end of a call. Raises UsageError for what cannot be."""
    if call_record is None:
        return None
    # Agents without a record load no chat models.
    from realtime.agent.call_record import RecordForm

    return RecordForm.of(call_record, chat_model, model)


def _check_memory(toolkit: Toolkit, memory: Any, mode: LongTermMemoryMode) -> None:
    """Raise BadOption for what is no memory, BadTool for taken names."""
    # Agents without a memory load none.
    from realtime.memory import LongTermMemoryBase
    from realtime.memory.caller_tools import equip

    if not isinstance(memory, LongTermMemoryBase):
        raise BadOption(f"long_term_memory is a LongTermMemoryBase, not a {type(memory).__name__}")
    equip(toolkit, memory, mode)


def _lines(lines: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return fillers as a tuple. Raises TypeError for a single text."""
    if isinstance(lines, str):
        raise TypeError("fillers is a list of sentences, such as ['One moment.']")
    return lines if lines is None else tuple(lines)


def _read_detection(saved: Any) -> TurnDetection | None:
    """Return what a state holds of the turn detection. Raises UsageError."""
    try:
        return msgspec.convert(saved, TurnDetection | None)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"this is no saved turn detection: {error}", code="bad_state") from error


def _why_without(tool: HostedTool, profile: Profile, why: str = "") -> str:
    """Return the sentence about a tool that is left out; `why` is known of an MCP server that the client names."""
    name = (tool.name or tool.kind)[:64]
    if tool.kind in profile.hosted_tools:
        return (
            f"The tool {name!r} is left out, all else holds: {profile.model} has it only without other tools, and this "
            "agent or its client has some."
        )
    if tool.kind == REMOTE_MCP and why:
        return f"The MCP server {name!r} is left out, all else holds: {why}."
    if tool.kind == REMOTE_MCP:
        return (
            f"The MCP server {name!r} is left out, all else holds: this server connects to no MCP servers that its "
            "clients name. Declare functions that run in the client, or have its owner add the server (--mcp)."
        )
    return (
        f"The tool {name!r} is left out, all else holds: {profile.model} does not have it, and this server does not "
        "run it. Choose a model that has it, or declare a function that does the same."
    )


class RunSettings:
    """Settings of one call: those of the agent, with the client's over them."""

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec
        self.config = SessionConfig(turn_detection=spec.turn_detection, voice=spec.voice)
        self.client_servers: ClientServers | None = None
        """The MCP servers that the client has named, where its protocol can."""
        self._taken: list[str] = []
        """Tools of the client that are left out: the agent has its own of these names."""
        self.recalled = ""
        """What the long-term memory has found for the user's words, as quotes."""
        self.no_detector: str | None = None
        """Why this server has no detector; None while that is not known or there is one."""

    @property
    def authority(self) -> TurnAuthority:
        """Who decides about turns."""
        wanted = self.config.detection.authority
        if wanted is not None:
            return wanted
        profile = self._spec.model.profile
        if profile.emits_speech_events:
            return "provider"
        if self.no_detector is None:
            return "server"
        # A model that stops for a voice finds turns and only does not report them.
        return "provider" if profile.interrupts_itself else "client"

    @property
    def interruption(self) -> InterruptionMode:
        """What a voice over a reply does.

        A provider that finds turns and cannot leave the rest to us stops at each voice.
        """
        wanted = self.config.detection.interruption_mode
        decides = self.authority != "provider" or self._spec.model.profile.leaves_responses
        return wanted if wanted != "selective" or decides else "immediate"

    @property
    def declared_tools(self) -> tuple[ToolDeclaration, ...]:
        """Tools of the agent and of the client; of two with one name the client's, which then runs."""
        tools = (*self._spec.toolkit.declarations(), *(self.config.tools or ()))
        return tuple({tool.name: tool for tool in tools}.values())

    @property
    def hosted_tools(self) -> frozenset[str]:
        """Kinds of the client's hosted tools that the model can use."""
        profile = self._spec.model.profile
        if profile.searches_without_tools and self.declared_tools:
            return frozenset()
        return profile.hosted_tools & {tool.kind for tool in self.config.hosted_tools or ()}

    def take_on(self, change: SessionConfig, *, had_audio: bool) -> None:
        """Merge new settings. Raises ClientError, with nothing changed, for what cannot be done."""
        settled, authority = self.config, self.authority
        self.config = settled.merged(change)
        try:
            self._check(authority, had_audio=had_audio)
        except ClientError:
            self.config = settled
            raise
        self._leave_out_taken_names()

    def _check(self, before: TurnAuthority, *, had_audio: bool) -> None:
        """Refuse what the model cannot do.

        Turns do not pass to or from this server's detector once there was audio: what it holds back belongs to the
        whole call.
        """
        authority, profile = self.authority, self._spec.model.profile
        if authority != "provider" and not profile.supports_manual_turns:
            raise ClientError(
                f"{profile.model} always decides about turns itself; leave turn_detection.authority to it",
                code="unsupported_turn_detection",
            )
        if had_audio and authority != before and "server" in (authority, before):
            raise ClientError(
                "turns cannot pass to or from this server's detector once there was audio; create a new call",
                code="unsupported_turn_detection",
            )

    def _leave_out_taken_names(self) -> None:
        """Leave out the client's tools with names of the agent's own.

        What they returned would pass for what the agent's function found out.
        """
        if self._spec.client_may_replace_tools:
            return
        tools = self.config.tools or ()
        self._taken = [tool.name for tool in tools if tool.name in self._spec.toolkit]
        if self._taken:
            kept = tuple(tool for tool in tools if tool.name not in self._taken)
            self.config = msgspec.structs.replace(self.config, tools=kept)

    @property
    def may_speak_unasked(self) -> bool:
        """Whether the agent may speak of its own accord; in a room, the floor says when it speaks."""
        return self.config.auto_response is not False

    @property
    def keeps_rules(self) -> bool:
        """Whether the client wants accepted rules to hold in later calls."""
        return self.config.permissions is not None and self.config.permissions.keep is True

    def without(self, tools: Iterable[HostedTool]) -> Iterator[ClientError]:
        """Yield what the agent goes on without of these tools."""
        had, servers = self.hosted_tools, self.client_servers
        for tool in tools:
            if tool.kind == REMOTE_MCP and servers is not None:
                if servers.find(tool.name) is None:
                    yield self.left_out_error(tool, servers.why_not(tool.name))
            elif tool.kind not in had:
                yield self.left_out_error(tool)

    def left_out_error(self, tool: HostedTool, why: str = "") -> ClientError:
        """Return the error about a tool that is left out."""
        return ClientError(_why_without(tool, self._spec.model.profile, why), code="unsupported_tool")

    def left_out(self) -> Iterator[RealtimeError]:
        """Yield what the agent goes on without: tools, or turns found in speech."""
        profile = self._spec.model.profile
        if not profile.supports_tools and self.declared_tools:
            without = f"{profile.model} cannot use tools: the agent goes on without them"
            yield UsageError(without, code="unsupported_tools")
        for name in self._taken:
            without = f"the agent has a tool {name!r} of its own and goes on without yours; give it another name"
            yield ClientError(without, code="tool_name_taken")
        yield from self.without(self.config.hosted_tools or ())
        if self.no_detector is not None and self.authority == "client" and "audio" in profile.input_modalities:
            without = f"{self.no_detector} Until then a spoken turn ends by push-to-talk."
            yield UsageError(without, code=VAD_UNAVAILABLE)

    def new_detector(self) -> Detector | None:
        """Return a detector of this server if it decides about turns.

        Where the detector is not installed, the model or else the client decides. Raises UsageError where the settings
        ask for it by name.
        """
        if self.authority != "server":
            return None
        try:
            return self._spec.make_detector(self.config.detection)
        except UsageError as error:
            if error.code != VAD_UNAVAILABLE or self.config.detection.authority is not None:
                raise
            self.no_detector = error.message
            return None

    def for_model(self, agent_name: str) -> Settings:
        """Return the settings that the model gets."""
        config, spec = self.config, self._spec
        return Settings(
            agent_name=agent_name,
            instructions=self._instructions,
            voice=self._wanted_voice or spec.model.voice,
            tools=self.declared_tools if spec.model.profile.supports_tools else (),
            hosted_tools=self.hosted_tools,
            output_modalities=config.output_modalities or ("audio",),
            turn_detection=self._detection_for_model(),
            input_audio_transcription=config.input_audio_transcription is not False,
            names=config.names or (),
            temperature=config.temperature,
            max_output_tokens=None if config.max_output_tokens == "inf" else config.max_output_tokens,
            extra=config.extra or {},
        )

    @property
    def _instructions(self) -> str:
        """Those of client or agent, hints for record and plan, recalled memories."""
        config, notebook, form = self.config, self._spec.plan_notebook, self._spec.record_form
        own = config.instructions if config.instructions is not None else self._spec.sys_prompt
        hints = ("" if form is None else form.hint, "" if notebook is None else notebook.current_hint, self.recalled)
        added = "".join(f"\n\n{text}" for text in hints if text)
        return f"{own}{added}".strip() if added else own

    def _detection_for_model(self) -> TurnDetection | str:
        detection = self.config.detection
        if self.authority != "provider":
            return "none"
        if self.interruption == "selective":
            # Interruptions and responses are decided here: it only finds the turns.
            return msgspec.structs.replace(detection, create_response=False, interrupt_response=False)
        return detection

    def describe(self) -> dict[str, Any]:
        """Return which model speaks, what it can do and what to try.

        It holds no secrets.
        """
        profile = self._spec.model.profile
        return {
            "provider": profile.provider,
            "model": profile.model,
            "voice": self._spec.model.voice_for(self._wanted_voice),
            "voices": list(profile.voices),
            "languages": list(profile.languages),
            "input_modalities": sorted(profile.input_modalities),
            "output_modalities": sorted(profile.output_modalities),
            "supports_tools": profile.supports_tools,
            "turn_authority": self.authority,
            "suggestions": [*self._spec.suggestions],
        }

    @property
    def _wanted_voice(self) -> str | None:
        return voice_here(self.config.voice, self._spec.model.profile)
