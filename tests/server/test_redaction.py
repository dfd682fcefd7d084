"""Secrets of calls, planted in every way, are in no file of any store; who listens hears them."""

import json
import re
import zlib
from functools import partial
from pathlib import Path

import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import BadOption
from realtime.memory import SqliteLongTermMemory
from realtime.memory.redacted import RedactedMemory
from realtime.message import ToolCallBlock, UserMsg
from realtime.model.base import ResponseCreate
from realtime.model.script import Speak
from realtime.model.scripted import ScriptedModel
from realtime.plan import Plan, PlanNotebook, SubTask
from realtime.server.app import create_app
from realtime.server.settings import ServerSettings
from realtime.server.warming import Warming
from realtime.state.json_sessions import JSONSession
from realtime.state.open import open_store
from realtime.state.redaction import MARK, Redact, Redaction
from realtime.state.restore import restore
from tests.agent.thinking import ScriptedChat
from tests.server.harness import serving_app
from tests.server.receivers import receiving, status
from tests.server.test_client_tokens import ask
from tests.server.test_record_deliveries import Booking

SECRET = "4111 2222 3333"
PARTS = ("4111", "2222", "3333")


def numbers_out(text: str) -> str:
    return re.sub(r"\d[\d ]{2,}\d", "[number]", text)


def raising(text: str) -> str:
    raise ValueError(text)


def luigi() -> RealtimeAgent:
    record = ToolCallBlock(
        id="c1", name="generate_structured_output", input=json.dumps({"caller": SECRET, "people": 6})
    )
    said = f"Your card {SECRET} is noted."
    voice = ScriptedModel(lambda one: [Speak(said, 1.0)] if isinstance(one, ResponseCreate) else [])
    chat = ScriptedChat([record])
    return RealtimeAgent("Luigi", "", voice, call_record=Booking, chat_model=chat)


def texts_in(folder: Path) -> bytes:
    """All bytes of all files, and what is packed in them."""
    found = b""
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        found += data
        for place in re.finditer(rb"\x78[\x01\x5e\x9c]", data):
            with_packed = zlib.decompressobj()
            try:
                found += with_packed.decompress(data[place.start() :])
            except zlib.error:
                continue
    return found


