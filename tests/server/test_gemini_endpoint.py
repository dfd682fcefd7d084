"""The endpoint for Gemini Live clients, judged by the official SDK over TLS: every frame has to satisfy its types."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect

from realtime.agent import RealtimeAgent
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.event.model import (
    ModelResponseAudioDeltaEvent,
    ModelResponseAudioTranscriptDeltaEvent,
    ModelResponseCreatedEvent,
    ModelResponseDoneEvent,
    ModelResponseToolUseDoneEvent,
)
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.model.scripted import (
    PROFILE,
    Emit,
    Expect,
    ExpectAudio,
    ScriptedModel,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Write,
    echo_bot,
)
from realtime.server.runner import TlsFiles
from realtime.tool import Toolkit
from tests.real_loop import settled
from tests.server.cases import lines_of, recorded
from tests.server.ears import asked, received
from tests.server.gemini_sdk import (
    SILENCE_100_MS,
    WEATHER,
    Ear,
    calling,
    content,
    labels,
    live_address,
    sdk,
    serving,
    talking,
    trusting,
)
from tests.server.harness import Json
from tests.volumes import HANG_S

ANSWER = ["outputTranscription", "modelTurn", "generationComplete", "turnComplete+usageMetadata"]
MANUAL: Json = {"realtime_input_config": {"automatic_activity_detection": {"disabled": True}}}


# -- open --------------------------------------------------------------------------------------------------------------


async def test_the_setup_makes_the_call_with_its_settings(tls: TlsFiles) -> None:
    configs: list[SessionConfig] = []
    model = ScriptedModel([])

    def make_agent(config: SessionConfig) -> RealtimeAgent:
        configs.append(config)
        return RealtimeAgent("Friday", "Be Friday.", model)

    setup: Json = {
        "system_instruction": "Be brief.",
        "temperature": 0.5,
        "max_output_tokens": 200,
        "top_p": 0.9,
        "speech_config": {"voice_config": {"prebuilt_voice_config": {"voice_name": "Kore"}}, "language_code": "en-US"},
        "tools": [{"function_declarations": [WEATHER]}],
        "realtime_input_config": {
            "automatic_activity_detection": {
                "start_of_speech_sensitivity": "START_SENSITIVITY_LOW",
                "silence_duration_ms": 700,
            },
            "activity_handling": "NO_INTERRUPTION",
        },
        "session_resumption": {},
        "context_window_compression": {"sliding_window": {}},
        "thinking_config": {"thinking_budget": 0},
        "media_resolution": "MEDIA_RESOLUTION_LOW",
    }
    async with serving(make_agent, tls) as place, sdk(place, tls, setup) as ear:
        assert ear.sdk.setup_complete is not None
        assert place.calls.running == 1
    (config,) = configs
    assert (config.model, config.instructions, config.voice) == ("gemini-3.8-live", "Be brief.", "Kore")
    assert (config.temperature, config.max_output_tokens) == (0.5, 200)
    assert isinstance(config.turn_detection, TurnDetection)
    assert config.turn_detection == TurnDetection(threshold=0.7, silence_duration_ms=700, interrupt_response=False)
    assert config.tools is not None
    assert config.tools[0].parameters == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }
    assert model.connections[0].settings.instructions == "Be brief."


@pytest.mark.parametrize(
    ("has", "lacks"), [((), ["googleSearch", "codeExecution"]), (("web_search",), ["codeExecution"])]
)
async def test_a_tool_that_the_model_lacks_is_named_and_the_session_goes_on(
    tls: TlsFiles, has: tuple[str, ...], lacks: list[str]
) -> None:
    """The setup of Google's Live API console, and a tool more."""
    tools: list[Json] = [{"google_search": {}}, {"function_declarations": [WEATHER]}, {"code_execution": {}}]
    profile = msgspec.structs.replace(PROFILE, hosted_tools=frozenset(has))
    model = ScriptedModel([Expect(base.ResponseCreate), Speak("I heard you.", 0.1)], profile=profile, strict=False)
    async with (
        serving(lambda: RealtimeAgent("F", "F", model), tls) as place,
        sdk(place, tls, {"tools": tools, "output_audio_transcription": {}, "system_instruction": "Be brief."}) as ear,
    ):
        assert ear.sdk.setup_complete is not None
        await ear.say("Hello?")
        await ear.turn()
        assert ear.words("outputTranscription") == "I heard you."
        warnings = [frame["warning"] for frame in ear.frames if "warning" in frame]
        assert [warning["code"] for warning in warnings] == ["unsupported_tool"] * len(lacks)
        assert [warning["message"].split("'")[1] for warning in warnings] == lacks
        settings = model.connections[0].settings
        assert settings.hosted_tools == {*has}
        assert (settings.instructions, [tool.name for tool in settings.tools]) == ("Be brief.", ["get_weather"])


