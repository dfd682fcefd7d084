"""The commands `forget` and `export-user`: everything that is kept of one user."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from realtime.commands.common import kit_errors, own_store
from realtime.commands.kept_of_user import CallsPlace, Counts, MemoriesPlace, Place, PlansPlace, SessionsPlace
from realtime.errors import StoreError, UsageError
from realtime.state.open import open_session, open_store

User = Annotated[str, typer.Argument(help="The user id, as in the address of the user's calls.")]
StoreUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="The store of the calls (as for serve), or none.", show_default=False)
]
Recordings = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where the sound of calls is (as for serve).")]
Sessions = Annotated[
    list[str] | None,
    typer.Option(
        "--session",
        metavar="URL",
        help="Sessions of your program: file:FOLDER, sqlite:FILE, redis://HOST:PORT/DB?prefix=TEXT or unix:SOCKET. "
        "Repeatable.",
    ),
]
Memories = Annotated[
    list[Path] | None,
    typer.Option("--memory", metavar="FILE", help="A long-term memory of your program. Repeatable."),
]
Plans = Annotated[
    list[Path] | None, typer.Option("--plans", metavar="FILE", help="Plans that your program keeps. Repeatable.")
]
ELSEWHERE = "Copies elsewhere stay: test cases made of calls, exports, backups, logs of model providers."


def forget(
    user: User,
    store: StoreUrl = None,
    recordings: Recordings = None,
    sessions: Sessions = None,
    memories: Memories = None,
    plans: Plans = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before.")] = False,
) -> None:
    """Delete all that is kept of a user; say what, and what could not be reached."""

    async def run() -> bool:
        async with _places(user, store, recordings, sessions, memories, plans) as places:
            found, left = await _each(places, lambda place: place.found())
            _show(f"Kept of {_shown(user)}:", found)
            if not yes:
                typer.confirm("Delete all of this? It cannot be undone.", abort=True)
            # Places where little is found are cleared, too: an earlier run may have been hindered.
            removed, more = await _each(places, lambda place: place.forget())
            _show("Deleted:", removed)
            return _show_rest([*left, *more, *(one for place in places for one in place.left)])

    with kit_errors():
        is_all = asyncio.run(run())
    typer.echo(_not_looked_at(store, recordings, sessions, memories, plans) + ELSEWHERE)
    if not is_all:
        raise typer.Exit(1)


def export_user(
    user: User,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="A new folder, or an empty one.")],
    store: StoreUrl = None,
    recordings: Recordings = None,
    sessions: Sessions = None,
    memories: Memories = None,
    plans: Plans = None,
) -> None:
    """Write all that is kept of a user as readable files."""

    async def run() -> bool:
        async with _places(user, store, recordings, sessions, memories, plans) as places:
            if to.exists() and any(to.iterdir()):
                raise UsageError(f"{to} is not empty: name a new folder with --to", code="no_folder")
            to.mkdir(mode=0o700, parents=True, exist_ok=True)
            written, left = await _each(places, lambda place: place.export(to))
            _show(f"Written to {to}:", written)
            return _show_rest([*left, *(one for place in places for one in place.left)])

    with kit_errors():
        is_all = asyncio.run(run())
    if told := _not_looked_at(store, recordings, sessions, memories, plans):
        typer.echo(told.rstrip())
    if not is_all:
        raise typer.Exit(1)


@asynccontextmanager
async def _places(
    user: str,
    store: str | None,
    recordings: Path | None,
    sessions: list[str] | None,
    memories: list[Path] | None,
    plans: list[Path] | None,
) -> AsyncIterator[list[Place]]:
    """Open what the options name. Raises UsageError for what is missing, before anything is touched."""
    if not user:
        raise UsageError("the user id is empty: calls without a user are no one's", code="invalid_id")
    for path in (*([recordings] if recordings is not None else []), *(memories or ()), *(plans or ())):
        if not path.exists():
            raise UsageError(f"there is no {path}: name what the server, or your program, writes", code="no_file")
    opened = [open_session(url, new=False) for url in sessions or ()]
    calls = None if store == "none" else open_store(store or own_store(), new=False)
    places: list[Place] = [CallsPlace(calls, recordings, user)]
    places += [SessionsPlace(one, user) for one in opened]
    places += [MemoriesPlace(one, user) for one in memories or ()]
    places += [PlansPlace(one, user) for one in plans or ()]
    try:
        yield places
    finally:
        for place in places:
            await place.aclose()


async def _each(places: list[Place], act: Callable[[Place], Awaitable[Counts]]) -> tuple[Counts, list[str]]:
    """Do it in each place, also where another one fails; return the counts, and what failed."""
    counts: Counter[str] = Counter()
    failed = []
    for place in places:
        try:
            for kind, number in (await act(place)).items():
                counts[kind] += number
        except StoreError as error:
            failed.append(f"{place.name}: {error.message}")
    return dict(counts), failed


def _show(title: str, counts: Counts) -> None:
    typer.echo(title)
    for kind, number in counts.items():
        typer.echo(f"  {kind:<20}{number:>6}")


def _show_rest(left: list[str]) -> bool:
    """Say what could not be reached, once each; return whether that is nothing."""
    if left:
        typer.secho("Not reached:", fg="yellow")
    for one in dict.fromkeys(left):
        typer.echo(f"  {one}")
    return not left


def _not_looked_at(
    store: str | None,
    recordings: Path | None,
    sessions: list[str] | None,
    memories: list[Path] | None,
    plans: list[Path] | None,
) -> str:
    """Return a line that names the kinds without an option; "" where there are none."""
    options = {
        "calls (--store URL)": store != "none",
        "recordings (--recordings FOLDER)": recordings is not None,
        "sessions (--session URL)": bool(sessions),
        "long-term memories (--memory FILE)": bool(memories),
        "plans (--plans FILE)": bool(plans),
    }
    missing = [name for name, is_given in options.items() if not is_given]
    return f"Not looked at: {', '.join(missing)}.\n" if missing else ""


def _shown(user: str) -> str:
    return user if user.isprintable() else repr(user)
