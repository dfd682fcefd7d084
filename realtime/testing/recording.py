"""Recording a case anew: `pytest --voice-record` calls the real providers and keeps what passes as cassettes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from realtime.testing.call import CASSETTE_FOLDER
from realtime.testing.errors import CaseError


def record_options(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options of `realtime.testing.call.play` that record the case at `source`: the agents' own models, live, their
    tools run, and a cassette in its folder.

    Raises CaseError for a source that is no folder: there is nowhere to keep the cassette.
    """
    folder = options.get("folder") if not isinstance(source, str | Path) else source
    if folder is None or not Path(folder).is_dir():
        raise CaseError(str(source), "there is no folder for its cassette", "Record a case's folder, or give `folder`.")
    return {**options, "model": "own", "tools": "run", "record_to": Path(folder) / CASSETTE_FOLDER}