async def test_every_api_version_is_served_and_programs_without_the_sdk(tls: TlsFiles) -> None:
    """With a slash too many; and by either frame kind and either name style."""
    model = ScriptedModel(echo_bot(seconds=0.1))
    async with serving(lambda: RealtimeAgent("F", "F", model), tls) as place:
        for version, slash in (("v1", ""), ("v1alpha", "/"), ("v1beta", "/")):
            async with sdk(place, tls, version=version, slash=slash) as ear:
                await ear.say("Hello?")
                await ear.turn()
                assert ear.words("outputTranscription") == "I heard you."
        async with connect(live_address(place), ssl=trusting(tls)) as socket:
            await socket.send('{"setup": {"model": "models/m", "output_audio_transcription": {}}}')
            assert await socket.recv() == b'{\n  "setupComplete": {}\n}\n'
            await socket.send(b'{"clientContent": {"turns": [{"parts": [{"text": "Hi"}]}], "turnComplete": true}}')
            assert labels(json.loads(await socket.recv())) == "outputTranscription"


# -- turns -------------------------------------------------------------------------------------------------------------


async def send_in_the_older_way(ear: Ear, _: ScriptedModel) -> None:
    from google.genai import types

    chunk = types.Blob(data=SILENCE_100_MS, mime_type="audio/pcm")
    await ear.sdk.send(input=types.LiveClientRealtimeInput(media_chunks=[chunk]))
    await ear.sdk.send(input="Hello?", end_of_turn=True)


async def heard_300_ms(_: Ear, model: ScriptedModel) -> None:
    await settled(lambda: model.connections[0].audio_ms >= 300)


def say(text: str) -> tuple[str, Json]:
    return "say", {"text": text}


def speak(times: int) -> tuple[str, Json]:
    return "speak", {"times": times}


Act = Callable[[Ear, ScriptedModel], Awaitable[None]]


@dataclass(frozen=True)
class Turn:
    """What a client does, and what the model gets: items, requests and `audio_ms` of speech."""

    acts: list[tuple[str, Json] | Act]
    """Methods of the SDK or of `Ear` by name, with their arguments."""
    got: list[Any]
    before: tuple[Step, ...] = ()
    """What the model does before it is asked to answer."""
    config: Json = field(default_factory=dict)
    audio_ms: int = 0
    told: list[str] = field(default_factory=lambda: ANSWER)


