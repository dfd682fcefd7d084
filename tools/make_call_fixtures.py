"""Make the situations of fixtures/calls: case.json and provider.json of each, and the sound they need.

    PYTHONPATH=. python tools/make_call_fixtures.py

writes the cases. `--sound` also speaks the clips of fixtures/calls/audio anew, `--accept` plays the cases and keeps
what comes as accepted (look at the diff!), `--mutants` finds which of them notices which mistake in the turn table.

What happens in each stands in tools/call_situations*.py.
"""

from __future__ import annotations

import argparse
import json
import shutil
from concurrent.futures import ProcessPoolExecutor

import msgspec
import numpy as np
from call_situations import Situation, situations
from call_situations_bad_input import TELEPHONE, TELEPHONE_HZ, bad_input_situations
from call_situations_talk_over import talk_over_situations
from call_situations_turn import turn_situations

from realtime.testing.cases.case import LOG_FILE, write_case
from realtime.testing.check.run import Run, check_expectations
from realtime.testing.client.sound import load
from realtime.testing.client.steps import INPUT_HZ, BargeIn, Speak
from realtime.testing.record import CallRecord
from realtime.testing.score.labels import LABELS_FILE, Label
from tests.calls.distant import LINE_FILE
from tests.calls.mutants import NOTICED_FILE, ROWS_FILE, Rows, mutants, noticer_of, play_noting
from tests.calls.situations import FOLDER, SOUND_FILE, names, sound_of

AUDIO = FOLDER / "audio"
AUDIBLE = 0.02
"""The share of a sound's peak above which it is labelled as sounding."""


def write(situation: Situation) -> None:
    """The files that people read and edit."""
    folder = FOLDER / situation.case.name
    write_case(folder, msgspec.structs.replace(situation.case, name=""))
    line = folder / LINE_FILE
    if situation.line is not None:
        line.write_bytes(msgspec.json.format(msgspec.json.encode(situation.line), indent=1) + b"\n")
    else:
        line.unlink(missing_ok=True)


def labels_of(situation: Situation, record: CallRecord) -> list[Label]:
    """What the user's sounds are, each without the silence at its ends."""
    steps = [step.speech if isinstance(step, BargeIn) else step for step in situation.case.users[0].steps]
    spoken = [step for step in steps if isinstance(step, Speak)]
    labels = []
    for number, (kind, step, place) in enumerate(zip(situation.labels or (), spoken, record.spoken, strict=True), 1):
        pcm = load(step, FOLDER / situation.case.name, seed=situation.case.seed)
        levels = np.abs(np.frombuffer(pcm, "<i2").astype(np.int32))
        loud = np.flatnonzero(levels > levels.max() * AUDIBLE)
        on_ms, off_ms = (round(place.from_ms + int(loud[at]) * 1000 / INPUT_HZ) for at in (0, -1))
        labels.append(Label(f"{kind}-{number}", kind, on_ms, off_ms, step.text or None, far=kind == "side"))
    return labels


def accept(situation: Situation) -> tuple[int, Rows, str]:
    """Play it, and keep its log and the sums of its sound: its length in ms, its rows of the turn table, its timeline.

    Raises AssertionError where it is not as expected.
    """
    folder = FOLDER / situation.case.name
    rows, record = play_noting(folder)
    if situation.labels is not None:
        made = msgspec.json.format(msgspec.json.encode(labels_of(situation, record)), indent=1)
        (folder / LABELS_FILE).write_bytes(made + b"\n")
    else:
        (folder / LABELS_FILE).unlink(missing_ok=True)
    played = Run(record)
    check_expectations(played, msgspec.structs.replace(situation.case.expect, log=False))
    (folder / LOG_FILE).write_bytes(played.record.log_bytes())
    (folder / SOUND_FILE).write_bytes(sound_of(played.record))
    return record.duration_ms, rows, str(played.timeline)


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
    from call_situations import CLIPS
    from make_fixtures import LEAD_MS, RATE_HZ, TAIL_MS, Voices, silence

    from realtime.audio.files import read_pcm16, write_flac
    from realtime.audio.pcm import from_float32

    AUDIO.mkdir(parents=True, exist_ok=True)
    voices, rng = Voices(), np.random.default_rng(21)
    for name, parts in CLIPS.items():
        sound = [silence(LEAD_MS, rng)]
        for voice, text, behind_ms in parts:
            sound += [voices.speak(voice, text), silence(behind_ms, rng)]
        write_flac(AUDIO / name, from_float32(np.concatenate([*sound, silence(TAIL_MS, rng)])), RATE_HZ)
    (AUDIO / TELEPHONE).write_bytes(read_pcm16(FOLDER.parent / "audio" / "what_time.wav", TELEPHONE_HZ))


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the situations of fixtures/calls.")
    parser.add_argument("--sound", action="store_true", help="speak the clips anew (needs hibari-tts and espeak-ng)")
    parser.add_argument("--accept", action="store_true", help="play the cases and keep what comes as accepted")
    parser.add_argument("--timeline", action="store_true", help="print what happens")
    parser.add_argument("--mutants", action="store_true", help="also find which case notices which mistake")
    asked = parser.parse_args()
    if asked.sound:
        speak()
    made = {
        one.case.name: one
        for one in (*situations(), *turn_situations(), *talk_over_situations(), *bad_input_situations())
    }
    for name in set(names()) - set(made):
        shutil.rmtree(FOLDER / name)
    for situation in made.values():
        write(situation)
    if asked.accept:
        accepted: dict[str, tuple[int, Rows]] = {}
        for name, situation in made.items():
            length_ms, came_by, timeline = accept(situation)
            accepted[name] = length_ms, came_by
            print(
                f"{name:40} {length_ms / 1000:8.3f} s",
                *([timeline] if asked.timeline else []),
                sep="\n" if asked.timeline else "",
            )
        rows = {name: accepted[name][1] for name in sorted(accepted, key=lambda name: accepted[name][0])}
        ROWS_FILE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if asked.mutants:
        find_noticers()


if __name__ == "__main__":
    main()
