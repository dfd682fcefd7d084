"""Cassettes: what was recorded over sockets comes again in virtual time, and what we send is held against it."""

from __future__ import annotations

import asyncio
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import soundfile

from realtime.errors import ProviderError, UsageError
from realtime.event import ModelEvents
from realtime.model.base import Address, AudioAppend, ItemCreate, ResponseCreate
from realtime.model.open import open_model
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import Link, Receiver, WireLimits, dial_websocket
from realtime.testing import clock
from realtime.testing.cassettes.format import read_cassette
from realtime.testing.cassettes.record import CassetteRecorder, RecordingModel
from realtime.testing.cassettes.replay import CassetteDrift, RecordedModel, recorded_model
from realtime.testing.errors import CaseError
from tests.model.providers import KEY, LIMITS, OPENAI, WITH_TOOLS, Fake, Talk
from tests.testing.cassettes import HANDLE, SETTINGS, SPEECH_MS, client, record, run, text, timeless, tone

each = pytest.mark.parametrize("fake", WITH_TOOLS, ids=lambda fake: fake.name)


@pytest.fixture(scope="module")
def cassettes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    """For each provider the folder of a recorded session, and what the model reported."""

    class Recorded(dict[str, tuple[Path, Any]]):
        """Records a provider's session when a test asks for it."""

        def __missing__(self, name: str) -> tuple[Path, Any]:
            (fake,) = [fake for fake in WITH_TOOLS if fake.name == name]
            folder = tmp_path_factory.mktemp(name) / "cassette"
            self[name] = folder, asyncio.run(record(fake, folder))
            return self[name]

    return Recorded()


def replay(fake: Fake, model: RecordedModel, **options: Any) -> list[Any]:
    """What the model reports when the same client talks to it again, in virtual time."""
    return clock.run(run(fake, model, partial(client, **options)))


@each
def test_a_recorded_session_replays_to_the_same_events(fake: Fake, cassettes: Any) -> None:
    folder, recorded = cassettes[fake.name]
    model = recorded_model(folder, limits=LIMITS)
    replayed = replay(fake, model)
    model.check()
    assert timeless(replayed) == timeless(recorded)
    assert isinstance(replayed[-1], ModelEvents.ModelSessionEndedEvent)
    assert model.notes() == []


