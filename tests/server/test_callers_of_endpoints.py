"""Agents remember the users who call in other vocabularies: over real sockets, with the official SDK clients."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from realtime.server.app import create_app
from realtime.server.runner import TlsFiles
from realtime.server.settings import ServerSettings
from realtime.server.warming import Warming
from realtime.state.open import open_session
from tests.real_loop import settled
from tests.server import dashscope_sdk, gemini_sdk, openai_sdk
from tests.server.harness import WITHOUT_GRACE, Place, begun_calls, serving_app
from tests.server.steps import END
from tests.server.test_caller_sessions import friday, list_of, of, said, saving
from tests.server.test_client_tokens import ask
from tests.server.test_openai_client_secrets import asking

HELLO = "I am Ann."
SERVERS = "secret"
"""The server's own token."""
Says = Callable[[Place, TlsFiles, str], Awaitable[str]]
"""One call with a key, in which its user says one thing: what the agent answers."""


async def native(place: Place, tls: TlsFiles, key: str) -> str:
    async with place.client(f"/ws/anyone/s1?token={key}") as client:
        await client.make_call()
        words = await said(client, HELLO)
        await client.send(END)
        await client.until("server_session_ended")
    return words


async def agentscope(place: Place, tls: TlsFiles, key: str) -> str:
    async with place.client(f"/ws/anyone/s1?token={key}", subprotocols=()) as client:
        await client.make_call()
        await client.send({"type": "client_text_append", "text": HELLO})
        await client.until("agent_response_done")
        await client.send(END)
        await client.until("server_session_ended")
    kind = "agent_response_audio_transcript_delta"
    return "".join(event["delta"] for event in client.events if event["type"] == kind).strip()


async def openai(place: Place, tls: TlsFiles, key: str) -> str:
    async with openai_sdk.sdk(place, key) as ear:
        await ear.until("session.created")
        await ear.say(HELLO)
        await ear.do("respond")
        words = await ear.until("response.output_audio_transcript.done")
        await ear.until("response.done")
        assert len(ear.only("conversation.item.added")) == 2, "a client is told of the items of its own session alone"
    return str(words["transcript"]).strip()


async def gemini(place: Place, tls: TlsFiles, key: str) -> str:
    version = "v1alpha" if key.startswith("auth_tokens/") else "v1beta"
    async with gemini_sdk.sdk(place, tls, key=key, version=version) as ear:
        await ear.say(HELLO)
        await ear.turn()
        return ear.words("outputTranscription").strip()


async def gemini_ephemeral(place: Place, tls: TlsFiles, key: str) -> str:
    """With a key that the SDK takes for an ephemeral token, which it warns are new."""
    from google.genai import _common

    warnings.simplefilter("ignore", _common.ExperimentalWarning)
    return await gemini(place, tls, f"auth_tokens/{key}" if key.startswith("ct_") else key)


async def dashscope(place: Place, tls: TlsFiles, key: str) -> str:
    async with dashscope_sdk.sdk(place, "callbacks", key=key) as ear:
        await ear.until("session.created")
        await ear.do("update", enable_turn_detection=False)
        await ear.hush(3)
        await ear.do("commit")
        await ear.do("respond")
        words = await ear.until("response.audio_transcript.done")
        await ear.until("response.done")
    return str(words["transcript"]).strip()


DIALECTS: list[Says] = [native, agentscope, openai, gemini, gemini_ephemeral, dashscope]
each = pytest.mark.parametrize("says", DIALECTS)


@asynccontextmanager
async def server(says: Says, folder: Path, tls: TlsFiles) -> AsyncIterator[Place]:
    """A server whose agent counts the turns that it knows; another one with the same folder is it after a restart."""
    settings = ServerSettings(token=SERVERS, drain_s=0, limits=WITHOUT_GRACE.limits)
    session = open_session(f"json:{folder}")
    app = create_app(lambda: friday(), settings, session=session, warming=Warming(lambda: None, print))
    async with serving_app(app, tls=tls if says in (gemini, gemini_ephemeral) else None) as place:
        yield place
    await session.aclose()


