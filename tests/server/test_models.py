"""Which model a call gets, and what people are told of each before they choose."""

import json
from dataclasses import replace

import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import ClientError, ProviderError, UsageError
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.model.scripted import PROFILE, ScriptedModel, echo_bot
from realtime.model.services import SERVICES
from realtime.server.models import MAX_NAME_CHARS, MAX_OPEN, Models, page_providers
from realtime.server.plan import Plan, app_of
from realtime.server.settings import ServerSettings
from tests.server.harness import Json, echo_agent, serving, serving_app
from tests.server.openai_sdk import sdk

KEYS = {"OPENAI_API_KEY": "sk-4711", "GEMINI_API_KEY": "4712", "DASHSCOPE_API_KEY": "4713"}


def chosen(models: Models, **config: str) -> str:
    profile = models.choose(SessionConfig.from_dict({**config})).profile
    return f"{profile.provider}:{profile.model}"


# -- routing -----------------------------------------------------------------------------------------------------------


def test_the_first_pattern_that_matches_decides() -> None:
    """Names that no route takes get the default."""
    routes = {"*-mini": "openai:gpt-realtime-mini", "gpt-*": "gemini:flash", "*": "dashscope:qwen"}
    expected = {
        "gpt-realtime-mini": "openai:gpt-realtime-mini",
        "gpt-realtime": "gemini:flash",
        "gpt-realtime-2.1": "gemini:flash",
        "GPT-realtime": "dashscope:qwen",
        "qwen": "dashscope:qwen",
        "": "dashscope:qwen",
    }
    models = Models(routes, environment=KEYS)
    assert {name: chosen(models, model=name) for name in expected} == expected
    models = Models({"gpt-*": "gemini"}, "scripted", environment=KEYS)
    assert chosen(models, model="qwen").startswith("scripted:")
    assert chosen(models).startswith("scripted:")


def test_the_default_is_named_or_routed_or_the_only_one_with_a_key() -> None:
    one: dict[str, str] = {"OPENAI_API_KEY": "k"}
    rows: list[tuple[dict[str, str], str | None, dict[str, str], str]] = [
        # routes, what is named, the environment, and the default
        ({}, None, {}, "local"),
        ({}, None, one, "openai"),
        ({}, None, KEYS, "local"),
        ({}, "scripted", KEYS, "scripted"),
        ({"gpt-*": "gemini"}, None, one, "openai"),
        ({"*": "gemini"}, None, one, "gemini"),
        ({"*": "gemini"}, "scripted", {}, "scripted"),
    ]
    found = [Models(routes, named, environment=environment).default for routes, named, environment, _ in rows]
    assert found == [default for *_, default in rows]


def test_a_call_may_name_a_model_of_ours() -> None:
    models, mini = Models({"*": "scripted"}, environment=KEYS), "openai:gpt-realtime-mini"
    assert chosen(models, model_provider="openai") == "openai:gpt-realtime-2.1"
    assert chosen(models, model_provider=mini) == mini
    assert chosen(models, model_provider="openai", model="gpt-realtime-mini") == mini
    assert chosen(models, model_provider=mini, model="gpt-realtime") == mini


def test_a_model_without_its_key_is_one_sentence_with_the_variable_to_set_and_an_unknown_one_a_mistake() -> None:
    models = Models({"gem": "gemini"}, environment={"OPENAI_API_KEY": "k"})
    for config in ({"model_provider": "gemini:flash"}, {"model": "gem"}):
        with pytest.raises(ProviderError, match="the server has no key for Gemini: set GEMINI_API_KEY") as caught:
            chosen(models, **config)
        assert caught.value.code == "missing_api_key"
    for name in ("no-such-model", "local:big", "scripted:" + "x" * MAX_NAME_CHARS):
        with pytest.raises(ClientError) as mistaken:
            chosen(models, model_provider=name)
        assert mistaken.value.code == "unknown_model"


def test_a_table_that_cannot_work_is_a_mistake_at_the_start() -> None:
    with pytest.raises(UsageError, match="no name takes the route 'gpt-\\*'"):
        Models({"*": "local", "gpt-*": "gemini"})
    with pytest.raises(UsageError, match="there is no model 'no-such-model'"):
        Models({"gpt-*": "no-such-model"})


def test_models_are_opened_once_and_the_oldest_are_let_go() -> None:
    opened: list[str] = []

    def opener(name: str) -> RealtimeModel:
        opened.append(name)
        return ScriptedModel(echo_bot(), profile=PROFILE)

    models = Models(default="first", environment=KEYS, opener=opener)
    first = models.choose(SessionConfig())
    for number in range(MAX_OPEN - 1):
        models.open(f"openai:{number}")
    assert models.choose(SessionConfig()) is first
    models.open("openai:one more")
    assert models.choose(SessionConfig()) is first
    models.open("openai:0")
    asked = opened[len(["first", "local", *SERVICES]) :]
    assert asked == [*(f"openai:{number}" for number in range(MAX_OPEN - 1)), "openai:one more", "openai:0"]


