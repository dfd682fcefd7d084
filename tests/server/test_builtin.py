"""The agent that a server has where nobody gave it one: its tools, its timers, and a model that loads meanwhile."""

import asyncio
import threading
from types import FunctionType

import msgspec
import pytest
from fastapi import FastAPI

from realtime.agent import RealtimeAgent
from realtime.errors import UsageError
from realtime.event.base import ContentPart, Item
from realtime.model.base import ItemCreate, RealtimeModel, ResponseCreate, Settings, ToolResult
from realtime.model.local.engine import Progress, SpeechEngine, SpeechParts
from realtime.model.local.language_model import Prompt
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.open import open_model
from realtime.model.scripted import PROFILE, CallTools, Expect, ScriptedModel, Speak, echo_bot
from realtime.runtime import Runtime
from realtime.server.app import create_app
from realtime.server.builtin import GREETING, SUGGESTIONS, House, HouseAgent, product_of
from realtime.server.models import Models
from realtime.server.plan import Plan, _open_model, app_of
from realtime.server.router import voice_router
from realtime.server.settings import ServerSettings
from realtime.server.warming import Warming, embedded_model_of
from tests.real_loop import settled
from tests.server.harness import FakeSocket, create, serving, serving_app
from tests.server.steps import calling
from tests.volumes import HANG_S

ASK = {"type": "client_text_append", "text": "set a timer for ninety seconds"}
SET = [
    *(Expect(ItemCreate), Expect(ResponseCreate), CallTools((("set_timer", {"seconds": 90}),))),
    *(Expect(ToolResult), Expect(ResponseCreate), Speak("It is set.", 0.1)),
]


@pytest.mark.virtual_time
async def test_a_timer_rings_by_voice() -> None:
    ring = Expect(
        ResponseCreate, where=lambda message: "timer is up: 1 minute and 30" in message.overrides.instructions
    )
    model = ScriptedModel([*SET, ring, Speak("Your timer is up.", 0.1)], profile=PROFILE)
    async with FakeSocket(lambda: HouseAgent(model), native=False) as client:
        client.say(create(), ASK)
        set_at = await client.until("agent_response_done", 2)
        rung_at = await client.until("agent_response_done", 3)
        assert 89_000 <= rung_at["ts_ms"] - set_at["ts_ms"] <= 92_000
        model.assert_finished()


@pytest.mark.virtual_time
async def test_a_timer_ends_with_its_call() -> None:
    model = ScriptedModel(SET, profile=PROFILE)
    async with FakeSocket(lambda: HouseAgent(model), native=False) as client:
        client.say(create(), ASK)
        await client.until("agent_response_done", 2)
    await asyncio.sleep(200)
    model.assert_finished()


def engine(*missing: str) -> SpeechEngine:
    """Speech parts that load at once, without these."""

    def load(progress: Progress) -> SpeechParts:
        progress("voice activity")
        return SpeechParts(missing=missing)

    return SpeechEngine(load)


def models_of(model: RealtimeModel) -> Models:
    """A server's models, with this one by default."""
    return Models(default="local", environment={}, opener=lambda name: model if name == "local" else open_model(name))


async def test_what_is_missing_is_said_and_the_server_runs_all_the_same() -> None:
    said: list[str] = []
    parts = engine("no weights for speech recognition", "no voice")
    house = House(models_of(LocalRealtimeModel(engine=parts)), said.append)
    async with house.warming.lifespan(None):
        info = await house.info()
        assert house.warming.ready
    parts.close()
    assert info.notices == ("no weights for speech recognition", "no voice")
    assert info.model is not None
    assert (info.model["provider"], info.model["input_modalities"]) == ("local", ["text"])
    assert said[0] == "Loading the embedded model: voice activity ..."
    assert said[1:3] == ["Missing: no weights for speech recognition", "Missing: no voice"]
    assert "English only" in said[-1]


async def test_a_model_that_breaks_while_loading_breaks_no_server(caplog: pytest.LogCaptureFixture) -> None:
    def load(_: Progress) -> SpeechParts:
        raise OSError("disk on fire")

    parts = SpeechEngine(load)
    house = House(models_of(LocalRealtimeModel(engine=parts)), lambda _: None)
    async with house.warming.lifespan(None):
        info = await house.info()
    parts.close()
    assert info.notices == ("The embedded model could not be loaded: the server's log says why.",)
    assert "disk on fire" in caplog.text


def embeds() -> RealtimeAgent:
    """The factory of a program that imports the embedded model where it needs it."""
    from realtime.model.local import LocalRealtimeModel

    return RealtimeAgent("Friday", "", LocalRealtimeModel())


def opens_local() -> RealtimeAgent:
    """The factory of a program that opens its model by name."""
    return RealtimeAgent("Friday", "", open_model("local"))


def embeds_nothing() -> RealtimeAgent:
    return RealtimeAgent("Friday", "", scripted)  # noqa: F821 - a name of its own module