@each
def test_a_replay_needs_no_key_and_every_replay_is_the_same(
    fake: Fake, cassettes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = cassettes[fake.name]
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DASHSCOPE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    assert replay(fake, recorded_model(folder)) == replay(fake, recorded_model(folder))


@each
def test_no_key_and_no_handle_stands_in_the_folder(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2-of-the-environment"
    monkeypatch.setenv("DASHSCOPE_API_KEY", secret)
    settings = msgspec.structs.replace(SETTINGS, instructions=f"The password is {secret}, the key is {KEY}.")
    asyncio.run(record(fake, tmp_path / "cassette", settings=settings))
    whole = b"".join(path.read_bytes() for path in (tmp_path / "cassette").iterdir())
    for word in (KEY, HANDLE, secret, "Authorization", "Bearer"):
        assert word.encode() not in whole
    assert b"The password is <scrubbed>, the key is <scrubbed>." in whole
    model = recorded_model(tmp_path / "cassette")
    clock.run(run(fake, model, client, settings))
    model.check()


@each
def test_speech_is_kept_as_flac_beside_readable_lines(fake: Fake, cassettes: Any) -> None:
    folder, _ = cassettes[fake.name]
    assert sorted(path.name for path in folder.iterdir()) == ["cassette.jsonl", "received.flac", "sent.flac"]
    rate_hz = fake.input_hz
    sent, sent_hz = soundfile.read(folder / "sent.flac", dtype="int16")
    assert (sent_hz, sent.astype("<i2").tobytes()) == (rate_hz, tone(rate_hz, SPEECH_MS))
    received, received_hz = soundfile.read(folder / "received.flac", dtype="int16")
    assert (received_hz, received.astype("<i2").tobytes()) == (24_000, tone(24_000, 800) * 3)
    assert max(len(line) for line in (folder / "cassette.jsonl").read_text().splitlines()) < 1500


@each
@pytest.mark.parametrize("chunk_ms", [10, 70, 600])
def test_speech_cut_otherwise_is_the_same_speech(fake: Fake, cassettes: Any, chunk_ms: int) -> None:
    model = recorded_model(cassettes[fake.name][0], audio="content")
    replay(fake, model, chunk_ms=chunk_ms)
    model.check()


@each
def test_other_words_are_a_drift_that_is_shown(fake: Fake, cassettes: Any) -> None:
    model = recorded_model(cassettes[fake.name][0])
    with pytest.raises(TimeoutError):
        replay(fake, model, words="What day is it?")
    with pytest.raises(CassetteDrift) as caught:
        model.check()
    shown = str(caught.value)
    number = int(shown.partition("cassette.jsonl:")[2].partition(":")[0])
    line = (cassettes[fake.name][0] / "cassette.jsonl").read_text().splitlines()[number - 1]
    assert "What time is it?" in line
    removed = [row for row in shown.splitlines() if row.startswith("-") and "What time is it?" in row]
    added = [row for row in shown.splitlines() if row.startswith("+") and "What day is it?" in row]
    assert (len(removed), len(added)) == (1, 1)
    assert "strict=False" in shown


@each
def test_a_drift_ends_the_session_with_its_own_code(fake: Fake, cassettes: Any) -> None:
    model = recorded_model(cassettes[fake.name][0])

    async def ask(made: Talk) -> None:
        made.connection.send(ResponseCreate())
        made.connection.send(ItemCreate(text("item_x", "What?")))
        made.connection.send(ResponseCreate())
        await made.until(ModelEvents.ModelSessionEndedEvent)

    events = clock.run(run(fake, model, ask))
    (ended,) = [event for event in events if isinstance(event, ModelEvents.ModelSessionEndedEvent)]
    errors = [event for event in events if isinstance(event, ModelEvents.ModelErrorEvent)]
    assert errors
    assert all("What?" not in error.message for error in errors)
    assert ended.reason != "closed"
    with pytest.raises(CassetteDrift):
        model.check()


@each
def test_a_drift_in_the_opening_frames_is_told_by_connect(fake: Fake, cassettes: Any) -> None:
    model = recorded_model(cassettes[fake.name][0])
    with pytest.raises(ProviderError, match="the replay has left the recording") as caught:
        clock.run(run(fake, model, client, msgspec.structs.replace(SETTINGS, instructions="Be long.")))
    assert caught.value.code == "cassette_drift"
    assert "Be long." in str(caught.value.__cause__)
    with pytest.raises(CassetteDrift, match=r"Be brief\."):
        model.check()


@each
def test_ids_of_ours_may_be_others(fake: Fake, cassettes: Any) -> None:
    folder, recorded = cassettes[fake.name]
    model = recorded_model(folder)
    replayed = replay(fake, model, item_id="item_other")
    model.check()
    assert len(replayed) == len(recorded)
    echoed = [event for event in replayed if isinstance(event, ModelEvents.ModelItemAddedEvent)]
    assert all("item_q" not in event.item.id for event in echoed)


@each
def test_what_was_not_sent_fails_at_the_end(fake: Fake, cassettes: Any) -> None:
    model = recorded_model(cassettes[fake.name][0])

    async def say_nothing(made: Talk) -> None:
        await asyncio.sleep(1)

    clock.run(run(fake, model, say_nothing))
    with pytest.raises(CassetteDrift, match=r"was not sent") as caught:
        model.check()
    assert "link 2 was never dialled" in str(caught.value)
    assert "0 ms of audio were sent, 600 ms in the recording" in str(caught.value)


def test_other_audio_passes_by_position_and_fails_by_content(cassettes: Any) -> None:
    folder, _ = cassettes["openai"]

    async def hum(made: Talk) -> None:
        made.connection.send(AudioAppend(tone(24_000, SPEECH_MS, hz=500.0)))

    for audio in ("position", "content"):
        model = recorded_model(folder, audio=audio)
        clock.run(run(OPENAI, model, hum))
        with pytest.raises(
            CassetteDrift, match="audio sent on this link differs" if audio == "content" else "not sent"
        ):
            model.check()


def test_audio_far_from_where_it_was_is_a_drift(cassettes: Any) -> None:
    model = recorded_model(cassettes["openai"][0], position_ms=200)

    async def ask_at_once(made: Talk) -> None:
        made.connection.send(ItemCreate(text("item_q", "What time is it?")))

    clock.run(run(OPENAI, model, ask_at_once))
    with pytest.raises(CassetteDrift, match="comes after 0 ms of audio, in the recording after 600 ms"):
        model.check()


@each
def test_lenient_lets_other_words_and_other_audio_through_and_lists_what_differs(fake: Fake, cassettes: Any) -> None:
    model = recorded_model(cassettes[fake.name][0], strict=False, patience_s=0.5)

    async def otherwise(made: Talk) -> None:
        made.connection.send(AudioAppend(tone(made.connection.profile.input_rate_hz, 60)))
        made.connection.send(ItemCreate(text("item_q", "Something else entirely")))
        made.connection.send(ResponseCreate())
        await made.until(ModelEvents.ModelResponseDoneEvent, 4)

    events = clock.run(run(fake, model, otherwise))
    model.check()
    done = [type(event) for event in events if isinstance(event, ModelEvents.ModelResponseDoneEvent)]
    assert len(done) == 4
    assert any("was not sent" in note for note in model.notes())
    assert any("ms of audio were sent" in note for note in model.notes())


def test_frames_come_as_long_after_what_was_sent_as_they_did(tmp_path: Path, cassettes: Any) -> None:
    folder, _ = cassettes["openai"]
    lines = [json.loads(line) for line in (folder / "cassette.jsonl").read_text().splitlines()]
    created = next(n for n, line in enumerate(lines) if line.get("frame", {}).get("type") == "response.created")
    for line in lines[created:]:
        line["at_ms"] += 750
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "cassette.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in ("sent.flac", "received.flac"):
        (slow / name).write_bytes((folder / name).read_bytes())

    async def ask(made: Talk) -> None:
        loop = asyncio.get_running_loop()
        await client_until_asked(made)
        asked_s = loop.time()
        await made.until(ModelEvents.ModelResponseCreatedEvent)
        waits.append(loop.time() - asked_s)

    waits: list[float] = []
    clock.run(run(OPENAI, recorded_model(slow, strict=False), ask))
    sent = max(line["at_ms"] for line in lines[:created] if line.get("dir") == "sent")
    assert waits == [pytest.approx((lines[created]["at_ms"] - sent) / 1000, abs=1e-6)]


async def client_until_asked(made: Talk) -> None:
    """As long before the question as nothing of the recording is still to come."""
    await asyncio.sleep(5)
    made.connection.send(AudioAppend(tone(24_000, SPEECH_MS)))
    made.connection.send(ItemCreate(text("item_q", "What time is it?")))
    made.connection.send(ResponseCreate())


@each
def test_a_link_that_was_refused_is_refused_again(fake: Fake, tmp_path: Path) -> None:
    count = 0

    async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
        nonlocal count
        count += 1
        if count == 2:
            raise ProviderError("the service is busy", code="provider_unavailable", retryable=True)
        return await dial_websocket(address, receiver, limits)

    recorded = asyncio.run(record(fake, tmp_path / "cassette", dial=dial))
    model = recorded_model(tmp_path / "cassette", limits=LIMITS)
    replayed = replay(fake, model)
    model.check()
    assert timeless(replayed) == timeless(recorded)
    tries = [event for event in replayed if isinstance(event, ModelEvents.ModelReconnectingEvent)]
    assert [event.reason for event in tries][1:] == ["provider_unavailable"]


def test_a_model_without_a_socket_has_nothing_to_record(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to record"):
        RecordingModel(open_model("scripted"), tmp_path)


def test_a_provider_outside_the_registry_is_neither_recorded_nor_replayed(
    cassettes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user in ("record", "replay"):
        monkeypatch.setattr(f"realtime.testing.cassettes.{user}.SERVICES", {})
    with pytest.raises(UsageError, match="no service is called 'openai'"):
        RecordingModel(OpenAIRealtimeModel(api_key=KEY), tmp_path)
    with pytest.raises(CaseError, match="no service is called 'openai'"):
        recorded_model(cassettes["openai"][0])


def test_each_session_has_a_cassette_of_its_own(tmp_path: Path) -> None:
    async def twice() -> None:
        async with OPENAI.service() as listening:
            model = RecordingModel(OPENAI.model(listening), tmp_path / "call")
            for _ in range(2):
                await run(OPENAI, model, lambda made: asyncio.sleep(0))

    asyncio.run(twice())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["call", "call-2"]
    for name in ("call", "call-2"):
        model = recorded_model(tmp_path / name)
        clock.run(run(OPENAI, model, lambda made: asyncio.sleep(0)))
        model.check()


def test_a_recording_that_fails_leaves_the_cassette_that_was_there(cassettes: Any, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(cassettes["openai"][0], tmp_path / "cassette"))
    (folder / "notes.txt").write_text("mine")

    async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
        raise ProviderError("no network", code="connect_failed")

    async def in_vain() -> None:
        async with OPENAI.service() as listening:
            await run(OPENAI, RecordingModel(OPENAI.model(listening, dial=dial), folder))

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ProviderError):
        asyncio.run(in_vain())
    assert [path.name for path in tmp_path.iterdir()] == ["cassette"]
    recorder = CassetteRecorder(folder, read_cassette(folder).header, now=lambda: 0.0)
    recorder.frame("sent", "{}")
    assert len(read_cassette(tmp_path / "cassette.recording").lines) == 2, "it could be read if it was killed now"
    recorder.close(failed=True)
    assert [path.name for path in tmp_path.iterdir()] == ["cassette"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_recording_that_is_complete_takes_the_place_of_the_one_before(cassettes: Any, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(cassettes["gemini"][0], tmp_path / "cassette"))
    (folder / "notes.txt").write_text("mine")
    (tmp_path / "cassette.recording").mkdir()
    (tmp_path / "cassette.recording" / "sent.raw").write_bytes(b"of one that was killed")
    recorded = asyncio.run(record(OPENAI, folder))
    assert [path.name for path in tmp_path.iterdir()] == ["cassette"]
    names = ["cassette.jsonl", "notes.txt", "received.flac", "sent.flac"]
    assert sorted(path.name for path in folder.iterdir()) == names
    model = recorded_model(folder, limits=LIMITS)
    assert timeless(replay(OPENAI, model)) == timeless(recorded)
    model.check()
