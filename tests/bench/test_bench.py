"""The bench's own parts: the load generators, the floor and every way to talk run, and lose nothing. No timing."""

import tomllib
from pathlib import Path

import pytest

from bench import window as windows
from bench.burst import measure_burst
from bench.delays import Delays
from bench.interruption_cost import OFF, SELECTIVE, measure_interruption
from bench.report import KNOWN_MISSES, Check, Section, median, share, write_into_page
from bench.run import checks_of, measure_talk
from bench.window import BINARY, FLOOR, JSON1, NATIVE, OPENAI, UNKEPT, Subject, Window, measure

CLIENTS = 2
SECONDS = 2.0


def seen(late_ms: float, calm_percent: float, **others: float) -> Window:
    """A window like any other, but for how much it was disturbed."""
    numbers = dict.fromkeys(
        ("cost", "load_percent", "rss_idle_mb", "rss_mb", "p50_ms", "p99_ms", "max_ms", "p99_of_all_ms"), 1.0
    )
    counts = dict.fromkeys(("deltas", "lost", "reordered", "crossed", "up_out_of_order", "flushes"), 0)
    return Window(
        subject="floor",
        sessions=1,
        errors=(),
        late_ms=late_ms,
        other_percent=0.0,
        stolen_percent=0.0,
        calm_percent=calm_percent,
        **{**numbers, **others},
        **counts,
    )


