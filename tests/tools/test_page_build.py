"""The committed page, client package and report are the ones that their sources build."""

import gzip
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tools import dev

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
MAX_CLIENT_BYTES = 25_000
"""Of each build of the client package, gzipped."""


def contents(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob(pattern) if path.is_file()}


def rebuilt(script: str, folder: Path, *options: str) -> Path:
    """The folder, with what an npm script of `web/` builds."""
    if not (WEB / "node_modules").is_dir():
        pytest.skip("web/node_modules is not installed (make test does it)")
    build = dev.npm("run", "--silent", script, "--", "--outDir", str(folder), *options)
    subprocess.run(build, cwd=WEB, env=dev.tool_env(), check=True)
    return folder


def test_a_rebuild_of_the_page_gives_the_committed_files(tmp_path: Path) -> None:
    committed = contents(WEB / "dist")
    page = {name: text for name, text in committed.items() if not name.startswith("client/")}
    assert contents(rebuilt("build:page", tmp_path / "dist", "--logLevel", "warn")) == page


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """The folder of a fresh build of the client package."""
    return rebuilt("build:client", tmp_path / "client")


def test_a_rebuild_of_the_client_package_gives_the_committed_files_which_are_small_and_load_nothing(
    client: Path, load_tool: Callable[[str], ModuleType]
) -> None:
    """Each build is one file; the worklets are in it."""
    assert contents(client) == contents(WEB / "dist" / "client")
    builds = {name: client / name for name in ("realtime.js", "realtime.script.js")}
    sizes = {name: len(gzip.compress(path.read_bytes(), 9)) for name, path in builds.items()}
    assert {name: size for name, size in sizes.items() if size > MAX_CLIENT_BYTES} == {}
    for name in (*builds, "worklets/capture.js", "worklets/playback.js"):
        script = (client / name).read_text(encoding="utf-8")
        assert re.findall(r"""\b(?:from|import)\s*\(?["'`]""", script) == [], name
        # The address of a page where there is none.
        assert set(re.findall(r"https?://[\w.-]+", script)) <= {"http://localhost"}, name
    tool = load_tool("make_client_reference")
    assert tool.FILE.read_text(encoding="utf-8") == tool.reference(client / "types")


def test_a_rebuild_of_the_report_gives_the_committed_files(tmp_path: Path) -> None:
    committed = contents(ROOT / "realtime/testing/report", "*.generated.*")
    assert set(committed) == {"report.generated.css", "report.generated.js"}
    assert contents(rebuilt("build:report", tmp_path / "report", "--logLevel", "warn")) == committed