SPOKEN = (ExpectAudio(200), SpeechStart(20), ExpectAudio(400), SpeechEnd(330, "what time"))
OFF = (ExpectAudio(200), SpeechStart(20), Expect(base.AudioCommit), asked())
QUIET = {"input_audio_transcription": None, "output_audio_transcription": None}
SEEDED = {"history_config": {"initial_history_in_client_content": True}}
PRESS, RELEASE = ("press", {}), ("release", {})
ASKED = base.ResponseCreate
NAME, WHO, HELLO = "My name is Alice.", "What is my name?", "Nice to meet you!"
PAST = [{"role": "user", "parts": [{"text": NAME}]}, {"role": "model", "parts": [{"text": HELLO}]}]
TURNS = {
    "typed": Turn([say("Hello.")], [("user", "Hello."), ASKED]),
    "typed, without transcripts": Turn([say("Hello.")], [("user", "Hello."), ASKED], config=QUIET, told=ANSWER[1:]),
    "typed in real time": Turn([("send_realtime_input", {"text": "Hello?"})], [("user", "Hello?"), ASKED]),
    "with a history": Turn(
        [("send_client_content", {"turns": PAST, "turn_complete": False}), say(WHO)],
        [("user", NAME), ("assistant", HELLO), ("user", WHO), ASKED],
    ),
    "with an initial history": Turn([say(NAME), say(WHO)], [("user", NAME), ("user", WHO), ASKED], config=SEEDED),
    "with an image": Turn(
        [("show", {"jpeg": b"\xff\xd8\xfe"}), say("What is it?")],
        [(b"\xff\xd8\xfe", "image/jpeg"), ("user", "What is it?"), ASKED],
    ),
    "in a new context": Turn(
        [("send_context_update", {"system_instruction": "Be a pirate.", "tools": []}), say("Ready?")],
        [("user", "Ready?"), ASKED],
        before=(Expect(base.SessionUpdate), asked()),
    ),
    "spoken": Turn([speak(5)], [], before=SPOKEN, audio_ms=500, told=["inputTranscription", *ANSWER]),
    "in the older way": Turn([send_in_the_older_way], [("user", "Hello?"), ASKED], audio_ms=100),
    "between the marks": Turn(
        [speak(1), PRESS, speak(2), RELEASE],
        [base.AudioCommit, ASKED],
        before=(Expect(base.AudioCommit), asked()),
        config=MANUAL,
        audio_ms=200,
    ),
    "typed between the marks": Turn(
        [PRESS, ("send_realtime_input", {"text": "Typed."}), RELEASE], [("user", "Typed."), ASKED], config=MANUAL
    ),
    "until the microphone is off": Turn(
        [speak(3), heard_300_ms, ("send_realtime_input", {"audio_stream_end": True})],
        [base.AudioCommit, ASKED],
        before=OFF,
        audio_ms=300,
    ),
}


def got(model: ScriptedModel) -> list[Any]:
    """What the model was told, in order."""
    told: list[Any] = []
    for message in received(model, base.ItemCreate, base.ResponseCreate, base.AudioCommit):
        if isinstance(message, base.ItemCreate):
            image = message.item.content[0]
            told.append((image.image, image.media_type) if image.image else (message.item.role, message.item.text))
        else:
            told.append(type(message))
    return told


@pytest.mark.filterwarnings("ignore:The `session.send` method is deprecated:DeprecationWarning")
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
async def test_a_turn_is_answered_in_the_recorded_order(tls: TlsFiles, turn: Turn) -> None:
    script = (*(turn.before or [asked()]), Speak("Hello there.", 0.4))
    async with talking(tls, *script, config=turn.config) as (ear, model):
        for act in turn.acts:
            if callable(act):
                await act(ear, model)
            else:
                await getattr(ear if hasattr(ear, act[0]) else ear.sdk, act[0])(**act[1])
        await ear.turn()
        assert ear.kinds == turn.told
        assert ear.words("outputTranscription") == ("Hello there." if "outputTranscription" in turn.told else "")
        assert ear.words("inputTranscription") == ("what time" if "inputTranscription" in turn.told else "")
        assert len(ear.audio) == 19_200
        part = next(frame for frame in ear.frames if "modelTurn" in content(frame))
        assert part["serverContent"]["modelTurn"]["parts"][0]["inlineData"]["mimeType"] == "audio/pcm;rate=24000"
        assert got(model) == turn.got
        settings = model.connections[0].settings
        assert settings.output_modalities == ("audio",), "what the client leaves out is left to the agent"
        assert settings.tools == ()
        changed = bool(received(model, base.SessionUpdate))
        assert settings.instructions == ("Be a pirate." if changed else "Be Friday.")
        assert model.connections[0].audio_ms == turn.audio_ms


