"""What keeping the calls in SQLite costs a server, beside keeping them in memory: the same work, window by window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from bench.clients import TYPED_EVERY_MS
from bench.report import Check, Section, median
from bench.window import BINARY, DEFAULT_STORE, WARM_S, Subject, Window, measure

STORES = {"memory": "memory:", "sqlite": DEFAULT_STORE}
P99_LIMIT_MS = 5.0
"""What the file may add to the delay."""


@dataclass(frozen=True, slots=True)
class Work:
    """`talking` calls, whose delay is measured, and `writing` calls beside them."""

    talking: int
    writing: int

    @property
    def name(self) -> str:
        """How the table calls it."""
        return f"{self.talking:,} talking" + (f", {self.writing:,} writing" if self.writing else "")

    def subject(self, store: str) -> Subject:
        """The server that does this work with one of `STORES`."""
        return replace(BINARY, name=f"{self.name}, {store}", store=STORES[store], writers=self.writing, alone=False)


WORK = (Work(200, 0), Work(20, 1_000))
HEADER = (
    "calls",
    "store",
    "CPU ms/session-s",
    "% of a core",
    "p50 ms",
    "p99 ms",
    "max ms",
    "file kB/call-minute",
    "lost, wrong",
)
HOW = (
    "The same work in alternating windows with `--store memory:` and with `--store sqlite:` and a new file, each "
    "window with fresh processes, the server on both cores, one of which provider and clients have as well. Talking "
    "sessions are those of `talk`, native with binary frames. A writing call types a turn every "
    f"{TYPED_EVERY_MS // 1000} s, all of them evenly spread, and is answered by 8 words of text, 5 a second. CPU is of "
    "the whole server, divided by all calls. The delay is that of the talking sessions' audio from the provider's "
    "write to the client's read; what the file adds to it is the difference of the two windows of a pair, median of "
    "the pairs. "
    "After each window all calls are ended and the server is stopped; then the file has to hold each call from its "
    "first event to the last one that its client got, and its size is divided by the length of all calls."
)

Pairs = dict[tuple[Work, str], list[Window]]


async def measure_stores(
    pairs: int,
    seconds: float,
    say: Callable[[str], None],
    works: Sequence[Work] = WORK,
    warm_s: float = WARM_S,
) -> Section:
    """Run `pairs` pairs of `seconds` long windows for each work; which store is first alternates."""
    windows: Pairs = {(work, store): [] for work in works for store in STORES}
    for number in range(pairs):
        for work in works:
            for store in sorted(STORES, reverse=number % 2 == 1):
                window = await measure(work.subject(store), work.talking, seconds, warm_s)
                windows[work, store].append(window)
                say(
                    f"pair {number + 1}/{pairs}, {window.subject}: {window.load_percent:.0f} % of a core, {window.told}"
                )
    section = Section("stores", "Keeping the calls", HOW, HEADER, [_row(*key, found) for key, found in windows.items()])
    for work in works:
        both = zip(windows[work, "sqlite"], windows[work, "memory"], strict=True)
        added_ms = median([one.p99_ms - other.p99_ms for one, other in both])
        section.checks.append(Check(f"p99 delay beyond the memory store, {work.name}", added_ms, P99_LIMIT_MS, " ms"))
    every = [window for found in windows.values() for window in found]
    section.checks.append(Check("calls that the file does not hold whole", sum(one.not_kept for one in every), 0))
    section.checks.append(
        Check("lost, reordered, crossed, errors in all windows", sum(one.wrong - one.not_kept for one in every), 0)
    )
    section.data = {"windows": [asdict(window) for window in every]}
    return section


def _row(work: Work, store: str, found: Sequence[Window]) -> Sequence[str]:
    kept = [window.kept for window in found if window.kept is not None]
    return (
        work.name,
        store,
        f"{median([one.cost for one in found]):.2f}",
        f"{median([one.load_percent for one in found]):.0f}",
        f"{median([one.p50_ms for one in found]):.2f}",
        f"{median([one.p99_ms for one in found]):.2f}",
        f"{max(one.max_ms for one in found):.1f}",
        f"{median([one.bytes_per_minute for one in kept]) / 1000:.1f}" if kept else "",
        f"{sum(one.lost for one in found)}, {sum(one.wrong for one in found)}",
    )
