"""Client secrets: keys of short life, bound to settings, as the official SDK asks for them and uses them."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect

from realtime.agent import RealtimeAgent
from realtime.dialects.openai_family.client import EventRefusal
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.runtime import Runtime
from realtime.server.client_secrets import ClientSecrets
from realtime.server.settings import ServerSettings
from tests.server.harness import Place, serving
from tests.server.openai_sdk import TOOL, sdk

SESSION: Any = {
    "type": "realtime",
    "model": "gpt-realtime-mini",
    "instructions": "Be brief.",
    "tools": [TOOL],
    "audio": {"input": {"turn_detection": None}, "output": {"voice": "cedar"}},
}
GUARDED = ServerSettings(token="right", drain_s=0)


def asking(place: Place, key: str = "right") -> Any:
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=key, base_url=f"{place.url}/v1", max_retries=0)


async def test_a_secret_opens_sessions_with_the_settings_that_it_was_made_for() -> None:
    model = ScriptedModel([], profile=PROFILE, strict=False)
    async with (
        serving(lambda: RealtimeAgent("Friday", "Be Friday.", model), GUARDED) as place,
        asking(place) as client,
    ):
        made = await client.realtime.client_secrets.create(
            expires_after={"anchor": "created_at", "seconds": 60}, session=SESSION
        )
        assert made.value.startswith("ek_")
        assert made.session.type == "realtime"
        assert made.session.instructions == "Be brief."
        for _ in range(2):
            async with sdk(place, made.value) as ear:
                session = (await ear.until("session.created"))["session"]
                assert (session["model"], session["instructions"]) == ("gpt-realtime-mini", "Be brief.")
                assert session["tools"] == [TOOL]
                assert session["audio"]["input"]["turn_detection"] is None
                assert session["audio"]["output"]["voice"] == "cedar"
                settings = model.connections[-1].settings
                told = (settings.instructions, settings.voice, settings.turn_detection)
                assert told == ("Be brief.", "cedar", "none")
                assert [tool.name for tool in settings.tools] == ["get_weather"]
                await ear.do("update", tracing="auto")
                updated = (await ear.until("session.updated"))["session"]
                assert updated == session | {"tracing": "auto"}


HOSTED: Any = [
    {
        "type": "mcp",
        "server_label": label,
        "server_url": f"https://{label}.example/mcp",
        "authorization": "hush",
        "require_approval": "always",
    }
    for label in ("deepwiki", "dnd")
]


async def test_tools_that_run_elsewhere_are_named_and_all_else_holds() -> None:
    """The frames of the demo page of OpenAI's Agents SDK: hosted MCP tools in the secret, then by label only."""
    model = ScriptedModel([], profile=PROFILE, strict=False)
    async with (
        serving(lambda: RealtimeAgent("Friday", "Be Friday.", model), GUARDED) as place,
        asking(place) as client,
    ):
        made = await client.realtime.client_secrets.with_raw_response.create(
            session={"type": "realtime", "model": "gpt-realtime-2.1", "tools": HOSTED}
        )
        assert "hush" not in made.text
        async with sdk(place, made.parse().value) as ear:
            await ear.until("session.created")
            for label in ("deepwiki", "dnd"):
                error = (await ear.until("error"))["error"]
                assert (error["code"], f"'{label}'" in error["message"]) == ("unsupported_tool", True)
            labels: Any = [{"type": "mcp", "server_label": label} for label in ("dnd", "deepwiki")]
            transcription = {"input": {"transcription": {"model": "gpt-4o-mini-transcribe"}}}
            await ear.do("update", instructions="Be kind.", tools=[*labels, TOOL], audio=transcription)
            session = (await ear.until("session.updated"))["session"]
            assert (session["instructions"], session["tools"]) == ("Be kind.", [TOOL])
            assert session["audio"]["input"]["transcription"]["model"] == "gpt-4o-mini-transcribe"
            settings = model.connections[-1].settings
            assert (settings.instructions, settings.input_audio_transcription) == ("Be kind.", True)
            assert [tool.name for tool in settings.tools] == ["get_weather"]
            assert "hush" not in json.dumps(ear.frames)


async def test_the_models_are_listed_for_who_shows_the_token() -> None:
    import openai

    settings = ServerSettings(token="right", drain_s=0, routes={"gpt-realtime-mini": "local", "gpt-*": "local"})
    async with serving(settings=settings) as place:
        async with asking(place) as client:
            assert [model.id async for model in client.models.list()] == ["gpt-realtime", "gpt-realtime-mini"]
            assert (await client.models.retrieve("gpt-realtime-2.1")).id == "gpt-realtime-2.1"
        async with asking(place, "wrong") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()


async def test_a_page_shows_the_token_or_its_secret_as_a_subprotocol() -> None:
    async with serving(settings=GUARDED) as place, asking(place) as client:
        address = place.url.replace("http", "ws", 1) + "/v1/realtime?model=gpt-realtime"
        for key in ("right", (await client.realtime.client_secrets.create()).value):
            offered: Any = ["realtime", f"openai-insecure-api-key.{key}"]
            async with connect(address, subprotocols=offered, compression=None) as socket:
                assert socket.subprotocol == "realtime"
                assert json.loads(await socket.recv())["type"] == "session.created"


