"""The shape of the project: what it declares, what lies where, and that it installs and serves."""

import os
import re
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the project, built with the backend of the environment."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed wheel alone; its dependencies come from the environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-warn-conflicts"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--target", folder, wheel], check=True)
    return folder


@pytest.fixture
def server(installed: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server run from the installed wheel, outside the project, and the address that it printed."""
    env = dict(os.environ, PYTHONPATH=str(installed), PYTHONUNBUFFERED="1")
    command = [sys.executable, "-m", "realtime", "serve", "--host", "127.0.0.1", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if address := ADDRESS.search(line):
                yield process, address.group()
                break
        process.kill()
        if not ADDRESS.search("".join(seen)):
            pytest.fail("the server printed no address:\n" + "".join(seen))


@pytest.mark.night
def test_the_wheel_holds_the_built_pages(wheel: Path) -> None:
    built = {path.relative_to(ROOT / "web" / "dist").as_posix() for path in (ROOT / "web" / "dist").rglob("*.*")}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "index.html" in built
    assert {f"realtime/server/page/{name}" for name in built} <= names
    assert {f"realtime/testing/report/report{ending}" for ending in (".generated.css", ".generated.js")} <= names
    assert "realtime/py.typed" in names


@pytest.mark.night
def test_the_installed_package_serves_its_page(server: tuple[subprocess.Popen[str], str]) -> None:
    """CARD-01: a Python package that installs, and a server command that runs."""
    process, address = server
    with urllib.request.urlopen(address, timeout=120) as answer:
        page = answer.read()
    assert page == (ROOT / "web" / "dist" / "index.html").read_bytes()
    process.terminate()
    assert process.wait(timeout=120) == 0


def test_the_packages_of_the_design_card_are_declared() -> None:
    """CARD-02: providers and tests as extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[^A-Za-z0-9_-]", text)[0] for text in requirements}

    extras = project["optional-dependencies"]
    assert {"fastapi", "websockets", "numpy", "soundfile"} <= names(project["dependencies"])
    sdks = {"openai": "openai", "gemini": "google-genai", "dashscope": "dashscope", "anthropic": "anthropic"}
    assert {extra: names(extras[extra]) for extra in sdks} == {extra: {sdk} for extra, sdk in sdks.items()}
    assert "pytest-asyncio" in names(extras["test"])
    optional = {"openai", "google-genai", "dashscope", "anthropic", "onnxruntime", "ctranslate2"}
    assert not names(project["dependencies"]) & optional


def test_the_top_level_is_that_of_the_design_card() -> None:
    """CARD-03: each of these stands at the top level and is not empty."""
    for path in (ROOT / name for name in ("pyproject.toml", "realtime", "web", "tests", "fixtures", "README.md")):
        assert any(path.iterdir()) if path.is_dir() else path.stat().st_size


def test_the_readme_says_how_stable_the_agent_is() -> None:
    """RTA-03: RealtimeAgent is under active development, its interface may change."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    note = next((part for part in readme.split("\n\n") if "RealtimeAgent" in part and "may change" in part), "")
    assert note, "README.md has no paragraph that says that the interface of RealtimeAgent may change"