async def test_a_client_that_wants_text_gets_text(tls: TlsFiles) -> None:
    async with talking(tls, asked(), Write("In writing."), config={"response_modalities": ["TEXT"]}) as (ear, model):
        await ear.say("Write.")
        messages = await ear.turn()
        assert "".join(message.text or "" for message in messages) == "In writing."
        assert ear.kinds == ["modelTurn", "generationComplete", "turnComplete+usageMetadata"]
        assert model.connections[0].settings.output_modalities == ("text",)


async def test_speech_at_another_rate_and_in_the_older_form_is_resampled(tls: TlsFiles) -> None:
    async with talking(tls, ExpectAudio(150)) as (ear, model):
        await ear.speak(bytes(9_600), rate_hz=48_000)
        chunk = {"data": "_____w", "mimeType": "audio/pcm;rate=48000"}
        await ear.sdk._ws.send(json.dumps({"realtimeInput": {"mediaChunks": [chunk] * 1_000}}))
        await settled(lambda: model.connections[0].audio_ms >= 110)


# -- interruptions -----------------------------------------------------------------------------------------------------


async def test_speech_interrupts_what_is_being_generated(tls: TlsFiles) -> None:
    story = Speak("A long story about a fox.", 20.0, pace=1.0, wait=False)
    script = (asked(), story, ExpectAudio(200), SpeechStart(20), SpeechEnd(150, "stop"), Speak("Very well.", 0.2))
    async with talking(tls, *script) as (ear, _):
        await ear.say("Tell me a story.")
        await ear.until("modelTurn")
        await ear.speak(times=3)
        await ear.until("interrupted")
        await ear.turn()
        rest = [labels(frame) for frame in ear.frames]
        rest = rest[rest.index("interrupted") :]
        assert rest[:2] == ["interrupted", "turnComplete+usageMetadata"]
        await ear.turn()
        assert ear.kinds[-5:] == ["inputTranscription", *ANSWER]


async def test_new_turns_interrupt_the_answer_before(tls: TlsFiles) -> None:
    async with talking(tls, asked(), Speak("A burst.", 20.0), asked(), Speak("Two.", 0.2)) as (ear, model):
        for question in ("One?", "Two?"):
            await ear.say(question)
            await ear.until("generationComplete")
        await ear.until("turnComplete")
        assert ear.kinds[-5:] == ["turnComplete+usageMetadata", *ANSWER]
        assert "interrupted" in ear.kinds
        assert len(received(model, base.ItemCreate)) == 2


async def test_pressing_the_button_interrupts(tls: TlsFiles) -> None:
    async with talking(tls, asked(), Speak("A long story.", 20.0, pace=1.0), config=MANUAL) as (ear, _):
        await ear.say("Tell.")
        await ear.until("modelTurn")
        await ear.press()
        await ear.turn()
        assert ear.kinds[-2:] == ["interrupted", "turnComplete+usageMetadata"]
        assert "generationComplete" not in ear.kinds


async def test_a_turn_lasts_until_it_was_heard_and_only_what_was_heard_before_an_interruption_stays(
    tls: TlsFiles,
) -> None:
    model = ScriptedModel([asked(), Speak("One two three four.", 20.0)], strict=False)
    async with serving(lambda: RealtimeAgent("F", "F", model), tls) as place, sdk(place, tls) as ear:
        await ear.say("Count.")
        await ear.until("generationComplete")
        (session,) = place.calls.sessions.values()
        answer = session.conversation.items()[-1]
        await settled(lambda: session.audience.played_ms(answer.id) > 100)
        await ear.sdk.send_client_content(turn_complete=True)
        await ear.turn()
        assert ear.kinds[-3:] == ["generationComplete", "interrupted", "turnComplete+usageMetadata"]
        await settled(lambda: bool(received(model, base.ItemTruncate)))
        (cut,) = received(model, base.ItemTruncate)
        assert 100 < cut.audio_end_ms < 15_000
        assert session.conversation.items()[-1].status == "incomplete"


