"""Sessions of Gemini Live clients that go on over a new socket, by handle; judged by the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.call.session import Session
from realtime.event import server as s
from realtime.model import base
from realtime.model.base import RealtimeModel
from realtime.model.scripted import ScriptedModel, Speak, Step, echo_bot
from realtime.server.archive import Archive
from realtime.server.runner import TlsFiles
from realtime.server.settings import ServerSettings
from realtime.state.memory import MemoryStore
from tests.agent.fakes import FakeModel
from tests.real_loop import settled
from tests.server.ears import asked
from tests.server.gemini_sdk import Ear, sdk
from tests.server.gemini_sdk import serving as serving_agents
from tests.server.harness import Json, Place

RESUMABLE: Json = {"session_resumption": {}}


def coming_back(handle: str | None) -> Json:
    return {"session_resumption": {"handle": handle}}


def handle_of(ear: Ear) -> str | None:
    """The newest handle that the client was told, as the SDK reads it."""
    from google.genai import types

    told = [types.LiveServerMessage.model_validate(frame).session_resumption_update for frame in ear.frames]
    return next((one.new_handle for one in reversed(told) if one is not None and one.resumable), None)


async def asks(ear: Ear, question: str) -> str:
    """Ask and hear the answer out. Returns its words."""
    before = ear.words("outputTranscription")
    await ear.say(question)
    await ear.until("turnComplete")
    return ear.words("outputTranscription").removeprefix(before)


@asynccontextmanager
async def serving(
    model: RealtimeModel, tls: TlsFiles, store: MemoryStore | None = None, *, resume_s: float = 60.0, **limits: float
) -> AsyncIterator[Place]:
    """A server with this model, which keeps its calls in the store if there is one."""
    settings = ServerSettings(drain_s=0, limits=Limits(**limits))
    archive = Archive(store, resume_s=resume_s) if store is not None else None
    async with serving_agents(lambda: RealtimeAgent("Friday", "", model), tls, settings, archive) as place:
        yield place
    if archive is not None:
        await archive.close()


def answering(*answers: str) -> ScriptedModel:
    """Answers the first requests of each connection with these."""
    return ScriptedModel([step for words in answers for step in (asked(), Speak(words, 0.1))], strict=False)


def echoing() -> ScriptedModel:
    return ScriptedModel(echo_bot("I heard you.", seconds=0.1))


def only_call(place: Place) -> Session:
    (session,) = place.calls.sessions.values()
    return session


async def test_a_client_that_returns_by_its_handle_goes_on_with_the_same_call(tls: TlsFiles) -> None:
    """Also after it has closed its socket itself, as the SDK does and the service advises. The settings of the new
    setup hold, but for the model."""
    model = answering("I heard you.", "I heard you.")
    async with serving(model, tls) as place:
        async with sdk(place, tls, RESUMABLE) as ear:
            await asks(ear, "My name is Ann.")
            call_id, handle = only_call(place).call_id, handle_of(ear)
        await settled(lambda: only_call(place).is_deserted)
        async with sdk(place, tls, coming_back(handle) | {"system_instruction": "Be brief."}) as again:
            assert await asks(again, "Who am I?") == "I heard you."
            session = only_call(place)
            assert session.call_id == call_id
            assert [item.text for item in session.conversation.items()] == [
                "My name is Ann.",
                "I heard you.",
                "Who am I?",
                "I heard you.",
            ]
            assert len([one for one in session.log.read(0) if isinstance(one, s.AgentReadyEvent)]) == 1
            assert handle_of(again) not in (None, handle)
    (connection,) = model.connections
    assert connection.settings.instructions == "Be brief."


async def test_handles_come_after_the_setup_and_after_each_turn_to_a_client_that_asks_for_them(tls: TlsFiles) -> None:
    """The call of another one ends with its socket."""
    async with serving(echoing(), tls) as place:
        async with sdk(place, tls) as ear:
            await asks(ear, "One.")
            assert handle_of(ear) is None
        await settled(lambda: place.calls.running == 0)
        async with sdk(place, tls, RESUMABLE) as ear:
            await asks(ear, "One.")
            await ear.until("sessionResumptionUpdate")
            assert ear.kinds[0] == ear.kinds[-1] == "sessionResumptionUpdate"
            assert ear.kinds[-2].startswith("turnComplete")


async def test_after_its_grace_time_the_call_goes_on_from_the_store(tls: TlsFiles) -> None:
    """As after a restart of the server: a new session of the model, which is told what was said."""
    model = answering("I heard you.")
    async with serving(model, tls, MemoryStore(), grace_s=0.01) as place:
        async with sdk(place, tls, RESUMABLE) as ear:
            await asks(ear, "My name is Ann.")
            call_id, handle = only_call(place).call_id, handle_of(ear)
        await settled(lambda: place.calls.running == 0)
        async with sdk(place, tls, coming_back(handle)) as again:
            session = only_call(place)
            assert session.call_id == call_id
            await asks(again, "Who am I?")
            assert [item.text for item in session.conversation.items()][:3] == [
                "My name is Ann.",
                "I heard you.",
                "Who am I?",
            ]
    given = model.connections[-1].history
    assert [item.text for item in given][:2] == ["My name is Ann.", "I heard you."]


async def test_what_was_being_said_is_cut_where_the_client_left_and_not_said_again(tls: TlsFiles) -> None:
    def react(message: base.ModelInput) -> list[Step]:
        if not isinstance(message, base.ResponseCreate):
            return []
        return [Speak("One two three four five six seven eight nine ten eleven twelve.", 60.0, pace=None)]

    model = ScriptedModel(react)
    async with serving(model, tls) as place:
        async with sdk(place, tls, RESUMABLE) as ear:
            await ear.say("Count.")
            await ear.until("modelTurn")
            handle = handle_of(ear)
        await settled(lambda: only_call(place).is_deserted)
        said = only_call(place).conversation.items()[-1]
        assert (said.role, said.status) != ("assistant", "completed")
        async with sdk(place, tls, coming_back(handle)) as again:
            await again.say("Again.")
            await again.until("modelTurn")
            assert "twelve" not in only_call(place).conversation.items()[1].text


async def test_an_answer_that_begins_while_nobody_is_there_counts_as_unheard(tls: TlsFiles) -> None:
    model = FakeModel()
    async with serving(model, tls) as place:
        async with sdk(place, tls, RESUMABLE) as ear:
            await ear.until("sessionResumptionUpdate")
        await settled(lambda: only_call(place).is_deserted)
        model.link.reply(500, "Are you there?")
        (item,) = only_call(place).conversation.items()
        assert item.text == "Are you there?"
        async with sdk(place, tls, coming_back(handle_of(ear))):
            assert only_call(place).conversation.items()[0].text == ""


async def refused_as_unknown(place: Place, tls: TlsFiles, handle: str | None) -> None:
    from google.genai import errors

    with pytest.raises(errors.APIError) as closed:
        async with sdk(place, tls, coming_back(handle)) as ear:
            await ear.until("nothing")
    assert closed.value.code == 1008
    assert "Requested entity was not found." in str(closed.value)


async def test_an_unknown_handle_and_one_of_a_call_that_was_kept_too_long_ago_are_refused(tls: TlsFiles) -> None:
    async with serving(echoing(), tls, MemoryStore(), resume_s=-1.0, grace_s=0.01) as place:
        async with sdk(place, tls, RESUMABLE) as ear:
            await asks(ear, "One.")
            handle = handle_of(ear)
        await settled(lambda: place.calls.running == 0)
        for unknown in (handle, "from-elsewhere", "call_0.resume_0"):
            await refused_as_unknown(place, tls, unknown)
        await settled(lambda: place.calls.running == 0)


async def test_a_socket_that_still_seems_open_gives_way_to_the_one_that_has_its_handle(tls: TlsFiles) -> None:
    async with (
        serving(echoing(), tls) as place,
        sdk(place, tls, RESUMABLE) as ear,
    ):
        await asks(ear, "One.")
        async with sdk(place, tls, coming_back(handle_of(ear))) as again:
            assert await asks(again, "Two.") == "I heard you."
            code, _ = await ear.closed()
            assert code == 4000


async def test_a_client_is_told_to_go_before_the_server_stops_and_by_which_handle_it_comes_back(
    tls: TlsFiles,
) -> None:
    store = MemoryStore()
    async with serving(echoing(), tls, store) as place, sdk(place, tls, RESUMABLE) as ear:
        await asks(ear, "My name is Ann.")
        draining = asyncio.create_task(place.calls.drain(0.5))
        await ear.until("goAway")
        handle = handle_of(ear)
        await draining
    async with serving(echoing(), tls, store) as next_place, sdk(next_place, tls, coming_back(handle)) as again:
        await asks(again, "Who am I?")
        assert only_call(next_place).conversation.items()[0].text == "My name is Ann."
