"""The stimuli of listening: files and manifest agree, and tics are made of signals."""

import ast
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from realtime.audio.files import read_pcm16
from tools import stimulus_sounds
from tools.stimulus_sounds import QUANTUM, RATE_HZ, TICS, chance_of, cut, levelled, stored

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "audio" / "listening"
MANIFEST: list[dict[str, Any]] = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
TIC_ENTRIES = [entry for entry in MANIFEST if entry["class"] == "tic"]


def test_the_manifest_names_each_file_with_its_sum() -> None:
    assert {entry["file"] for entry in MANIFEST} == {path.name for path in FOLDER.glob("*.flac")}
    assert len({entry["id"] for entry in MANIFEST}) == len(MANIFEST)
    for entry in MANIFEST:
        pcm = read_pcm16(FOLDER / entry["file"], RATE_HZ)
        assert hashlib.sha256(pcm).hexdigest() == entry["sha256"], entry["id"]
        assert 0 <= entry["on_ms"] < entry["off_ms"] <= len(pcm) * 1000 // (2 * RATE_HZ)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 4_000_000


def test_each_class_has_its_wordings() -> None:
    wordings = {
        kind: {entry["text"] for entry in MANIFEST if entry["class"] == kind}
        for kind in ("backchannel", "interruption", "side", "hold")
    }
    least = {"backchannel": 12, "interruption": 15, "side": 12, "hold": 30}
    assert all(len(wordings[kind]) >= count for kind, count in least.items())
    assert Counter(entry["class"] for entry in MANIFEST)["noise"] == 9
    pauses = {to_ms - from_ms for entry in MANIFEST for from_ms, to_ms in entry["pauses_ms"]}
    assert pauses == {300, 600, 900, 1_200, 1_600}


def test_held_out_wordings_and_voices_occur_nowhere_else() -> None:
    for key in ("text", "voice"):
        sides = [
            {entry[key] for entry in MANIFEST if entry["held_out"] is held_out and entry["class"] != "turn"} - {""}
            for held_out in (False, True)
        ]
        assert all(sides)
        assert not sides[0] & sides[1]


def test_a_tic_is_its_signal() -> None:
    assert TIC_ENTRIES
    for entry in TIC_ENTRIES:
        make, level_db = TICS[entry["id"].split("-")[1]]
        made = np.frombuffer(stored(levelled(cut(make(chance_of(entry["id"]))), level_db)), "<i2")
        edge = entry["on_ms"] * RATE_HZ // 1000
        kept = np.frombuffer(read_pcm16(FOLDER / entry["file"], RATE_HZ), "<i2")[edge:-edge]
        # Another processor rounds the last bit of a transform otherwise.
        assert np.max(np.abs(made.astype(int) - kept)) <= QUANTUM, entry["id"]
        assert (entry["text"], entry["voice"]) == ("", "")


def test_signals_know_no_voice() -> None:
    tree = ast.parse(Path(stimulus_sounds.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} - set(sys.stdlib_module_names) == {"numpy"}
