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
    """Write both tables; with words, add to them."""
    if not words:
        HEARD.write_text("", encoding="utf-8")
        write_voices({})
    lines = recorded_lines(words or ["--ignore=tests/web"])
    with np.load(VOICE) as known:
        voices = dict(zip(known["keys"].tolist(), known["values"].tolist(), strict=True))
    rows = {tuple(line.split("\t")[:2]): line for line in HEARD.read_text("utf-8").splitlines()}
    for line in lines:
        kind, key, *values = line.split("\t")
        if kind == "voice":
            voices.setdefault(int(key), int(values[0]))
        else:
            rows.setdefault((kind, key), line)
    HEARD.write_text("".join(f"{rows[key]}\n" for key in sorted(rows)), encoding="utf-8")
    write_voices(voices)
    print(f"{len(rows)} sounds heard, {len(voices)} frames of voice, {VOICE.stat().st_size / 1e6:.1f} MB")


def write_voices(voices: dict[int, int]) -> None:
    keys = sorted(voices)
    np.savez_compressed(VOICE, keys=np.array(keys, np.uint64), values=np.array([voices[key] for key in keys], np.uint8))


if __name__ == "__main__":
    main(sys.argv[1:])
