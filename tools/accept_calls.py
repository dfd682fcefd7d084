"""Play the situations of fixtures/calls and keep what comes as accepted: look at the diff!

    PYTHONPATH=. python tools/accept_calls.py [NAME...]

plays them all, or those that are named, and keeps their logs, the sums of their sound, when the sounds of their labels
sound, and which rows of the turn table they take. A situation that is not as its `case.json` expects fails.
`--mutants` finds which of them notices which mistake in the turn table, `--sound` speaks the clips of
fixtures/calls/audio anew.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import msgspec
import numpy as np

from realtime.testing.cases.case import LOG_FILE, read_case
from realtime.testing.check.run import Run, check_expectations
from realtime.testing.client.sound import load
from realtime.testing.client.steps import INPUT_HZ, BargeIn, Speak
from realtime.testing.record import CallRecord
from realtime.testing.score.labels import LABELS_FILE, Label, labels_in
from tests.calls.mutants import NOTICED_FILE, ROWS_FILE, Rows, all_rows, mutants, noticer_of, play_noting
from tests.calls.situations import FOLDER, SOUNDS_FILE, all_sounds, length_ms, names, sound_of

AUDIBLE = 0.02
"""The share of a sound's peak above which it is labelled as sounding."""

CLIPS: dict[str, list[tuple[str, str, int]]] = {
    "mm_hm.flac": [("heart", "Mm-hm.", 0)],
    "wait_a_moment.flac": [("espeak", "No, wait a moment.", 0)],
    "monologue.flac": [
        ("heart-low", "I have been thinking about the garden all week,", 250),
        ("heart-low", "and I believe the old apple tree has to go,", 300),
        ("heart-low", "because its roots have reached the wall of the house,", 350),
        ("heart-low", "and the gardener says that it will only get worse.", 0),
    ],
}
"""(voice, text, silence behind it in ms) of each clip in fixtures/calls/audio."""
TELEPHONE = "what_time_8khz.pcm"
TELEPHONE_HZ = 8_000


def accept(name: str) -> tuple[Rows, Any]:
    """Play it and keep its log and its labels. Returns its rows of the turn table and the sums of its sound.

    Raises AssertionError where it is not as expected.
    """
    folder = FOLDER / name
    rows, record = play_noting(folder)
    played = Run(record)
    check_expectations(played, msgspec.structs.replace(read_case(folder).expect, log=False))
    if labels := labels_in(folder):
        lines = ",\n".join("  " + json.dumps(msgspec.to_builtins(label)) for label in placed(labels, record))
        (folder / LABELS_FILE).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    (folder / LOG_FILE).write_bytes(played.record.log_bytes())
    return rows, sound_of(played.record)


def placed(labels: tuple[Label, ...], record: CallRecord) -> list[Label]:
    """The labels, one for each sound of the user, where these now are, without the silence at their ends."""
    case = read_case(FOLDER / record.name)
    steps = [step.speech if isinstance(step, BargeIn) else step for step in case.users[0].steps]
    spoken = [step for step in steps if isinstance(step, Speak)]
    moved = []
    for label, step, place in zip(labels, spoken, record.spoken, strict=True):
        pcm = load(step, FOLDER / record.name, seed=case.seed)
        levels = np.abs(np.frombuffer(pcm, "<i2").astype(np.int32))
        loud = np.flatnonzero(levels > levels.max() * AUDIBLE)
        on_ms, off_ms = (round(place.from_ms + int(loud[at]) * 1000 / INPUT_HZ) for at in (0, -1))
        moved.append(msgspec.structs.replace(label, on_ms=on_ms, off_ms=off_ms))
    return moved


def by_name(kept: dict[str, Any]) -> str:
    """JSON with a line for each situation."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in kept.items())
    return f"{{\n{lines}\n}}\n"


def find_noticers() -> None:
    """Keep which situation notices which wrong row of the turn table, and name those that none does."""
    made = list(mutants())
    with ProcessPoolExecutor() as pool:
        found = {mutant.name: name for mutant, name in zip(made, pool.map(noticer_of, made), strict=True)}
    noticed = {mutant: name for mutant, name in found.items() if name is not None}
    NOTICED_FILE.write_text(json.dumps(noticed, indent=1) + "\n", encoding="utf-8")
    print(*(f"nobody notices: {name}" for name in found if name not in noticed), sep="\n")
    print(f"{len(noticed)} of {len(made)} are noticed")


def speak() -> None:
    """The clips that fixtures/audio does not have."""
    from realtime.audio.files import read_pcm16, write_flac
    from realtime.audio.pcm import from_float32
    from tools.make_fixtures import LEAD_MS, RATE_HZ, TAIL_MS, Voices, silence

    voices, rng = Voices(), np.random.default_rng(21)
    for name, parts in CLIPS.items():
        sound = [silence(LEAD_MS, rng)]
        for voice, text, behind_ms in parts:
            sound += [voices.speak(voice, text), silence(behind_ms, rng)]
        write_flac(FOLDER / "audio" / name, from_float32(np.concatenate([*sound, silence(TAIL_MS, rng)])), RATE_HZ)
    (FOLDER / "audio" / TELEPHONE).write_bytes(read_pcm16(FOLDER.parent / "audio" / "what_time.wav", TELEPHONE_HZ))


def main() -> None:
    parser = argparse.ArgumentParser(description="Play the situations of fixtures/calls and keep what comes.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--mutants", action="store_true", help="also find which case notices which mistake")
    parser.add_argument("--sound", action="store_true", help="speak the clips anew (needs hibari-tts and espeak-ng)")
    asked = parser.parse_args()
    if asked.sound:
        speak()
    rows, sounds = all_rows(), all_sounds()
    for name in asked.names or names():
        rows[name], sounds[name] = accept(name)
        print(f"{name:40} {length_ms(name) / 1000:8.3f} s")
    shortest_first = sorted(names(), key=length_ms)
    ROWS_FILE.write_text(by_name({name: rows[name] for name in shortest_first}), encoding="utf-8")
    SOUNDS_FILE.write_text(by_name({name: sounds[name] for name in names()}), encoding="utf-8")
    if asked.mutants:
        find_noticers()


if __name__ == "__main__":
    main()