@pytest.mark.parametrize("kind", ["sqlite", "file"])
@pytest.mark.parametrize(("redact", "instead"), [(numbers_out, "[number]"), (raising, MARK)])
async def test_secrets_are_in_no_file_and_are_heard(
    kind: str, redact: Redact, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REALTIME_WEBHOOK_SECRET", "whsec_" + "A" * 40)
    url = f"{kind}:{tmp_path / 'calls'}"
    session = JSONSession(tmp_path / "sessions")
    async with receiving(status(200)) as receiver:
        settings = ServerSettings(drain_s=0, store=url, record_webhook=receiver.url, token="t0k3n")
        unloaded = Warming(lambda: None, print)
        app = create_app(luigi, settings, warming=unloaded, session=session, redact=redact)
        async with serving_app(app) as place, place.client("/ws/ann/s1?token=t0k3n") as client:
            call_id = (await client.make_call(instructions=f"Ask for {SECRET}."))["call_id"]
            await client.send({"type": "client_text_append", "text": f"My card is {SECRET}, thanks."})
            await client.until("agent_response_done")
            await client.send({"type": "client_session_end"})
            await client.until("server_session_ended")
            told = json.dumps(client.events)
            sent = (await receiver.next()).body.decode()
    assert f"Your card {SECRET} is noted." in told
    kept = texts_in(tmp_path)
    assert [part for part in PARTS if part.encode() in kept or part in sent] == []
    assert instead in str(json.loads(sent)["data"]["record"])
    store = open_store(url)
    info, entries = store.call(call_id), store.read(call_id)
    store.close()
    assert info is not None
    assert info.first_words == (f"My card is {instead}, thanks." if redact is numbers_out else MARK)
    words = "".join(
        one.delta for one in entries if one.type == "agent_response_audio_transcript_delta" and hasattr(one, "delta")
    )
    assert words == (f"Your card {instead} is noted." if redact is numbers_out else "")


async def test_a_call_goes_on_from_its_redacted_words(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'calls'}"
    settings = ServerSettings(drain_s=0, store=url)
    app = create_app(luigi, settings, warming=Warming(lambda: None, print), redact=numbers_out)
    async with serving_app(app) as place, place.client("/ws/ann/s1") as client:
        created = await client.make_call()
        await client.send({"type": "client_text_append", "text": f"My card is {SECRET}."})
        await client.until("agent_response_done")
    store = open_store(url)
    rebuilt = restore(store.read(created["call_id"]))
    store.close()
    words = [item.text for item in rebuilt.conversation.items()]
    assert words == ["My card is [number].", "Your card [number] is noted."]


async def test_what_is_kept_of_a_caller_has_no_secrets(tmp_path: Path) -> None:
    """In the session, with the plan of the agent, and in the long-term memory."""
    planned = SubTask(name=f"Pay with {SECRET}", description="", expected_outcome="")

    def planner() -> RealtimeAgent:
        notebook = PlanNotebook()
        notebook.current_plan = Plan(name="Dinner", description="", expected_outcome="", subtasks=[planned])
        voice = ScriptedModel(lambda one: [Speak(SECRET, 0.1)] if isinstance(one, ResponseCreate) else [])
        return RealtimeAgent("Luigi", "", voice, plan_notebook=notebook, long_term_memory_mode="static_control")

    app = create_app(
        planner,
        ServerSettings(drain_s=0, token="secret"),
        warming=Warming(lambda: None, print),
        session=JSONSession(tmp_path / "sessions"),
        memory=partial(SqliteLongTermMemory, tmp_path / "memories.db"),
        redact=numbers_out,
    )
    async with serving_app(app) as place:
        token = (await ask(place, {"user_id": "ann"})).json()["token"]
        async with place.client(f"/ws/ann/s1?token={token}") as client:
            await client.make_call()
            await client.send({"type": "client_text_append", "text": f"My card is {SECRET}, thanks."})
            await client.until("agent_response_done")
            await client.send({"type": "client_session_end"})
            await client.until("server_session_ended")
    kept = texts_in(tmp_path)
    assert [part for part in PARTS if part.encode() in kept] == []
    told = texts_in(tmp_path / "sessions")
    assert b"My card is [number], thanks." in told
    assert b"Pay with [number]" in told
    remembered = await SqliteLongTermMemory(tmp_path / "memories.db", "ann").remembered()
    assert "My card is [number], thanks." in {one.text for one in remembered}


async def test_what_a_model_or_a_user_writes_into_a_memory_has_no_secrets(tmp_path: Path) -> None:
    own = SqliteLongTermMemory(tmp_path / "memories.db", "ann")
    memory = RedactedMemory(own, Redaction(numbers_out))
    assert memory.record_to_memory.__doc__ == own.record_to_memory.__doc__
    await memory.record_to_memory(f"thought {SECRET}", [f"pays with {SECRET}", "likes tea"])
    await memory.record([UserMsg("ann", f"It is {SECRET}."), None])
    tea = next(one for one in await memory.remembered() if one.text == "likes tea")
    assert await memory.correct(tea.id, f"likes {SECRET}")
    assert {one.text for one in await own.remembered()} == {"pays with [number]", "likes [number]", "It is [number]."}
    assert memory.is_editable
    assert "pays with [number]" in await memory.retrieve(UserMsg("ann", "pays"))
    assert await memory.forget("all") == 3
    await memory.aclose()


def test_a_server_is_not_made_with_what_is_no_function() -> None:
    with pytest.raises(BadOption):
        create_app(luigi, ServerSettings(), redact="app.py:redact")  # type: ignore[arg-type]