# -- tools -------------------------------------------------------------------------------------------------------------

TOOLS: Json = {"tools": [{"function_declarations": [WEATHER]}]}


async def test_a_tool_round_is_one_turn_and_the_model_goes_on_by_itself(tls: TlsFiles) -> None:
    """An answer in pieces is one result."""
    calls = calling(*(("get_weather", {"city": city}) for city in ("Oslo", "Rome", "Bern")))
    script = (asked(), calls, *[Expect(base.ToolResult)] * 3, asked(), Speak("Rain and sun.", 0.2))
    async with talking(tls, *script, config=TOOLS) as (ear, model):
        await ear.say("The weather?")
        oslo, rome, bern = called = await ear.called()
        assert {one["name"] for one in called} == {"get_weather"}
        assert [one["args"] for one in called] == [{"city": "Oslo"}, {"city": "Rome"}, {"city": "Bern"}]
        await ear.return_(oslo["id"], {"output": "rain"})
        await ear.return_(rome["id"], {"sky": "blue"})
        for words, more in (("clouds", True), ("rain", False)):
            await ear.return_(bern["id"], {"output": words}, will_continue=more, scheduling="INTERRUPT")
        await ear.turn()
        assert ear.kinds == ["toolCall", *ANSWER]
        results = [one.result.output for one in received(model, base.ToolResult)]
        assert results == ["rain", '{"sky":"blue"}', "clouds\nrain"]


async def test_an_interruption_withdraws_the_call_and_a_late_answer_is_dropped(tls: TlsFiles) -> None:
    script = (asked(), calling(("get_weather", {})), asked(), Speak("Never mind.", 0.2))
    async with talking(tls, *script, config=TOOLS) as (ear, model):
        await ear.say("The weather?")
        (call,) = await ear.called()
        await ear.say("Forget it.")
        assert (await ear.until("toolCallCancellation"))["toolCallCancellation"] == {"ids": [call["id"]]}
        await settled(lambda: bool(received(model, base.ToolResult)))
        await ear.return_(call["id"], {"output": "rain"})
        await ear.turn()
        await ear.turn()
        assert ear.kinds == ["toolCall", "toolCallCancellation", "interrupted", "turnComplete+usageMetadata", *ANSWER]
        assert [one.result.state for one in received(model, base.ToolResult)] == ["interrupted"]


async def test_functions_of_python_are_declared_to_the_model(tls: TlsFiles) -> None:
    def set_timer(minutes: int, label: str = "") -> str:
        """Set a timer."""
        raise AssertionError("the program calls it, not the SDK")

    async with talking(tls, config={"tools": [set_timer]}) as (_, model):
        (tool,) = model.connections[0].settings.tools
        assert (tool.name, tool.description) == ("set_timer", "Set a timer.")
        assert tool.parameters["properties"]["minutes"]["type"] == "integer"
        assert tool.parameters["required"] == ["minutes"]


async def test_a_tool_of_the_server_is_not_told(tls: TlsFiles) -> None:
    def tell_time() -> str:
        """The time."""
        return "noon"

    script = (asked(), calling(("tell_time", {})), Expect(base.ToolResult), asked(), Speak("It is noon.", 0.2))
    async with talking(tls, *script, tools=Toolkit([tell_time])) as (ear, _):
        await ear.say("The time?")
        await ear.turn()
        assert ear.kinds == ANSWER


# -- what was recorded -------------------------------------------------------------------------------------------------

MILESTONES = ("setupComplete", "toolCall", "generationComplete", "turnComplete", "interrupted")


RECORDED = ["gemini-text_in_audio_out_turn", "gemini-tool_call_round", "gemini-message_history_seeding"]
OF_OUR_OWN_CLIENT = ["text_turn", "tool_calls"]


