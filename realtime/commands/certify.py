"""The command `certify`: ten turns with a provider, for people who have a key."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from realtime.commands.common import kit_errors, known_provider
from realtime.errors import UsageError
from realtime.model.base import RealtimeModel
from realtime.model.services import SERVICES

NO_KEY = "none"
"""The key for an endpoint of one's own where none is set."""


def certify(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", callback=known_provider)],
    model: Annotated[str | None, typer.Option(metavar="NAME", help="One of its models; default: the best.")] = None,
    url: Annotated[
        str | None, typer.Option(help="An endpoint of the same protocol; it gets the key too, where one is set.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A new folder for the cassette; default: certified-PROVIDER.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Begin without asking.")] = False,
) -> None:
    """Hold ten turns with a provider; print results, keep a cassette. Costs money."""
    from realtime.testing.certify.estimate import estimate
    from realtime.testing.certify.run import certify as hold
    from realtime.testing.certify.turns import turns_for

    folder = out or Path(f"certified-{provider}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: name a new folder by --out", code="no_folder")
    candidate = _model(provider, model, url)
    turns = turns_for(candidate.profile)
    told = estimate(provider, turns)
    typer.echo(f"{len(turns)} turns with {candidate.profile.model} at {url or SERVICES[provider].company}.")
    for sentence in told.sentences():
        typer.echo(sentence)
    if not yes and not typer.confirm("Begin?"):
        raise typer.Exit(1)
    with kit_errors():
        certificate = asyncio.run(hold(candidate, folder))
    _print_table([(row.turn, row.expected, row.seen, row.passed) for row in certificate.rows])
    tokens_in, tokens_out = certificate.tokens
    typer.echo(f"The provider counted {tokens_in} tokens in and {tokens_out} out.")
    if certificate.recorded:
        typer.echo(f"{folder}: the cassette, without keys. It is played again by `realtime certify-replay {folder}`.")
    _judge(certificate.failure, passed=certificate.passed)


def certify_replay(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A cassette that `realtime certify` wrote.")],
) -> None:
    """Replay a certification's ten turns without the provider, and judge them again."""
    from realtime.testing.certify.run import replay_certificate

    with kit_errors():
        certificate = replay_certificate(folder)
    _print_table([(row.turn, row.expected, row.seen, row.passed) for row in certificate.rows])
    _judge(certificate.failure, passed=certificate.passed)


def _model(provider: str, name: str | None, url: str | None) -> RealtimeModel:
    """Open the provider's model. Raises UsageError without its key, unless `url` names another endpoint."""
    service = SERVICES[provider]
    key = service.key(os.environ) or (NO_KEY if url is not None else None)
    if key is None:
        raise UsageError(f"there is no key for {service.title}: set {service.key_variables[0]}", code="missing_api_key")
    return service.open(*([] if name is None else [name]), api_key=key, base_url=url)


def _print_table(rows: list[tuple[str, str, str, bool]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("", "turn", "expected", "seen", show_edge=False)
    for turn, expected, seen, passed in rows:
        table.add_row("[green]yes[/green]" if passed else "[red]no[/red]", turn, escape(expected), escape(seen))
    Console(highlight=False).print(table)


def _judge(failure: str | None, *, passed: bool) -> None:
    """Exit with code 1 where a turn failed. Raises UsageError where not all were reached."""
    if failure is not None:
        raise UsageError(f"not all turns were reached: {failure}", code="case")
    if not passed:
        raise typer.Exit(1)
