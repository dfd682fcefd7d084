"""Records of calls that are sent to a webhook when these are over: on a real server, to real receivers."""

import base64
import hashlib
import hmac
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from realtime.agent import RealtimeAgent
from realtime.errors import UsageError
from realtime.message import ToolCallBlock
from realtime.model.base import ResponseCreate
from realtime.model.script import Speak
from realtime.model.scripted import ScriptedModel
from realtime.server import record_deliveries
from realtime.server.app import create_app
from realtime.server.settings import ServerSettings
from realtime.state.open import open_store
from tests.agent.thinking import ScriptedChat
from tests.real_loop import settled
from tests.server.harness import Place, serving
from tests.server.receivers import Got, receiving, status, then_hangs

KEY = bytes(range(40, 80))
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
RECORD = {"caller": "Ann", "people": 6}
NEVER_S = 3_600.0


class Booking(BaseModel):
    caller: str
    people: int


def luigi() -> RealtimeAgent:
    filled = ToolCallBlock(id="c1", name="generate_structured_output", input=json.dumps(RECORD))
    voice = ScriptedModel(lambda one: [Speak("You are welcome.", 1.0)] if isinstance(one, ResponseCreate) else [])
    return RealtimeAgent("Luigi", "", voice, call_record=Booking, chat_model=ScriptedChat([filled]))


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REALTIME_WEBHOOK_SECRET", SECRET)


def waits(monkeypatch: pytest.MonkeyPatch, *retries_s: float) -> None:
    monkeypatch.setattr(record_deliveries, "RETRIES_S", retries_s)


def settings(url: str, store: str | None = None) -> ServerSettings:
    return ServerSettings(drain_s=0, record_webhook=url, store=store)


async def a_call(place: Place, user: str = "ann") -> str:
    """A call of this user, up to its end; its id."""
    async with place.client(f"/ws/{user}/s1") as client:
        call_id = (await client.make_call())["call_id"]
        await client.send({"type": "client_text_append", "text": "I'm Ann. A table for six."})
        await client.until("agent_response_done")
        await client.send({"type": "client_session_end"})
        await client.until("server_session_ended")
    return str(call_id)


def message_in(got: Got) -> dict[str, Any]:
    """The message, whose signature is checked as a receiver does it."""
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    message: dict[str, Any] = json.loads(got.body)
    return message


def notes_in(store: str) -> list[str]:
    opened = open_store(store)
    try:
        return opened.note_keys("")
    finally:
        opened.close()


