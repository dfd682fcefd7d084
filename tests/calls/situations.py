"""The situations under `fixtures/calls`: how each is played, and what of it is kept as accepted."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from realtime.testing.cases.case import read_case
from realtime.testing.record import CallRecord
from tests.calls.distant import DistantModel, read_line

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "calls"
SOUND_FILE = "sound.json"
"""What was said and what was heard, by speaker, as a sum of its samples."""


def names() -> list[str]:
    """All situations."""
    return sorted(file.parent.name for file in FOLDER.glob("*/case.json"))


def options(folder: Path) -> dict[str, Any]:
    """What `voice_call` needs beside the folder: the model at the end of its line."""
    line = read_line(folder)
    if line is None:
        return {}
    return {"model": DistantModel(read_case(folder).models["*"].model(folder), line)}


def sound_of(record: CallRecord) -> bytes:
    """The lanes of everyone, as they are kept in `sound.json`."""
    lanes = {
        lane.speaker: {
            "kind": lane.kind,
            "ms": len(lane.pcm) // 2 * 1000 // lane.rate_hz,
            "sha256": hashlib.sha256(lane.pcm).hexdigest(),
        }
        for lane in record.lanes
    }
    return json.dumps(lanes, indent=1).encode() + b"\n"
