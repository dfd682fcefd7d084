"""The code of docs/permissions.md runs as it is printed, block after block."""

import re
from pathlib import Path
from typing import Any

GUIDE = (Path(__file__).resolve().parent.parent / "docs" / "permissions.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, re.M | re.S)


def test_every_block_of_the_guide_runs() -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"docs/permissions.md, block {number}", "exec"), names)
    assert len(BLOCKS) == 4
    assert {"pay", "balance", "book", "write_note"} <= {*names["toolkit"].tools}
