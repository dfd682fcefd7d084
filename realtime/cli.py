"""The command `realtime`: finds its commands, which are in `realtime.commands`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated

import typer

import realtime
from realtime.errors import UsageError

COMMANDS = {
    "serve": "serve:serve",
    "talk": "talk:talk",
    "doctor": "doctor:doctor",
    "calls": "calls:calls",
    "forget": "privacy:forget",
    "export-user": "privacy:export_user",
    "replay": "kit:replay",
    "record": "kit:record_provider",
    "export": "kit:export",
    "report": "kit:report",
    "score": "score:score_calls",
    "import-cassette": "kit:import_cassette",
    "certify": "certify:certify",
    "certify-replay": "certify:certify_replay",
}
"""Each command's function, as module and name in `realtime.commands`."""


def main() -> None:
    """Run the command. A UsageError becomes one sentence and exit code 1."""
    words = sys.argv[1:]
    try:
        cli = command_line(words)
        spread = spread_tls(words)
        check_once(cli, spread)
        cli(spread, prog_name="realtime")
    except UsageError as error:
        typer.secho(error.message, fg="red", err=True)
        raise SystemExit(1) from None


def command_line(words: Sequence[str]) -> typer.Typer:
    """Return the parser for these words: of the command that they name, else of all.

    So each command loads only its own modules: listing calls needs no web server.
    """
    cli = typer.Typer(
        help="Voice conversations with agents over WebSockets.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    cli.callback(invoke_without_command=True)(common)
    named = words[:1] if words and words[0] in COMMANDS else COMMANDS
    for name in named if words[:1] != ["--version"] else ():
        cli.command(name)(_function_of(name))
    return cli


def _function_of(name: str) -> Callable[..., None]:
    module, _, function = COMMANDS[name].partition(":")
    found: Callable[..., None] = getattr(import_module(f"realtime.commands.{module}"), function)
    return found


def check_once(cli: typer.Typer, words: Sequence[str]) -> None:
    """Raise UsageError for an option of one value that is given twice.

    The parser would drop the first.
    """
    command = typer.main.get_command(cli)
    named = getattr(command, "commands", {}).get(words[0]) if words else None
    for option in named.params if named is not None else ():
        if getattr(option, "multiple", True) or getattr(option, "is_flag", False):
            continue
        for name in option.opts:
            if name.startswith("--") and sum(word == name or word.startswith(f"{name}=") for word in words) > 1:
                raise UsageError(f"{name} is given twice: it takes one value", code="given_twice")


def spread_tls(words: list[str]) -> list[str]:
    """Split `--tls CERT KEY` into two options of one value each.

    The parser knows no other kind, besides `--tls self`.
    """
    if "--tls" not in words:
        return words
    at = words.index("--tls") + 1
    if words[at : at + 1] == ["self"] or len(words) <= at + 1 or words[at + 1].startswith("-"):
        return words
    return [*words[: at + 1], "--tls-key", *words[at + 1 :]]


def common(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Voice conversations with agents over WebSockets."""
    if version:
        typer.echo(f"realtime {realtime.__version__}")
        raise typer.Exit
