"""The situations under `fixtures/calls`: how each is played, and what of it is kept as accepted."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from realtime.testing.cases.case import LOG_FILE, read_case
from realtime.testing.record import CallRecord
from tests.calls.distant import DistantModel, read_line

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "calls"
SOUNDS_FILE = FOLDER / "sounds.json"
"""What was said and what was heard in each, by speaker, as a sum of its samples."""


def names() -> list[str]:
    """All situations."""
    return sorted(file.parent.name for file in FOLDER.glob("*/case.json"))


def options(folder: Path) -> dict[str, Any]:
    """What `voice_call` needs beside the folder: the model at the end of its line."""
    line = read_line(folder)
    if line is None:
        return {}
    return {"model": DistantModel(read_case(folder).models["*"].model(folder), line)}


def length_ms(name: str) -> int:
    """How long the accepted call is."""
    last: dict[str, int] = json.loads((FOLDER / name / LOG_FILE).read_bytes().splitlines()[-1])
    return last["ts_ms"]


def all_sounds() -> dict[str, Any]:
    """The sums of the sound of each situation, as they are kept."""
    kept: dict[str, Any] = json.loads(SOUNDS_FILE.read_text(encoding="utf-8"))
    return kept


def sound_of(record: CallRecord) -> dict[str, Any]:
    """The lanes of everyone, as they are kept."""
    return {
        lane.speaker: {
            "kind": lane.kind,
            "ms": len(lane.pcm) // 2 * 1000 // lane.rate_hz,
            "sha256": hashlib.sha256(lane.pcm).hexdigest(),
        }
        for lane in record.lanes
    }
