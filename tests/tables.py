"""Tables of words in `fixtures/words`: one row a line, cells apart by tabs, the first cell says what the row shows."""

import json
from pathlib import Path

WORDS = Path(__file__).resolve().parent.parent / "fixtures" / "words"


def rows(file: str, kind: str) -> list[list[str]]:
    """The cells of each row of a kind, without it; what is written as an escape of JSON is read as one."""
    lines = (WORDS / file).read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t")[1:] for line in lines if line.startswith(f"{kind}\t")]
    assert cells, f"{file} has no row of the kind {kind}"
    return [[json.loads(f'"{cell}"') if "\\" in cell else cell for cell in row] for row in cells]
