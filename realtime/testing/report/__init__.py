"""The report of a test run, or of any call: one HTML file that opens offline.

It contains waveforms, captions, turns and their latency, tool calls, wire frames, the audio while it is small, and the
differences from an accepted run. It loads nothing: its content security policy forbids it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from realtime.options import checked
from realtime.testing.record import CallRecord
from realtime.testing.report.data import run_data, run_text
from realtime.testing.report.diff import VERSION, Digest, RunDigest, compare, digest, read_digest
from realtime.testing.report.story import tell

__all__ = ["MAX_AUDIO_BYTES", "RunOutcome", "write_report"]

MAX_AUDIO_BYTES = 24_000_000
"""Limit for the FLAC of all runs of one report: about 25 minutes of conversation."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A judged run with the text of its failure; None where it passed."""

    record: CallRecord
    failure: str | None = None


@checked()
def write_report(
    runs: Iterable[RunOutcome | CallRecord],
    path: str | os.PathLike[str],
    *,
    accepted: str | os.PathLike[str] | None = None,
    title: str = "Call report",
    max_audio_bytes: int = MAX_AUDIO_BYTES,
) -> Path:
    """Write the report to `path` (`report.html`) and its digest beside it (`report.json`); return the path.

    A bare record has no expectations: it has neither passed nor failed.

    `accepted` is the digest of an earlier report, to show what differs; it may be the file that is written here. Runs
    are matched by their name. `max_audio_bytes` limits the audio of all runs together: a run beyond it has none.

    Raises CaseError where `accepted` is not a digest, OSError where the files cannot be written.
    """
    before = None if accepted is None else {run.name: run for run in read_digest(Path(accepted)).runs}
    room = max_audio_bytes
    shown: list[dict[str, Any]] = []
    texts: list[str] = []
    digests: list[RunDigest] = []
    for one in runs:
        run = RunOutcome(one) if isinstance(one, CallRecord) else one
        story = tell(run.record)
        digests.append(digest(run.record.name, run.failure, run.record.duration_ms, story))
        change = None if before is None else compare(before.get(run.record.name), digests[-1])
        judged = isinstance(one, RunOutcome)
        shown.append(run_data(run.record, story, digests[-1], change, judged=judged, max_audio_bytes=room))
        texts.append(run_text(digests[-1], story))
        room -= len(shown[-1]["audio"] or "") * 3 // 4
    names = {one.name for one in digests}
    data = {
        "title": title,
        "compared": before is not None,
        "missing": [name for name in before or () if name not in names],
        "runs": shown,
    }
    made = Path(path)
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(_page(title, data, "\n\n\n".join(texts)), encoding="utf-8", errors="replace", newline="\n")
    kept = json.dumps(msgspec.to_builtins(Digest(VERSION, digests)), ensure_ascii=False, indent=1) + "\n"
    made.with_suffix(".json").write_text(kept, encoding="utf-8", errors="replace", newline="\n")
    return made


def _page(title: str, data: Mapping[str, Any], text: str) -> str:
    """Fill the page's template. Each placeholder is filled once, and inserted text is not searched again."""
    folder = files(__name__)
    # Built from `web/packages/page/src/report`.
    style = folder.joinpath("report.generated.css").read_text("utf-8")
    script = folder.joinpath("report.generated.js").read_text("utf-8")
    # Only these two may run or style: no inserted data can, wherever it ends up.
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "media-src blob:",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    parts = {
        "policy": policy,
        "title": html.escape(title),
        "style": style,
        "script": script,
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "text": html.escape(text),
    }
    template = folder.joinpath("page.html").read_text("utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def _hash(text: str) -> str:
    """Return an inline script's or style's hash for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