@pytest.mark.parametrize("store", ["none", "memory:", "sqlite", "file"])
async def test_a_record_is_delivered_after_the_call_and_tried_again_with_the_same_id(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    waits(monkeypatch, 0.0, 0.0)
    url = None if store == "none" else store if store == "memory:" else f"{store}:{tmp_path / 'kept'}"
    async with (
        receiving(status(500), status(302, "location: http://127.0.0.1/"), status(200)) as receiver,
        serving(luigi, settings(receiver.url, url)) as place,
    ):
        call_id = await a_call(place)
        got = [await receiver.next() for _ in range(3)]
    messages = [message_in(one) for one in got]
    assert messages[0] == messages[1] == messages[2]
    assert messages[0]["type"] == "call.record"
    assert messages[0]["data"] == {
        "call_id": call_id,
        "user_id": "ann",
        "session_id": "s1",
        "model": "Booking",
        "record": RECORD,
    }
    ids = {one.headers["webhook-id"] for one in got}
    assert len(ids) == 1
    assert ids.pop().startswith(call_id)
    assert len(receiver.got) == 3
    assert url is None or store == "memory:" or notes_in(url) == []
    assert "it answered 500" in caplog.text
    told = "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("realtime"))
    assert [word for word in (SECRET, SECRET[6:], "k3y", "Ann") if word in told] == []


@pytest.mark.parametrize("store", ["sqlite", "file"])
async def test_what_was_not_delivered_is_delivered_by_the_next_server(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{store}:{tmp_path / 'kept'}"
    waits(monkeypatch, 0.5)
    async with receiving(status(500), status(200)) as receiver:
        async with serving(luigi, settings(receiver.url, url)) as place:
            await a_call(place)
            first = await receiver.next()
        assert len(notes_in(url)) == 1
        async with serving(luigi, settings(receiver.url, url)):
            second = await receiver.next()
        assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
        assert message_in(second)["data"]["record"] == RECORD
        assert notes_in(url) == []


async def test_a_call_that_was_deleted_takes_its_delivery_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:{tmp_path / 'kept'}"
    waits(monkeypatch, 0.2)
    async with receiving(status(500), status(200)) as receiver:
        async with serving(luigi, settings(receiver.url, url)) as place:
            deleted = await a_call(place)
            await receiver.next()
        assert len(notes_in(url)) == 1
        store = open_store(url)
        assert store.delete(deleted)
        store.close()
        async with serving(luigi, settings(receiver.url, url)) as place:
            other = await a_call(place, "ben")
            assert message_in(await receiver.next())["data"]["call_id"] == other
            await settled(lambda: notes_in(url) == [])
        assert len(receiver.got) == 2


async def test_a_receiver_that_hangs_delays_neither_calls_nor_the_end_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_deliveries, "CLOSE_S", 0.1)
    url = f"sqlite:{tmp_path / 'kept'}"
    async with receiving(then_hangs()) as receiver:
        async with serving(luigi, settings(receiver.url, url)) as place:
            for number in range(record_deliveries.AT_ONCE + 2):
                await a_call(place, f"user{number}")
            for _ in range(record_deliveries.AT_ONCE):
                await receiver.next()
        assert len(notes_in(url)) == record_deliveries.AT_ONCE + 2


@pytest.mark.parametrize(("code", "tries"), [(410, 1), (404, 3)])
async def test_a_receiver_that_never_takes_it_is_given_up(
    code: int, tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:{tmp_path / 'kept'}"
    waits(monkeypatch, 0.0, 0.0)
    async with receiving(status(code)) as receiver, serving(luigi, settings(receiver.url, url)) as place:
        await a_call(place)
        for _ in range(tries):
            await receiver.next()
    assert len(receiver.got) == tries
    assert notes_in(url) == []
    assert f"given up after {tries} tries: it answered {code}" in caplog.text


async def test_what_waits_without_a_store_is_counted_as_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waits(monkeypatch, NEVER_S)
    async with receiving(status(500)) as receiver:
        async with serving(luigi, settings(receiver.url)) as place:
            await a_call(place)
            await receiver.next()
        assert len(receiver.got) == 1
    assert "1 records of calls were not delivered and are lost" in caplog.text


async def test_a_note_that_cannot_be_read_hinders_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file:{tmp_path / 'kept'}"
    waits(monkeypatch, 0.5)
    async with receiving(status(500), status(200)) as receiver:
        async with serving(luigi, settings(receiver.url, url)) as place:
            await a_call(place)
            await receiver.next()
        store = open_store(url)
        (key,) = store.note_keys("")
        store.put_note(key[:33] + "0" * 64, "2026-01-01T00:00:00.000Z", b"{broken")
        store.close()
        async with serving(luigi, settings(receiver.url, url)):
            await receiver.next()
        assert notes_in(url) == []


@pytest.mark.parametrize(
    ("url", "secret", "why"),
    [
        ("http://crm.example.org/", SECRET, "https"),
        ("https://crm.example.org/", "", "REALTIME_WEBHOOK_SECRET"),
        ("https://crm.example.org/", "whsec_c2hvcnQ=", "REALTIME_WEBHOOK_SECRET"),
    ],
)
def test_a_server_that_could_deliver_nothing_is_not_made(
    url: str, secret: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REALTIME_WEBHOOK_SECRET", secret)
    with pytest.raises(UsageError, match=why):
        create_app(luigi, settings(url))
