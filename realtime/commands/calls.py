"""The command `calls`: lists stored calls."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Annotated

import typer

from realtime.commands.common import calls_of, kit_errors
from realtime.errors import StoreError, UsageError
from realtime.state.log import Entry, last_seq_of
from realtime.state.restore import restore
from realtime.state.store import CallInfo, Store

WORDS_CHARS = 40
WIDEST = 1_000
"""Characters of a line: no column is ever made narrower."""
_PAGE = 5_000
"""Entries per read, so that a server can write meanwhile."""


def calls(
    store: Annotated[str | None, typer.Option(metavar="URL", help="The store of the calls (as for serve).")] = None,
    owner: Annotated[str | None, typer.Option(help="Only calls of this user; default: all users.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of calls, newest first.")] = 20,
) -> None:
    """List stored calls: owner, start, duration, number of turns, first words."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_edge=False)
    for name in ("call", "owner", "began (UTC)", "took", "turns", "first words"):
        table.add_column(name, no_wrap=True)
    with kit_errors(), calls_of(store) as kept:
        try:
            rows = [_row(kept, info) for info in kept.calls(owner, limit=limit)]
        except StoreError as error:
            raise UsageError(f"the store cannot be read: {error.message}", code=error.code) from error
    if not rows:
        typer.echo("There are no stored calls.")
        return
    for row in rows:
        table.add_row(*map(escape, row))
    # One line per call at any width: a cut id could not be used, and a table for programs is not cut.
    Console(highlight=False, soft_wrap=True, width=WIDEST).print(table)


def _row(store: Store, info: CallInfo) -> tuple[str, ...]:
    began = info.created_at[:19].replace("T", " ")
    turns, words = "?", "cannot be read"
    if not info.unreadable:
        with suppress(StoreError):  # the others are still listed
            turns, words = _said(store, info.call_id)
    return info.call_id, info.owner, began, _took(info), turns, words


def _took(info: CallInfo) -> str:
    """Return the duration, as minutes and seconds."""
    if info.ended_at is None:
        return "not ended"
    try:
        seconds = round(
            (datetime.fromisoformat(info.ended_at) - datetime.fromisoformat(info.created_at)).total_seconds()
        )
    except ValueError:
        return "?"
    return f"{seconds // 60}:{seconds % 60:02}"


def _said(store: Store, call_id: str) -> tuple[str, str]:
    """Return the number of user turns, and the first words among them."""
    entries: list[Entry] = []
    while page := store.read(call_id, last_seq_of(entries[-1]) if entries else 0, _PAGE):
        entries += page
    said = [
        item.text for item in restore(entries).conversation.items() if item.type == "message" and item.role == "user"
    ]
    words = " ".join(next(filter(None, said), "").split())
    return str(len(said)), words if len(words) <= WORDS_CHARS else f"{words[: WORDS_CHARS - 3]}..."
