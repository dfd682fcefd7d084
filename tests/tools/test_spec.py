"""tools/spec.py: what counts as a test of an item, and that no required item is forgotten."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = """
[groups]
ABC = { title = "Letters", items = 4, required = true }
XYZ = { title = "More letters", items = 1, required = false }
[later]
ABC-04 = "comes with the alphabet"
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


def test_the_report_tells_covered_later_and_missing(spec: ModuleType, project: Path) -> None:
    assert list(spec.lines(spec.read(project))) == [
        "ABC   Letters: 0 of 4 covered",
        "      later    ABC-04  comes with the alphabet",
        "      missing  ABC-01 ABC-02 ABC-03",
        "XYZ   More letters: 0 of 1 covered",
        "      not yet  XYZ-01",
    ]


def test_an_id_that_no_group_has_is_reported(spec: ModuleType, project: Path) -> None:
    (project / "tests" / "test_a.py").write_text("def test_one():\n    '''ABC-77'''\n")
    assert spec.read(project).unknown() == ["ABC-77"]


def test_every_required_item_has_a_test_or_a_reason(spec: ModuleType) -> None:
    report = spec.read(ROOT)
    assert report.missing() == []
    assert report.unknown() == []
