"""The command `doctor`: what is available here."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from realtime.server.doctor import Finding, examine, try_chat, try_keys, try_servers


def doctor(
    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help="Also test each API key that is set, by a session that is closed again, and the chat endpoint.",
        ),
    ] = False,
    mcp: Annotated[
        list[str] | None,
        typer.Option(metavar="URL|COMMAND", help="Also connect to an MCP server, as serve does. Repeatable."),
    ] = None,
) -> None:
    """Report what is available here, and what missing parts would enable."""
    findings = [*examine(), *(asyncio.run(_tried()) if online else ()), *asyncio.run(try_servers(mcp or ()))]
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")
    for one in findings:
        mark = "[green]yes[/green]" if one.available else "[red]no[/red]" if one.needed else "[yellow]no[/yellow]"
        told = f"{escape(one.gives)} [dim]({escape(one.detail)})[/dim]"
        if not one.available and one.fix:
            told += f"\n[dim]to get it:[/dim] {escape(one.fix)}"
        table.add_row(mark, escape(one.name), told)
    Console(highlight=False, soft_wrap=True).print(table)
    if refused := [one for one in findings if one.needed and not one.available]:
        typer.echo()
        for one in refused:
            typer.secho(f"Not well: {one.name}: {one.detail}", fg="red")
        raise typer.Exit(1)


async def _tried() -> list[Finding]:
    return [*await try_keys(), *await try_chat()]
