"""Write what the real speech parts make of the sounds that tests play by day: `python tools/make_speech_tables.py`.

Runs the tests by day with the real parts and puts their answers into `fixtures/speech/`, where `tests/speech.py` looks
them up. With words, it gives them to pytest and adds to the tables: `python tools/make_speech_tables.py tests/calls`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "fixtures" / "speech"
HEARD, VOICE = FOLDER / "heard.tsv", FOLDER / "voice.npz"


def recorded_lines(words: list[str]) -> list[str]:
    """Run these tests and return what the real parts said in them."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, REALTIME_SPEECH_RECORD=folder)
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), *words]
        subprocess.run(command, cwd=ROOT, env=env, check=False)
        return [line for file in sorted(Path(folder).glob("*.tsv")) for line in file.read_text("utf-8").splitlines()]


def main(words: list[str]) -> None:
    """Write both tables."""
    lines = recorded_lines(words or ["--ignore=tests/web"])
    heard = {line for line in lines if not line.startswith("voice\t")}
    voices = {int(key): int(value) for _, key, value in (one.split("\t") for one in lines if one.startswith("voice\t"))}
    if words and HEARD.exists():
        heard |= {*HEARD.read_text("utf-8").splitlines()}
        with np.load(VOICE) as known:
            voices = dict(zip(known["keys"].tolist(), known["values"].tolist(), strict=True)) | voices
    FOLDER.mkdir(exist_ok=True)
    HEARD.write_text("".join(f"{line}\n" for line in sorted(heard)), encoding="utf-8")
    keys = sorted(voices)
    np.savez_compressed(VOICE, keys=np.array(keys, np.uint64), values=np.array([voices[key] for key in keys], np.uint8))
    print(f"{len(heard)} sounds heard, {len(keys)} frames of voice, {VOICE.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
