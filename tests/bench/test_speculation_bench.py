"""The bench of drafts tells apart what it reports: saved time, waste, answers in pauses."""

from __future__ import annotations

import pytest

from bench.labelled_turns import Turn
from bench.speculation import AGENT, MODES, THINKING, Arm, section_of, spoken
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.speculation import Mode
from tests.model.local.stand_ins import silence, speech, stand_in_parts

pytestmark = pytest.mark.virtual_time(costs={"FakeRecognizer.transcribe": 0.12, "FakeVoice.synthesize": 0.02})
TURNS = [
    Turn("plain", silence(400) + speech(1_000) + silence(2_000), 1_400, 0),
    Turn("pausing", silence(400) + speech(1_000) + silence(400) + speech(600) + silence(2_000), 2_400, 1),
    Turn("cut", silence(400) + speech(1_000) + silence(1_500) + speech(600) + silence(2_000), 3_500, 1),
]


async def arm_of(mode: Mode, language_model: str = THINKING) -> Arm:
    engine = SpeechEngine(lambda progress: stand_in_parts())
    arm = await spoken(engine, language_model, mode, TURNS)
    engine.close()
    return arm


async def test_a_turn_of_each_kind_is_counted_for_what_it_is() -> None:
    off, words, speech_too = [await arm_of(mode) for mode in MODES]
    assert off.drafts.started == 0
    assert (words.drafts.started, words.drafts.kept, words.drafts.dropped) == (4, 3, 1)
    for arm in (off, words, speech_too):
        assert [one.in_pause for one in arm.heard] == [False, False, True]
        assert [one.early for one in arm.heard] == [0, 0, 0]
    # The reply to a part of the last turn plays on: no draft is made over it.
    for before, after in zip(off.heard[:2], words.heard[:2], strict=True):
        assert before.latency_ms is not None
        assert after.latency_ms is not None
        assert before.latency_ms - after.latency_ms > 100


async def test_the_section_judges_the_default() -> None:
    arms = [await arm_of(mode) for mode in MODES]
    section = section_of(TURNS, arms)
    assert [row[:2] for row in section.rows] == [("400 ms", mode) for mode in MODES]
    assert [check.what.split(":")[1] for check in section.checks] == [" median", " audible mistakes"]


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_is_judged_by_the_language_model_that_it_thinks_with(mode: Mode) -> None:
    """It costs nothing beyond that."""
    alone, behind_agent = await arm_of(mode), await arm_of(mode, AGENT)
    assert [one.latency_ms for one in behind_agent.heard] == pytest.approx([one.latency_ms for one in alone.heard])
    section = section_of(TURNS, [alone, behind_agent])
    assert all(check.kept for check in section.checks)