def frames_of(name: str, request: pytest.FixtureRequest) -> list[Json]:
    if name in RECORDED:
        return recorded(request.getfixturevalue("recordings_dir"), name)
    frames = lines_of(request.getfixturevalue("fixtures_dir") / "models" / "gemini" / f"{name}.jsonl")
    declared = [{"name": name} for name in ("get_time", "ring_bell")]
    frames[0]["data"]["setup"].setdefault("tools", [{"functionDeclarations": declared}])
    return frames


@pytest.mark.parametrize("name", [*RECORDED, *OF_OUR_OWN_CLIENT])
async def test_sessions_run_again_in_their_order(tls: TlsFiles, request: pytest.FixtureRequest, name: str) -> None:
    """Send what was sent, with a model behind that calls and says what was received; the order has to be the same."""
    from google.genai.types import LiveServerMessage

    frames = frames_of(name, request)
    given = [frame["data"] for frame in frames if frame["direction"] == "received"]
    answers = _answers(given)

    def react(message: base.ModelInput) -> list[Step]:
        return next(answers, []) if isinstance(message, base.ResponseCreate) else []

    model = ScriptedModel(react)
    async with (
        serving(lambda: RealtimeAgent("F", "F", model), tls) as place,
        connect(live_address(place), ssl=trusting(tls)) as socket,
    ):
        told: list[Json] = []
        for frame in frames:
            if frame["direction"] == "sent":
                await socket.send(json.dumps(frame["data"]))
                continue
            wanted = [kind for kind in labels(frame["data"]).split("+") if kind in MILESTONES]
            while wanted and not set(wanted) <= set(labels(told[-1] if told else {}).split("+")):
                async with asyncio.timeout(HANG_S):
                    told.append(json.loads(await socket.recv()))
                LiveServerMessage.model_validate(told[-1])
    assert _milestones(told) == _milestones(given)
    kinds = [labels(frame) for frame in told]
    assert kinds.index("outputTranscription") < kinds.index("modelTurn")
    assert _words(told) == _words(given)
    assert [frame["toolCall"] for frame in told if "toolCall" in frame] == [
        {"functionCalls": [{"name": one["name"], "args": one.get("args", {}), "id": one["id"]} for one in calls]}
        for calls in (frame["toolCall"]["functionCalls"] for frame in given if "toolCall" in frame)
    ]


def _milestones(frames: list[Json]) -> list[str]:
    kinds = [kind for frame in frames for kind in labels(frame).split("+")]
    return [kind for kind in kinds if kind in MILESTONES]


def _words(frames: list[Json]) -> list[str]:
    return "".join(content(frame).get("outputTranscription", {}).get("text", "") for frame in frames).split()


def _answers(received: list[Json]) -> Iterator[list[Step]]:
    """The responses of the model: to each tool call it comes, and to each turn."""
    words = ""
    for count, frame in enumerate(received):
        words += content(frame).get("outputTranscription", {}).get("text", "")
        response_id = f"resp_recorded_{count}"
        where: Json = {"response_id": response_id, "item_id": f"item_recorded_{count}"}
        if "toolCall" in frame:
            steps: list[Step] = [Emit(ModelResponseCreatedEvent(response_id=response_id))]
            if words:
                steps.append(Emit(ModelResponseAudioTranscriptDeltaEvent(**where, delta=words)))
                pcm = AudioFormat.pcm16(24_000)
                steps.append(Emit(ModelResponseAudioDeltaEvent(**where, delta=bytes(480), format=pcm)))
            for place, call in enumerate(frame["toolCall"]["functionCalls"]):
                block = ToolCallBlock(id=call["id"], name=call["name"], input=json.dumps(call.get("args", {})))
                where["item_id"] = f"item_recorded_{count}_{place}"
                steps.append(Emit(ModelResponseToolUseDoneEvent(**where, tool_use=block)))
            words = ""
            yield [*steps, Emit(ModelResponseDoneEvent(response_id=response_id))]
        elif content(frame).get("turnComplete"):
            yield [Speak(words, 0.2)]
            words = ""
