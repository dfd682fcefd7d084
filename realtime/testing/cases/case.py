"""A test case as a folder: the users' steps, the model's and tools' results, and expectations.

    fixtures/calls/refund/
        case.json     the case as JSON, to be read and edited by people
        input.flac    the users' speech (any number of audio files)
        log.jsonl     the accepted log, written by the first run with `accept=True`

A case without `models` uses the agents' own; one without recorded `tools` runs the agents' own.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from realtime.client.outbox import Client
from realtime.errors import BadOption
from realtime.event.config import SessionConfig
from realtime.options import check_fields, checked
from realtime.state.files import replace_file
from realtime.testing.cases.expected import Expected
from realtime.testing.cases.stand_in import StandIn
from realtime.testing.client.steps import BargeIn, Ms, Speak, Step, WaitUntilHeard
from realtime.testing.errors import CaseError
from realtime.texts import as_utf8

VERSION = 1
CASE_FILE = "case.json"
LOG_FILE = "log.jsonl"
AUDIO_SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".mp3", ".pcm", ".raw"})

_USER_NAME = re.compile(r"[^/?#%\\\x00-\x1f\x7f]{1,100}")
"""Names that can be a part of a path."""


class Person(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One user of the call with their steps.

    `client` is the user's client: our page with binary frames, with JSON only, or an AgentScope 1.x page.
    """

    steps: tuple[Step, ...]
    name: str = "user"
    client: Client = "realtime.v1"

    def __post_init__(self) -> None:
        check_fields(self)


class Returned(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool result of the recorded call, `after_ms` after the call.

    With `arguments` it answers a call with these arguments only; without, any.
    """

    output: Any = "done"
    arguments: dict[str, Any] | None = None
    state: Literal["success", "error"] = "success"
    after_ms: Ms = 0

    def __post_init__(self) -> None:
        check_fields(self)


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A whole case. `models` maps agent names (`*` for any), `tools` maps tool names to results in call order.

    `config` is the call's, as in `client_session_create`. `costs` maps executor jobs by name to virtual seconds, as
    `VirtualLoop.declare_cost` takes them.
    """

    users: tuple[Person, ...]
    version: int = VERSION
    name: str = ""
    about: str = ""
    config: dict[str, Any] = {}
    models: dict[str, StandIn] = {}
    tools: dict[str, tuple[Returned, ...]] = {}
    costs: dict[str, float] = {}
    seed: int = 0
    grace_s: float = 30.0
    limit_s: float = 3_600.0
    """Limit for the call: a case that does not end by then fails."""
    expect: Expected = Expected()

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.users:
            raise BadOption("users is empty: give a case at least one Person with steps")

    @property
    def called_tools(self) -> set[str]:
        """The tools that the case's models call."""
        return {name for stand_in in self.models.values() for name in stand_in.tools}


@checked()
def load_case(path: str | Path) -> tuple[Case, Path]:
    """Load a case from a folder or an audio file; return it with its folder.

    The case of an audio file speaks it and waits for the response. Raises CaseError for an unusable case.
    """
    path = Path(path)
    if path.is_dir():
        return read_case(path), path
    if not path.exists():
        raise CaseError(path, "there is no such file or folder", "Name a case's folder or an audio file.")
    if path.name == CASE_FILE:
        return read_case(path.parent), path.parent
    if path.suffix.lower() not in AUDIO_SUFFIXES:
        raise CaseError(path, "neither a case's folder nor an audio file", "Name one of these.")
    steps: tuple[Step, ...] = (Speak(path.name), WaitUntilHeard())
    return Case(users=(Person(steps),), name=path.stem), path.parent


def read_case(folder: Path) -> Case:
    """Read the folder's `case.json`. Raises CaseError."""
    file = folder / CASE_FILE
    try:
        text = as_utf8(file.read_bytes())
    except FileNotFoundError:
        raise CaseError(
            folder, f"there is no {CASE_FILE}", "Write one, or export a call: realtime export CALL_ID FOLDER."
        ) from None
    except ValueError:
        raise CaseError(file, "it is no text", "Save it as UTF-8.") from None
    version = _version(text, file)
    if version != VERSION:
        raise CaseError(
            file,
            f"it is of version {version!r}, this release reads version {VERSION}",
            "Export the call again, or use the release that wrote it.",
            place="version",
        )
    try:
        case = msgspec.json.decode(text, type=Case)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        raise CaseError(file, problem, "Correct it there.", place=place.strip("`.") or "top level") from None
    check_case(case, file)
    return case if case.name else msgspec.structs.replace(case, name=folder.name)


def check_case(case: Case, file: Path) -> None:
    """Raise CaseError, naming `file`, for a case that cannot be done."""
    for number, person in enumerate(case.users):
        if not _USER_NAME.fullmatch(person.name):
            problem = f"{person.name!r} cannot stand in the address of a call"
            remedy = "Use 1 to 100 characters without / ? # % and \\, and none that cannot be seen."
            raise CaseError(file, problem, remedy, place=f"users[{number}].name")
    names = [person.name for person in case.users]
    if len(set(names)) < len(names):
        raise CaseError(file, "two users have one name", "Give each a name of their own.", place="users")
    _check_steps(case, file)
    for job, cost_s in case.costs.items():
        if not cost_s >= 0:
            raise CaseError(file, f"a job cannot cost {cost_s} s", "Give 0 or more.", place=f"costs.{job}")
    if not case.limit_s > 0:
        raise CaseError(file, f"a call has more than {case.limit_s:g} s", "Give more than 0.", place="limit_s")
    if not case.grace_s >= 0:
        raise CaseError(file, f"a call cannot wait {case.grace_s} s", "Give 0 or more.", place="grace_s")
    for name in case.config:
        if name not in SessionConfig.__struct_fields__:
            near = difflib.get_close_matches(name, SessionConfig.__struct_fields__, 1)
            remedy = f"Did you mean {near[0]}?" if near else "Remove it."
            raise CaseError(file, "a call has no such setting", remedy, place=f"config.{name}")
    try:
        SessionConfig.from_dict(case.config)
    except ValueError as error:
        raise CaseError(file, str(error), "Correct the setting.", place="config") from None


def write_case(folder: Path, case: Case) -> Path:
    """Write a diff-friendly `case.json`, readable by its owner alone. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / CASE_FILE
    replace_file(file, msgspec.json.format(msgspec.json.encode(case), indent=1) + b"\n")
    return file


def _version(text: bytes, file: Path) -> object:
    try:
        whole = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise CaseError(file, f"not JSON: {error}", "Correct it there.", place=_line(text, str(error))) from None
    if not isinstance(whole, dict):
        raise CaseError(file, "not a JSON object", "A case is an object with users.")
    return whole.get("version", VERSION)


def _line(text: bytes, error: str) -> str:
    """Return a syntax error's line from its byte offset."""
    byte = re.search(r"byte (\d+)", error)
    lines_before = text.count(b"\n") if byte is None else text.count(b"\n", 0, int(byte[1]))
    return f"line {lines_before + 1}"


def _check_steps(case: Case, file: Path) -> None:
    for person_number, person in enumerate(case.users):
        for number, step in enumerate(person.steps):
            place = f"users[{person_number}].steps[{number}]"
            speech = step.speech if isinstance(step, BargeIn) else step
            if isinstance(speech, Speak) and bool(speech.audio) == (speech.pcm is not None):
                raise CaseError(file, "nothing to speak", "Name an audio file.", place=place)
