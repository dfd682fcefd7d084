"""Sockets work with the lowest and the highest versions of uvicorn and websockets that the package accepts."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("uvicorn", "websockets")
TESTS = [
    *("tests/server/test_websocket_protocol.py", "tests/server/test_overload.py", "tests/server/test_http_guard.py"),
    *("tests/server/test_standard_sockets.py", "tests/server/test_runner.py", "tests/server/test_app.py"),
    *("tests/server/test_openai_endpoint.py", "tests/test_websocket.py", "tests/model/test_wire_sockets.py"),
]


def accepted(highest: bool) -> list[str]:
    """What pip is to install of each library: the lowest version that the package accepts, or the highest there is."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    wanted = [one for one in map(Requirement, listed) if one.name in LIBRARIES]
    if highest:
        return [str(one) for one in wanted]
    return [f"{one.name}=={spec.version}" for one in wanted for spec in one.specifier if spec.operator == ">="]


def test_both_libraries_are_capped() -> None:
    for one in map(Requirement, accepted(highest=True)):
        assert {specifier.operator for specifier in one.specifier} == {">=", "<"}, one


@pytest.mark.night
@pytest.mark.parametrize("highest", [False, True], ids=["lowest", "highest"])
def test_sockets_work_with_these_versions(highest: bool, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-qq", "--no-deps"]
    bare = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    command = [*pip, "--target", str(tmp_path), *accepted(highest)]
    installed = subprocess.run(command, env=bare, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS]
    found = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-4_000:]
    with_these = "import uvicorn; print(uvicorn.__file__)"
    used = subprocess.run([sys.executable, "-c", with_these], env=env, capture_output=True, text=True, check=True)
    assert used.stdout.startswith(str(tmp_path))
