"""Run pytest with other versions than the locked ones: `python tools/versions.py PYTEST_WORDS`.

First the lowest and the highest versions of the dependencies that pyproject.toml accepts, then every other Python
that is installed, with the locked dependencies. What it installs stays in `.venv/versions` until the next run.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv" / "versions"
# The parts that `make check` installs: without the speech models nobody hears whether a voice over a reply is one.
PARTS = ("core", "test", "speech")
LOCKS = ROOT / "requirements" / f"{platform.system().lower()}-{platform.machine()}"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-qq")
ASK_VERSION = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
# The committed schemas are in the order of the locked msgspec, and what is old warns of what is new.
WITH_OTHERS = ("-k", "not checked_in", "-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning")


class Run(NamedTuple):
    """A Python, its environment, and its own words for pytest."""

    name: str
    python: str
    env: dict[str, str]
    words: tuple[str, ...] = ()


def bounds(*, lowest: bool) -> list[str]:
    """The package's dependencies for pip: pinned to their lower bounds, or as declared."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    if not lowest:
        return [str(one) for one in listed]
    pinned = []
    for one in map(Requirement, listed):
        (low,) = (bound.version for bound in one.specifier if bound.operator == ">=")
        pinned.append(f"{one.name}=={low}" + (f"; {one.marker}" if one.marker else ""))
    return pinned


def with_dependencies(name: str, wanted: list[str]) -> Run:
    """Install dependencies into a folder that Python searches before `.venv`. Raises CalledProcessError."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    install = [sys.executable, *PIP, "--no-warn-conflicts", "--only-binary", ":all:", "--target", str(folder)]
    subprocess.run([*install, *wanted], check=True)
    path = os.pathsep.join([str(folder), str(ROOT)])
    return Run(name, sys.executable, {**os.environ, "PYTHONPATH": path}, WITH_OTHERS)


def other_pythons() -> Iterator[tuple[str, str]]:
    """Version and path of each other Python from 3.11 on, found on PATH or in pyenv."""
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin/python3")
    seen = {platform.python_version().rpartition(".")[0]}
    for path in [*filter(None, names), *sorted(map(str, kept))]:
        asked = subprocess.run([path, "-c", ASK_VERSION], capture_output=True, text=True, check=False)
        version = asked.stdout.strip()
        if asked.returncode == 0 and version not in seen and int(version.partition(".")[2]) >= 11:
            seen.add(version)
            yield version, path


def with_python(version: str, path: str) -> Run:
    """Make an environment of this Python with the locked dependencies. Raises CalledProcessError."""
    folder = FOLDER / f"python{version}"
    subprocess.run([path, "-m", "venv", "--clear", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    locks = [word for part in PARTS for word in ("--requirement", str(LOCKS / f"{part}.txt"))]
    subprocess.run([python, *PIP, "--require-hashes", "--no-deps", *locks], check=True)
    subprocess.run([python, *PIP, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], check=True)
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return Run(f"Python {version}", python, {**os.environ, "PATH": path})


def runs() -> Iterator[Run]:
    """Each run, its versions installed."""
    yield with_dependencies("lowest dependencies", bounds(lowest=True))
    yield with_dependencies("highest dependencies", bounds(lowest=False))
    for version, path in other_pythons():
        yield with_python(version, path)


def main(words: list[str]) -> int:
    """Run them one after the other; exit code 1 where one fails."""
    results = []
    for name, python, env, more in runs():
        print(f"-- {name}", flush=True)
        started = time.monotonic()
        command = [python, "-m", "pytest", "-q", *words, *more]
        code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
        results.append((name, code, time.monotonic() - started))
    for name, code, took_s in results:
        print(f"{name}: {'failed' if code else 'ok'} ({took_s:.0f} s)")
    return 1 if any(code for _, code, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
