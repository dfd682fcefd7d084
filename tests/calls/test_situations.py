"""Every situation under `fixtures/calls` goes as it is expected to, and exactly as it was accepted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from realtime.testing.cases.case import LOG_FILE
from realtime.testing.check.golden import difference
from realtime.testing.check.run import check_expectations, expected_of
from tests.calls.mutants import all_rows, play_once, rows_noted
from tests.calls.situations import FOLDER, all_sounds, names, options, sound_of

REPEATED = ("interruption", "tools_in_parallel", "lossy_network")
TIMES = 10
"""How often these are played by night; `python -m bench testkit` plays them a hundred times."""
MAX_FOLDER_BYTES = 3_000_000

LOGS = """
import hashlib, sys
from tests.calls.mutants import play_once
from tests.calls.situations import FOLDER
for name in sys.argv[1:]:
    print(name, hashlib.sha256(play_once(FOLDER / name).log_bytes()).hexdigest())
"""


@pytest.mark.parametrize("name", names())
async def test_situation_goes_as_expected_and_as_accepted(voice_call: Any, name: str) -> None:
    """CARD-09: sound is fed in; events and sound that come are those of the golden files, or the diff is shown. And
    whatever was cut, the conversation holds the words that reached the ear."""
    folder = FOLDER / name
    with rows_noted() as rows:
        run = await voice_call(folder, **options(folder))
    expected = expected_of(run.record)
    assert expected.log
    check_expectations(run, expected)
    run.nothing_after_flush().tools_answered().transcript_equals_heard()
    for one in run.reading.barge_ins:
        run.barge_in(one.number).transcript_cut_at_heard_word()
    assert sound_of(run.record) == all_sounds()[name]
    assert dict(sorted(rows.items())) == all_rows()[name]


async def test_call_that_is_another_says_what_differs(voice_call: Any, tmp_path: Path) -> None:
    """CARD-09: the diff names what is new, at its time, and is the same each time."""
    accepted = (FOLDER / "question" / LOG_FILE).read_text().replace("twelve", "eleven")
    (tmp_path / LOG_FILE).write_text(accepted)
    run = await voice_call(FOLDER / "question")
    told = []
    for _ in range(2):
        with pytest.raises(AssertionError, match="is not the accepted one") as failure:
            run.matches_log(tmp_path)
        told.append(str(failure.value))
    assert told[0] == told[1]
    assert '"It is eleven o\'clock." -> "It is twelve o\'clock."' in told[0]


@pytest.mark.night
@pytest.mark.parametrize("name", REPEATED)
def test_call_is_the_same_each_time(name: str) -> None:
    records = [play_once(FOLDER / name) for _ in range(TIMES)]
    assert len({record.log_bytes() for record in records}) == 1
    assert difference((FOLDER / name / LOG_FILE).read_bytes(), records[0].log_bytes()) is None
    assert all(sound_of(record) == all_sounds()[name] for record in records)


@pytest.mark.night
def test_calls_are_the_same_in_another_order_and_on_one_core() -> None:
    there = _play_elsewhere(REPEATED)
    assert [line.split()[0] for line in there] == [*REPEATED]
    assert set(there) == set(_play_elsewhere(REPEATED[::-1], cores={min(os.sched_getaffinity(0))}, hash_seed="11"))


def _play_elsewhere(asked: tuple[str, ...], *, cores: set[int] | None = None, hash_seed: str = "0") -> list[str]:
    """A line with name and sum for each call, played in this order by a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOGS, *asked],
        cwd=FOLDER.parent.parent,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_situations_stay_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) < MAX_FOLDER_BYTES


def test_three_voices_are_heard() -> None:
    """The voices that the clips are made with: two of hibari-tts, one of espeak-ng."""
    entries = json.loads((FOLDER.parent / "audio" / "manifest.json").read_bytes())
    voices = {entry["file"]: entry["voice"] for entry in entries}
    case = json.loads((FOLDER / "three_voices" / "case.json").read_bytes())
    spoken = [Path(step["audio"]).name for step in case["users"][0]["steps"] if step["do"] == "speak"]
    assert [voices[name] for name in spoken] == ["heart-low", "heart", "espeak"]
