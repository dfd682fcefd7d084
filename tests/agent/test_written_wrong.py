"""What is silently wrong is an error where it is written, or understood: arguments of agents, tools, rooms, models."""

import asyncio
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realtime.agent import Delegate, ReActAgent, RealtimeAgent, UserAgent
from realtime.call.limits import Limits
from realtime.errors import UsageError
from realtime.event.base import AudioFormat, ResponseOverrides
from realtime.event.client import (
    ClientAudioAppendEvent,
    ClientItemCreateEvent,
    ClientPlaybackAckEvent,
    ClientTextAppendEvent,
    ClientToolResultEvent,
)
from realtime.event.config import SessionConfig, TurnDetection
from realtime.formatter import OpenAIChatFormatter
from realtime.memory import InMemoryMemory
from realtime.message import ToolCallBlock
from realtime.model.base import ResponseCreate
from realtime.model.chat import AnthropicChatModel, ChatModelBase, GeminiChatModel, OpenAIChatModel
from realtime.model.failover import failover
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.local import HistoryLimits
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.open import open_model
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.script import CallTools, Expect
from realtime.model.script import Speak as Script
from realtime.model.scripted import ScriptedModel
from realtime.module import StateModule
from realtime.permission import PermissionContext, PermissionEngine
from realtime.room import ChatRoom, Observer
from realtime.server.app import create_app
from realtime.server.rooms import Rooms
from realtime.server.router import voice_router
from realtime.server.settings import ServerSettings
from realtime.state.json_sessions import JSONSession
from realtime.testing import (
    BargeIn,
    Case,
    Expected,
    Guard,
    Network,
    Person,
    RecordingModel,
    Returned,
    Silence,
    Speak,
    WaitFor,
    recorded_model,
    write_report,
)
from realtime.testing.call import voice_call
from realtime.testing.cases.stand_in import Say, StandIn
from realtime.testing.client.steps import Type, WaitUntilHeard
from realtime.token import TokenizersCounter
from realtime.tool import Toolkit
from realtime.tool.mcp import HttpStatelessClient, StdIOStatefulClient

GREETING = [Type("Hello?"), WaitUntilHeard()]
THINKS = ChatModelBase("m", stream=True)
CALL = ToolCallBlock(id="c", name="pay", input='{"amount": 1}')


def pay(amount: float) -> str:
    """Pay."""
    return "paid"


def agent(**options: Any) -> RealtimeAgent:
    return RealtimeAgent("Friday", "", ScriptedModel([]), **options)


def thinker(**options: Any) -> ReActAgent:
    given: dict[str, Any] = {"model": THINKS, "formatter": OpenAIChatFormatter()}
    return ReActAgent("Ada", "", **given | options)


def tool(**options: Any) -> Toolkit:
    toolkit = Toolkit()
    toolkit.register(pay, **options)
    return toolkit


