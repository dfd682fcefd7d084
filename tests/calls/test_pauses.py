"""A turn with pauses in it stays one turn: where the end of a turn was hasty, it is undone.

A pause longer than the silence timer ends the turn, and the model answers at once. When the voice comes back before
much of that answer was heard, the answer is withdrawn and both pieces of speech are one item of the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from realtime.model.base import Profile, RealtimeModel
from realtime.model.local.model import LocalRealtimeModel
from tests.calls.models import NO_DETECTOR, PROFILE, QuickModel
from tests.calls.page import Call, call
from tests.calls.recordings import NEAR_MS, Recording, load
from tests.speech import REAL_COSTS

pytestmark = pytest.mark.virtual_time

AUTHORITIES = [pytest.param(PROFILE, id="provider"), pytest.param(NO_DETECTOR, id="server")]


@dataclass(frozen=True)
class Pauses:
    """Recordings with pauses in their turns: how many, and of how many the parts have to stay one turn."""

    recordings: list[Recording]
    count: int
    kept: int


@pytest.fixture(scope="module", params=["real", "synthesised"])
def pauses(request: pytest.FixtureRequest, fixtures_dir: Path) -> Pauses:
    if request.param == "synthesised":
        return Pauses([one for one in load(fixtures_dir / "audio") if one.pauses()], 5, 5)
    folder: Path = request.getfixturevalue("recordings_dir")
    return Pauses([one for one in load(folder / "audio") if one.pauses()], 18, 15)


@dataclass
class Told:
    """What became of the pauses of some recordings."""

    pauses: int = 0
    kept: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    turns: dict[str, list[str]] = field(default_factory=dict)
    """The words of each user turn, by recording."""

    def note(self, recording: Recording, made: Call, began_ms: float) -> None:
        starts = [
            (event["audio_start_ms"] - began_ms, event["item_id"]) for event in made.page.of("agent_input_started")
        ]
        for end_ms, start_ms in recording.pauses():
            before = [item_id for at_ms, item_id in starts if at_ms < end_ms]
            after = [item_id for at_ms, item_id in starts if at_ms < start_ms + NEAR_MS]
            name = f"{recording.name} {end_ms}-{start_ms}"
            (self.kept if before[-1] == after[-1] else self.lost).append(name)
            self.pauses += 1
        self.turns[recording.name] = made.user_turns()


def check_turns(made: Call) -> None:
    """The call's own transcript: one item per turn, at the place where it began, and nothing of withdrawn replies."""
    pieces = [event["item_id"] for event in made.page.of("agent_input_done")]
    turns = [*dict.fromkeys(pieces)]
    items = made.session.conversation.items()
    assert [item.id for item in items if item.role == "user"] == turns
    assert made.session.participant.hasty_turns == len(pieces) - len(turns)
    # Between two turns stands an answer that was heard in part, or none at all; never one nobody heard.
    for item in items:
        assert item.text
    withdrawn = {event["item_id"] for event in made.page.of("agent_item_deleted")}
    assert not withdrawn & {item.id for item in items}
    assert made.page.ear.late_samples == 0


def check_pieces(made: Call) -> None:
    """Each turn holds the words of its pieces, in their order, in the call and on the page."""
    words: dict[str, list[str]] = {}
    for number, event in enumerate(made.page.of("agent_input_done"), start=1):
        words.setdefault(event["item_id"], []).append(f"piece {number}")
    expected = {item_id: " ".join(pieces) for item_id, pieces in words.items()}
    items = made.session.conversation.items()
    assert {item.id: item.text for item in items if item.role == "user"} == expected
    on_page = {event["item_id"]: event["transcript"] for event in made.page.of("agent_input_transcription_done")}
    assert on_page == expected


async def tell(
    recordings: list[Recording], make_model: Callable[[], RealtimeModel], check: Callable[[Call], None]
) -> Told:
    """Speak each recording into a call of its own, hear the answer to its end, and see what turns were made of it."""
    told = Told()
    for recording in recordings:
        async with call(make_model()) as made:
            began_ms = await made.page.speak(recording.pcm)
            await made.page.until_silent()
            check_turns(made)
            check(made)
            told.note(recording, made, began_ms)
    return told


@pytest.mark.parametrize("profile", AUTHORITIES)
async def test_pauses_of_turns_do_not_part_them(pauses: Pauses, profile: Profile) -> None:
    told = await tell(pauses.recordings, lambda: QuickModel(profile), check_pieces)
    assert told.pauses == pauses.count
    assert len(told.kept) >= pauses.kept, told.lost


def words_of(text: str) -> str:
    return re.sub(r"[^a-z0-9 ]", "", text.lower().replace("-", " "))


@pytest.mark.virtual_time(costs=REAL_COSTS)
async def test_the_embedded_model_writes_down_every_word_of_a_turn_with_pauses(pauses: Pauses) -> None:
    import jiwer

    told = await tell(pauses.recordings, LocalRealtimeModel, lambda made: None)
    assert told.pauses == pauses.count
    assert len(told.kept) >= pauses.kept, told.lost
    parted = {name.split()[0] for name in told.lost}
    for recording in pauses.recordings:
        if recording.transcript.startswith("("):
            continue  # two voices at once: nobody knows all words
        turns = told.turns[recording.name]
        assert len(turns) == 1 or recording.name in parted
        assert jiwer.wer(words_of(recording.transcript), words_of(" ".join(turns))) <= 0.1, turns
