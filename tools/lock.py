"""Write the locks requirements/PLATFORM/{core,test,speech}.txt from pyproject.toml: `python tools/lock.py [--upgrade]`.

Needs `uv` (`pip install uv`), which resolves for a platform without running there. One resolution of everything fixes
the versions; `core` is what serving needs, `test` and `speech` hold what each adds to it. Every file is complete on top
of `core`, so it is installed with `--no-deps --require-hashes`. Only wheels are taken, so nothing is ever compiled.

The locks hold for Python 3.11 to 3.14. Only linux-x86_64 is run by CI; the other two are resolved, not run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORMS = {
    "linux-x86_64": "x86_64-manylinux_2_28",
    "macos-arm64": "aarch64-apple-darwin",
    "windows-x86_64": "x86_64-pc-windows-msvc",
}
RUN_IN_CI = "linux-x86_64"
# What an editable install without build isolation needs in the environment.
BUILD = "hatchling>=1.26\neditables>=0.5\n"
PARTS = {
    "core": (),
    "test": ("openai", "gemini", "dashscope", "anthropic", "mcp", "redis", "a2a", "mem0", "ears", "test"),
    "speech": ("local",),
}
# Wheels of which one file is read: locked without their dependencies.
ALONE = {
    "speech": "pipecat-ai==1.14.0 \\\n"
    "    --hash=sha256:0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44\n"
}
PIN = re.compile(r"^[a-z0-9][a-z0-9._-]*==", re.MULTILINE)


def resolve(platform: str, extras: tuple[str, ...], constraint: Path) -> str:
    """The pins with hashes of core, build backend and `extras` on one platform, at the versions of `constraint`."""
    command = ["uv", "pip", "compile", "pyproject.toml", "-", "--quiet", "--no-header", "--no-annotate"]
    command += ["--generate-hashes", "--no-emit-index-url", "--only-binary", ":all:"]
    command += ["--python-version", "3.11", "--python-platform", PLATFORMS[platform], "--constraint", str(constraint)]
    for extra in extras:
        command += ["--extra", extra]
    return subprocess.run(command, cwd=ROOT, input=BUILD, stdout=subprocess.PIPE, text=True, check=True).stdout


def entries(lock: str) -> list[str]:
    """A lock cut into its entries, each a pin with the hash lines that belong to it."""
    starts = [match.start() for match in PIN.finditer(lock)]
    return [lock[start:end] for start, end in zip(starts, [*starts[1:], len(lock)], strict=True)]


def pins(lock: str) -> str:
    """Only the `name==version` lines, for use as a constraint."""
    return "".join(f"{entry.split()[0]}\n" for entry in entries(lock))


def write_locks(platform: str, upgrade: bool) -> None:
    """Write the three files of one platform; versions already locked stay unless `upgrade`."""
    folder = ROOT / "requirements" / platform
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        constraint = Path(scratch, "constraint.txt")
        old = "" if upgrade else "".join(pins(path.read_text()) for path in sorted(folder.glob("*.txt")))
        constraint.write_text(old)
        everything = tuple(extra for extras in PARTS.values() for extra in extras)
        constraint.write_text(pins(resolve(platform, everything, constraint)))
        core: list[str] = []
        for part, extras in PARTS.items():
            added = [entry for entry in entries(resolve(platform, extras, constraint)) if entry not in core]
            core = core or added
            note = "run by CI" if platform == RUN_IN_CI else "resolved for this platform, not run on it"
            lines = "".join(added) + ALONE.get(part, "")
            (folder / f"{part}.txt").write_text(f"# Written by tools/lock.py; {note}.\n{lines}")
            print(f"{platform} {part}: {len(added)} packages")


if __name__ == "__main__":
    for name in PLATFORMS:
        write_locks(name, upgrade="--upgrade" in sys.argv[1:])
