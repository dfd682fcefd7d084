"""docs/add-a-provider.md, run as it is printed: its tests pass, and its agent is one that `realtime serve` takes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from realtime.server.plan import load_make_agent

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "docs" / "add-a-provider.md").read_text(encoding="utf-8")
BLOCKS = {
    block.partition("\n")[0].removeprefix("# "): block
    for block in re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with all files of the guide."""
    for name, block in BLOCKS.items():
        (tmp_path / name).write_text(block, encoding="utf-8")
    return tmp_path


def run(project: Path, *words: str) -> tuple[int, str]:
    """The exit code and the output of a Python module run in the folder."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(project)))},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_tests_of_the_guide_pass(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", encoding="utf-8")
    printed = sum(block.count("\ndef test_") for block in BLOCKS.values())
    code, said = run(project, "pytest", "-q")
    assert (code, f"{printed} passed" in said) == (0, True), said


def test_the_agent_of_the_guide_is_one_that_can_be_served(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(project)
    agent = load_make_agent(f"{project / 'agent.py'}:make_agent")()
    assert (agent.name, agent.model.profile.provider) == ("Polly", "toy")
    assert sorted(agent.model.support_input_modalities) == ["audio", "text"]


def test_every_printed_file_is_named_and_every_command_runs_one() -> None:
    commands = re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    run_by = {name for command in commands for name in re.findall(r"\w+\.py", command)}
    assert run_by == {"service.py", "agent.py", "test_codec.py", "test_call.py"}
    assert set(BLOCKS) == run_by | {"toy.py"}