async def test_an_agent_of_a_program_waits_for_no_weights_either() -> None:
    """The parts load when the server starts; an agent is made first for a call."""
    assert isinstance(embedded_model_of(embeds), LocalRealtimeModel)
    assert isinstance(embedded_model_of(opens_local), LocalRealtimeModel)
    namespace: dict[str, object] = {"RealtimeAgent": RealtimeAgent, "scripted": ScriptedModel(echo_bot("Hello."))}
    assert embedded_model_of(FunctionType(embeds_nothing.__code__, namespace)) is None
    mine = LocalRealtimeModel(engine=engine())
    namespace["model"] = mine
    assert embedded_model_of(FunctionType(embeds_nothing.__code__, namespace)) is mine
    said: list[str] = []
    warming = Warming(lambda: mine, said.append)
    async with warming.lifespan(None):
        await warming.loaded()
        assert warming.ready
    assert said[-1].startswith("The embedded model is ready")


@pytest.mark.parametrize("whole", [False, True], ids=["router", "application"])
async def test_an_application_of_others_loads_its_embedded_model_when_it_starts(whole: bool) -> None:
    may_load = threading.Event()

    def load(_: Progress) -> SpeechParts:
        may_load.wait(HANG_S)
        return SpeechParts(missing=("no voice",))

    parts = SpeechEngine(load)
    embedding = FunctionType(embeds_nothing.__code__, {"model": LocalRealtimeModel(engine=parts)})
    app = create_app(embedding, ServerSettings(drain_s=0)) if whole else FastAPI()
    if not whole:
        app.include_router(voice_router(embedding, prefix="/voice"))
    async with serving_app(app) as place:
        if whole:
            assert (await place.get("/readyz")).json()["status"] == "starting"
        may_load.set()
        await settled(lambda: parts.parts is not None)
    parts.close()


async def test_a_call_that_waits_for_the_embedded_model_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "realtime")
    parts = engine()
    model = LocalRealtimeModel(engine=parts)
    for _ in range(2):
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        link = await model.connect(settings=Settings(), on_event=lambda _: None, history=lambda: (), runtime=runtime)
        await link.close()
    parts.close()
    assert [text for text in caplog.messages if "waits for" in text] == [
        "a call waits for the embedded model: await its `warm_up()` when the program starts"
    ]


async def test_a_model_without_anything_to_load_is_ready_at_once() -> None:
    async with serving_app(app_of(Plan(model="scripted"), lambda _: None)) as place:
        assert (await place.get("/readyz")).status == 200
        told = (await place.get("/api/info")).json()
        assert (told["model"]["provider"], told["notices"]) == ("scripted", [])
        assert told["suggestions"] == [*SUGGESTIONS], "a page learns what to try before a call"
        assert "suggestions" not in (await place.get("/api/models")).json()["models"][0]


def test_a_model_that_does_not_exist_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(UsageError, match="no-such-model"):
        app_of(Plan(model="no-such-model"), lambda _: None)


@pytest.mark.virtual_time
async def test_it_greets_where_its_model_answers_and_leaves_a_script_alone() -> None:
    """A call tells what to try."""
    greets = Expect(ResponseCreate, where=lambda message: message.overrides.instructions.endswith(GREETING))
    profile = msgspec.structs.replace(PROFILE, provider="openai")
    model = ScriptedModel([greets, Speak("Hello, I'm Heart.", 0.1)], profile=profile)
    async with FakeSocket(lambda: HouseAgent(model), native=False) as client:
        client.say(create())
        assert (await client.until("agent_ready"))["model"]["suggestions"] == [*SUGGESTIONS]
        await client.until("agent_response_done")
        model.assert_finished()
    assert HouseAgent(ScriptedModel([])).greeting == ""


@pytest.mark.virtual_time
@pytest.mark.parametrize(("native", "greets"), [(True, True), (False, False)])
async def test_the_house_greets_clients_of_our_own_vocabulary_alone(native: bool, greets: bool) -> None:
    """A page of AgentScope waits for its user's first words."""
    told: list[bool] = []

    def make(greets: bool) -> RealtimeAgent:
        told.append(greets)
        return HouseAgent(ScriptedModel([], profile=msgspec.structs.replace(PROFILE, provider="openai")), greets=greets)

    async with calling(make, native=native):
        assert told == [greets]
    assert make(greets).greeting == (GREETING if greets else "")


async def test_a_page_learns_what_to_try_with_an_agent_of_ones_own_in_its_first_call() -> None:
    def make() -> RealtimeAgent:
        return RealtimeAgent("Robin", "", ScriptedModel([]), suggestions=["When are you open?"])

    async with serving(make) as place, place.client() as client:
        assert (await place.get("/api/info")).json()["suggestions"] == []
        await client.make_call()
        assert (await place.get("/api/info")).json()["suggestions"] == ["When are you open?"]
    with pytest.raises(TypeError, match="suggestions is a list of texts"):
        RealtimeAgent("Robin", "", ScriptedModel([]), suggestions="When are you open?")


async def test_the_keyless_model_knows_the_settings_of_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REALTIME_LLM_BASE_URL", raising=False)
    for store, kept in ((None, "Nothing of a call is stored"), ("memory:", "gone when the server stops")):
        settings = ServerSettings(store=store)
        model = _open_model("local", product=product_of(settings, {}))
        assert isinstance(model, LocalRealtimeModel)
        language_model = model._language_model.for_call()
        asked = Item(id="1", role="user", content=(ContentPart(type="text", text="Do you store what I say?"),))
        replies = [reply async for reply in language_model.respond(Prompt(history=[asked]))]
        assert kept in str(replies)
