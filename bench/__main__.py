"""`python -m bench [WHAT ...]`: measures, prints a table and the limits, and writes both on request.

WHAT is any of `talk`, `double-talk`, `stall`, `stalled`, `churn`, `burst`, `barge-in`, `codecs`, `local`, `log`,
`fold`, `interop`, `stores`, `sessions`, `recall`, `resume`, `testkit`, `rooms`, `overload`, `interruption`, `mcp`,
`listen`, `endpointing`, `near-voice`, `ears`, `speculation`, `echo`, `consent`, `claims`, `claims-in-time`,
`tool-calls`, `strangers`; default: all of them but `resume`, which takes half an hour, and those that measure
listening, consent, claims or tool calls, from `listen` on.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console

from bench.log import measure_log
from bench.process import prefer, stolen_s
from bench.report import Section, this_command, write_into_page

console = Console(highlight=False)

TIMED = {
    "talk",
    "double_talk",
    "stall",
    "stalled",
    "burst",
    "stores",
    "recall",
    "sessions",
    "rooms",
    "overload",
    "interruption",
}
"""Measurements, by their functions, whose process reads clocks."""
ONLY_BY_NAME = {
    "claims",
    "claims-in-time",
    "consent",
    "ears",
    "echo",
    "endpointing",
    "listen",
    "near-voice",
    "resume",
    "speculation",
    "strangers",
    "tool-calls",
}


def main() -> None:
    """Run the requested measurements.

    Exit code 1 where a limit was missed that `known_misses.toml` does not name, or by more than its bound there.
    """
    parser = argparse.ArgumentParser(prog="python -m bench", description="What the server costs.")
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"default: all but {', '.join(sorted(ONLY_BY_NAME))}")
    parser.add_argument("--pairs", type=int, default=5, help="rounds of floor and servers (talk, stores)")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a window (talk, stores)")
    parser.add_argument("--sessions", type=int, nargs="+", default=[100, 200], help="talking sessions (talk)")
    parser.add_argument("--cuts", type=int, default=1_000_000, help="sockets that are cut (resume)")
    parser.add_argument("--n", type=int, default=1_000, help="stimuli (listen), calls (consent)")
    parser.add_argument(
        "--words",
        type=Path,
        metavar="FILE",
        help="where transcripts are kept (listen, speculation, echo, consent, strangers)",
    )
    parser.add_argument("--seed", type=int, default=0, help="another number draws other strangers (strangers)")
    parser.add_argument("--quick", action="store_true", help="one round of 4 s, fewer calls and runs: an impression")
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="also write everything measured there")
    parser.add_argument("--write", action="store_true", help="put the results into their page of docs")
    options = parser.parse_args()
    measurements = _measurements(options)
    unknown = set(options.what) - set(measurements)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(measurements)}")
    kept = True
    for name in options.what or [name for name in measurements if name not in ONLY_BY_NAME]:
        section = asyncio.run(_run(measurements[name]))
        section.know()
        section.show(console)
        kept &= not any(check.is_news for check in section.checks)
        if options.json:
            options.json.mkdir(parents=True, exist_ok=True)
            (options.json / f"{name}.json").write_text(section.as_json(this_command()), encoding="utf-8")
        if options.write:
            write_into_page(section, this_command())
    sys.exit(0 if kept else 1)


def _measurements(options: argparse.Namespace) -> dict[str, Callable[[], Awaitable[Section]]]:
    """Return the measurements by name. Each imports its own parts, since some need extras."""
    quick = options.quick

    def say(line: str) -> None:
        console.print(line, style="dim")

    def talk() -> Awaitable[Section]:
        from bench.run import measure_talk

        rounds, seconds = (1, 4.0) if quick else (options.pairs, options.seconds)
        return measure_talk(options.sessions, rounds, seconds, say)

    def double_talk() -> Awaitable[Section]:
        from bench.double_talk import SOUNDS, measure_double_talk

        if quick:
            return measure_double_talk(1, 4.0, say, SOUNDS[:2])
        return measure_double_talk(min(options.pairs, 3), options.seconds, say)

    def stall() -> Awaitable[Section]:
        from bench.stall import measure_samples, measure_stall

        return measure_samples(say) if quick else measure_stall(say)

    def stalled() -> Awaitable[Section]:
        from bench.stalled import measure_stalled

        return measure_stalled(4.0 if quick else 10.0)

    def churn() -> Awaitable[Section]:
        from bench.churn import measure_churn

        return measure_churn(300, 100) if quick else measure_churn()

    def burst() -> Awaitable[Section]:
        from bench.burst import measure_burst

        return measure_burst(3 if quick else 20)

    def barge_in() -> Awaitable[Section]:
        from bench.barge_in import measure_barge_in

        return measure_barge_in(3 if quick else 20)

    def codecs() -> Awaitable[Section]:
        from bench.codecs import measure_codecs

        return measure_codecs(500, 3) if quick else measure_codecs()

    def local() -> Awaitable[Section]:
        from bench.local import measure_local

        return measure_local(quick=quick)

    def mcp() -> Awaitable[Section]:
        from bench.mcp import measure_mcp

        return measure_mcp(say, calls=50, interruptions=2) if quick else measure_mcp(say)

    def endpointing() -> Awaitable[Section]:
        from bench.endpointing import DEFAULT_MS, measure_endpointing

        return measure_endpointing((DEFAULT_MS,)) if quick else measure_endpointing()

    def near_voice() -> Awaitable[Section]:
        from bench.near_voice import LEVELS_DB, measure_near_voice

        return measure_near_voice(LEVELS_DB[1:2]) if quick else measure_near_voice()

    def ears() -> Awaitable[Section]:
        from bench.ears import EARS, measure_ears

        return measure_ears(say, EARS[:1] if quick else EARS)

    def speculation() -> Awaitable[Section]:
        from bench.speculation import measure_speculation

        return measure_speculation(quick=quick, words=options.words)

    def echo() -> Awaitable[Section]:
        from bench.echo import DELAYS_MS, LEVELS_DB, measure_echo

        if quick:
            return measure_echo(LEVELS_DB, DELAYS_MS[1:2], say, words=options.words, per_call=1)
        return measure_echo(say=say, words=options.words)

    def consent() -> Awaitable[Section]:
        from bench.consent.measure import measure_consent

        return measure_consent(say, count=options.n, quick=quick, words=options.words)

    def interop() -> Awaitable[Section]:
        from bench.interop import measure_interop

        return measure_interop(50, 3) if quick else measure_interop()

    def fold() -> Awaitable[Section]:
        from bench.fold import measure_fold

        return measure_fold(360, 3) if quick else measure_fold()

    def stores() -> Awaitable[Section]:
        from bench.stores import measure_stores

        return measure_stores(1, 4.0, say) if quick else measure_stores(options.pairs, options.seconds, say)

    def sessions() -> Awaitable[Section]:
        from bench.sessions import measure_sessions

        return measure_sessions(20, 5) if quick else measure_sessions()

    def recall() -> Awaitable[Section]:
        from bench.recall import measure_recall

        return measure_recall(10_000, 200) if quick else measure_recall()

    def resume() -> Awaitable[Section]:
        from bench.coming_back import RUNS, measure_resume

        return measure_resume(20_000, 5, say) if quick else measure_resume(options.cuts, RUNS, say)

    def testkit() -> Awaitable[Section]:
        from bench.testkit import RUNS as TESTKIT_RUNS
        from bench.testkit import measure_testkit

        return measure_testkit(10 if quick else TESTKIT_RUNS)

    def rooms() -> Awaitable[Section]:
        from bench.rooms import measure_rooms

        return measure_rooms(2.0, 6) if quick else measure_rooms()

    def overload() -> Awaitable[Section]:
        from bench.overload import measure_overload

        return measure_overload(5.0) if quick else measure_overload()

    def interruption() -> Awaitable[Section]:
        from bench.interruption_cost import measure_interruption

        return measure_interruption(1, 4.0, say) if quick else measure_interruption(options.pairs, options.seconds, say)

    def claims() -> Awaitable[Section]:
        from bench.backed_claims import measure_claims

        return measure_claims()

    def tool_calls() -> Awaitable[Section]:
        from bench.tool_calls.measure import measure_tool_calls

        return measure_tool_calls()

    def claims_in_time() -> Awaitable[Section]:
        from bench.claims_in_time import measure_in_time

        return measure_in_time(4 if quick else 20)

    def strangers() -> Awaitable[Section]:
        from bench.strangers import COUNT, QUICK, measure_strangers

        return measure_strangers(QUICK if quick else COUNT, say, words=options.words, seed=options.seed)

    def listen() -> Awaitable[Section]:
        from bench.listen import measure_listen

        return measure_listen(60 if quick else options.n, say, words=options.words)

    return {
        "talk": talk,
        "double-talk": double_talk,
        "stall": stall,
        "stalled": stalled,
        "churn": churn,
        "burst": burst,
        "barge-in": barge_in,
        "codecs": codecs,
        "local": local,
        "endpointing": endpointing,
        "near-voice": near_voice,
        "ears": ears,
        "speculation": speculation,
        "strangers": strangers,
        "echo": echo,
        "consent": consent,
        "fold": fold,
        "interop": interop,
        "log": lambda: measure_log(quick=quick),
        "stores": stores,
        "sessions": sessions,
        "recall": recall,
        "resume": resume,
        "rooms": rooms,
        "testkit": testkit,
        "overload": overload,
        "interruption": interruption,
        "mcp": mcp,
        "listen": listen,
        "claims": claims,
        "claims-in-time": claims_in_time,
        "tool-calls": tool_calls,
    }


async def _run(measurement: Callable[[], Awaitable[Section]]) -> Section:
    if measurement.__name__ in TIMED:
        # The process that reads the clocks must not wait for other work on the machine.
        prefer(os.getpid())
    start, stolen = time.monotonic(), stolen_s()
    section = await measurement()
    section.stolen_percent = (stolen_s() - stolen) / (time.monotonic() - start) * 100
    return section


if __name__ == "__main__":
    main()
