"""Cassettes that are older than the code: real sessions of the services, and the ones of `fixtures/cassettes`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from realtime.event import ModelEvents
from realtime.model.wire import WireLimits
from realtime.testing import clock
from realtime.testing.cassettes.format import VERSION, FrameLine, Header, Rates, audio_refs, read_cassette
from realtime.testing.cassettes.record import CassetteRecorder
from realtime.testing.cassettes.replay import recorded_model
from tests.model.grammar import check_grammar
from tests.model.providers import FAKES, WITH_TOOLS, Fake, Talk
from tests.testing.cassettes import ANSWER, SPEECH_MS, client, run

SESSIONS = ("text_in_audio_out_turn", "tool_call_round", "message_history_seeding")
STEP_S = 0.02
MODELS = {
    "openai": ("gpt-realtime", Rates(sent=24_000, received=24_000)),
    "gemini": ("gemini-2.5-flash-native-audio-preview-09-2025", Rates(sent=16_000, received=24_000)),
}


@pytest.mark.parametrize("fake", WITH_TOOLS, ids=lambda fake: fake.name)
def test_a_cassette_of_ours_replays_strictly(fake: Fake, fixtures_dir: Path) -> None:
    folder = fixtures_dir / "cassettes" / fake.name
    model = recorded_model(folder)
    events = clock.run(run(fake, model, partial(client, chunk_ms=100)))
    model.check()
    check_grammar(events, output_rate_hz=24_000)
    words = ModelEvents.ModelResponseAudioTranscriptDoneEvent
    said = [event.transcript.strip() for event in events if isinstance(event, words)]
    assert said == ["One moment please", "It is nine", "I am here"]
    heard = b"".join(e.delta for e in events if isinstance(e, ModelEvents.ModelResponseAudioDeltaEvent))
    assert heard == ANSWER * 3
    sent_hz = read_cassette(folder).header.rates_hz.sent
    assert len(read_cassette(folder).sound["sent.flac"]) == sent_hz * SPEECH_MS // 1000 * 2


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("provider", MODELS)
def test_a_session_of_the_service_becomes_a_cassette_and_plays(
    recordings_dir: Path, tmp_path: Path, provider: str, name: str
) -> None:
    file = recordings_dir / "recordings" / f"{provider}-{name}.yaml"
    frames = yaml.safe_load(file.read_text(encoding="utf-8"))["interactions"]
    to_cassette(tmp_path, provider, frames)
    cassette = read_cassette(tmp_path)
    lines = [line for line in cassette.lines if isinstance(line, FrameLine)]
    assert [json.loads(cassette.message(line)[0]) for line in lines] == [frame["data"] for frame in frames]
    assert any(True for line in lines for _ in audio_refs(line)) is has_audio(frames)
    n_answers = sum(ends_answer(frame["data"]) for frame in frames if frame["direction"] == "received")

    async def listen(made: Talk) -> None:
        await made.until(ModelEvents.ModelResponseDoneEvent, n_answers)

    fake = next(fake for fake in FAKES if fake.name == provider)
    model = recorded_model(tmp_path, strict=False, patience_s=0.1, limits=WireLimits(attempts=0))
    events = clock.run(run(fake, model, listen))
    assert n_answers > 0
    assert len([e for e in events if isinstance(e, ModelEvents.ModelResponseDoneEvent)]) == n_answers
    called = [e.tool_use.name for e in events if isinstance(e, ModelEvents.ModelResponseToolUseDoneEvent)]
    assert bool(called) is name.startswith("tool")
    check_grammar(events, output_rate_hz=24_000)


def to_cassette(folder: Path, provider: str, frames: list[Any]) -> None:
    """A recording of frames without times, one each 20 ms."""
    model, rates_hz = MODELS[provider]
    header = Header(version=VERSION, provider=provider, model=model, rates_hz=rates_hz)
    count = 0

    def now() -> float:
        return count * STEP_S

    recorder = CassetteRecorder(folder, header, now=now)
    for frame in frames:
        count += 1
        recorder.frame(frame["direction"], json.dumps(frame["data"]))
    recorder.close()


def ends_answer(frame: Any) -> bool:
    return frame.get("type") == "response.done" or "turnComplete" in frame.get("serverContent", {})


def has_audio(frames: list[Any]) -> bool:
    return any("output_audio.delta" in json.dumps(frame) or "inlineData" in json.dumps(frame) for frame in frames)