@pytest.mark.parametrize(
    ("shown", "given", "repeats"),
    [
        ([seen(1, 100), seen(1, 100)], 0, 0),
        ([seen(31, 100), seen(1, 9), seen(1, 10)], 2, 2),
        ([seen(31, 100), seen(1, 0), seen(1, 9), seen(40, 50), seen(1, 5)], 2, 4),
    ],
    ids=["the first", "once nothing disturbs", "the least disturbed"],
)
async def test_a_disturbed_window_is_repeated(
    shown: list[Window], given: int, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(shown)

    async def next_window(*_: object) -> Window:
        return next(left)

    monkeypatch.setattr(windows, "_measure_once", next_window)
    window = await measure(FLOOR, 1, 1.0)
    wanted = shown[given]
    assert (window.late_ms, window.calm_percent, window.repeats) == (wanted.late_ms, wanted.calm_percent, repeats)


@pytest.mark.parametrize(
    "subject",
    [NATIVE, *(pytest.param(one, marks=pytest.mark.night) for one in (FLOOR, BINARY, JSON1, OPENAI))],
    ids=lambda subject: subject.name,
)
@pytest.mark.usefixtures("measured_once")
async def test_calls_talk_and_nothing_is_lost(subject: Subject) -> None:
    window = await measure(subject, CLIENTS, SECONDS, warm_s=0.1)
    assert window.deltas > CLIENTS * SECONDS * 10
    assert (window.lost, window.reordered, window.crossed, window.up_out_of_order, window.errors) == (0, 0, 0, 0, ())


@pytest.mark.night
@pytest.mark.usefixtures("measured_once")
async def test_a_round_gives_a_table_with_the_ratio_to_its_floor() -> None:
    told: list[str] = []
    section = await measure_talk([20], 1, 1.5, told.append, (FLOOR, UNKEPT, NATIVE), detector_sessions=0)
    assert [row[0] for row in section.rows] == [FLOOR.name, UNKEPT.name, NATIVE.name]
    assert section.rows[0][3] == "1.00"
    assert len(told) == 3
    checked = [check.what for check in section.checks]
    assert "import realtime" in checked
    assert "CPU of the default store over none, 20 sessions" in checked
    assert any(what.startswith("p99 delay, native JSON, 20 sessions, ") for what in checked)


@pytest.mark.night
@pytest.mark.usefixtures("measured_once")
async def test_sessions_that_decide_about_voices_are_compared_with_those_that_do_not() -> None:
    told: list[str] = []
    section = await measure_interruption(1, 1.5, told.append, [(OFF, SELECTIVE, 10, 9.0)])
    assert [row[0] for row in section.rows] == [OFF.name, SELECTIVE.name]
    assert section.rows[0][3] == "1.000"
    assert [(check.what, check.kept) for check in section.checks] == [(f"{SELECTIVE.name}, of off", True)]
    assert len(told) == 2


def test_delays_are_judged_by_the_slices_from_which_the_host_withheld_nothing() -> None:
    delays = Delays(stolen_s=5.0)
    for delay_us, stolen_s in ((1_000, 5.0), (2_000, 5.01), (40_000, 5.05), (30_000, 5.05), (3_000, 5.05)):
        delays.add(delay_us)
        delays.end_slice(stolen_s)
    delays.add(90_000)  # in a slice that has not ended
    assert delays.report() == {
        "p50_ms": 2.0,
        "p99_ms": 3.0,
        "max_ms": 3.0,
        "p99_of_all_ms": 40.0,
        "calm_percent": 60.0,
    }


def test_delays_of_a_host_that_is_never_calm_are_those_of_all_slices() -> None:
    delays = Delays(stolen_s=0.0)
    for number in range(20):
        delays.add(1_000 * (number + 1))
        delays.end_slice(stolen_s=0.0 if number == 0 else number * 0.1)
    report = delays.report()
    assert (report["calm_percent"], report["p99_ms"], report["max_ms"]) == (5.0, 20.0, 20.0)


def test_the_delay_is_judged_at_the_most_sessions_that_leave_the_core_some_room() -> None:
    def check_at(*loads: tuple[int, float]) -> str:
        found = {("native JSON", n): [seen(1, 100, load_percent=load)] for n, load in loads}
        floors = {("floor", n): [seen(1, 100)] for n, _ in loads}
        return next(check.what for check in checks_of({**floors, **found}) if check.what.startswith("p99 delay"))

    assert check_at((100, 70), (200, 80)) == "p99 delay, native JSON, 200 sessions, 80 % of a core"
    assert check_at((100, 70), (200, 99)) == "p99 delay, native JSON, 100 sessions, 70 % of a core"
    assert check_at((100, 85), (200, 99)) == "p99 delay, native JSON, 100 sessions, 85 % of a core"


async def test_a_burst_is_silenced_and_nothing_follows() -> None:
    section = await measure_burst(1)
    assert [row[-1] for row in section.rows] == ["0 B"] * 4


def test_the_page_keeps_everything_but_the_section_that_is_written(tmp_path) -> None:  # type: ignore[no-untyped-def]
    page = tmp_path / "performance.md"
    page.write_text("# Performance\n\nWords.\n", encoding="utf-8")
    section = Section(
        "part", "A part", "How.", ("server", "ms"), [("ours", "1.0")], [Check("a limit", 1.0, 2.0, " ms")]
    )
    section.page, section.stolen_percent = page, 3.0
    write_into_page(section, "python -m bench")
    first = page.read_text(encoding="utf-8")
    assert first.startswith("# Performance\n\nWords.\n\n<!-- bench:part -->\n## A part\n")
    assert "| ours | 1.0 |" in first
    assert "- a limit: 1 ms (at most 2 ms: kept)" in first
    assert "The host withheld 3.0 % of a core meanwhile." in first
    page.write_text(first + "\nMore words.\n", encoding="utf-8")
    section.rows = [("ours", "3.0")]
    section.checks = [Check("a limit", 3.0, 2.0, " ms")]
    write_into_page(section, "python -m bench")
    second = page.read_text(encoding="utf-8")
    assert second.endswith("<!-- /bench:part -->\n\nMore words.\n")
    assert "| ours | 3.0 |" in second
    assert "| ours | 1.0 |" not in second
    assert "MISSED" in second


@pytest.mark.parametrize(
    ("value", "name", "is_news"),
    [(1.0, "a limit", False), (2.5, "a limit", False), (3.5, "a limit", True), (2.5, "another", True)],
    ids=["kept", "missed as known", "missed by more", "missed and not known"],
)
def test_a_missed_limit_is_news_unless_it_is_known_to_be_missed_so_far(
    value: float, name: str, is_news: bool, tmp_path: Path
) -> None:
    misses = tmp_path / "misses.toml"
    misses.write_text('[part."a limit"]\nbound = 3.0\nbecause = "It is slow."\n', encoding="utf-8")
    section = Section("part", "A part", "How.", checks=[Check(name, value, 2.0)])
    section.know(misses)
    assert section.checks[0].is_news is is_news


def test_each_known_miss_says_why() -> None:
    known = tomllib.loads(KNOWN_MISSES.read_text(encoding="utf-8"))
    assert all(miss.keys() == {"bound", "because"} for section in known.values() for miss in section.values())


def test_medians_and_shares() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5
    assert share([float(value) for value in range(1, 11)], 90) == 9.0
    assert share([5.0], 90) == 5.0
