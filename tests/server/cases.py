"""Tables of cases that only data tells apart: one JSON array a line, in the folder `case_tables`."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "case_tables"


def cases(name: str) -> list[list[Any]]:
    """The rows of a table."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
