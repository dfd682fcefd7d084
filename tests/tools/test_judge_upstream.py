"""Upstream's tests through the import shim: shapes are adapted, outcomes are told as they are."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

SHAPES = Path(__file__).resolve().parents[2] / "fixtures" / "upstream" / "shapes_test.txt"
"""Tests in upstream's shapes: four pass, one replaces a private function, three do not pass."""
REASONS = {"Failing.*": "on purpose"}


@pytest.fixture
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("judge_upstream")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with one test file."""
    (tmp_path / "tests").mkdir()
    shutil.copy(SHAPES, tmp_path / "tests" / "shapes_test.py")
    return tmp_path


def test_tests_in_upstreams_shapes_run_against_this_project(tool: ModuleType, clone: Path) -> None:
    verdict = tool.judge(clone / "tests" / "shapes_test.py", REASONS)
    assert verdict.title == "shapes_test: 5 of 8"
    assert {test: wrong for test, wrong in verdict.outcomes.items() if wrong} == {
        "Failing.test_what_is_not_built_fails": "NotImplementedError: realtime has no AsyncSQLAlchemyMemory",
        "Failing.test_a_failure_is_told": "AssertionError: 1 != 2",
        "Failing.test_a_skipped_test_has_not_passed": "skipped: no redis",
    }
    assert verdict.is_as_expected


def test_an_outcome_that_is_not_expected_fails_the_run_and_so_does_a_file_that_does_not_run(
    tool: ModuleType, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(str(clone), ["shapes_test"]) == 1
    assert "Failing.test_a_failure_is_told: UNEXPECTED: AssertionError: 1 != 2" in capsys.readouterr().out
    (clone / "tests" / "broken_test.py").write_text("import nothing_of_this_name\n", "utf-8")
    assert tool.main(str(clone), ["broken_test"]) == 1
    told = capsys.readouterr()
    assert told.out == "broken_test: 0 of 0\n"
    assert "No module named 'nothing_of_this_name'" in told.err


def test_a_reason_that_no_longer_holds_fails_the_run(tool: ModuleType) -> None:
    verdict = tool.Verdict("a_test", {"A.test_one": "", "A.test_two": ""}, {"A.test_one": "not built"})
    assert not verdict.is_as_expected
    assert verdict.lines() == ["a_test: 2 of 2", "  A.test_one: PASSES in spite of: not built"]
