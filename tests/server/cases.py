"""Tables of cases that only data tells apart: one JSON array a line, in the folder `case_tables`."""

import json
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "case_tables"


def cases(name: str) -> list[list[Any]]:
    """The rows of a table."""
    return lines_of(FOLDER / f"{name}.jsonl")


def recorded(recordings_dir: Path, name: str) -> list[dict[str, Any]]:
    """The frames of a session with the service that others recorded: `direction` and `data` of each."""
    text = (recordings_dir / "recordings" / f"{name}.yaml").read_text(encoding="utf-8")
    frames: list[dict[str, Any]] = yaml.safe_load(text)["interactions"]
    return frames


def lines_of(file: Path) -> list[Any]:
    """The JSON values of a file, one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
