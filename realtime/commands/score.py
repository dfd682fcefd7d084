"""The command `score`: how well an agent listened in stored calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realtime.commands.common import calls_of, kit_errors
from realtime.errors import UsageError
from realtime.state.store import is_call_id

if TYPE_CHECKING:
    from realtime.testing.record import CallRecord


def score_calls(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="CALL | FOLDER", help="Stored calls; folders of calls, each with its labels.json."),
    ],
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The labels of a single call; default: labels.json beside it.")
    ] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help="Where calls are kept (as for serve).")] = None,
) -> None:
    """Measure listening: interruptions, backchannels, ends of turns. Several sources are compared in a table."""
    from realtime.testing.score.board import Score, table
    from realtime.testing.score.labels import read_labels

    with kit_errors():
        known = None if labels is None else read_labels(labels)
        found = [(source, _records(source, store)) for source in sources]
        if known is not None and [len(records) for _, records in found] != [1]:
            raise UsageError("--labels belongs to one call: put a labels.json beside each", code="labels")
        scored = [(source, Score.together([Score.of(one, known) for one in records])) for source, records in found]
    if len(scored) > 1:
        typer.echo(table(scored))
        return
    typer.echo(str(scored[0][1]))


def _records(source: str, store: str | None) -> list[CallRecord]:
    """Load a call of the store, of a folder, or all calls of a folder's subfolders."""
    from realtime.testing.cases.stored import LOG_FILES, record_of

    folder = Path(source)
    if not folder.is_dir():
        if not is_call_id(source):
            raise UsageError(f"there is no folder {source}, and it is not the id of a call either", code="no_folder")
        with calls_of(store) as calls:
            return [record_of(calls, source)]
    inside = [one for one in sorted(folder.iterdir()) if any((one / name).is_file() for name in LOG_FILES)]
    if inside and not any((folder / name).is_file() for name in LOG_FILES):
        return [record_of(one) for one in inside]
    return [record_of(folder)]
