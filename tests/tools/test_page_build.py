"""The committed page and the committed report are the ones that their sources build."""

import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"


def contents(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob(pattern) if path.is_file()}


def rebuilt(dev: ModuleType, script: str, folder: Path) -> Path:
    """The folder, with what an npm script of `web/` builds."""
    if not (WEB / "node_modules").is_dir():
        pytest.skip("web/node_modules is not installed (make test does it)")
    build = dev.npm("run", "--silent", script, "--", "--outDir", str(folder), "--logLevel", "warn")
    subprocess.run(build, cwd=WEB, env=dev.tool_env(), check=True)
    return folder


def test_a_rebuild_of_the_page_gives_the_committed_files(dev: ModuleType, tmp_path: Path) -> None:
    assert contents(rebuilt(dev, "build:page", tmp_path / "dist")) == contents(WEB / "dist")


def test_a_rebuild_of_the_report_gives_the_committed_files(dev: ModuleType, tmp_path: Path) -> None:
    committed = contents(ROOT / "realtime/testing/report", "*.generated.*")
    assert set(committed) == {"report.generated.css", "report.generated.js"}
    assert contents(rebuilt(dev, "build:report", tmp_path / "report")) == committed
