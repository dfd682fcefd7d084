"""Makes test cases of a server's calls, to download or to save."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from realtime.errors import ClientError
from realtime.state.log import Entry
from realtime.state.memory import MemoryStore
from realtime.state.store import CallInfo, Change
from realtime.testing.errors import CaseError


class CaseDesk:
    """See `realtime.server.calls_api.Cases`.

    `recordings` is the server's folder of recordings, `folder` where `save` writes cases; None: nothing is saved.
    """

    def __init__(self, *, recordings: str | Path | None = None, folder: str | Path | None = None) -> None:
        self._recordings = recordings
        self._folder = None if folder is None else Path(folder)

    @property
    def saves(self) -> bool:
        """See `Cases.saves`."""
        return self._folder is not None

    def zipped(self, info: CallInfo, entries: Sequence[Entry], name: str) -> bytes:
        """See `Cases.zipped`."""
        with TemporaryDirectory() as place:
            folder = self._export(info, entries, Path(place) / name)
            whole = io.BytesIO()
            with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in sorted(folder.iterdir()):
                    archive.write(file, f"{name}/{file.name}")
        return whole.getvalue()

    def save(self, info: CallInfo, entries: Sequence[Entry], name: str) -> str:
        """See `Cases.save`."""
        if self._folder is None:
            raise ClientError("this server keeps no test cases: start it with --cases FOLDER", code="cases_not_kept")
        return self._export(info, entries, self._folder / name).as_posix()

    def report(self, info: CallInfo, entries: Sequence[Entry], name: str) -> bytes:
        """See `Cases.report`."""
        from realtime.testing.cases.stored import is_recorded, record_of
        from realtime.testing.report import write_report

        recordings = self._recordings if self._recordings and is_recorded(self._recordings, info.call_id) else None
        try:
            record = record_of(_stored(info, entries), info.call_id, recordings=recordings)
            with TemporaryDirectory() as place:
                return write_report([record], Path(place) / "report.html", title=f"Call {name}").read_bytes()
        except CaseError as error:
            raise ClientError(f"{error.problem}. {error.remedy}", code="no_report") from error
        except OSError as error:
            raise ClientError(f"the report cannot be written: {error.strerror}", code="no_report") from error

    def _export(self, info: CallInfo, entries: Sequence[Entry], folder: Path) -> Path:
        # The first case imports the FLAC writer.
        from realtime.testing.cases.export import export_call

        try:
            return export_call(_stored(info, entries), info.call_id, folder, recordings=self._recordings)
        except CaseError as error:
            raise ClientError(f"{error.problem}. {error.remedy}", code="no_case") from error
        except OSError as error:
            raise ClientError(f"the case cannot be written: {error.strerror}", code="no_case") from error


def _stored(info: CallInfo, entries: Sequence[Entry]) -> MemoryStore:
    store = MemoryStore(max_entries=len(entries) + 1)
    store.write([Change(info.call_id, info, entries)])
    return store
