"""Helpers of several commands: the store, and failures as one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from realtime.errors import UsageError
from realtime.model.services import SERVICES
from realtime.server.folders import data_folder
from realtime.state.open import open_store
from realtime.state.store import Store, is_call_id

PROVIDERS = "|".join(SERVICES)
"""The choice of providers, for a command's help."""


SHOWN_IDS = 5
"""Calls that an ambiguous beginning of an id names."""


def known_provider(name: str | None) -> str | None:
    """Return the name. Raises BadParameter for one that is not in `SERVICES`."""
    if name is not None and name not in SERVICES:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(SERVICES)}")
    return name


def own_store() -> str:
    """Return the URL of the default store."""
    return f"sqlite:{data_folder() / 'calls.sqlite'}"


@contextmanager
def kit_errors() -> Iterator[None]:
    """Turn test case errors and OS errors into one sentence; exit code 1."""
    from realtime.testing.errors import CaseError, RunFailure

    try:
        yield
    except (CaseError, RunFailure) as error:
        raise UsageError(str(error), code="case") from error
    except OSError as error:
        told = error.strerror or str(error)
        raise UsageError(f"{error.filename}: {told}" if error.filename else told, code="os") from error


@contextmanager
def calls_of(url: str | None) -> Iterator[Store]:
    """Open a store and close it at the end. Raises UsageError where there is none."""
    if url == "none":
        raise UsageError("a server with `--store none` keeps no calls: name the store of another one", code="no_store")
    store = open_store(url or own_store(), new=False)
    try:
        yield store
    finally:
        store.close()


def whole_id(store: Store, text: str) -> str:
    """Return the id of the only call that begins so.

    `call_` may be left out. Returns the text where there is none.

    Raises UsageError where several do.
    """
    beginning = text.strip().rstrip(".…")
    if not is_call_id(beginning) or store.call(beginning) is not None:
        return beginning or text
    starts = (beginning, f"call_{beginning}")
    found = [info.call_id for info in store.calls() if info.call_id.startswith(starts)]
    if len(found) > 1:
        shown = ", ".join(found[:SHOWN_IDS]) + (", ..." if len(found) > SHOWN_IDS else "")
        raise UsageError(f"{len(found)} calls begin with {beginning!r}: {shown}", code="unknown_call")
    return found[0] if found else beginning


def recorded_in(recordings: Path | None, call_id: str) -> Path | None:
    """Return the folder of recordings. Raises UsageError where it has none of this call."""
    from realtime.testing.cases.stored import is_recorded

    if recordings is not None and not is_recorded(recordings, call_id):
        raise UsageError(
            f"there is no recording of the call {call_id[:140]!r} in {recordings}: name the folder that "
            "`serve --recordings` wrote, or leave --recordings out to do without sound",
            code="no_recording",
        )
    return recordings
