"""The command `score`: how well an agent listened in stored calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from realtime.commands.common import calls_of, kit_errors
from realtime.errors import UsageError
from realtime.state.store import is_call_id


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
    from realtime.testing.cases.stored import record_of
    from realtime.testing.score.board import Score, table
    from realtime.testing.score.labels import read_labels

    scored: list[tuple[str, Score]] = []
    with kit_errors():
        known = None if labels is None else read_labels(labels)
        for source in sources:
            if Path(source).is_dir():
                scored.append((source, Score.of_folder(Path(source), known)))
            elif is_call_id(source):
                with calls_of(store) as calls:
                    scored.append((source, Score.of(record_of(calls, source), known)))
            else:
                problem = f"there is no folder {source}, and it is not the id of a call either"
                raise UsageError(problem, code="no_folder")
    if known is not None and [len(score.scenes) for _, score in scored] != [1]:
        raise UsageError("--labels belongs to one call: put a labels.json beside each", code="labels")
    typer.echo(table(scored) if len(scored) > 1 else str(scored[0][1]))
