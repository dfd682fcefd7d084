"""A transfer as clients of a server see it: over a real socket, in foreign protocols, and after a restart."""

import asyncio

import pytest

from realtime.agent import RealtimeAgent
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.event import server as s
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.scripted import CallTools, ScriptedModel, Speak, Step
from realtime.runtime import Runtime
from tests.agent.fakes import FakeModel
from tests.real_loop import settled
from tests.server.steps import TEXT, in_call
from tests.server.test_resume_from_store import Place, Store, a_call_at, back


def desk() -> RealtimeAgent:
    """An agent whose model hands every call over to Ben."""
    steps = iter([CallTools((("transfer_to_ben", {}),)), Speak("Ben comes.", 0.2)])

    def answer(message: ModelInput) -> list[Step]:
        return [next(steps)] if isinstance(message, ResponseCreate) else []

    def billing(message: ModelInput) -> list[Step]:
        return [Speak("Which invoice?", 0.2)] if isinstance(message, ResponseCreate) else []

    ben = RealtimeAgent("Ben", "You are Ben.", ScriptedModel(billing))
    return RealtimeAgent("Ann", "", ScriptedModel(answer), transfers=[ben])


async def test_a_page_is_told_who_speaks_and_goes_on_with_the_same_call() -> None:
    async with in_call(desk) as (place, client):
        await client.send(TEXT | {"text": "My invoice is wrong."})
        changed = await client.until("server_custom")
        assert (changed["name"], changed["value"]["from"], changed["value"]["to"]) == ("agent_changed", "Ann", "Ben")
        ready = await client.until("agent_ready")
        assert (ready["agent_name"], ready["agent_id"]) == ("Ben", changed["value"]["to_id"])
        done = await client.until("agent_response_audio_transcript_done")
        assert (done["agent_name"], done["transcript"]) == ("Ben", "Which invoice?")
        await client.send({"type": "client_session_end"})
        ended = await client.until("agent_ended")
        assert (ended["agent_name"], ended["reason"]) == ("Ben", "client_end")
        await settled(lambda: place.calls.running == 0)


def test_a_client_of_gemini_is_told_once_that_its_session_is_set_up() -> None:
    dialect = GeminiDialect(Runtime.deterministic(lambda: 0.0), life_s=600.0, drain_s=0.0)
    assert dialect.encode(s.AgentReadyEvent(agent_name="Ann", agent_id="a1")) != []
    assert dialect.encode(s.AgentReadyEvent(agent_name="Ben", agent_id="a2")) == []


class Twice(Place):
    """A server whose agent hands its calls over to one with a model of its own."""

    def __init__(self, store: Store | None = None, **limits: float) -> None:
        super().__init__(store, **limits)
        self.ben_model = FakeModel()

    def agent(self) -> RealtimeAgent:
        async def on_turn(agent: RealtimeAgent, msg: object) -> None:
            await agent.transfer_to("Ben")

        ben = RealtimeAgent("Ben", "You are Ben.", self.ben_model, voice="ash", greeting="Say hello.")
        return RealtimeAgent("Friday", "", self.model, transfers=[ben], on_turn=on_turn, greeting="Say hello.")


@pytest.mark.virtual_time
async def test_a_call_goes_on_after_a_restart_with_the_agent_that_had_it() -> None:
    """Where that one cannot be made, the first one goes on."""
    place = Twice()
    async with a_call_at(place, voice="alloy", instructions="You are a pirate.") as (client, created):
        place.model.link.reply(1_000, "Hello. ")
        await asyncio.sleep(2)
        client.say(TEXT | {"text": "Ben, please."})
        await client.read_on()
        response_id = place.model.link.begin(2)
        place.model.link.speak(response_id, 500, "One moment. ")
        place.model.link.finish(response_id, "One moment. ")
        ready = await client.until("agent_ready", 2)
        assert ready["agent_name"] == "Ben"
        left = await place.kept(created["call_id"])
    await place.stop()

    again = place.restart()
    async with back(again, created, 3) as returned:
        assert again.model.connections == [], "the first agent does not come back"
        link = again.ben_model.link
        assert (link.settings.agent_name, link.settings.instructions) == ("Ben", "You are Ben.")
        assert link.settings.voice == "ash"
        assert link.got(ResponseCreate) == [ResponseCreate()], "it answers what it took over, and greets no second time"
        assert [item.text for item in again.ben_model.histories[-1]() if item.role == "user"] == ["Ben, please."]
        ready = [event for event in returned.sent if event["type"] == "agent_ready"][-1]
        assert ready["agent_name"] == "Ben"
    without = Place(left)
    async with back(without, created, 3):
        assert without.model.link.settings.agent_name == "Friday"
