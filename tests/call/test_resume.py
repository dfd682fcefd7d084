"""Coming back to a call: who may, what it gets, and how long it is waited for."""

import asyncio
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.call.resume_token import ResumeToken
from realtime.event import frames
from realtime.model.scripted import PROFILE, ScriptedModel, echo_bot
from realtime.server.calls import Calls
from realtime.server.settings import ServerSettings
from tests.agent.fakes import FakeModel
from tests.server.harness import FakeSocket, Json, create

pytestmark = pytest.mark.virtual_time

TEXT = {"type": "client_text_append", "text": "Hello"}


def resume(token: str, last_seq: int = 0, **more: Any) -> Json:
    return {"type": "client_session_resume", "token": token, "last_seq": last_seq} | more


class Place:
    """One server: sockets that share its calls."""

    def __init__(self, model: Any = None, **limits: float) -> None:
        self.settings = ServerSettings(limits=Limits(**limits))
        self.calls = Calls(max_per_address=self.settings.max_calls_per_address, max_total=self.settings.max_calls)
        self.model: Any = model or ScriptedModel(echo_bot(seconds=4.0), profile=PROFILE)

    def socket(self, **options: Any) -> FakeSocket:
        return FakeSocket(lambda: RealtimeAgent("Friday", "", self.model), self.settings, calls=self.calls, **options)

    async def lost_call(self, *frames: Json) -> tuple[str, int]:
        """A call whose socket was lost after these frames: its token, and the last `seq` that its client saw."""
        async with self.socket() as client:
            token = await begin(client, *frames)
            await asyncio.sleep(0.5)
            await lose(client)
            return token, max(event.get("seq", 0) for event in client.sent)

    async def is_refused(self, token: str, code: str = "invalid_resume_token", **options: Any) -> None:
        """Nobody comes back with this token."""
        async with self.socket(**options) as client:
            client.say(resume(token))
            await client.until("agent_error")
            assert client.codes == [code]

    def said(self) -> list[str]:
        """What was typed in the only call."""
        (session,) = self.calls.sessions.values()
        return [item.text for item in session.conversation.items() if item.role == "user"]


async def begin(client: FakeSocket, *frames: Json, **config: Any) -> str:
    """Begin a call and say this. Returns its token."""
    client.say(create(**config), *frames)
    created = await client.until("server_session_created")
    await client.until("agent_ready")
    token: str = created["resume_token"]
    return token


async def lose(client: FakeSocket) -> None:
    """The socket is lost, and the server has noticed."""
    client.lose()
    assert client.serving is not None
    await client.serving


async def come_back(client: FakeSocket, token: str, last_seq: int = 0) -> Json:
    client.say(resume(token, last_seq))
    return await client.until("server_session_resumed")


