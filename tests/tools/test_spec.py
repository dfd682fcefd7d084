"""tools/spec.py: what counts as a test of an item, and that no item of the specification is forgotten."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = """
[groups]
ABC = { title = "Letters", items = 6 }
[rulings]
XYZ = { title = "More letters", items = 1 }
[open]
ABC-04 = "comes with the alphabet"
"ABC-05..ABC-06" = "come later"
"""


@pytest.fixture
def spec(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("spec")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "spec.toml").write_text(TABLE)
    (tmp_path / "tests" / "part").mkdir(parents=True)
    (tmp_path / "web" / "src").mkdir(parents=True)
    return tmp_path


def test_docstrings_names_and_titles_cover_an_item(spec: ModuleType, project: Path) -> None:
    (project / "tests" / "part" / "test_a.py").write_text(
        '"""ABC-03 in a module docstring does not count."""\n'
        "def test_one():\n    '''Says it. ABC-01'''\n"
        "async def test_two_abc_02():\n    pass\n"
        "def helper():\n    '''ABC-03'''\n"
    )
    (project / "web" / "src" / "a.test.ts").write_text("it('shows a letter (XYZ-01)', () => { /* ABC-03 */ })\n")
    report = spec.read(project)
    assert report.tests == {
        "ABC-01": ["tests/part/test_a.py: test_one"],
        "ABC-02": ["tests/part/test_a.py: test_two_abc_02"],
        "XYZ-01": ["web/src/a.test.ts: shows a letter (XYZ-01)"],
    }
    assert report.missing() == ["ABC-03"]


def test_the_report_tells_covered_open_half_and_missing_and_sums_them_up(spec: ModuleType, project: Path) -> None:
    (project / "tests" / "part" / "test_a.py").write_text("def test_one():\n    '''ABC-01, ABC-04'''\n")
    assert list(spec.lines(spec.read(project))) == [
        "ABC   Letters: 6 items, 1 covered, 3 open",
        "      half     ABC-04  comes with the alphabet",
        "      open     ABC-05  come later",
        "      open     ABC-06  come later",
        "      missing  ABC-02 ABC-03",
        "XYZ   More letters: 1 items, 0 covered, 0 open",
        "      missing  XYZ-01",
        "6 items: 1 covered, 3 open",
        "1 rulings: 0 covered, 0 open",
    ]


def test_an_id_that_no_group_has_is_reported(spec: ModuleType, project: Path) -> None:
    (project / "tests" / "test_a.py").write_text("def test_one():\n    '''ABC-77'''\n")
    assert spec.read(project).unknown() == ["ABC-77"]


def test_every_item_has_a_test_or_a_reason(spec: ModuleType) -> None:
    report = spec.read(ROOT)
    assert report.missing() == []
    assert report.unknown() == []


def test_the_groups_are_those_of_the_specification(spec: ModuleType, source_documents: Path) -> None:
    """Every item is counted: 576, and the rulings apart."""
    text = (source_documents / "SPEC.md").read_text(encoding="utf-8")
    counted = Counter(re.findall(r"^- \*\*([A-Z0-9]+)-\d\d\*\*", text, re.MULTILINE))
    groups = spec.read(ROOT).groups
    assert {group.prefix: group.items for group in groups} == counted
    assert sum(group.items for group in groups if not group.is_ruling) == 576
