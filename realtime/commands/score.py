"""The command `score`: how well an agent listened in stored calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from realtime.commands.common import calls_of, kit_errors, recorded_in, whole_id
from realtime.errors import UsageError
from realtime.state.store import is_call_id


def score_calls(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="CALL | FOLDER",
            help="Stored calls, by their ids or the beginnings of these; folders of calls, each with its labels.json.",
        ),
    ],
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The labels of a single call; default: labels.json beside it.")
    ] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help="Where calls are kept (as for serve).")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Decide test cases and recorded calls again with this setting, such as silence_ms=400, and say where "
            "they first differ.",
        ),
    ] = None,
    recordings: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --set: where the sound of calls is kept.")
    ] = None,
) -> None:
    """Measure listening: interruptions, backchannels, ends of turns. Several sources are compared in a table."""
    if set_:
        _decide_again(sources, set_, store, recordings)
        return
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
                    source = whole_id(calls, source)
                    scored.append((source, Score.of(record_of(calls, source), known)))
            else:
                raise _unknown(source)
    if known is not None and [len(score.scenes) for _, score in scored] != [1]:
        raise UsageError("--labels belongs to one call: put a labels.json beside each", code="labels")
    typer.echo(table(scored) if len(scored) > 1 else str(scored[0][1]))


def _decide_again(sources: list[str], words: list[str], store: str | None, recordings: Path | None) -> None:
    from realtime.testing.score.again import decide_folder_again, decide_stored_again, settings_in

    changes = settings_in(words)
    with kit_errors():
        for source in sources:
            if Path(source).is_dir():
                for name, again in decide_folder_again(Path(source), changes):
                    typer.echo(f"{name}: {again}")
            elif not is_call_id(source):
                raise _unknown(source)
            else:
                with calls_of(store) as calls:
                    source = whole_id(calls, source)
                    recorded = recorded_in(recordings, source)
                    if recorded is None:
                        problem = "--set needs the sound of a stored call: name the folder with --recordings"
                        raise UsageError(problem, code="no_recording")
                    again = decide_stored_again(calls, source, changes, recordings=recorded)
                typer.echo(f"{source}: {again}")


def _unknown(source: str) -> UsageError:
    return UsageError(f"there is no folder {source}, and it is not the id of a call either", code="no_folder")