async def token_of(place: Place, tls: TlsFiles, user: str | None) -> str:
    body = {} if user is None else {"user_id": user}
    return str((await ask(place, body, trusting=gemini_sdk.trusting(tls))).json()["token"])


async def over(place: Place) -> None:
    """All calls are over and saved."""
    await settled(lambda: not place.calls.sessions and not saving(place))


@each
async def test_a_user_who_calls_again_is_remembered_after_a_restart_and_no_other_user_is(
    says: Says, tmp_path: Path, tls: TlsFiles
) -> None:
    async with server(says, tmp_path, tls) as place:
        assert await says(place, tls, await token_of(place, tls, "ann")) == "Turn 1."
        await over(place)
        assert await says(place, tls, await token_of(place, tls, "ben")) == "Turn 1."
        await over(place)
    async with server(says, tmp_path, tls) as place:
        assert await says(place, tls, await token_of(place, tls, "ann")) == "Turn 2."
        await over(place)
    roles = [item["role"] for item in of("ann", tmp_path)["agent"]["conversation"]]
    assert roles.count("user") == 2
    assert sorted(path.name for path in (tmp_path / "users").iterdir()) == ["ann", "ben"]


@each
async def test_a_key_that_names_no_user_is_a_call_that_is_not_remembered(
    says: Says, tmp_path: Path, tls: TlsFiles
) -> None:
    async with server(says, tmp_path, tls) as place:
        for key in (SERVERS, SERVERS, await token_of(place, tls, None)):
            assert await says(place, tls, key) == "Turn 1."
            await over(place)
    assert not list_of(tmp_path)


@each
async def test_a_client_token_that_is_not_valid_opens_nothing(says: Says, tmp_path: Path, tls: TlsFiles) -> None:
    async with server(says, tmp_path, tls) as place:
        begun = begun_calls(place.calls)
        with pytest.raises(Exception, match=r"(?i)key|1008|3000|could not established|knows no error|'error'"):
            await says(place, tls, "ct_long_gone")
        assert begun == []


async def test_a_client_secret_is_of_the_user_whom_its_application_named(tmp_path: Path, tls: TlsFiles) -> None:
    """By the header with which OpenAI's clients say for whom they ask."""
    import openai as of_openai

    async with server(openai, tmp_path, tls) as place, asking(place, SERVERS) as backend:

        async def secret_of(user: str | None) -> str:
            headers = {} if user is None else {"OpenAI-Safety-Identifier": user}
            made = await backend.realtime.client_secrets.create(extra_headers=headers)
            return made.value

        for user, words in (("ann", "Turn 1."), (None, "Turn 1."), ("ann", "Turn 2."), ("ben", "Turn 1.")):
            assert await openai(place, tls, await secret_of(user)) == words
            await over(place)
        for wrong in ("", "x" * 129):
            with pytest.raises(of_openai.BadRequestError, match="1 to 128 characters"):
                await secret_of(wrong)
        async with asking(place, await token_of(place, tls, "ann")) as page:
            with pytest.raises(of_openai.AuthenticationError):
                await page.realtime.client_secrets.create(extra_headers={"OpenAI-Safety-Identifier": "ben"})
    assert sorted(path.name for path in (tmp_path / "users").iterdir()) == ["ann", "ben"]


async def test_ids_that_a_client_gives_its_items_may_be_those_of_an_earlier_call(tmp_path: Path, tls: TlsFiles) -> None:
    async with server(openai, tmp_path, tls) as place:
        key = await token_of(place, tls, "ann")
        for words in ("Turn 1.", "Turn 2.", "Turn 3."):
            async with openai_sdk.sdk(place, key) as ear:
                content: Any = [{"type": "input_text", "text": HELLO}]
                await ear.do("item", {"id": "msg_1", "type": "message", "role": "user", "content": content})
                await ear.do("respond")
                told = await ear.until("response.output_audio_transcript.done")
                assert str(told["transcript"]).strip() == words
                await ear.until("response.done")
                assert ear.only("error") == []
            await over(place)