def speech_bytes(client: FakeSocket) -> int:
    return sum(len(event["delta"]) * 3 // 4 for event in client.sent if event["type"] == "agent_response_audio_delta")


async def test_a_client_comes_back_and_hears_the_rest() -> None:
    place = Place()
    token, last_seq = await place.lost_call(TEXT)
    await asyncio.sleep(20)
    async with place.socket() as client:
        resumed = await come_back(client, token, last_seq)
        assert (resumed["last_seq"], resumed["rewound_to_seq"]) == (last_seq, None)
        assert not resumed["from_store"]
        assert resumed["token"] != token
        assert client.types[:2] == ["server_session_resumed", "server_audio_received"]
        assert client.sent[1]["offset"] == 0
        # It had acknowledged nothing: it gets all of the speech again.
        assert speech_bytes(client) == 4 * 48_000
        (item,) = [event for event in client.sent if event["type"] == "server_audio_item"]
        assert item["offset_samples"] == 0
        client.say(TEXT)
        await client.until("agent_response_done")


async def test_what_was_missed_comes_once_and_in_order_and_only_events_of_the_log_have_a_seq() -> None:
    """A client that counted what it alone is told would resume too far on."""
    place = Place()
    token, _ = await place.lost_call(TEXT)
    await asyncio.sleep(5)
    async with place.socket() as client:
        await come_back(client, token)
        told = [event["seq"] for event in client.sent if "seq" in event]
        assert told == sorted(set(told))
        assert client.types[2] == "server_session_created"
        assert client.sent[2]["resume_token"] is None, "a token is in no log"
        assert "agent_response_done" in client.types
        alone = {event["type"] for event in client.sent if "seq" not in event}
        assert alone == {"server_session_resumed", "server_audio_received", "server_audio_item"}
        assert all("ts_ms" in event for event in client.sent)


async def test_speech_that_was_acknowledged_is_not_sent_again() -> None:
    place = Place()
    async with place.socket() as first:
        token = await begin(first, TEXT)
        delta = await first.until("agent_response_audio_delta")
        await first.until("agent_response_done")
        first.say({"type": "client_playback_ack", "item_id": delta["item_id"], "played_ms": 1_500})
        await first.read_on()
        last_seq = first.sent[-1]["seq"]
        await lose(first)
    async with place.socket() as client:
        await come_back(client, token, last_seq)
        await client.until("agent_response_audio_delta")
        assert speech_bytes(client) == 2.5 * 48_000
        (item,) = [event for event in client.sent if event["type"] == "server_audio_item"]
        assert item["offset_samples"] == 1.5 * 24_000


async def test_a_token_is_good_until_its_successor_is_proven_to_have_arrived() -> None:
    place = Place()
    token, _ = await place.lost_call()
    async with place.socket() as second:
        await come_back(second, token)
        second.lose()
    async with place.socket() as third:
        # The answer to the first attempt may have been lost with its socket.
        fresh = (await come_back(third, token))["token"]
        third.say(TEXT)
        await third.until("agent_response_done")
        third.lose()
    await place.is_refused(token)
    async with place.socket() as again:
        await come_back(again, fresh)


@pytest.mark.parametrize("token", ["", "call_1", "call_1.resume_999", "nonsense.x", "call_1."])
async def test_a_forged_token_opens_nothing_and_harms_nobody(token: str) -> None:
    place = Place()
    good, last_seq = await place.lost_call()
    async with place.socket() as client:
        client.say(resume(token, event_id="e1"))
        error = await client.until("agent_error")
        assert (error["code"], error["client_event_id"]) == ("invalid_resume_token", "e1")
        client.say(resume(good, last_seq))
        await client.until("server_session_resumed")


async def test_a_token_is_worth_nothing_at_another_address() -> None:
    place = Place()
    token, _ = await place.lost_call()
    await place.is_refused(token, user="mallory")
    await place.is_refused(token, session_id="session2")
    await place.calls.drain(0)


async def test_a_client_that_claims_to_have_seen_more_is_told_what_there_is() -> None:
    place = Place()
    token, last_seq = await place.lost_call()
    async with place.socket() as client:
        resumed = await come_back(client, token, last_seq + 1)
        assert (resumed["last_seq"], resumed["rewound_to_seq"]) == (last_seq, last_seq)


async def test_a_call_waits_for_its_client_as_long_as_it_said() -> None:
    place = Place(FakeModel(), grace_s=30)
    async with place.socket() as client:
        token = await begin(client)
        assert client.sent[0]["resume_within_ms"] == 30_000
        client.lose()
    await asyncio.sleep(29)
    assert place.calls.running == 1
    assert not place.model.link.closed
    await asyncio.sleep(2)
    assert place.calls.running == 0
    assert place.model.link.closed
    await place.is_refused(token)


@pytest.mark.parametrize("why", ["no grace", "an old page", "hung up"])
async def test_a_call_does_not_wait_where_nobody_comes_back(why: str) -> None:
    place = Place(FakeModel(), grace_s=0 if why == "no grace" else 30)
    async with place.socket(native=why != "an old page") as client:
        client.say(create())
        created = await client.until("server_session_created")
        assert (created.get("resume_token") is None) == (why != "hung up")
        await client.until("agent_ready")
        if why == "hung up":
            client.hang_up()
        else:
            client.lose()
    assert place.calls.running == 0


async def test_a_socket_that_only_the_client_knows_to_be_lost_is_closed_and_counts_no_more() -> None:
    place = Place()
    async with place.socket() as first, place.socket() as second:
        token = await begin(first)
        await come_back(second, token, 2)
        first.say({"type": "client_session_end"}, TEXT)
        await asyncio.sleep(5)
        assert first.closed_with == (4000, "the call goes on on another socket")
        assert place.calls.running == 1
        assert "server_session_ended" not in second.types
        async with place.socket() as third:
            # The second has said nothing yet: its token may not have arrived.
            await come_back(third, token, 2)
            third.say(TEXT)
            await third.until("agent_response_done")
            assert "agent_response_done" not in [*first.types, *second.types]


async def test_an_event_that_is_said_again_counts_once() -> None:
    place = Place()
    token, last_seq = await place.lost_call(TEXT | {"event_id": "t1"})
    async with place.socket() as client:
        client.say(resume(token, last_seq), TEXT | {"event_id": "t1"}, TEXT | {"event_id": "t2", "text": "Again"})
        await client.until("agent_response_done")
        await asyncio.sleep(5)
        assert place.said() == ["Hello", "Again"]


async def test_whoever_drops_calls_without_end_holds_no_more_than_its_share() -> None:
    place = Place()
    for _ in range(12):
        await place.lost_call()
    assert place.calls.running <= place.settings.max_calls_per_address
    async with place.socket() as client:
        client.say(create())
        await client.until("agent_ready")
    await place.calls.drain(0)
    assert place.calls.running == 0


async def test_a_server_that_stops_tells_how_to_come_back() -> None:
    place = Place()
    async with place.socket() as client:
        token = await begin(client)
        draining = asyncio.create_task(place.calls.drain(5))
        goodbye = await client.until("server_goodbye")
        assert goodbye["reason"] == "shutdown"
        assert goodbye["resume_token"] not in (None, token)
        assert goodbye["retry_after_ms"] == 1_000
        await draining


def test_a_ticket_keeps_only_hashes() -> None:
    resume_token = ResumeToken("call_1", lambda prefix: f"{prefix}_secret")
    kept: list[str] = []
    resume_token.on_change = kept.append
    token = resume_token.renew()
    assert token == "call_1.resume_secret"
    assert "secret" not in resume_token.kept
    assert kept == [resume_token.kept]
    assert ResumeToken("call_1", lambda _: "x", kept=resume_token.kept).is_good(token)
    assert not ResumeToken("call_1", lambda _: "x").is_good(token)


async def test_an_answer_that_goes_on_after_the_return_goes_on_at_its_place() -> None:
    """Everything sent was heard when the socket was lost: no chunk is sent again, yet the item's count goes on."""
    place = Place(FakeModel())
    async with place.socket() as first:
        token = await begin(first, audio_frames="binary")
        link = place.model.link
        response_id = link.begin()
        item_id = link.speak(response_id, 800)
        await first.until("binary")
        first.say({"type": "client_playback_ack", "item_id": item_id, "played_ms": 800})
        await first.read_on()
        await lose(first)
    async with place.socket() as second:
        await come_back(second, token, 2)
        link.speak(response_id, 400)
        await second.until("binary")
        (item,) = [event for event in second.sent if event["type"] == "server_audio_item"]
        assert item["offset_samples"] == 800 * 24
        frames_got = [event["frame"] for event in second.sent if event["type"] == "binary"]
        assert frames.unpack(frames_got[0])[3] == 800 * 24
        assert sum(len(frames.unpack(one)[4]) for one in frames_got) == 400 * 48


async def test_a_socket_lost_while_the_model_connects_loses_no_call() -> None:
    place = Place(FakeModel())
    place.model.connecting = asyncio.Event()
    async with place.socket() as client:
        client.say(create())
        created = await client.until("server_session_created")
        await lose(client)
    assert place.calls.running == 1
    place.model.connecting.set()
    async with place.socket() as client:
        await come_back(client, created["resume_token"], 1)
        await client.until("agent_ready")


async def test_a_server_that_drains_does_not_wait_for_calls_that_nobody_is_in() -> None:
    place = Place()
    await place.lost_call()
    began = asyncio.get_running_loop().time()
    await place.calls.drain(10)
    assert asyncio.get_running_loop().time() - began < 1
    assert place.calls.running == 0


async def test_a_client_that_cannot_come_back_is_not_let_in_by_a_token() -> None:
    place = Place()
    token, last_seq = await place.lost_call()
    await place.is_refused(token, "unexpected_event", native=False)
    async with place.socket() as client:
        await come_back(client, token, last_seq)


async def test_a_page_that_begins_anew_counts_its_events_anew() -> None:
    place = Place()
    token, _ = await place.lost_call(TEXT | {"event_id": "e1"})
    async with place.socket() as client:
        client.say(resume(token, 0), TEXT | {"event_id": "e1", "text": "Again"})
        await client.until("agent_response_done", 2)
        assert place.said() == ["Hello", "Again"]


async def test_a_client_that_was_sent_away_for_not_reading_can_come_back() -> None:
    place = Place(ScriptedModel(echo_bot(seconds=100.0), profile=PROFILE))
    async with place.socket() as client:
        token = await begin(client)
        client.writable.clear()
        client.say(TEXT)
        await asyncio.sleep(3)
        assert client.serving is not None
        await client.serving
    async with place.socket() as client:
        await come_back(client, token, 2)
        assert speech_bytes(client) >= 3_900_000