def preset(**values: Any) -> None:
    Toolkit().register_tool_function(pay, preset_kwargs=values)


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda: tool(question="Pay {sum}?"), "names {sum}, which is no argument of it; it has amount"),
        (lambda: tool(question="Pay {amount} to {whom}?", consent="card"), "names {whom}"),
        (lambda: tool(question="Pay {amount:.2f}?"), "the question of tool 'pay' has '{amount:.2f}'"),
        (lambda: tool(question="Pay {}?"), "the question of tool 'pay' has '{}'"),
        (lambda: tool(question="Pay {amount?"), "the question of tool 'pay' has '{amount?'"),
        (lambda: tool(consent="voise"), "tool 'pay': consent is one of 'voice', 'card', 'either' or None, not 'voise'"),
        (lambda: RealtimeAgent(" ", "", ScriptedModel([])), "name is empty"),
        (lambda: RealtimeAgent("\u200b\ufeff", "", ScriptedModel([])), "name is empty"),
        (lambda: RealtimeAgent("\u2800", "", ScriptedModel([])), "name is empty"),
        (lambda: RealtimeAgent("Ann\nBob", "", ScriptedModel([])), "holds a line end or a control character"),
        (lambda: preset(amuont=5), "has no argument 'amuont' to preset; it has amount"),
        (
            lambda: HttpStatelessClient("shop", "sse", "https://x", {"Authorization": "Bearer 4\n711"}),
            "the header 'Authorization' in headers holds a line end",
        ),
        (lambda: agent(toolkit="pay"), "toolkit is a Toolkit or a list of functions or None, not 'pay'"),
        (lambda: agent(turn_detection={"silence_duration_ms": "long"}), "turn_detection: "),
        (lambda: RealtimeAgent("A", "", LocalRealtimeModel(), voice="nobody"), "there is no voice 'nobody'; "),
        (lambda: RealtimeAgent("A", "", OpenAIRealtimeModel(), voice="aloy"), "there is no voice 'aloy'; "),
        (lambda: LocalRealtimeModel("haert"), "there is no voice 'haert'; "),
        (lambda: LocalRealtimeModel(voice="nobody"), "there is no voice 'nobody'; "),
        (lambda: OpenAIRealtimeModel(voice="shimer"), "there is no voice 'shimer'; "),
        (lambda: GeminiRealtimeModel(voice="zephir"), "there is no voice 'zephir'; "),
        (lambda: DashScopeRealtimeModel(voice="Chery"), "there is no voice 'Chery'; "),
        (lambda: ChatRoom([]), "agents is empty"),
        (lambda: ChatRoom([agent()], floor="adressed"), "floor is a function of realtime.room"),  # type: ignore[arg-type]
        (lambda: Limits(grace_s=-1), "grace_s is a number of seconds, 0 or more, not -1"),
        (lambda: Limits(call_s=float("nan")), "call_s is a number, not nan"),
        (lambda: Rooms({}, grace_s=-0.5), "grace_s is a number of seconds, 0 or more, not -0.5"),
        (lambda: OpenAIChatModel("m", "k", client_kwargs={"api_key": "x"}), "client_kwargs holds 'api_key'"),
        (lambda: AnthropicChatModel("m", "k", client_kwargs={"api_key": "x"}), "client_kwargs holds 'api_key'"),
        (lambda: GeminiChatModel("m", "k", client_kwargs={"api_key": "x"}), "client_kwargs holds 'api_key'"),
        (lambda: OpenAIChatModel("m", client_kwargs={"api_key": "x"}), "'api_key': it is an argument of the model"),
        (lambda: AnthropicChatModel("m", client_kwargs={"api_key": "x"}), "'api_key': it is an argument of the model"),
        (lambda: GeminiChatModel("m", client_kwargs={"api_key": "x"}), "'api_key': it is an argument of the model"),
        (lambda: thinker(max_iters=0), "max_iters is at least 1, not 0"),
        (lambda: Delegate(thinker(), "ask", "Knows.", timeout_s=-1), "timeout_s is a number of seconds, above 0"),
        (lambda: Delegate(thinker(), "ask", "Knows.", timeout_s=0), "timeout_s is a number of seconds, above 0"),
        (lambda: OpenAIChatModel("m", "k", retries=-1), "retries is at least 0, not -1"),
        (lambda: OpenAIChatModel("m", "k", timeout_s=0), "timeout_s is a number of seconds, above 0, not 0"),
        (lambda: HttpStatelessClient("a", "sse", "http://a", timeout=-1), "timeout is a number of seconds, above 0"),
        (lambda: HistoryLimits(messages=-1), "messages is at least 0, not -1"),
    ],
)
def test_a_mistake_is_an_error_where_it_is_written(write: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        write()
    assert sentence in caught.value.message


def test_what_is_meant_is_understood() -> None:
    made = agent(toolkit=[pay], turn_detection={"type": "server_vad", "silence_duration_ms": 300})
    assert [*made.toolkit.tools] == ["pay"]
    assert made.turn_detection == TurnDetection(type="server_vad", silence_duration_ms=300)


def test_functions_are_the_toolkit_of_a_thinking_agent() -> None:
    """As they are of one that speaks."""
    assert [*thinker(toolkit=[pay]).toolkit.tools] == ["pay"]
    assert [*thinker(toolkit=(pay,)).toolkit.tools] == ["pay"]
    given = Toolkit()
    assert thinker(toolkit=given).toolkit is given


def test_a_missing_or_unknown_argument_is_said_as_python_does() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'formatter'"):
        ReActAgent("Ada", "", THINKS)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'tools'"):
        thinker(tools=[pay])


@pytest.mark.virtual_time
async def test_half_an_emoji_of_a_program_costs_only_itself() -> None:
    """As over a socket."""
    model = ScriptedModel([Expect(ResponseCreate), Script("I see.")], strict=False)
    agent, events = RealtimeAgent("Friday", "", model), asyncio.Queue[Any]()
    await agent.start(events)
    await agent.handle_input(ClientTextAppendEvent(text="Hi \ud83d"))
    await asyncio.sleep(5)
    seen = [events.get_nowait() for _ in range(events.qsize())]
    await agent.stop()
    assert [item.text for item in agent.conversation] == ["Hi \ufffd", "I see."]
    assert "agent_error" not in [event.type for event in seen]


def test_a_tool_with_a_question_asks_it() -> None:
    toolkit = tool(question="Shall I pay {amount}?")
    assert toolkit.decide(CALL).asks
    assert toolkit.decide(CALL).question == "Shall I pay {amount}?"


def test_blanks_inside_the_braces_of_a_question_mean_nothing() -> None:
    assert tool(question="Shall I pay { amount }?").decide(CALL).asks


def test_a_voice_that_a_service_may_have_passes() -> None:
    """It may be new, or custom, or that of another service."""
    for voice in ("voice_4711", "Kore", "alloy"):
        assert RealtimeAgent("A", "", OpenAIRealtimeModel(), voice=voice).voice == voice
        assert OpenAIRealtimeModel(voice=voice).voice == GeminiRealtimeModel(voice=voice).voice == voice


def register(**options: Any) -> None:
    Toolkit().register(pay, **options)


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda: RealtimeAgent(7, "", ScriptedModel([])), "name is a text, not 7"),  # type: ignore[arg-type]
        (lambda: RealtimeAgent("A", ["Be brief."], ScriptedModel([])), "sys_prompt is a text"),  # type: ignore[arg-type]
        (lambda: agent(tool_timeout_s=-1), "tool_timeout_s is a number of seconds, above 0, not -1"),
        (lambda: agent(tool_timeout_s="30"), "tool_timeout_s is a number, not '30'"),
        (lambda: agent(client_timeout_s=0), "client_timeout_s is a number of seconds, above 0, not 0"),
        (lambda: agent(tool_timeout_s=float("nan")), "tool_timeout_s is a number, not nan"),
        (lambda: agent(greeting=True), "greeting is a text or None, not True"),
        (lambda: agent(on_enter="Hello."), "on_enter is a function or None, not 'Hello.'"),
        (lambda: agent(transfers=agent()), "transfers is a list of RealtimeAgents"),
        (lambda: agent(client_may_replace_tools="no"), "client_may_replace_tools is True or False, not 'no'"),
        (lambda: agent(recognise="fast"), "recognise is a function or None, not 'fast'"),
        (lambda: agent(toolkit=["pay"]), "toolkit is a Toolkit or a list of functions or None, not ['pay']"),
        (lambda: TurnDetection(authority="sever"), "authority is one of 'provider', 'server', 'client' or None"),  # type: ignore[arg-type]
        (lambda: TurnDetection(threshold=5), "threshold is 5, it is between 0 and 1"),
        (lambda: TurnDetection(backchannels="mhm"), "backchannels is a list of texts or None, not 'mhm'"),  # type: ignore[arg-type]
        (lambda: SessionConfig(turn_detection="off"), "turn_detection is a TurnDetection or one of 'none' or None"),  # type: ignore[arg-type]
        (lambda: SessionConfig(input_audio_format={"rate": 8000}), "input_audio_format is an AudioFormat or None"),  # type: ignore[arg-type]
        (lambda: SessionConfig(max_output_tokens=-1), "max_output_tokens is -1, it has to be at least 1"),
        (lambda: SessionConfig(tools=[pay]), "tools is a list of ToolDeclarations or None"),  # type: ignore[arg-type]
        (lambda: Toolkit(pay), "functions is a list of functions"),  # type: ignore[arg-type]
        (lambda: Toolkit(confirm=True), "confirm is a list of functions, not True"),  # type: ignore[arg-type]
        (lambda: Toolkit([pay], permissions="allow"), "permissions is a PermissionEngine or None"),  # type: ignore[arg-type]
        (lambda: register(name=""), "name is empty"),
        (lambda: register(confirm="voice"), "tool 'pay': confirm is True or False, not 'voice'"),
        (lambda: register(announce="silently"), "tool 'pay': announce is for one in the background"),
        (lambda: register(announce="silent", background=True), "announce is one of 'spoken', 'silently'"),
        (lambda: register(description=5), "tool 'pay': description is a text or None, not 5"),
        (lambda: ChatRoom(agent()), "agents is a list"),  # type: ignore[arg-type]
        (lambda: ChatRoom([agent()], max_agent_turns=-1), "max_agent_turns is 0 or more, not -1"),
        (lambda: ChatRoom([agent()], max_humans=0), "max_humans is at least 1, not 0"),
        (lambda: ChatRoom([agent()], name=" "), "name is empty"),
        (lambda: ChatRoom([agent()], listens={"Fryday": "audio"}), "listens names 'fryday', but the agent is called"),
        (lambda: ChatRoom([agent()], listens={"Friday": "all"}), "listens is a mapping with one of"),  # type: ignore[dict-item]
        (lambda: ServerSettings(token=123), "token is a text or None, not a int"),  # type: ignore[arg-type]
        (lambda: ServerSettings(max_busy=80), "max_busy is the share of one core, at most 1, not 80"),
        (lambda: ServerSettings(allowed_origins="https://a.example"), "allowed_origins is a list of texts"),  # type: ignore[arg-type]
        (lambda: ServerSettings(allowed_origins=("a.example",)), "allowed_origins are origins, such as https"),
        (lambda: ServerSettings(endpoints="openai"), "endpoints is a list of texts or None"),  # type: ignore[arg-type]
        (lambda: ServerSettings(limits={"grace_s": 1}), "limits is a Limits, not {'grace_s': 1}"),  # type: ignore[arg-type]
        (lambda: ServerSettings(resume_s=-1), "resume_s is a number of seconds, 0 or more, not -1"),
        (lambda: create_app(agent()), "make_agent is a function that makes a new agent for each call"),
        (lambda: create_app(lambda users: agent()), "make_agent has a parameter 'users' that no call fills"),
        (lambda: create_app(agent, {"max_calls": 1}), "settings is a ServerSettings or None"),  # type: ignore[arg-type]
        (lambda: voice_router(agent, ServerSettings()), "prefix is a text"),  # type: ignore[arg-type]
        (lambda: Speak(noise=5), "noise is a text or None, not 5"),  # type: ignore[arg-type]
        (lambda: Speak("a.wav", from_ms=500, to_ms=100), "to_ms is 100, which is not after from_ms, 500"),
        (lambda: Network(loss=5), "loss is at most 1, not 5"),
        (lambda: Silence(-5), "ms is at least 0, not -5"),
        (lambda: WaitFor("agent_respnse_done"), "did you mean 'agent_response_done'?"),
        (lambda: Person(("hello",)), "steps is a list"),  # type: ignore[arg-type]
        (lambda: Returned(state="ok"), "state is one of 'success', 'error', not 'ok'"),  # type: ignore[arg-type]
        (lambda: Expected(turns=-1), "turns is at least 0 or None, not -1"),
        (lambda: Guard(allow="localhost"), "allow is a list of texts, not 'localhost'"),
        (lambda: thinker(formatter=OpenAIChatFormatter), "not the class OpenAIChatFormatter: write OpenAIChatForm"),
        (lambda: thinker(formatter=None), "formatter is a FormatterBase, not None"),
        (lambda: thinker(formatter=Toolkit()), "formatter is a FormatterBase, not <realtime.tool.toolkit.Toolkit"),
        (lambda: thinker(model=OpenAIChatModel), "model is a ChatModelBase, not the class OpenAIChatModel: write Op"),
        (lambda: thinker(model="gpt"), "model is a ChatModelBase, not 'gpt'"),
        (lambda: thinker(memory="none"), "memory is a MemoryBase or None, not 'none'"),
        (lambda: thinker(toolkit="pay"), "toolkit is a Toolkit or a list of functions or None, not 'pay'"),
        (lambda: thinker(compression_config={"enable": True}), "compression_config is a CompressionConfig or None"),
        (lambda: UserAgent(None), "name is a text, not None"),  # type: ignore[arg-type]
        (lambda: Delegate("Ada", "ask", "Knows."), "agent is an AgentBase or a function, not 'Ada'"),  # type: ignore[arg-type]
        (lambda: Delegate(thinker(), "ask", "Knows.", interrupt="never"), "interrupt is one of 'on_request'"),  # type: ignore[arg-type]
        (lambda: OpenAIChatModel("m", b"secret"), "api_key is a text or None, not a bytes"),  # type: ignore[arg-type]
        (lambda: OpenAIChatModel("m", "k", generate_kwargs=[1]), "generate_kwargs is a mapping or None, not a list"),  # type: ignore[arg-type]
        (lambda: OpenAIChatModel("m", "k", retries="two"), "retries is a whole number, not 'two'"),
        (lambda: OpenAIRealtimeModel(voice=7), "voice is a text or None, not 7"),  # type: ignore[arg-type]
        (lambda: LocalRealtimeModel(ears="best"), "ears is one of 'fast', 'better' or None, not 'best'"),  # type: ignore[arg-type]
        (lambda: ScriptedModel([Script], strict=True), "script is a list with an Expect or an ExpectAudio"),  # type: ignore[list-item]
        (lambda: Script(text=5), "text is a text, not 5"),  # type: ignore[arg-type]
        (lambda: CallTools(("pay", {})), "calls is a list of tuples"),  # type: ignore[arg-type]
        (lambda: open_model(None), "name is a text, not None"),  # type: ignore[arg-type]
        (lambda: failover("local"), "models is a list of RealtimeModels, not 'local'"),  # type: ignore[arg-type]
        (lambda: OpenAIChatFormatter(max_tokens="1000"), "max_tokens is a whole number or None"),  # type: ignore[arg-type]
        (lambda: JSONSession(5), "save_dir is a text or a PathLike, not 5"),  # type: ignore[arg-type]
        (lambda: Limits(call_s="3600"), "call_s is a number, not '3600'"),  # type: ignore[arg-type]
        (lambda: Rooms([]), "templates is a mapping, not []"),  # type: ignore[arg-type]
        (lambda: PermissionEngine("bypass"), "context is a PermissionContext or a list of PermissionRules"),  # type: ignore[arg-type]
        (lambda: RecordingModel("openai", "folder"), "below is a RealtimeModel, not 'openai'"),  # type: ignore[arg-type]
        (lambda: recorded_model("a", audio="all"), "audio is one of "),  # type: ignore[arg-type]
        (lambda: write_report([1], "report.html"), "runs is a list with a RunOutcome or a CallRecord as each entry"),  # type: ignore[list-item]
        (lambda: TokenizersCounter(None), "path is a text or a Path, not None"),  # type: ignore[arg-type]
        (lambda: Observer(None), "agent is an AgentBase, not None"),  # type: ignore[arg-type]
        (lambda: HttpStatelessClient("a", "http", "http://a"), "transport is one of 'streamable_http', 'sse'"),  # type: ignore[arg-type]
        (
            lambda: HttpStatelessClient("a", "sse", "http://a", {"x": 5}),
            "headers is a mapping with a text for each key",
        ),  # type: ignore[dict-item]
        (lambda: HttpStatelessClient("a", "sse", "http://a", allow_sampling=1), "allow_sampling is True or False"),  # type: ignore[arg-type]
        (lambda: StdIOStatefulClient("a", "b", "-m server"), "args is a list of texts or None, not '-m server'"),
        (lambda: StandIn(answers=("Hello.",)), "answers is a list with a Say or "),  # type: ignore[arg-type]
        (lambda: Say(5), "text is a text, not 5"),  # type: ignore[call-arg, misc]
        (lambda: Case(()), "users is empty: give a case at least one Person"),
        (lambda: BargeIn(Speak("a.wav")), "give it one of after_ms, at_word and on_tool"),
        (lambda: SessionConfig(temperature=99), "temperature is 99, it is between 0 and 2"),
        (lambda: ResponseOverrides(temperature=-1), "temperature is -1, it is between 0 and 2"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_the_name_of_its_option(
    write: Callable[[], object], sentence: str
) -> None:
    with pytest.raises((UsageError, ValueError)) as mistake:
        write()
    assert sentence in str(mistake.value)


@pytest.mark.parametrize(
    "write",
    [
        lambda: agent(greeting=None, voice=None, fillers=["One moment."], idle_prompt_s=5, turn_detection={}),
        lambda: agent(toolkit={pay}, suggestions=("What?",), on_turn=None, make_detector=None, tool_timeout_s=2.5),
        lambda: TurnDetection(backchannels=["mhm"], threshold=1),  # type: ignore[arg-type]
        lambda: SessionConfig(max_output_tokens="inf", temperature=1, extra={"a": object()}),
        lambda: Toolkit(one for one in [pay]),
        lambda: register(claims="pay", consent="voice", question="Pay {amount}?"),
        lambda: ChatRoom([agent()], listens={"FRIDAY": "text", "Somebody later": "audio"}, max_agent_turns=0),
        lambda: ServerSettings(allowed_origins=["*", "https://a.example/"], max_lag_ms=30),  # type: ignore[arg-type]
        lambda: create_app(lambda user, greets, **more: agent()),
        lambda: WaitFor("something_of_a_newer_server"),
        lambda: thinker(toolkit=[pay], memory=InMemoryMemory(), parallel_tool_calls=True, max_iters=np.int64(3)),
        lambda: Delegate(ReActAgent, "ask", "Knows.", timeout_s=None),  # type: ignore[arg-type]
        lambda: OpenAIChatModel("m", "k", timeout_s=np.float32(2), client_kwargs={"max_retries": 0}),
        lambda: JSONSession(Path("sessions")),
        lambda: Limits(grace_s=0, call_s=float("inf")),
        lambda: ScriptedModel((Script("Hi."), CallTools([("pay", {"amount": 1})]))),  # type: ignore[arg-type]
        lambda: PermissionEngine(mode="bypass"),
        lambda: PermissionContext(mode="bypass"),  # type: ignore[arg-type]
        lambda: HttpStatelessClient("a", "sse", "http://a", roots=[Path.cwd()], sampling=None),
        lambda: StandIn(answers=[Say(text="Hi.")]),  # type: ignore[arg-type]
        lambda: SessionConfig(temperature=2),
    ],
)
def test_what_fits_is_taken(write: Callable[[], object]) -> None:
    write()


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (
            lambda: ClientAudioAppendEvent(audio=b"", format="pcm16"),
            "ClientAudioAppendEvent(format=...): Expected `object`",
        ),  # type: ignore[arg-type]
        (lambda: ClientAudioAppendEvent(audio=b"", format={"rate": "fast"}), "got `str` at `rate`"),  # type: ignore[arg-type]
        (lambda: ClientAudioAppendEvent(audio=None), "ClientAudioAppendEvent(audio=...): "),  # type: ignore[arg-type]
        (lambda: ClientTextAppendEvent(text=None), "ClientTextAppendEvent(text=...): Expected `str`, got `null`"),  # type: ignore[arg-type]
        (lambda: ClientPlaybackAckEvent(item_id="i", played_ms=2.5), "(played_ms=...): Expected `int`"),  # type: ignore[arg-type]
        (
            lambda: ClientToolResultEvent(id="c", name="pay", output=3),
            "(output=...): Expected `str | array`, got `int`",
        ),  # type: ignore[arg-type]
        (
            lambda: ClientToolResultEvent(id="c", name="pay", output="", state="done"),  # type: ignore[arg-type]
            "(state=...): Invalid enum value 'done': use one of denied, error, interrupted, running, success",
        ),
        (
            lambda: ClientItemCreateEvent(item={"id": "i", "role": "human"}),  # type: ignore[arg-type]
            "'human' at `role`: use one of assistant, system, user",
        ),
    ],
)
def test_an_event_that_cannot_be_meant_names_its_class_and_its_field(
    write: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(TypeError) as caught:
        write()
    assert sentence in str(caught.value)


def test_an_event_takes_the_objects_of_its_json() -> None:
    event = ClientAudioAppendEvent(audio="AAAA", format={"rate": 24_000})  # type: ignore[arg-type]
    assert (event.audio, event.format) == (bytes(3), AudioFormat(rate=24_000))
    (part,) = ClientItemCreateEvent(item={"id": "i", "content": [{"type": "text", "text": "Hi."}]}).item.content  # type: ignore[arg-type]
    assert part.text == "Hi."


class Notes(StateModule):
    """What a program keeps."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.pages: object = None
        self.register_state("pages")
        self.pages = value


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({1, 2}, "'pages' of Notes has no JSON form (it is of type set)"),
        ({"a": [1, b"x"]}, "(['a'][1] is of type bytes)"),
        ([{"a": pay}], "([0]['a'] is of type function)"),
        ({"years": {2026: "x"}}, "(['years'] has the key 2026)"),
        (date(2026, 1, 1), "'pages' of Notes has no JSON form (it is of type date)"),
    ],
)
def test_a_state_without_a_json_form_is_named(value: object, place: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError) as caught:
        asyncio.run(JSONSession(tmp_path).save_session_state("s", notes=Notes(value)))
    assert place in str(caught.value)
    assert [*tmp_path.iterdir()] == []


class Foreign:
    """A module of another kind."""

    def state_dict(self) -> dict[str, Any]:
        return {"seen": object()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (
            lambda session: session.save_session_state("s", notes=Foreign()),
            "notes has no JSON form (['seen'] is of type object)",
        ),
        (lambda session: session.save_session_state("s"), "save_session_state got no modules"),
        (lambda session: session.load_session_state("s"), "load_session_state got no modules"),
        (lambda session: session.load_session_state("s", Notes(1)), "the user id is a text, not a Notes"),
        (lambda session: session.save_session_state("s", notes={"a": 1}), "notes has no state: it is a dict"),
    ],
)
def test_a_session_refuses_what_it_cannot_keep(use: Callable[..., Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises((UsageError, TypeError)) as caught:
        asyncio.run(use(JSONSession(tmp_path)))
    assert sentence in str(caught.value)


def test_the_log_tells_what_was_not_restored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    session, notes = JSONSession(tmp_path), Notes(1)
    asyncio.run(session.load_session_state("anna", notes=notes))
    asyncio.run(session.save_session_state("anna", notes=notes))
    asyncio.run(session.load_session_state("anna", note=Notes(2)))
    assert [record.getMessage() for record in caplog.records] == [
        f"there is no session 'anna' in {tmp_path}: nothing is restored",
        "session 'anna' has no state of note, which stay as they are; it has: notes",
    ]


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": "Typo"}, "model is a RealtimeModel, a StandIn, 'case' or 'own', not 'Typo'"),
        ({"model": None}, "model is a RealtimeModel"),
        ({"model": ScriptedModel}, "model is a RealtimeModel"),
        ({"tools": "record"}, "tools is 'recorded', 'run' or functions by name, not 'record'"),
        ({"config": {"voise": "Kore"}}, "config has no voise; it has instructions, "),
    ],
)
async def test_a_call_of_a_test_refuses_what_would_be_something_else(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        await voice_call(GREETING, agent=lambda: agent(), **options)
    assert sentence in caught.value.message


async def test_a_call_of_a_test_has_one_of_two_kinds_of_time(voice_call: Any) -> None:
    with pytest.raises(UsageError, match="time is 'virtual' or 'real', not 'fast'"):
        await voice_call(GREETING, agent=lambda: agent(), time="fast")


@pytest.mark.virtual_time
async def test_a_stand_in_is_the_model_of_a_call() -> None:
    stand_in = StandIn(turns="none", answers=(Say("I stand in."),))
    run = await voice_call(GREETING, agent=lambda: agent(), model=stand_in)
    run.agent_said("I stand in.")