# -- what people are told ----------------------------------------------------------------------------------------------


def by_name(models: Models) -> dict[str, Json]:
    return {told["name"]: told for told in models.offered()}


def test_every_provider_is_offered_and_what_it_lacks_is_named() -> None:
    """And what the routes name, once."""
    offered = by_name(Models(environment={"OPENAI_API_KEY": "sk-4711", "GOOGLE_GEMINI_BASE_URL": "http://u:4712@x"}))
    assert [*offered] == [*dict.fromkeys(("openai", "local", *SERVICES))]
    openai, local, gemini = offered["openai"], offered["local"], offered["gemini"]
    assert (openai["ready"], openai["missing"]) == (True, None)
    assert (openai["heard_by"], openai["may_cost"]) == ("OpenAI", True)
    assert openai["input_modalities"] == ["audio", "image", "text"]
    assert "marin" in openai["voices"]
    assert (local["ready"], local["heard_by"], local["may_cost"]) == (True, "this computer", False)
    assert (gemini["ready"], gemini["missing"]) == (False, "GEMINI_API_KEY")
    assert gemini["heard_by"] == "the service that GOOGLE_GEMINI_BASE_URL names"
    assert offered["dashscope"]["heard_by"] == "Alibaba Cloud"
    assert "4711" not in json.dumps(offered)
    assert "4712" not in json.dumps(offered)
    routed = ["openai:gpt-realtime-2.1", "openai:gpt-realtime-mini", "scripted"]
    offered = by_name(Models(dict(zip("abc", routed, strict=True)), environment=KEYS))
    assert [*offered] == ["local", *routed, *(name for name in SERVICES if name != "openai")]


CHAT = "the chat endpoint that REALTIME_LLM_BASE_URL names"
READERS = [
    # the environment, who reads the words, and whether that may cost
    ({"REALTIME_LLM_BASE_URL": "http://127.0.0.1:11434/v1"}, CHAT, False),
    ({"REALTIME_LLM_BASE_URL": "https://chat.example/v1"}, CHAT, True),
    ({"REALTIME_LLM_PROVIDER": "gemini", "REALTIME_LLM_API_KEY": "secret-4711"}, "Google", True),
    ({"REALTIME_LLM_PROVIDER": "anthropic", "REALTIME_LLM_API_KEY": "secret-4711"}, "Anthropic", True),
]


def test_the_embedded_model_says_who_reads_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for environment, reader, cost in READERS:
        with monkeypatch.context() as patch:
            if "REALTIME_LLM_BASE_URL" in environment:
                patch.setenv("REALTIME_LLM_BASE_URL", environment["REALTIME_LLM_BASE_URL"])
                patch.setenv("REALTIME_LLM_MODEL", "model-x")
            local = by_name(Models(environment=environment | {"REALTIME_LLM_MODEL": "model-x"}))["local"]
        assert (local["heard_by"], local["read_by"], local["may_cost"]) == ("this computer", reader, cost)
        for name in ("REALTIME_LLM_BASE_URL", "REALTIME_LLM_API_KEY"):
            assert environment.get(name, "4711") not in json.dumps(local)


def test_half_a_chat_endpoint_is_a_mistake_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REALTIME_LLM_MODEL", "llama3.2")
    with pytest.raises(UsageError, match="REALTIME_LLM_BASE_URL"):
        Models(default="scripted", environment={})


