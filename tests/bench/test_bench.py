"""The bench's own parts: the load generators, the floor and every way to talk run, and lose nothing. No timing."""

import pytest

from bench.burst import measure_burst
from bench.report import Check, Section, median, share, write_into_page
from bench.run import measure_talk
from bench.window import BINARY, FLOOR, JSON1, NATIVE, OPENAI, Subject, measure

CLIENTS = 2
SECONDS = 2.0


@pytest.mark.parametrize("subject", [FLOOR, NATIVE, BINARY, JSON1, OPENAI], ids=lambda subject: subject.name)
async def test_calls_talk_and_nothing_is_lost(subject: Subject) -> None:
    window = await measure(subject, CLIENTS, SECONDS, warm_s=0.1)
    assert window.deltas > CLIENTS * SECONDS * 10
    assert (window.lost, window.reordered, window.crossed, window.up_out_of_order, window.errors) == (0, 0, 0, 0, ())


async def test_a_round_gives_a_table_with_the_ratio_to_its_floor() -> None:
    told: list[str] = []
    section = await measure_talk([20], 1, 1.5, told.append, (FLOOR, NATIVE), detector_sessions=0)
    assert [row[0] for row in section.rows] == [FLOOR.name, NATIVE.name]
    assert section.rows[0][3] == "1.00"
    assert len(told) == 2
    assert {"p99 delay, native JSON", "import realtime"} <= {check.what for check in section.checks}


async def test_a_burst_is_silenced_and_nothing_follows() -> None:
    section = await measure_burst(1)
    assert [row[-1] for row in section.rows] == ["0 B"] * 4


def test_the_page_keeps_everything_but_the_section_that_is_written(tmp_path) -> None:  # type: ignore[no-untyped-def]
    page = tmp_path / "performance.md"
    page.write_text("# Performance\n\nWords.\n", encoding="utf-8")
    section = Section(
        "part", "A part", "How.", ("server", "ms"), [("ours", "1.0")], [Check("a limit", 1.0, 2.0, " ms")]
    )
    write_into_page(section, "python -m bench", page)
    first = page.read_text(encoding="utf-8")
    assert first.startswith("# Performance\n\nWords.\n\n<!-- bench:part -->\n## A part\n")
    assert "| ours | 1.0 |" in first
    assert "- a limit: 1 ms (at most 2 ms: kept)" in first
    page.write_text(first + "\nMore words.\n", encoding="utf-8")
    section.rows = [("ours", "3.0")]
    section.checks = [Check("a limit", 3.0, 2.0, " ms")]
    write_into_page(section, "python -m bench", page)
    second = page.read_text(encoding="utf-8")
    assert second.endswith("<!-- /bench:part -->\n\nMore words.\n")
    assert "| ours | 3.0 |" in second
    assert "| ours | 1.0 |" not in second
    assert "MISSED" in second


def test_medians_and_shares() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5
    assert share([float(value) for value in range(1, 11)], 90) == 9.0
    assert share([5.0], 90) == 5.0