async def test_a_secret_that_is_not_valid_opens_nothing() -> None:
    for settings in (GUARDED, ServerSettings(drain_s=0)):
        async with serving(settings=settings) as place, sdk(place, "ek_long_gone") as ear:
            assert (await ear.next())["error"]["code"] == "invalid_api_key"
            assert await ear.closed() == (3000, "invalid_request_error.invalid_api_key")


async def test_asking_needs_the_token_itself() -> None:
    import openai

    async with serving(settings=GUARDED) as place:
        async with asking(place) as client:
            answer = await client.realtime.client_secrets.with_raw_response.create()
            assert answer.headers["cache-control"] == "no-store"
            value = answer.parse().value
        for key in ("wrong", value):
            async with asking(place, key) as client:
                with pytest.raises(openai.AuthenticationError) as refused:
                    await client.realtime.client_secrets.create()
                assert refused.value.code == "invalid_api_key"


REFUSALS: dict[bytes, tuple[str, str | None]] = {
    b"no json": ("invalid_value", None),
    b"[]": ("invalid_type", None),
    b'{"expires_after": {"seconds": 9}}': ("invalid_value", "expires_after.seconds"),
    b'{"expires_after": {"anchor": "used_at"}}': ("invalid_value", "expires_after.anchor"),
    b'{"session": {"instructions": "Be brief."}}': ("missing_required_parameter", "session.type"),
    b'{"session": {"type": "transcription"}}': ("invalid_value", "session.type"),
    b'{"session": {"type": "realtime", "voice": "ash"}}': ("unknown_parameter", "session.voice"),
    b'{"lifetime": 1}': ("unknown_parameter", "lifetime"),
}


def test_a_request_that_cannot_be_met_is_refused_by_name() -> None:
    for body, told in REFUSALS.items():
        with pytest.raises(EventRefusal) as refused:
            ClientSecrets().issue(body, Runtime.deterministic(lambda: 0.0))
        assert (refused.value.code, refused.value.param) == told


@given(
    st.dictionaries(
        st.sampled_from(["expires_after", "session", "x"]),
        st.none()
        | st.integers()
        | st.text(max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "seconds", "tools", "audio", "model"]),
            st.none() | st.integers() | st.just("realtime") | st.lists(st.none(), max_size=2) | st.just({"input": {}}),
        ),
    )
)
def test_no_request_breaks_it(body: dict[str, object]) -> None:
    secrets = ClientSecrets()
    try:
        made = secrets.issue(msgspec.json.encode(body), Runtime.deterministic(lambda: 0.0))
    except EventRefusal:
        return
    from openai.types.realtime import ClientSecretCreateResponse

    ClientSecretCreateResponse.model_validate(made)
    assert secrets.find(made["value"], 0.0) is not None


async def test_a_refusal_is_an_http_error_of_the_service() -> None:
    import openai

    async with serving() as place, asking(place) as client:
        with pytest.raises(openai.BadRequestError) as refused:
            await client.realtime.client_secrets.create(session={"type": "transcription"})
        assert refused.value.param == "session.type"
        with pytest.raises(openai.APIStatusError) as too_large:
            await client.realtime.client_secrets.create(session={"type": "realtime", "instructions": "x" * 1_048_576})
        assert too_large.value.status_code == 413


def test_a_secret_expires_and_makes_room() -> None:
    now = 100.0
    runtime = Runtime.deterministic(lambda: now)
    secrets = ClientSecrets(max_secrets=2)
    body = msgspec.json.encode({"expires_after": {"anchor": "created_at", "seconds": 10}, "session": SESSION})
    first, second = secrets.issue(body, runtime), secrets.issue(b"", runtime)
    assert first["expires_at"] == int(runtime.wall_now()) + 10
    assert second["expires_at"] == int(runtime.wall_now()) + 600
    with pytest.raises(EventRefusal) as refused:
        secrets.issue(b"", runtime)
    assert refused.value.code == "rate_limit_exceeded"
    found = secrets.find(first["value"], runtime.wall_now())
    assert found is not None
    assert found.session is not None
    assert found.session.instructions == "Be brief."
    now += 10
    assert secrets.find(first["value"], runtime.wall_now()) is None
    assert secrets.find(second["value"], runtime.wall_now()) is not None
    secrets.issue(b"", runtime)


def test_the_settings_of_all_secrets_together_are_bounded() -> None:
    runtime = Runtime.deterministic(lambda: 0.0)
    secrets = ClientSecrets(max_bytes=100)
    body = msgspec.json.encode({"session": {"type": "realtime", "instructions": "x" * 20}})
    secrets.issue(body, runtime)
    with pytest.raises(EventRefusal):
        secrets.issue(body, runtime)
