"""Calls whose model is recorded, or comes from a cassette: what is kept of them, and what the report knows."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from realtime import testing as kit
from realtime.agent import RealtimeAgent
from realtime.model.base import Address, RealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import Link, Receiver, WireLimits
from realtime.testing import clock
from realtime.testing.cassettes.format import read_cassette
from realtime.testing.cassettes.record import RecordingModel
from realtime.testing.cassettes.replay import Replay, Rules, recorded_model
from realtime.testing.client.steps import Step

CASSETTE = Path(__file__).resolve().parents[2] / "fixtures" / "cassettes" / "openai"
ASK: tuple[Step, ...] = (kit.Type("Where is my order?"), kit.WaitUntilHeard())
IN_VAIN: tuple[Step, ...] = (*ASK, kit.WaitFor("unheard_of", timeout_ms=1_000))
WORD = "told-to-nobody"


def live() -> RealtimeModel:
    """A provider that says what it said in the cassette."""

    async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
        replay = Replay(read_cassette(CASSETTE), Rules(strict=False, patience_s=1.0))
        return await replay.dial(address, receiver, limits)

    model = OpenAIRealtimeModel("live", "sk-test-0123456789abcdef")
    model.dial = dial
    return model


def called(model: RealtimeModel, *steps: Step, **options: Any) -> kit.CallRecord:
    return clock.run(kit.play(list(steps), agent=lambda: RealtimeAgent("Robin", "", model), **options))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def notes_of(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", ()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a call was recorded."""
    called(RecordingModel(live(), tmp_path / "cassette"), *ASK)
    return tmp_path / "cassette"


def test_a_call_that_goes_well_replaces_the_cassette(folder: Path) -> None:
    before = read_cassette(folder)
    called(RecordingModel(live(), folder), *ASK, *ASK)
    assert len(read_cassette(folder).lines) > len(before.lines)
    assert [path.name for path in folder.parent.iterdir()] == ["cassette"]


def test_a_call_that_fails_once_it_is_connected_leaves_the_cassette_that_was_there_and_says_so(folder: Path) -> None:
    before = files(folder.parent)
    with pytest.raises(kit.ScriptFailure) as caught:
        called(RecordingModel(live(), folder), *IN_VAIN)
    assert files(folder.parent) == before
    assert notes_of(caught.value) == f"the cassette in {folder} is kept as it was, this recording is not"


def test_a_call_that_is_broken_off_leaves_the_cassette_that_was_there(folder: Path) -> None:
    before = files(folder.parent)
    model = RecordingModel(live(), folder)

    async def broken_off() -> None:
        async with asyncio.timeout(5):
            await kit.play([*ASK, kit.Silence(60_000)], agent=lambda: RealtimeAgent("Robin", "", model))

    with asyncio.Runner(loop_factory=kit.VirtualLoop) as runner, pytest.raises(TimeoutError):
        runner.run(broken_off())
    assert files(folder.parent) == before


def test_a_first_recording_that_fails_stays_to_be_looked_at_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(kit.ScriptFailure) as caught:
        called(RecordingModel(live(), tmp_path / "new"), *IN_VAIN)
    assert "there was no cassette in" in notes_of(caught.value)
    assert read_cassette(tmp_path / "new").lines


def test_models_of_one_call_number_their_sessions_together(tmp_path: Path) -> None:
    numbers = itertools.count(1)
    for _ in range(2):
        called(RecordingModel(live(), tmp_path / "call", numbers=numbers), *ASK)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["call", "call-2"]


def model_frames(record: kit.CallRecord) -> list[tuple[str, Any]]:
    return [(frame.direction, json.loads(frame.text)) for frame in record.frames if frame.leg == "model"]


def test_the_frames_of_a_cassette_are_noted_and_those_of_its_recording_too(tmp_path: Path) -> None:
    recorded = model_frames(called(RecordingModel(live(), tmp_path / "call"), *ASK))
    model = recorded_model(tmp_path / "call")
    replayed = model_frames(called(model, *ASK))
    assert {direction for direction, _ in replayed} == {"sent", "received"}
    assert [(direction, body["type"]) for direction, body in recorded] == [
        (direction, body["type"]) for direction, body in replayed
    ]
    assert "characters)" in str(replayed)
    assert model.tap is None


def test_secrets_of_a_recording_are_not_in_its_frames(tmp_path: Path) -> None:
    model = RecordingModel(live(), tmp_path / "call", secrets=[WORD])
    record = called(model, kit.Type(f"Say {WORD}"), kit.WaitUntilHeard())
    told = str(model_frames(record))
    assert WORD not in told
    assert "<scrubbed>" in told


def test_frames_of_a_cassette_may_be_left_out() -> None:
    assert called(recorded_model(CASSETTE, strict=False, patience_s=1.0), *ASK, frames=False).frames == ()
