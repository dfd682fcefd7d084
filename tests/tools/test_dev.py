"""tools/dev.py: what it says about a machine that lacks something, and when it leaves well alone."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Commands:
    """Stands in for `subprocess.run`: notes each command and fails those that hold a given word."""

    def __init__(self, failing: str = "\0") -> None:
        self.failing = failing
        self.ran: list[list[str]] = []

    def __call__(self, command: list[str], *, check: bool = False, **_: object) -> subprocess.CompletedProcess[bytes]:
        self.ran.append(command)
        code = int(any(self.failing in word for word in command))
        if check and code:
            raise subprocess.CalledProcessError(code, command)
        return subprocess.CompletedProcess(command, code)


@pytest.fixture
def project(dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with a lock for this platform and an empty `.venv`."""
    locks = tmp_path / "requirements" / dev.lock_platform()
    locks.mkdir(parents=True)
    for part in dev.PARTS:
        (locks / f"{part}.txt").write_text(f"{part}==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "VENV", tmp_path / ".venv")
    return tmp_path


@pytest.fixture
def commands(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """What is run, instead of running it."""
    made = Commands()
    monkeypatch.setattr(dev.subprocess, "run", made)
    monkeypatch.setattr(dev, "tool_env", dict)
    return made


def test_an_old_python_can_read_the_script() -> None:
    source = (ROOT / "tools" / "dev.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= set(sys.stdlib_module_names) - {"tomllib"}


INSTALLS = {
    ("linux", "apt-get"): "apt-get install python3.11 python3.11-venv",
    ("linux", "dnf"): "dnf install python3.12",
    ("darwin", "brew"): "brew install python@3.13",
}


def test_a_missing_python_is_named_with_the_line_that_installs_it(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "version_of", lambda command, probe=dev.PROBE: (3, 9, 2))
    for (system, manager), line in INSTALLS.items():
        monkeypatch.setattr(dev.sys, "platform", system)
        monkeypatch.setattr(dev.shutil, "which", lambda name, found=manager: f"/bin/{name}" if name == found else None)
        with pytest.raises(dev.Missing) as missing:
            dev.find_python()
        assert "Python 3.11 or newer" in str(missing.value)
        assert line in str(missing.value)


def test_a_python_without_venv_is_named_with_its_package(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {dev.PROBE: None, dev.PROBE_VERSION: (3, 12, 4)}
    monkeypatch.setattr(dev, "version_of", lambda command, probe=dev.PROBE: answers[probe])
    with pytest.raises(dev.Missing, match=r"apt-get install python3\.12-venv"):
        dev.find_python()


def test_a_newer_python_on_the_path_is_found_by_an_old_one(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {sys.executable: (3, 8, 18), "/bin/python3.12": (3, 12, 1)}
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(dev, "version_of", lambda command, probe=dev.PROBE: versions.get(command[0]))
    assert dev.find_python() == (["/bin/python3.12"], (3, 12, 1))


def test_a_part_is_installed_from_its_lock_by_hash(dev: ModuleType, project: Path, commands: Commands) -> None:
    dev.install("test", (3, 11, 7))
    locked, linked = commands.ran
    assert {"--require-hashes", "--no-deps", str(dev.lock_file("test"))} <= set(locked)
    assert linked[-2:] == ["--editable", f"{project}[openai,gemini,dashscope,anthropic,mcp,redis,a2a,mem0,ears,test]"]


def test_the_second_run_installs_nothing_until_something_changes(
    dev: ModuleType, project: Path, commands: Commands
) -> None:
    def n_run(version: tuple[int, int, int]) -> int:
        commands.ran.clear()
        dev.install("core", version)
        return len(commands.ran)

    first = n_run((3, 11, 7))
    assert (first > 0, n_run((3, 11, 7))) == (True, 0)
    dev.lock_file("core").write_text("core==2\n")
    assert (n_run((3, 11, 7)), n_run((3, 11, 7))) == (first, 0)
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert (n_run((3, 11, 7)), n_run((3, 11, 7))) == (first, 0)
    assert n_run((3, 12, 1)) == first


def test_a_platform_without_a_lock_takes_the_lower_bounds(
    dev: ModuleType,
    project: Path,
    commands: Commands,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(dev, "lock_platform", lambda: "plan9-vax")
    dev.install("speech", (3, 11, 7))
    (command,) = commands.ran
    assert command[-2:] == ["--editable", f"{project}[local]"]
    assert "no lock for plan9-vax" in capsys.readouterr().out


def test_failing_speech_models_and_judges_are_told_survived_and_tried_again(
    dev: ModuleType,
    project: Path,
    commands: Commands,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands.failing = "speech.txt"
    dev.install_speech((3, 11, 7))
    assert "going on without them" in capsys.readouterr().out
    commands.failing = "\0"
    dev.install_speech((3, 11, 7))
    assert commands.ran[-1][-1] == f"{project}[local]"

    folder = project / "node"
    (folder / "node_modules").mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        (folder / name).write_text("{}")
    monkeypatch.setattr(dev, "MCP_JUDGES", folder)
    monkeypatch.setattr(dev, "npm", lambda *words: ["npm", *words])
    commands.ran.clear()
    commands.failing = "ci"
    dev.install_mcp_judges()
    assert "going on without it" in capsys.readouterr().out
    commands.failing = "\0"
    dev.install_mcp_judges()
    dev.install_mcp_judges()
    assert commands.ran == [["npm", "ci", "--loglevel=error"]] * 2


def test_the_tests_of_a_new_clone_are_compiled_once(dev: ModuleType, project: Path, commands: Commands) -> None:
    dev.compile_tests()
    compiled = project / "tests" / "__pycache__" / "conftest.cpython-311-pytest-9.pyc"
    compiled.parent.mkdir(parents=True)
    compiled.touch()
    dev.compile_tests()
    assert ["--collect-only" in words for words in commands.ran] == [True]


def test_an_absent_browser_is_named_where_it_cannot_be_installed(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "has_tool", lambda name: name != "chromium")
    monkeypatch.setattr(dev, "is_root", lambda: False)
    monkeypatch.setattr(dev.sys, "platform", "linux")
    dev.system_tools()
    assert "apt-get install chromium" in capsys.readouterr().out


@pytest.mark.parametrize(("night", "installs"), [("0", []), ("1", ["flite", "festival", "festvox-us-slt-hts"])])
def test_what_only_the_night_needs_is_installed_at_night(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, commands: Commands, night: str, installs: list[str]
) -> None:
    monkeypatch.setenv("REALTIME_NIGHTLY", night)
    monkeypatch.setattr(dev, "has_tool", lambda name: name not in ("flite", "festival"))
    monkeypatch.setattr(dev, "is_root", lambda: True)
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/usr/bin/{name}")
    dev.system_tools()
    assert {*installs} <= {word for words in commands.ran for word in words}
    assert bool(commands.ran) is bool(installs)


def test_failed_checks_are_all_run_and_named(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "tool_env", dict)
    programs = {"bad": "raise SystemExit('it is wrong')", "good": "", "worse": "raise SystemExit(3)"}
    checks = [dev.Check("lint", name, [sys.executable, "-c", code]) for name, code in programs.items()]
    outcomes = dev.run_all(checks)
    assert [(one.check.name, one.passed) for one in outcomes] == [("bad", False), ("good", True), ("worse", False)]
    assert dev.told("check", outcomes) == 1
    said = capsys.readouterr().out
    assert "it is wrong\n      bad: failed" in said
    assert "good: ok" in said


class Started:
    """Stands in for `subprocess.Popen`: a process that has ended already."""

    def __init__(self, command: list[str], **_: object) -> None:
        self.pid = os.getpid()
        self.command = command

    def wait(self) -> int:
        return int("bad.py" in self.command)


def test_tests_run_beside_the_checks_and_all_that_fails_is_named(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_way: list[int] = []
    monkeypatch.setattr(dev, "tool_env", dict)
    monkeypatch.setattr(dev.subprocess, "Popen", Started)
    monkeypatch.setattr(dev, "run_check", lambda check: dev.Outcome(check, False, 1.0))
    monkeypatch.setattr(dev.os, "setpriority", lambda _which, _pid, niceness: given_way.append(niceness))
    beside = [dev.Check("lint", "bad", [])]
    assert [(one.check.name, one.passed) for one in dev.run_tests(["bad.py"], beside)] == [
        ("bad", False),
        ("tests", False),
    ]
    assert [(one.check.name, one.passed) for one in dev.run_tests(["good.py"], beside)] == [
        ("bad", False),
        ("tests", True),
    ]
    assert given_way == [dev.NICENESS] * 2


def test_what_check_runs_exists(dev: ModuleType) -> None:
    assert [path for path in dev.CHECKED if not (ROOT / path).exists()] == []


def test_what_python_compiles_is_kept_for_the_next_process(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(dev, "node_folder", lambda: ROOT)
    assert "PYTHONDONTWRITEBYTECODE" not in dev.tool_env()


def test_an_unknown_target_explains_the_script(capfd: pytest.CaptureFixture[str]) -> None:
    code = subprocess.run([sys.executable, str(ROOT / "tools" / "dev.py"), "fly"], check=False).returncode
    assert code == 2
    assert "TARGET is serve, check, test, nightly, durations, spec, bench or lint." in capfd.readouterr().out
