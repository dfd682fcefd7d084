"""Measures event-loop load and decides whether another call may begin.

All calls of a process share one event loop. Past its capacity every call is late, then sockets time out: so a call that
would not fit is refused, and running calls continue. `Load` decides and is pure; `Admission` samples the loop for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from realtime.errors import Overloaded
from realtime.runtime import cpu_s_of

DEFAULT_MAX_LAG_MS = 25.0
DEFAULT_MAX_BUSY = 0.8

SAMPLE_S = 0.1
WINDOW_S = 2.0
"""Seconds over which lag is the median: one stall of the machine is not overload."""
RECENT_S = 1.0
"""Seconds that the busy share covers and a delay counts as recent."""
SETTLE_S = 1.25
"""Seconds from its start until a call is settled: part of the measurement."""
ALWAYS_ADMITTED = 8
"""So few calls overload nothing: if the loop is late with them, refusing more would not help."""
ASSUMED_COST = 0.025
"""A call's assumed share of a core until costs are measured.

A call whose speech is detected here costs about half of that.
"""
LEAST_COST = 0.002
COST_DECAY = 0.99
"""Lowest factor by which one sample may reduce the known cost: on a core shared with other programs, calls seem
cheap."""
YOUNG_SHARE = 4
"""Settled calls per young one that a measurement of costs needs.

The work of the young ones is in the sum too.
"""
MARGIN = 1.25
"""Calls differ: the next one may cost this many times the average of the running ones."""
RECOVERED_LAG = 0.4
RECOVERED_BUSY = 0.1
"""Overload ends at this share of the highest lag.

And this far below the highest busy share.
"""
QUEUE_S = 3.0
"""Seconds that a burst's call waits for measurements of earlier calls."""
RETRY_AFTER_MS = 2_000
RETRY_STEP_MS = 50
"""Each further refused client waits this much longer: they return one by one."""
MAX_RETRY_AFTER_MS = 30_000
CALM_S = 10.0
"""Seconds without a refusal that reset the waiting time to its minimum."""


class Verdict(Enum):
    """The decision about a call that wants to begin."""

    ADMIT = auto()
    WAIT = auto()
    """The calls that just began have to be measured first."""
    REFUSE = auto()


@dataclass(frozen=True, slots=True)
class _Sample:
    at_s: float
    late_ms: float
    cpu_s: float


