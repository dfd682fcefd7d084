"""Calls that go on from the store: what is cut, answered and told, and what a failing store does to them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any, Self

import pytest

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.call.resume_token import ResumeToken
from realtime.call.session import Session
from realtime.errors import ClientError, ProviderError, StoreError
from realtime.event import model as m
from realtime.model.base import CONTINUE_ANSWER, AudioAppend, AudioClear, AudioCommit, ItemCreate, ResponseCreate
from realtime.server.archive import Archive
from realtime.server.calls import Calls
from realtime.server.recordings import Recordings
from realtime.server.settings import ServerSettings
from realtime.state.memory import MemoryStore
from realtime.state.open import open_store
from realtime.state.quota import Quota
from realtime.state.sqlite import SqliteStore
from realtime.state.store import Change
from tests.agent.fakes import FakeModel, speech
from tests.server.harness import FakeSocket, Json, audio_append, create
from tests.server.steps import END, TEXT, lose
from tests.server.test_overload import Full

pytestmark = pytest.mark.virtual_time

WORDS = "One two three four five six seven eight nine ten."


class Store(MemoryStore):
    """One that can be made to fail."""

    fails = False
    is_full = False

    def write(self, batch: Any) -> None:
        if self.is_full:
            raise StoreError("the disk is full", code="store_full")
        super().write(batch)

    def read(self, *about: Any, **more: Any) -> Any:
        if self.fails:
            raise StoreError("the disk is on fire")
        return super().read(*about, **more)


class Place:
    """A server with a store; `restart` is another process with the same store."""

    def __init__(self, store: Store | None = None, **limits: float) -> None:
        self.store = store or Store()
        self.settings = ServerSettings(limits=Limits(**limits))
        self.model = FakeModel()
        self.archive = Archive(self.store, resume_s=60.0)
        self.calls = Calls(max_per_address=8, max_total=8, archive=self.archive)

    def restart(self) -> Self:
        return type(self)(self.store)

    def agent(self) -> RealtimeAgent:
        return RealtimeAgent("Friday", "", self.model)

    def socket(self) -> FakeSocket:
        return FakeSocket(self.agent, self.settings, calls=self.calls)

    async def kept(self, call_id: str, last_seq: float = inf, into: Store | None = None) -> Store:
        """The store as a kill of the server leaves it: the log up to `last_seq`, and nothing of what an end adds."""
        left, info = into or Store(), self.store.call(call_id)
        assert info is not None
        entries = await self.archive.entries(call_id)
        left.write([Change(call_id, info, [one for one in entries if one.seq <= last_seq])])
        return left

    @property
    def history(self) -> list[tuple[str, str]]:
        """What the newest session of the model was given."""
        return [(item.role or item.type, item.text) for item in self.model.histories[-1]()]

    @property
    def session(self) -> Session:
        (session,) = self.calls.sessions.values()
        return session

    async def stop(self) -> None:
        await self.calls.drain(0)
        await self.archive.close()


@asynccontextmanager
async def place_with_call(config: Json | None = None, **limits: float) -> AsyncIterator[tuple[Place, FakeSocket, Json]]:
    """A server with a call, and the `server_session_created` of it."""
    place = Place(None, **limits)
    async with a_call_at(place, **(config or {})) as (client, created):
        yield place, client, created
    await place.stop()


@asynccontextmanager
async def a_call_at(place: Place, **config: Any) -> AsyncIterator[tuple[FakeSocket, Json]]:
    """A call of this server, whose socket is lost in the end."""
    async with place.socket() as client:
        client.say(create(**config))
        created = await client.until("server_session_created")
        await client.until("agent_ready")
        yield client, created
        await lose(client)


async def answered(place: Place, client: FakeSocket, text: str, played_ms: int = 0) -> str:
    """Something is asked, and answered with `WORDS`, of which this much is heard; the id of the answer."""
    client.say(TEXT | {"text": text})
    await client.read_on()
    item_id = place.model.link.reply(10_000 if played_ms else 500, WORDS)
    if played_ms:
        client.say({"type": "client_playback_ack", "item_id": item_id, "played_ms": played_ms})
    await client.read_on()
    return item_id


async def after_a_call() -> tuple[Place, Json]:
    """Another process behind one in which a call was made, and the `server_session_created` of it."""
    async with place_with_call() as (place, client, created):
        await client.read_on()
    return place.restart(), created


def resume(created: Json, last_seq: int = 0, **more: Any) -> Json:
    return {"type": "client_session_resume", "token": created["resume_token"], "last_seq": last_seq} | more


@asynccontextmanager
async def back(place: Place, created: Json, last_seq: int = 0, **more: Any) -> AsyncIterator[FakeSocket]:
    """The client at this server, once its call goes on there."""
    async with place.socket() as client:
        client.say(resume(created, last_seq, **more))
        resumed = await client.until("server_session_resumed")
        assert resumed["from_store"]
        await asyncio.sleep(1)
        yield client
    await place.stop()


async def test_a_call_beyond_the_share_of_its_address_goes_on_and_is_told_that_it_is_not_kept() -> None:
    place = Place()
    await place.archive.close()
    place.archive = place.calls.archive = Archive(place.store, resume_s=60.0, quota=Quota(address_bytes=3_000))
    for _ in range(3):
        async with a_call_at(place) as (client, created):
            await asyncio.sleep(1)
    assert "store_quota" in client.codes
    assert place.store.call(created["call_id"]) is None, "the first two have filled it"
    assert len(place.store.calls()) == 2
    await place.stop()


async def test_an_answer_that_was_sent_whole_is_cut_where_it_was_heard() -> None:
    """Providers deliver faster than speech: that a response is done says nothing of what was heard. The model of the
    next process gets the words that were heard."""
    async with place_with_call() as (place, client, created):
        item_id = await answered(place, client, "Hello", played_ms=2_000)
    later = place.restart()
    async with back(later, created, 3, played_item_id=item_id, played_ms=2_040) as again:
        (cut,) = [event for event in again.sent if event["type"] == "agent_item_truncated"]
        assert (cut["item_id"], WORDS.startswith(cut["transcript"])) == (item_id, True)
        assert 0 < len(cut["transcript"]) < len(WORDS)
        assert later.history == [("user", "Hello"), ("assistant", cut["transcript"])]
        (asked,) = later.model.link.got(ResponseCreate)
        assert asked.overrides is not None
        assert asked.overrides.metadata == {"resumes": item_id}, "the agent goes on behind it"
        assert later.model.link.got(ItemCreate)[-1].item.text == CONTINUE_ANSWER


async def test_an_answer_that_was_heard_to_its_end_is_given_once() -> None:
    async with place_with_call() as (place, client, created):
        item_id = await answered(place, client, "Hello", played_ms=10_000)
    later = place.restart()
    async with back(later, created, 3, played_item_id=item_id, played_ms=10_000):
        assert later.model.link.got(ResponseCreate) == []


async def test_a_client_that_says_when_the_agent_speaks_does_so_after_a_restart() -> None:
    async with place_with_call({"auto_response": False}) as (place, client, created):
        item_id = await answered(place, client, "Hello", played_ms=2_000)
    later = place.restart()
    async with back(later, created, 3, played_item_id=item_id, played_ms=2_000):
        assert later.model.link.got(ResponseCreate) == []


@pytest.mark.parametrize("written_down", [True, False])
async def test_only_words_that_were_asked_for_are_told_to_be_lost(written_down: bool) -> None:
    async with place_with_call({"input_audio_transcription": written_down}) as (place, client, created):
        place.model.link.hear_start("i1")
        place.model.link.hear_end("i1", 500)
        place.model.link.reply(500, WORDS)
        await client.read_on()
    async with back(place.restart(), created) as again:
        failed = [event for event in again.sent if event["type"] == "agent_input_transcription_failed"]
        assert len(failed) == written_down


async def test_a_page_reloaded_after_a_restart_is_told_of_no_end() -> None:
    async with place_with_call() as (place, client, created):
        await answered(place, client, "Hello")
    later = place.restart()
    async with later.socket() as first:
        first.say(resume(created))
        token = (await first.until("server_session_resumed"))["token"]
        await first.until("agent_ready", 2)
        await lose(first)
    async with later.socket() as second:
        second.say(resume({"resume_token": token}))
        resumed = await second.until("server_session_resumed")
        await asyncio.sleep(1)
        assert not resumed["gap"]
        assert not {"agent_ended", "server_session_ended"} & {*second.types}
        assert second.types.count("agent_response_done") == 1
    await later.stop()


async def test_settings_that_null_leaves_alone_stay_after_a_restart() -> None:
    pirate = {"instructions": "Speak like a pirate.", "agent_name": "Bob"}
    async with place_with_call(pirate) as (place, client, created):
        client.say({"type": "client_session_update", "config": {"instructions": None, "voice": "a"}})
        await client.until("server_session_updated")
        info = place.store.call(created["call_id"])
        assert info is not None
        assert info.agent_name == "Bob"
    later = place.restart()
    async with back(later, created):
        assert later.model.link.settings.instructions == "Speak like a pirate."
        assert later.model.link.settings.voice == "a"


async def test_a_model_that_cannot_be_had_at_that_moment_loses_no_call() -> None:
    down, created = await after_a_call()
    down.model.refuses = ProviderError("nobody answers", code="provider_unreachable", retryable=True)
    async with down.socket() as client:
        client.say(resume(created))
        token = (await client.until("server_session_resumed"))["token"]
        await client.until("server_session_ended")
    await down.stop()
    async with back(down.restart(), {"resume_token": token}):
        pass


async def test_two_that_come_back_at_once_do_not_both_get_the_call() -> None:
    later, created = await after_a_call()
    later.model.connecting = asyncio.Event()
    async with later.socket() as first, later.socket() as second:
        first.say(resume(created))
        second.say(resume(created))
        await asyncio.sleep(1)
        later.model.connecting.set()
        await asyncio.sleep(1)
        assert later.calls.running == 1
        assert len(later.model.connections) == 1
        told = [*first.sent, *second.sent]
        refused = [event for event in told if event["type"] == "agent_error"]
        assert all(event["retryable"] for event in refused)
    await later.stop()


async def test_who_comes_back_before_the_agent_is_in_waits_for_it() -> None:
    """What it says would meet no agent: after two seconds of speech the call would be given up."""
    place = Place()
    place.model.connecting = asyncio.Event()
    async with place.socket() as first:
        first.say(create())
        created = await first.until("server_session_created")
        await lose(first)
    async with place.socket() as second:
        second.say(resume(created), *[TEXT] * 200)
        await asyncio.sleep(1)
        assert second.sent == []
        place.model.connecting.set()
        await second.until("agent_ready")
        await second.read_on()
        assert "agent_error" not in second.types
        assert second.types.count("agent_item_added") >= 200
    await place.stop()


async def test_a_call_that_outlasted_its_token_can_be_gone_on_with_after_its_end() -> None:
    """`resume_s` counts from the last sign of life: here 60 s, in a call of two minutes."""
    async with place_with_call() as (place, client, created):
        for _ in range(12):
            await asyncio.sleep(10)
            client.say(TEXT)
        await client.read_on()
    await asyncio.sleep(3)
    async with back(place.restart(), created):
        pass


async def test_all_the_time_of_a_call_counts_against_its_limit() -> None:
    async with place_with_call(call_s=100.0) as (place, client, created):
        await asyncio.sleep(90)
    later = Place(place.store, call_s=100.0)
    async with later.socket() as client:
        client.say(resume(created))
        await client.until("server_session_resumed")
        ended = await client.until("server_session_ended")
        assert ended["reason"] == "call_limit"
        assert ended["ts_ms"] <= 101_000
    await later.stop()


async def test_a_live_call_is_resumed_from_memory_where_its_store_fails() -> None:
    async with place_with_call() as (place, client, created):
        for _ in range(1_100):
            client.say({"type": "client_session_update", "config": {"voice": "a"}})
        await client.read_on()
        place.store.fails = True
        async with place.socket() as second:
            second.say(resume(created, 2))
            resumed = await second.until("server_session_resumed")
            assert resumed["gap"]
            assert second.types.count("server_session_updated") >= 1_000


async def test_a_call_whose_end_the_store_has_not_taken_yet_goes_on_once_it_has() -> None:
    async with place_with_call(grace_s=1.0) as (place, client, created):
        client.say(TEXT)
        await asyncio.sleep(1)
        place.store.is_full = True
        client.say({"type": "client_text_append", "text": "And this"})
        await asyncio.sleep(1)
        seen = client.sent[-1]["seq"]
        client.lose()
        await asyncio.sleep(3)
        assert place.calls.sessions == {}
        async with place.socket() as early:
            early.say(resume(created, seen))
            refused = await early.until("agent_error")
            assert (refused["code"], refused["retryable"]) == ("store_failed", True)
        place.store.is_full = False
        await asyncio.sleep(30)
        async with back(place, created, seen):
            assert [text for _, text in place.history if text] == ["Hello", "And this"]


async def test_a_client_that_comes_back_while_its_call_is_deleted_does_not_bring_it_back() -> None:
    """A call that is being resumed is not deleted at that moment."""
    async with place_with_call() as (place, client, created):
        with place.calls.restoring("another"), pytest.raises(ClientError, match="being resumed") as refused:
            await place.calls.forget("another")
        assert (refused.value.code, refused.value.retryable) == ("resume_under_way", True)
        client.say(TEXT)
        await client.read_on()
        client.lose()
        deleting = asyncio.create_task(place.calls.forget(created["call_id"]))
        codes: list[str] = []
        for _ in range(6):
            async with place.socket() as again:
                again.say(resume(created))
                codes.append((await again.until("agent_error"))["code"])
        assert await deleting == ()
        assert set(codes) == {"invalid_resume_token"}
        await asyncio.sleep(5)
        assert place.calls.sessions == {}
        assert place.store.call(created["call_id"]) is None


async def test_an_ended_call_is_kept_alive_by_nobody() -> None:
    async with place_with_call() as (place, client, _):
        session = place.session
        client.say(END)
        await client.until("server_session_ended")
        assert session.resume_token.on_change("x") is None
        assert session.on_ended == []
        assert place.calls.sessions == {}
    await place.archive.close()


async def test_a_store_is_closed_once_however_often_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    closings: list[None] = []
    store = MemoryStore()
    monkeypatch.setattr(store, "close", lambda: closings.append(None))
    archive = Archive(store, resume_s=1.0)
    await archive.close()
    await archive.close()
    assert len(closings) == 1


# -- a server that was killed before it had kept all that it told ------------------------------------------------------


async def killed(place: Place, created: Json, last_seq: int) -> Place:
    """Another process, where the kill left the log up to `last_seq`."""
    return Place(await place.kept(created["call_id"], last_seq))


async def test_a_client_that_has_seen_more_than_was_kept_is_let_in_at_once() -> None:
    async with place_with_call() as (place, client, created):
        kept_seq = client.sent[-1]["seq"]
        await answered(place, client, "Hello")
        seen_seq = client.sent[-1]["seq"]
        later = await killed(place, created, kept_seq)
    assert kept_seq < seen_seq
    later.calls.admission.load = Full()  # there is no room for new calls
    async with back(later, created, seen_seq) as again:
        resumed, *rest = again.sent
        assert (resumed["rewound_to_seq"], resumed["last_seq"]) == (kept_seq, kept_seq)
        assert "agent_error" not in again.types
        assert min(event["seq"] for event in rest if "seq" in event) == kept_seq + 1


async def test_a_client_whose_first_socket_was_lost_again_is_told_what_was_told_in_place_of_the_lost() -> None:
    async with place_with_call() as (place, client, created):
        client.say(TEXT)
        await client.read_on()
        kept_seq = client.sent[-1]["seq"]
        later = await killed(place, created, kept_seq)
    seen_seq = kept_seq + 1
    async with later.socket() as first:
        first.say(resume(created, seen_seq))
        await first.until("agent_ready")
        await lose(first)
    assert later.session.log.last_seq >= seen_seq
    async with later.socket() as second:
        second.say(resume(created, seen_seq))
        resumed = await second.until("server_session_resumed")
        assert (resumed["from_store"], resumed["rewound_to_seq"]) == (False, kept_seq)
        await second.until("agent_ready")
        third_token = resumed["token"]
        await lose(second)
    async with later.socket() as third:
        third.say(resume({"resume_token": third_token}, seen_seq))
        assert (await third.until("server_session_resumed"))["rewound_to_seq"] is None
    await later.stop()


async def test_a_client_that_came_back_can_come_back_again_though_the_server_is_killed_at_that_moment() -> None:
    """The next token is stored before it is told: the client forgets the old one."""

    def opens(place: Place, token: str) -> bool:
        info = place.store.call(created["call_id"])
        assert info is not None
        return ResumeToken(info.call_id, lambda _: "", kept=info.token_hash or "").is_good(token)

    async with place_with_call() as (place, client, created):
        await client.read_on()
        await lose(client)
        async with place.socket() as again:
            again.say(resume(created))
            resumed = await again.until("server_session_resumed")
            assert (resumed["from_store"], opens(place, resumed["token"])) == (False, True)
            await again.until("agent_ready")
            later = await killed(place, created, again.sent[-1]["seq"])
    async with later.socket() as client:
        client.say(resume({"resume_token": resumed["token"]}))
        resumed = await client.until("server_session_resumed")
        assert (resumed["from_store"], opens(later, resumed["token"])) == (True, True)
    await later.stop()


@pytest.mark.parametrize("kept", [True, False])
async def test_what_was_typed_right_before_the_kill_counts_once(kept: bool) -> None:
    """The client says it again in either case: it cannot know whether the server had kept it."""
    said = TEXT | {"event_id": "e7"}
    async with place_with_call() as (place, client, created):
        before_seq = client.sent[-1]["seq"]
        if not kept:
            later = await killed(place, created, before_seq)
        client.say(said)
        await client.read_on()
        if kept:
            later = await killed(place, created, client.sent[-1]["seq"])
    async with later.socket() as again:
        again.say(resume(created, before_seq), said)
        await again.until("agent_ready")
        await asyncio.sleep(1)
        assert [item.text for item in later.session.conversation.items() if item.role == "user"] == ["Hello"]
    await later.stop()


PUSHED = {"turn_detection": {"authority": "client"}}


def commit(number: int) -> Json:
    return {"type": "client_audio_commit", "event_id": f"commit{number}"}


@pytest.mark.parametrize("answered", [True, False])
async def test_push_to_talk_that_a_killed_server_had_not_understood_is_heard_by_the_next(answered: bool) -> None:
    """`answered`: the words of the first turn are known; of the second only the sound had come."""
    first, second, third = speech(800), speech(600), speech(400)
    async with place_with_call(PUSHED) as (place, client, created):
        client.say(audio_append(first, offset=0), commit(1))
        await client.read_on()
        place.model.link.say(m.ModelInputCommittedEvent(item_id="u1"))
        if answered:
            place.model.link.say(m.ModelInputTranscriptionDoneEvent(item_id="u1", transcript="Count to ten."))
        client.say(audio_append(second, offset=len(first) // 2))
        await client.read_on()
        last_seq = max(event.get("seq", 0) for event in client.sent)
        later = await killed(place, created, last_seq)
    async with later.socket() as again:
        again.say(resume(created, last_seq))
        place_of_speech = await again.until("server_audio_received")
        await again.until("agent_ready")
        assert place_of_speech["offset"] == (len(first) // 2 if answered else 0)
        # As the page does: the events of the last 10 s in their places, and the speech that was not understood.
        if not answered:
            again.say(audio_append(first, offset=0))
        again.say(commit(1))
        again.say(audio_append(second + third, offset=len(first) // 2), commit(2))
        await again.read_on()
        sent = [one for one in later.model.link.sent if isinstance(one, AudioAppend | AudioCommit)]
    turns = [b""]
    for message in sent:
        if isinstance(message, AudioCommit):
            turns.append(b"")
        else:
            turns[-1] += message.pcm
    heard = [len(pcm) for pcm in turns if pcm]
    said = [len(second + third)] if answered else [len(first), len(second + third)]
    assert heard == pytest.approx([n * later.model.profile.input_rate_hz // 16_000 for n in said], abs=200)
    assert turns[-1] == b"", "the last turn was committed"
    await later.stop()


async def test_push_to_talk_that_was_taken_back_stays_so_though_the_server_is_killed() -> None:
    first, second = speech(800), speech(600)
    clear = {"type": "client_audio_clear", "event_id": "clear1"}
    async with place_with_call(PUSHED) as (place, client, created):
        client.say(audio_append(first, offset=0), clear)
        await client.read_on()
        last_seq = max(event.get("seq", 0) for event in client.sent)
        later = await killed(place, created, last_seq)
    async with later.socket() as again:
        again.say(resume(created, last_seq))
        await again.until("agent_ready")
        again.say(audio_append(first, offset=0), clear, audio_append(second, offset=len(first) // 2), commit(1))
        await again.read_on()
        kinds = [type(one) for one in later.model.link.sent if isinstance(one, AudioAppend | AudioClear | AudioCommit)]
    assert [kind for kind, _ in groupby(kinds)] == [AudioAppend, AudioClear, AudioAppend, AudioCommit]
    await later.stop()


class SharedPlace(Place):
    """A server with a store of its own process on the same files."""

    def __init__(self, url: str) -> None:
        super().__init__(open_store(url))  # type: ignore[arg-type]
        self.url = url

    def restart(self) -> Self:
        return type(self)(self.url)


@pytest.fixture(params=["sqlite", "file"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:{tmp_path / 'calls'}"


@pytest.mark.parametrize("has_recording", [False, True])
async def test_a_call_that_runs_in_one_process_is_not_deleted_by_another(
    shared: str, has_recording: bool, tmp_path: Path
) -> None:
    """Nothing of it is, neither words nor sound; once it is over, any process deletes it."""
    one, two = SharedPlace(shared), SharedPlace(shared)
    two.calls.recordings = Recordings(tmp_path / "sounds") if has_recording else None
    async with a_call_at(one) as (client, created):
        await answered(one, client, "What is your name?")
        call_id = created["call_id"]
        sound = tmp_path / "sounds" / call_id
        sound.mkdir(parents=True)
        await one.archive.entries(call_id)  # it is written
        for _ in range(2):
            with pytest.raises(ClientError) as refused:
                await two.calls.forget(call_id)
            assert (refused.value.code, refused.value.retryable) == ("call_elsewhere", True)
        assert sound.exists()
    await one.stop()
    assert await two.calls.forget(call_id) == ()
    assert await two.archive.info(call_id) is None
    assert sound.exists() is not has_recording
    await two.stop()


async def test_a_call_that_runs_in_one_process_is_not_continued_by_another(shared: str) -> None:
    """Its client comes back where it runs, and nothing of it is lost; once it is over there, any process goes on."""
    one, two = SharedPlace(shared), SharedPlace(shared)
    async with a_call_at(one) as (client, created):
        await answered(one, client, "What is your name?")
        await one.archive.entries(created["call_id"])  # it is written
    async with two.socket() as client:
        client.say(resume(created))
        refused = await client.until("agent_error")
        assert (refused["code"], refused["retryable"]) == ("call_elsewhere", True)
    assert two.calls.running == 0
    async with one.socket() as client:
        client.say(resume(created))
        resumed = await client.until("server_session_resumed")
        assert resumed["from_store"] is False
        token = {"resume_token": resumed["token"]}
        await lose(client)
    await one.stop()
    async with back(two, token) as client:
        await client.read_on()
        assert ("user", "What is your name?") in two.history
    await two.stop()


async def test_of_two_processes_that_are_asked_at_once_one_goes_on(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'calls'}"
    first = SharedPlace(url)
    async with a_call_at(first) as (client, created):
        await answered(first, client, "Hello?")
    await first.stop()
    one, two = SharedPlace(url), SharedPlace(url)
    async with one.socket() as here, two.socket() as there:
        here.say(resume(created))
        there.say(resume(created))
        while not (here.sent and there.sent):  # noqa: ASYNC110  (whichever comes first)
            await asyncio.sleep(0.1)
        told = {client.sent[0]["type"] for client in (here, there)}
        assert told == {"server_session_resumed", "agent_error"}
        assert one.calls.running + two.calls.running == 1
    for place in (one, two):
        await place.stop()


async def test_a_call_that_cannot_go_on_is_free_for_other_processes(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'calls'}"
    first = SharedPlace(url)
    async with a_call_at(first) as (client, created):
        await answered(first, client, "Hello?")
    await first.stop()
    one, two = SharedPlace(url), SharedPlace(url)

    def broken() -> RealtimeAgent:
        raise ProviderError("no key")

    async with FakeSocket(broken, one.settings, calls=one.calls) as client:
        client.say(resume(created))
        await client.until("agent_error")
    async with back(two, created) as client:
        await client.read_on()
    for place in (one, two):
        await place.stop()


def test_a_process_that_died_has_no_calls(tmp_path: Path) -> None:
    """However it ended: the system takes its lock. Its mark goes with the first that asks."""
    path = tmp_path / "calls.db"
    program = (
        "import os, sys; from realtime.state.sqlite import SqliteStore; from realtime.state.store import *\n"
        "store = SqliteStore(sys.argv[1]); store.write([Change('call_1', CallInfo(call_id='call_1'))])\n"
        "print('written', flush=True); sys.stdin.read(); os._exit(9)"
    )
    other = SqliteStore(path)
    child = subprocess.Popen([sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == b"written\n"
    assert (other.claim("call_1"), other.claim("call_2")) == (False, True)
    child.stdin.close()
    child.stdout.close()
    child.wait()
    assert other.claim("call_1")
    assert len([*tmp_path.glob(".calls.db-held-*")]) == 1
    other.close()
    assert [*tmp_path.glob(".calls.db-held-*")] == []
