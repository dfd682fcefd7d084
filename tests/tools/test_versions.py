"""tools/versions.py: which versions the tests run with."""

import platform
from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture
def versions(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("versions")


def test_each_dependency_is_pinned_to_its_lower_bound(versions: ModuleType) -> None:
    lowest, declared = versions.bounds(lowest=True), versions.bounds(lowest=False)
    assert len(lowest) == len(declared)
    for pinned, bound in zip(lowest, declared, strict=True):
        assert bound.startswith(pinned.partition(";")[0].replace("==", ">="))
    assert any(pinned.endswith('implementation_name == "cpython"') for pinned in lowest), "markers are kept"


def test_other_pythons_are_not_the_one_that_runs(versions: ModuleType) -> None:
    found = dict(versions.other_pythons())
    assert platform.python_version().rpartition(".")[0] not in found
    assert all(int(version.partition(".")[2]) >= 11 for version in found)


def test_one_failing_run_fails_all_and_the_others_are_run(
    versions: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> object:
        commands.append(command)
        return versions.subprocess.CompletedProcess(command, int(command[0] == "old"))

    two = [versions.Run("first", "old", {}, ("-k", "some")), versions.Run("second", "new", {})]
    monkeypatch.setattr(versions, "runs", lambda: iter(two))
    monkeypatch.setattr(versions.subprocess, "run", run)
    assert versions.main(["tests/event"]) == 1
    assert [command[-3:] for command in commands] == [["tests/event", "-k", "some"], ["pytest", "-q", "tests/event"]]
    said = capsys.readouterr().out
    assert "first: failed" in said
    assert "second: ok" in said
