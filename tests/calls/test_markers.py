"""Where speech begins and ends, as a page hears of it that speaks whole recordings into a call in real time.

Silence, noise and music are recordings too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from realtime.event import model as m
from realtime.model.base import RealtimeModel
from realtime.model.local.model import LocalRealtimeModel
from tests.calls.models import NO_DETECTOR, QuickModel, Tapped, wordless_engine
from tests.calls.page import Client, call
from tests.calls.recordings import NEAR_MS, RATE_HZ, Recording, load

pytestmark = pytest.mark.virtual_time


@pytest.fixture(scope="module", params=["real", "synthesised"])
def recordings(request: pytest.FixtureRequest, fixtures_dir: Path) -> list[Recording]:
    """Real speech where it is at hand, our own synthesis always."""
    folder = request.getfixturevalue("recordings_dir") if request.param == "real" else fixtures_dir
    return load(folder / "audio")


@dataclass
class Score:
    """How far markers lie from the labels they belong to."""

    errors_ms: list[float] = field(default_factory=list)
    segments: int = 0
    unmatched: int = 0

    def note(self, recording: Recording, starts_ms: list[float], ends_ms: list[float]) -> None:
        """Compare every edge with the nearest marker of its kind; positions count from the recording's beginning."""
        if not recording.speech_ms:
            assert (starts_ms, ends_ms) == ([], []), f"a turn in {recording.name}"
        for start_ms, end_ms in recording.segments():
            errors_ms = [nearest(start_ms, starts_ms), nearest(end_ms, ends_ms)]
            self.segments += 1
            self.unmatched += max(errors_ms) > NEAR_MS
            self.errors_ms += errors_ms

    def check(self) -> None:
        assert self.segments
        assert np.median(self.errors_ms) <= 100
        assert np.percentile(self.errors_ms, 90) <= 250
        assert self.unmatched * 20 <= self.segments


def nearest(edge_ms: float, markers_ms: list[float]) -> float:
    return min((abs(marker - edge_ms) for marker in markers_ms), default=float("inf"))


async def markers_in_calls(
    recordings: list[Recording], skipped_samples: int, make_model: Callable[[], RealtimeModel], client: Client
) -> Score:
    """Speak each recording into a call of its own; the markers that its page got, against the labels."""
    score = Score()
    for recording in recordings:
        async with call(make_model(), client=client) as made:
            began_ms = await made.page.speak(recording.pcm[2 * skipped_samples :]) - skipped_samples * 1000 / RATE_HZ
            starts = made.page.of("agent_input_started")
            ends = made.page.of("agent_input_done")
        score.note(
            recording,
            [event["audio_start_ms"] - began_ms for event in starts],
            [event["audio_end_ms"] - began_ms for event in ends],
        )
    return score


async def markers_of_the_model(recordings: list[Recording]) -> Score:
    """The same for what the embedded model, whose own detector decides, reports to the agent."""
    score = Score()
    for recording in recordings:
        model = Tapped(LocalRealtimeModel(engine=wordless_engine()))
        async with call(model, client="json") as made:
            began_ms = await made.page.speak(recording.pcm)
            starts = [event.audio_start_ms for event in model.of(m.ModelInputStartedEvent)]
            ends = [event.audio_end_ms for event in model.of(m.ModelInputDoneEvent)]
            assert [event["audio_start_ms"] for event in made.page.of("agent_input_started")] == starts
            assert [event["audio_end_ms"] for event in made.page.of("agent_input_done")] == ends
        score.note(recording, [start - began_ms for start in starts], [end - began_ms for end in ends])
    return score


# The detector's frames may fall anywhere on the speech: what holds has to hold for more than one place.
@pytest.mark.parametrize("skipped_samples", [250, pytest.param(0, marks=pytest.mark.night)])
async def test_markers_of_speech_lie_near_their_labels(recordings: list[Recording], skipped_samples: int) -> None:
    """CARD-06, RTA-21: labelled recordings spoken into a call: start and end within tolerance, else no turn."""
    score = await markers_in_calls(recordings, skipped_samples, lambda: QuickModel(NO_DETECTOR), "binary")
    score.check()


async def test_the_embedded_models_own_markers_lie_near_their_labels(recordings: list[Recording]) -> None:
    """MEV-13, MEV-14: the model's events and, told on unchanged, the page's: times within tolerance of the labels."""
    score = await markers_of_the_model(recordings)
    score.check()
