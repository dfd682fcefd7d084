"""Measures clients that lose their socket and resume: lost words, and the delay of the rest.

The words: the calls of `bench.resume` in virtual time, on every core, until the requested number of cuts. The time: one
call over real sockets, cut again and again.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import functools
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.clients import BINARY_HEAD
from bench.process import LOAD_CORE, SERVER_CORE, free_port, listening, running
from bench.report import Check, Section, median
from bench.resume import Outcome, one_call
from bench.window import BINARY, server_command
from bench.wire import BINARY as BINARY_FRAME
from bench.wire import ClientPeer
from bench.work import DOWN_HZ
from realtime.testing.clock import run

CUTS = 1_000_000
CUT_SHARES = (0.01, 0.03, 0.06)
"""Shares of the frames of either direction: from one cut every few seconds to one before everything was repeated."""
RUNS = 20
LIMIT_MS = 50.0
AWAY_S = 1.0
"""Seconds that the client of the timed call has no socket; its agent continues for as long."""
PATIENCE_S = 10.0
EVERY_S = 5.0
"""Seconds between two progress lines."""
ABOUT_THE_SOCKET = {"server_session_resumed", "server_audio_received", "server_audio_item"}
"""Events that only a resuming client gets."""


Word = tuple[int, str | None, str]
"""The number of the item, its speaker, the word."""


# -- the words --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """The result of all calls. `wrong`: the first calls that differ from those without cuts, with their seeds."""

    calls: int = 0
    cuts: int = 0
    words: int = 0
    differing: int = 0
    failed: int = 0
    """Calls that did not end, or whose page got something twice or not at all."""
    wrong: list[str] = field(default_factory=list)

    def add(self, seed: int, cuts: int, words: int, differing: int, failure: str | None) -> None:
        """One call."""
        self.calls += 1
        self.cuts += cuts
        self.words += words
        self.differing += differing
        self.failed += failure is not None
        if (differing or failure) and len(self.wrong) < 20:
            self.wrong.append(failure or f"seed {seed}: {differing} words differ")


async def cut_calls(wanted: int, say: Callable[[str], None], processes: int | None = None) -> Tally:
    """Run calls with rising seeds until `wanted` cuts were made, on all cores."""
    tally = Tally()
    loop, start_s, told_s = asyncio.get_running_loop(), time.monotonic(), 0.0
    processes = processes or os.cpu_count() or 1
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        seed = 0
        running_calls: set[asyncio.Future[tuple[int, int, int, int, str | None]]] = set()
        while tally.cuts < wanted or running_calls:
            while tally.cuts < wanted and len(running_calls) < 2 * processes:
                seed += 1
                running_calls.add(loop.run_in_executor(pool, cut_call, seed))
            done, running_calls = await asyncio.wait(running_calls, return_when=asyncio.FIRST_COMPLETED)
            for call in done:
                tally.add(*call.result())
            elapsed_s = time.monotonic() - start_s
            if elapsed_s - told_s >= EVERY_S:
                told_s = elapsed_s
                left_s = max(0, wanted - tally.cuts) * elapsed_s / max(1, tally.cuts)
                say(
                    f"{tally.cuts:,} of {wanted:,} cuts in {tally.calls:,} calls, {tally.differing} words differ, "
                    f"{tally.failed} calls failed, {left_s / 60:.0f} min to go"
                )
    return tally


def cut_call(seed: int) -> tuple[int, int, int, int, str | None]:
    """Run one call with cuts; return seed, cuts, words without cuts, differing words, and the failure."""
    said = words_of(undisturbed())
    try:
        outcome = run(one_call(seed, CUT_SHARES[seed % len(CUT_SHARES)]))
    except Exception as error:
        # The run continues after any failure and reports the seed, with which the call can be repeated.
        return seed, 0, len(said), 0, f"seed {seed}: {type(error).__name__}: {error}"
    return seed, outcome.cuts, len(said), words_that_differ(said, words_of(outcome)), None


@functools.cache
def undisturbed() -> Outcome:
    """Return the call without cuts, made once per process."""
    return run(one_call(0, 0.0))


def words_of(outcome: Outcome) -> list[Word]:
    """Return everything that was said and heard."""
    return [(number, role, word) for number, (role, text) in enumerate(outcome.words) for word in text.split()]


def words_that_differ(wanted: Sequence[Word], got: Sequence[Word]) -> int:
    """Words that are missing or are too many, whichever are more; 0 for equal lists."""
    if wanted == got:
        return 0
    matcher = difflib.SequenceMatcher(None, wanted, got, autojunk=False)
    return max(len(wanted), len(got)) - sum(block.size for block in matcher.get_matching_blocks())


# -- the time ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Caller:
    """What the client knows of its call from one socket to the next."""

    token: str = ""
    last_seq: int = 0
    harmed: bool = False
    """Whether something was missing, came twice or from the store after resuming."""


class Socket(ClientPeer):
    """One socket of the caller, who plays everything at once and says so every 120 ms."""

    def __init__(self, caller: Caller) -> None:
        super().__init__("/ws/bench/resume", "realtime.v1")
        self._caller = caller
        self._items: dict[int, str] = {}
        self._frames = 0
        self._sent_s = 0.0
        self.event_ms: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        """Delay from the resume frame to the first missed event."""
        self.sound_ms: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        """Delay from the first frame to the first sound."""

    def opened(self, path: str) -> None:
        self._sent_s = time.monotonic()
        if self._caller.token:
            self._say(type="client_session_resume", token=self._caller.token, last_seq=self._caller.last_seq)
        else:
            rate = {"type": "audio/pcm", "rate": DOWN_HZ}
            config = {"instructions": "Be brief.", "audio_frames": "binary", "output_audio_format": rate}
            self._say(type="client_session_create", config=config)

    def received(self, opcode: int, payload: bytes) -> None:
        now_s = time.monotonic()
        if opcode == BINARY_FRAME:
            _settle(self.sound_ms, now_s - self._sent_s)
            self._frames += 1
            if self._frames % 3 == 0:
                _, _, _, index, offset = BINARY_HEAD.unpack_from(payload)
                played_ms = (offset + (len(payload) - BINARY_HEAD.size) // 2) * 1000 // DOWN_HZ
                self._say(type="client_playback_ack", item_id=self._items[index], played_ms=played_ms)
            return
        event = json.loads(payload)
        match event["type"]:
            case "server_session_created":
                self._caller.token = event["resume_token"]
            case "server_session_resumed":
                self._caller.token = event["token"]
                self._caller.harmed |= event["gap"] or event["from_store"]
            case "server_audio_item":
                self._items[event["item_index"]] = event["item_id"]
            case "agent_error" | "server_error":
                if not self.event_ms.done():
                    self.event_ms.set_exception(RuntimeError(f"the call reports {event}"))
        if event["type"] not in ABOUT_THE_SOCKET:
            _settle(self.event_ms, now_s - self._sent_s)
            self._caller.harmed |= event["seq"] <= self._caller.last_seq
            self._caller.last_seq = event["seq"]

    def _say(self, **event: Any) -> None:
        self.send(json.dumps(event).encode())


def _settle(waiting: asyncio.Future[float], seconds: float) -> None:
    if not waiting.done():
        waiting.set_result(seconds * 1000)


async def time_returns(runs: int, away_s: float = AWAY_S, seed: int = 1) -> tuple[list[float], list[float], bool]:
    """Cut one call `runs` times. From the resume frame to the first missed event and to the first sound, in ms; and
    whether anything was missing or came twice."""
    chance = random.Random(seed)
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = await stack.enter_async_context(running(["-m", "bench.provider"], core=LOAD_CORE))
        port = free_port()
        argv, env = server_command(BINARY, port, (await provider.line())["port"], folder)
        server = await stack.enter_async_context(running(argv, core=SERVER_CORE, env=env, log=folder / "server"))
        await listening(server, port)
        caller, events_ms, sounds_ms = Caller(), list[float](), list[float]()
        for number in range(runs + 1):
            transport, socket = await asyncio.get_running_loop().create_connection(
                functools.partial(Socket, caller), "127.0.0.1", port
            )
            try:
                both = await asyncio.wait_for(asyncio.gather(socket.event_ms, socket.sound_ms), PATIENCE_S)
                if number:
                    events_ms.append(both[0])
                    sounds_ms.append(both[1])
                await asyncio.sleep(0.2 + chance.random() * away_s)
            finally:
                transport.abort()
            await asyncio.sleep(away_s)
        return events_ms, sounds_ms, caller.harmed


# -- both -------------------------------------------------------------------------------------------------------------


async def measure_resume(
    cuts: int, runs: int, say: Callable[[str], None], processes: int | None = None, away_s: float = AWAY_S
) -> Section:
    """Run the whole measurement: `runs` timed resumes, then calls until there were `cuts` cuts."""
    events_ms, sounds_ms, harmed = await time_returns(runs, away_s)
    say(f"{runs} returns: first missed event after {median(events_ms):.1f} ms, highest {max(events_ms):.1f} ms")
    tally = await cut_calls(cuts, say, processes)
    how = (
        f"{tally.calls:,} calls in virtual time whose socket is cut at random frames of either direction "
        f"({', '.join(f'{share:.0%}' for share in CUT_SHARES)} of them), seeds 1 to {tally.calls:,}, half of the cuts "
        "without the server noticing; the words of each call are compared to those of the call without cuts, and the "
        "page checks that it gets each event and each sample once and in order. The time is that of one call with "
        f"binary frames over real sockets on loopback and a store in SQLite, cut {runs} times for {away_s:g} s."
    )
    section = Section("resume", "Coming back to a call", how)
    section.checks = [
        Check("words that differ", tally.differing, 0),
        Check("calls that failed, or got anything twice or not at all", tally.failed, 0),
        Check("cuts", tally.cuts, cuts, at_least=True),
        Check("calls", tally.calls, None),
        Check("words compared", tally.words, None),
        Check("resume frame to the first missed event, highest", max(events_ms), LIMIT_MS, " ms"),
        Check("resume frame to the first missed event, median", median(events_ms), None, " ms"),
        Check("resume frame to the first sound, median", median(sounds_ms), None, " ms"),
        Check("anything missing or twice in the timed call", float(harmed), 0),
    ]
    section.data = {"events_ms": events_ms, "sounds_ms": sounds_ms, "wrong": tally.wrong}
    return section
