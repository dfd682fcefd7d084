"""The committed page is the one its sources build."""

import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_rebuild_of_the_page_gives_the_committed_files(dev: ModuleType, tmp_path: Path) -> None:
    if not (WEB / "node_modules").is_dir():
        pytest.skip("web/node_modules is not installed (make test does it)")
    build = dev.npm("run", "--silent", "build", "--", "--outDir", str(tmp_path / "dist"), "--logLevel", "warn")
    subprocess.run(build, cwd=WEB, env=dev.tool_env(), check=True)
    assert contents(tmp_path / "dist") == contents(WEB / "dist")