def test_pages_of_agentscope_always_have_a_provider_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the three names that they know."""
    assert page_providers({"OPENAI_API_KEY": "k"}, stand_in="local") == {"openai": "openai"}
    assert page_providers({}, stand_in="scripted") == {"dashscope": "scripted"}
    assert page_providers({}) == {"dashscope": "dashscope"}
    fourth = replace(SERVICES["openai"], name="no-such", key_variables=("NO_SUCH_KEY",))
    monkeypatch.setitem(SERVICES, "no-such", fourth)
    assert page_providers({"NO_SUCH_KEY": "k"}, stand_in="no-such") == {"dashscope": "no-such"}


# -- over sockets ------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.server.models.small_model_looks_installed", lambda: False)
    for name in [*KEYS, "GOOGLE_API_KEY", "OPENAI_BASE_URL", "REALTIME_LLM_BASE_URL", "REALTIME_LLM_MODEL"]:
        monkeypatch.delenv(name, raising=False)


async def test_a_client_is_told_what_it_may_choose_and_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as provider:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-4711")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        async with serving_app(app_of(Plan(model="scripted"), lambda _: None)) as place:
            told = (await place.get("/api/models")).json()
            assert told["default"] == "scripted"
            assert [one["name"] for one in told["models"] if one["ready"]] == ["scripted", "local", "openai"]
            for name in ("scripted", "openai"):
                async with place.client() as client:
                    await client.make_call(model_provider=name)
                    ready = next(event for event in client.events if event["type"] == "agent_ready")
                    assert ready["model"]["provider"] == name


async def test_a_model_that_cannot_be_had_is_an_error_and_the_socket_lives_on() -> None:
    async with serving_app(app_of(Plan(model="scripted"), lambda _: None)) as place, place.client() as client:
        for named, code, words in (
            ("gemini", "missing_api_key", "set GEMINI_API_KEY"),
            ("no-such-model", "unknown_model", "there is no model 'no-such-model'"),
        ):
            await client.send({"type": "client_session_create", "config": {"model_provider": named}})
            told = await client.until("agent_error")
            assert (told["code"], words in told["message"]) == (code, True)
            await client.until("server_session_ended")
        await client.make_call(model_provider="scripted")


SERVED_BY = {
    # by its key's variable: the variable of its address, the path there, and what it is called
    "OPENAI_API_KEY": ("OPENAI_BASE_URL", "/v1", "OpenAI"),
    "GOOGLE_API_KEY": ("GOOGLE_GEMINI_BASE_URL", "", "Gemini"),
    "DASHSCOPE_API_KEY": ("DASHSCOPE_WEBSOCKET_BASE_URL", "", "DashScope"),
}


@pytest.mark.parametrize("key", SERVED_BY)
async def test_a_refused_key_is_told_with_its_variable(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base_url, path, provider_name = SERVED_BY[key]
    sentence = f"{provider_name} refused the key: set {key} to a valid one"
    async with serving(settings=ServerSettings(token="right", drain_s=0)) as provider:
        monkeypatch.setenv(base_url, f"{provider.url}{path}")
        for given in ("right", "wrong"):
            monkeypatch.setenv(key, given)
            async with serving_app(app_of(Plan(), lambda _: None)) as place, place.client() as client:
                if given == "right":
                    await client.make_call()
                    continue
                await client.send({"type": "client_session_create"})
                told = await client.until("agent_error")
                assert (told["code"], told["message"]) == ("invalid_api_key", sentence)


@pytest.mark.parametrize("key", SERVED_BY)
async def test_a_call_says_of_a_key_that_cannot_be_sent_what_is_wrong_with_it(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(key, "planted\n4711")
    async with serving_app(app_of(Plan(), lambda _: None)) as place, place.client() as client:
        await client.send({"type": "client_session_create"})
        told = await client.until("agent_error")
        sentence = f"the key in {key} has a line end at place 8 of 12, which no key has: copy it again"
        assert (told["code"], told["message"]) == ("invalid_api_key", sentence)


def test_it_is_said_at_the_start_where_words_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REALTIME_LLM_BASE_URL", "https://chat.example/v1")
    monkeypatch.setenv("REALTIME_LLM_MODEL", "llama3.2")
    said: list[str] = []
    app_of(Plan(), said.append)
    assert said == [
        "The words of calls go to the chat endpoint that REALTIME_LLM_BASE_URL names; speech stays on this computer."
    ]


async def test_the_model_in_the_url_of_an_endpoint_is_routed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-4711")
    settings = ServerSettings(routes={"other-*": "gemini", "*": "scripted"}, drain_s=0)
    async with serving_app(app_of(Plan(settings=settings), lambda _: None)) as place:
        async with sdk(place) as ear:
            await ear.until("session.created")
            (session,) = place.calls.sessions.values()
            assert session.participant.describe()["provider"] == "scripted"
        async with place.client("/v1/realtime?model=other-1", subprotocols=()) as client:
            told = await client.until("error")
            assert "GEMINI_API_KEY" in told["error"]["message"]


async def test_an_application_of_ones_own_is_told_the_name_and_routed_nowhere() -> None:
    names = []

    def make_agent(config: SessionConfig) -> RealtimeAgent:
        names.append((config.model_provider, config.model))
        return echo_agent()

    settings = ServerSettings(routes={"*": "no-such-model"}, drain_s=0)
    async with serving(make_agent, settings) as place, place.client() as client:
        await client.make_call(model_provider="gemini", model="flash")
    assert names == [("gemini", "flash")]


async def test_pages_of_agentscope_are_told_of_three_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving_app(app_of(Plan(model="scripted"), lambda _: None)) as place:
        for path in ("/api/check-models", "/model_availability"):
            assert (await place.get(path)).json() == {"openai": False, "gemini": False, "dashscope": True}
        async with place.client(subprotocols=()) as client:
            # What the page then asks for is what there is.
            await client.make_call(model_provider="dashscope")
        async with place.client() as client:
            await client.send({"type": "client_session_create", "config": {"model_provider": "dashscope"}})
            assert (await client.until("agent_error"))["code"] == "missing_api_key"
    monkeypatch.setenv("GEMINI_API_KEY", "4712")
    async with serving() as place:
        told = (await place.get("/api/check-models")).json()
        assert told == {"openai": False, "gemini": True, "dashscope": False}
