"""What the user waits is the same number in the log, the checks, the report and the ears of the user."""

from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from realtime.event import server as s
from realtime.testing import Network, Silence, Speak, WaitUntilHeard, play
from realtime.testing.check.run import Run
from realtime.testing.client.steps import Step
from realtime.testing.record import CallRecord, Lane
from realtime.testing.report import write_report
from realtime.testing.report.diff import read_digest
from tests.web.latency_app import LOUD, make_answerer

pytestmark = pytest.mark.virtual_time

TURNS = 50
INPUT_HZ = 16_000
HEARD_MS = 30
"""How far a number may be from a recording of what sounded."""
NOBODY = Network()
FAR = Network(delay_ms=90, jitter_ms=60)


def call_of(network: Network) -> list[Step]:
    """Sounds of other lengths, none of which begins or ends with a frame, each answered."""
    chance = Random(5)
    steps: list[Step] = [network]
    for _ in range(TURNS):
        pcm = np.full(INPUT_HZ * chance.randint(200, 900) // 1000, 12_000, "<i2").tobytes()
        steps += [Speak(pcm=pcm, text="sound"), WaitUntilHeard(), Silence(chance.randint(300, 500))]
    return steps


def sounds_ms(lane: Lane) -> list[tuple[float, float]]:
    """Return when each sound in a recording begins and ends."""
    loud = np.flatnonzero(np.abs(np.frombuffer(lane.pcm, "<i2").astype(int)) > LOUD)
    gap = lane.rate_hz // 10
    edges = [int(loud[0]), *(edge for a, b in pairwise(loud.tolist()) if b - a > gap for edge in (a, b)), int(loud[-1])]
    at_ms = [edge * 1000 / lane.rate_hz for edge in edges]
    return [*zip(at_ms[::2], at_ms[1::2], strict=True)]


def recorded_ms(record: CallRecord) -> list[float]:
    """Return what the user waited, from the recordings of both sides alone."""
    human, agent = record.lanes
    voices, answers = sounds_ms(human), sounds_ms(agent)
    assert len(voices) == len(answers) == TURNS
    return [answer[0] - voice[1] for voice, answer in zip(voices, answers, strict=True)]


@pytest.mark.parametrize("network", [NOBODY, FAR], ids=["near", "far"])
async def test_fifty_turns_wait_as_long_in_the_log_and_the_report_as_in_a_recording(
    network: Network, tmp_path: Path
) -> None:
    record = await play(call_of(network), agent=make_answerer, model="own")
    told = [one.latency_ms for one in record.events(s.ServerLatencyEvent)]
    assert not any(one.estimated for one in record.events(s.ServerLatencyEvent))
    write_report([record], tmp_path / "report.html")
    (digest,) = read_digest(tmp_path / "report.json").runs
    assert [turn.latency_ms for turn in digest.turns] == told
    assert Run(record).response_latency.values_ms == told
    assert told == pytest.approx(recorded_ms(record), abs=HEARD_MS)