class Load:
    """Decides by the event loop's lag and busy share. Time is an argument.

    Lag alone reacts too late: it stays near zero until the core is full and then grows without end, and the calls of a
    burst are admitted before any of them has cost anything. So each young call counts at the measured cost of a call.
    """

    def __init__(self, max_lag_ms: float, max_busy: float) -> None:
        self._max_lag_ms = max_lag_ms
        self._max_busy = max_busy
        self._samples: deque[_Sample] = deque()
        self._young: dict[object, float] = {}
        self._known_cost = 0.0
        self._cost = ASSUMED_COST
        """Expected cost of the next call, as a share of one core."""
        self._used = 0.0
        """Share of the core that the settled calls need."""
        self._late_just_now = False
        self._refused = 0
        self._refused_at_s = -CALM_S
        self.lag_ms = 0.0
        self.busy = 0.0
        """The event loop thread's share of one core."""
        self.overloaded = False

    @property
    def is_unlimited(self) -> bool:
        """Whether calls may use the whole core and be late."""
        return self._max_busy >= 1

    def sample(self, now_s: float, late_s: float, cpu_s: float, running: int) -> None:
        """Record that a timer fired `late_s` late; `cpu_s` is the loop thread's CPU time so far, `running` counts
        calls."""
        self._samples.append(_Sample(now_s, late_s * 1000, cpu_s))
        while len(self._samples) > 2 and self._samples[0].at_s < now_s - WINDOW_S:
            self._samples.popleft()
        late = sorted(one.late_ms for one in self._samples)
        self.lag_ms = late[len(late) // 2]
        recent = [one for one in self._samples if one.at_s >= now_s - RECENT_S]
        self._late_just_now = sum(one.late_ms >= self._max_lag_ms for one in recent) > 1
        first = recent[0] if len(recent) > 1 else self._samples[-2] if len(self._samples) > 1 else recent[0]
        if now_s > first.at_s:
            self.busy = (cpu_s - first.cpu_s) / (now_s - first.at_s)
        self._young = {call: at_s for call, at_s in self._young.items() if at_s > now_s - SETTLE_S}
        self._learn(running - len(self._young))
        needed = self._used + self._cost
        if self.lag_ms >= self._max_lag_ms or needed > self._max_busy:
            self.overloaded = running >= ALWAYS_ADMITTED
        elif self.lag_ms <= self._max_lag_ms * RECOVERED_LAG and needed <= self._max_busy - RECOVERED_BUSY:
            self.overloaded = False

    def _learn(self, settled: int) -> None:
        """Derive the cost of a call from the settled ones."""
        if settled < ALWAYS_ADMITTED:
            self._known_cost = 0.0
        elif len(self._young) * YOUNG_SHARE <= settled:
            self._known_cost = max(self.busy / settled, self._known_cost * COST_DECAY)
        self._cost = min(max(self._known_cost * MARGIN, LEAST_COST), ASSUMED_COST) if self._known_cost else ASSUMED_COST
        self._used = max(self.busy, min(self._known_cost, ASSUMED_COST) * settled)

    def forget(self) -> None:
        """Discard measurements: too few calls run to cause overload, and they say nothing about the next ones."""
        self._samples.clear()
        self._late_just_now = self.overloaded = False
        self._known_cost = self._used = 0.0
        self._cost = ASSUMED_COST

    def admitted(self, call: object, now_s: float) -> None:
        """Count a call that begins."""
        self._young[call] = now_s

    def left(self, call: object) -> None:
        """Forget a call that has ended or was never created."""
        self._young.pop(call, None)

    def verdict(self, running: int) -> Verdict:
        """Decide whether one more call may begin beside `running` others."""
        if running < ALWAYS_ADMITTED:
            return Verdict.ADMIT
        if self.overloaded:
            return Verdict.REFUSE
        needed = self._used + (len(self._young) + 1) * self._cost
        return Verdict.WAIT if self._late_just_now or needed > self._max_busy else Verdict.ADMIT

    def refuse(self, now_s: float) -> Overloaded:
        """Refuse one call; the error says when its client may try again."""
        self._refused = self._refused + 1 if now_s < self._refused_at_s + CALM_S else 0
        self._refused_at_s = now_s
        self.overloaded = True  # until the next sample says otherwise
        return Overloaded(min(RETRY_AFTER_MS + self._refused * RETRY_STEP_MS, MAX_RETRY_AFTER_MS))


class Admission:
    """Admits calls as `Load` decides.

    Samples the event loop while there are enough calls. `running` gives their number, including those that wait here.
    """

    def __init__(self, load: Load, running: Callable[[], int]) -> None:
        self.load = load
        self._running = running
        self._waiting: deque[tuple[object, float, asyncio.Future[None]]] = deque()
        self._is_sampling = False

    def enter(self, call: object, *, returns: bool = False) -> asyncio.Future[None] | None:
        """Admit a call: None at once, or a future that is done when the call may begin.

        Raises Overloaded where it may not, and so does the future. `call` is the key for `Load.left`. A call that
        `returns` from the store is always admitted: its user is in the middle of it, and the server had room for all of
        these when it was killed.
        """
        if self.load.is_unlimited:
            return None
        loop = asyncio.get_running_loop()
        before = self._running() - 1  # its own slot is already taken
        if before >= ALWAYS_ADMITTED and not self._is_sampling:
            self._is_sampling = True
            self._sample(loop, loop.time())
        if returns:
            self.load.admitted(call, loop.time())
            return None
        match self.load.verdict(before) if not self._waiting else Verdict.WAIT:
            case Verdict.ADMIT:
                self.load.admitted(call, loop.time())
                return None
            case Verdict.REFUSE:
                raise self.load.refuse(loop.time())
            case Verdict.WAIT:
                admitted: asyncio.Future[None] = loop.create_future()
                self._waiting.append((call, loop.time(), admitted))
                return admitted

    def _sample(self, loop: asyncio.AbstractEventLoop, due_s: float) -> None:
        now_s = loop.time()
        running = self._running() - len(self._waiting)
        if running < ALWAYS_ADMITTED:
            self.load.forget()
        else:
            self.load.sample(now_s, max(0.0, now_s - due_s), cpu_s_of(loop), running)
        self._let_in(now_s)
        self._is_sampling = running >= ALWAYS_ADMITTED or bool(self._waiting)
        if self._is_sampling:
            loop.call_later(SAMPLE_S, self._sample, loop, now_s + SAMPLE_S)

    def _let_in(self, now_s: float) -> None:
        """Decide over the waiting calls, the longest waiting first."""
        while self._waiting:
            call, since_s, admitted = self._waiting[0]
            verdict = self.load.verdict(self._running() - len(self._waiting))
            if verdict is Verdict.WAIT and now_s < since_s + QUEUE_S and not admitted.done():
                return
            self._waiting.popleft()
            if admitted.done():
                continue  # its client has left
            if verdict is Verdict.ADMIT:
                self.load.admitted(call, now_s)
                admitted.set_result(None)
            else:
                admitted.set_exception(self.load.refuse(now_s))
