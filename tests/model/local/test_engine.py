"""Loading the speech parts: what is there works, what is not is named, and nothing of it stops a server."""

import asyncio
import threading
from pathlib import Path

import pytest

from realtime.audio.vad import VadUnavailable
from realtime.model.local import engine
from realtime.model.local.engine import SpeechEngine, SpeechParts, engine_of_loop, load_parts, use_engine
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.model import profile_of
from realtime.model.local.recognizer import Transcript
from realtime.model.local.smart_turn import SmartTurn
from realtime.model.local.weights import SpeechPartMissing
from tests.real_loop import HANG_S


def test_everything_installed_is_loaded_with_a_word_for_each_step() -> None:
    steps: list[str] = []
    parts = load_parts(progress=steps.append)
    assert steps == ["voice activity", "speech recognition", "voice"]
    assert parts.hears
    assert list(parts.voices) == ["heart", "heart-low"]
    assert parts.missing == ()
    assert isinstance(parts.judge, SmartTurn)


def test_without_weights_it_still_speaks_and_says_what_is_missing(tmp_path: Path) -> None:
    parts = load_parts(tmp_path)
    assert not parts.hears
    assert list(parts.voices) == ["heart", "heart-low"]
    assert [sentence for sentence in parts.missing if "config.json cannot be read" in sentence]
    assert profile_of(parts, Conversationalist()).input_modalities == {"text"}


def test_without_anything_it_can_still_be_typed_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_vad() -> None:
        raise VadUnavailable("no detector")

    def no_weights(folder: object) -> None:
        raise SpeechPartMissing("no weights")

    def broken_voice() -> None:
        raise OSError("illegal instruction")

    monkeypatch.setattr(engine, "shared_silero", no_vad)
    monkeypatch.setattr(engine, "whisper_folder", no_weights)
    monkeypatch.setattr(engine, "load_voices", broken_voice)
    parts = load_parts()
    assert parts.missing[:2] == ("no detector", "no weights")
    assert parts.missing[2].startswith("voice could not be loaded (OSError)")
    assert profile_of(parts, Conversationalist()).output_modalities == {"text"}


@pytest.mark.parametrize("problem", [SpeechPartMissing("no wheel"), OSError("illegal instruction")])
def test_without_smart_turn_nothing_is_missing(monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    def no_file() -> Path:
        raise problem

    monkeypatch.setattr(engine, "smart_turn_file", no_file)
    parts = load_parts()
    assert parts.judge is None
    assert parts.missing == ()


async def test_the_end_of_a_turn_is_not_judged_where_it_would_come_too_late() -> None:
    judging = threading.Event()

    class SlowJudge:
        def completeness(self, pcm: bytes) -> float:
            judging.wait()
            return 0.5

    busy = SpeechEngine(lambda progress: SpeechParts())
    futures = [busy.judge(SlowJudge(), b"") for _ in range(6)]
    assert [future is None for future in futures] == [False] * 4 + [True] * 2
    judging.set()
    assert await asyncio.gather(*(future for future in futures if future is not None)) == [0.5] * 4
    busy.close()


async def test_one_engine_serves_all_models_of_a_loop_with_the_same_weights(tmp_path: Path) -> None:
    assert engine_of_loop() is engine_of_loop(None)
    assert engine_of_loop(tmp_path) is engine_of_loop(str(tmp_path))
    assert engine_of_loop(tmp_path) is not engine_of_loop()


def test_what_one_loop_has_loaded_changes_nothing_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "load_parts", lambda whisper_dir, progress: SpeechParts())
    monkeypatch.setattr(engine, "_weights", {})

    async def loaded() -> SpeechParts | None:
        return await engine_of_loop().ready()

    async def unloaded() -> SpeechParts | None:
        return engine_of_loop().parts

    assert asyncio.run(loaded()) is not None
    assert asyncio.run(unloaded()) is None


async def test_a_given_engine_is_that_of_the_loop() -> None:
    given = SpeechEngine(lambda progress: SpeechParts())
    use_engine(given)
    assert engine_of_loop() is given
    given.close()


def test_loading_happens_once() -> None:
    loads: list[int] = []

    def load(progress: object) -> SpeechParts:
        loads.append(1)
        return SpeechParts()

    once = SpeechEngine(load)
    assert once.parts is None
    assert once.load() is once.load()
    assert loads == [1]
    once.close()


class SlowRecogniser:
    """Writes down which clips it gets; the first waits for `go_on`."""

    def __init__(self) -> None:
        self.clips: list[bytes] = []
        self.go_on = threading.Event()

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        self.clips.append(pcm16_16k)
        assert self.go_on.wait(HANG_S)
        return Transcript(pcm16_16k.decode(), 0.0, 0)


async def test_a_voice_over_a_reply_is_recognised_before_all_turns_that_wait() -> None:
    engine, recognizer = SpeechEngine(lambda progress: SpeechParts()), SlowRecogniser()
    turns = [engine.transcribe(recognizer, clip) for clip in (b"one", b"two", b"three")]
    voices = [engine.transcribe_part(recognizer, clip, "") for clip in (b"stop", b"wait", b"a", b"b", b"c")]
    assert voices[-1] is None, "four wait"
    turns[1].cancel()
    recognizer.go_on.set()
    assert (await turns[2]).text == "three"
    assert recognizer.clips == [b"one", b"stop", b"wait", b"a", b"b", b"three"]
    engine.close()


def test_what_a_closed_loop_left_undone_stops_no_other_one() -> None:
    engine, recognizer = SpeechEngine(lambda progress: SpeechParts()), SlowRecogniser()

    async def leave() -> None:
        engine.transcribe(recognizer, b"left")
        engine.transcribe_part(recognizer, b"left", "")

    async def go_on() -> str:
        recognised = engine.transcribe(recognizer, b"next")
        recognizer.go_on.set()
        return (await recognised).text

    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    loop.close()
    assert asyncio.run(go_on()) == "next"
    engine.close()
