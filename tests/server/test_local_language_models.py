"""Language models of other programs on this computer, in the model menu: found where only this computer calls, chosen
by name, and unknown to callers from elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from realtime.client import connect
from realtime.errors import ClientError
from realtime.event import SessionConfig
from realtime.model.local import model as local_model
from realtime.model.local.choices import SERVERS, Found
from realtime.model.local.engine import SpeechEngine
from realtime.server import builtin, models, plan
from realtime.server.builtin import House
from realtime.server.gate import LOOPBACK_HOSTS
from realtime.server.models import Models
from realtime.server.plan import Plan, app_of
from realtime.server.settings import ServerSettings
from tests.model.local.chat_endpoint import DONE, chat_endpoint, words
from tests.model.local.stand_ins import stand_in_parts
from tests.server.harness import Json, serving_app

pytest.importorskip("openai", reason="the chat models are not installed: pip install -e '.[local]'")
NAME = "local:ollama/llama3.2"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpeechEngine]:
    made = SpeechEngine(lambda progress: stand_in_parts())
    monkeypatch.setattr(local_model, "engine_of_loop", lambda whisper_dir: made)
    yield made
    made.close()


def running() -> list[Found]:
    return [Found(SERVERS["ollama"], ("llama3.2", "qwen3"))]


def names(offered: Sequence[Json]) -> list[str]:
    return [told["name"] for told in offered]


def test_a_running_server_is_on_offer_behind_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "small_model_looks_installed", lambda: False)
    offered = Models(environment={}).offered(running())
    assert names(offered) == ["local", "openai", "gemini", "dashscope", NAME, "local:ollama/qwen3"]
    told = next(one for one in offered if one["name"] == NAME)
    assert told["title"] == "Embedded model with Ollama"
    assert (told["heard_by"], told["read_by"]) == ("this computer", "Ollama on this computer")
    assert (told["ready"], told["may_cost"]) == (True, False)


def test_the_small_model_is_on_offer_where_it_is_installed_and_says_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(models, "small_model_looks_installed", lambda: True)
    told = Models(environment={}).offered()[-1]
    assert (told["name"], told["read_by"]) == ("local:small", None)
    assert f"{told['title']} {told['model']}" == "Small embedded model SmolLM2 135M (small model, may be wrong)"
    assert Models(environment={}).default == "local", "it is never the default"


async def test_the_menu_looks_when_it_is_opened_and_not_at_each_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def look() -> list[Found]:
        looks.append(len(looks))
        return running()

    now = [1_000.0]
    monkeypatch.setattr(builtin.time, "monotonic", lambda: now[0])
    house = House(Models(environment={}, offers_servers=True), lambda _: None, look)
    assert looks == [], "nothing is asked at the start"
    assert NAME in names((await house.offer()).models)
    assert NAME in names((await house.offer()).models)
    assert looks == [0]
    now[0] += builtin.LOOK_AGAIN_S
    await house.offer()
    assert looks == [0, 1]


async def test_a_server_with_callers_from_elsewhere_neither_looks_nor_lends(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> list[Found]:
        raise AssertionError("it looked")

    made = Models(environment={})
    assert NAME not in names((await House(made, lambda _: None, look).offer()).models)
    with pytest.raises(ClientError, match="offers no model") as refused:
        made.choose(SessionConfig(model_provider=NAME))
    assert refused.value.code == "unknown_model"
    by_its_operator = Models(default=NAME, environment={})
    assert by_its_operator.choose(SessionConfig()).profile.model.startswith("llama3.2")


@pytest.mark.parametrize(
    ("settings", "offers"),
    [
        (ServerSettings(hosts=LOOPBACK_HOSTS), True),
        (ServerSettings(hosts=LOOPBACK_HOSTS, trust_forwarded=True), False),
        (ServerSettings(hosts=None), False),
    ],
    ids=["loopback", "behind a proxy", "everywhere"],
)
def test_only_a_server_on_loopback_offers_them(
    settings: ServerSettings, offers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Models] = []

    class Noted(Models):
        def __init__(self, *arguments: object, **more: object) -> None:
            super().__init__(*arguments, **more)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(plan, "Models", Noted)
    app_of(Plan(model="scripted", settings=settings), lambda _: None)
    assert [one.offers_servers for one in made] == [offers]


async def test_a_call_that_chooses_it_gets_its_words_from_there(
    engine: SpeechEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with chat_endpoint() as endpoint:
        port = urlsplit(endpoint.base_url).port
        assert port is not None
        monkeypatch.setitem(SERVERS, "ollama", replace(SERVERS["ollama"], port=port))
        endpoint.will(*words("Cats purr", " when they are content."), DONE)
        settings = ServerSettings(hosts=LOOPBACK_HOSTS, drain_s=0)
        made = app_of(Plan(settings=settings), lambda _: None)
        async with serving_app(made) as place, connect(place.url, config=SessionConfig(model_provider=NAME)) as call:
            assert call.model["model"] == f"llama3.2 at 127.0.0.1:{port}"
            call.send_text("Why do cats purr?")
            assert await call.answered() == "Cats purr when they are content."
        assert endpoint.asked[0].body["model"] == "llama3.2"


async def test_a_server_that_has_gone_is_one_sentence_in_the_call(
    engine: SpeechEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SERVERS, "ollama", replace(SERVERS["ollama"], port=9))
    made = app_of(Plan(settings=ServerSettings(hosts=LOOPBACK_HOSTS, drain_s=0)), lambda _: None)
    async with serving_app(made) as place, connect(place.url, config=SessionConfig(model_provider=NAME)) as call:
        call.send_text("Why do cats purr?")
        async for event in call:
            if event.type == "agent_error":
                assert "no language model answers at http://127.0.0.1:9/v1" in event.message  # type: ignore[union-attr]
                assert "the port of Ollama" in event.message  # type: ignore[union-attr]
                break
