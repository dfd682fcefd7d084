"""Every call of `fixtures/calls`, as if it had come from a server: exported, it happens again."""

from pathlib import Path

import pytest

from realtime.event import server as s
from realtime.testing import CallRecord, Run, clock, play
from realtime.testing.cases.case import CASE_FILE, read_case
from realtime.testing.cases.export import export_case

CALLS = Path(__file__).resolve().parents[2] / "fixtures" / "calls"
OTHERWISE = {
    "nobody said anything": {"music", "noise", "silence"},
    "the line of the case loses nothing": {"lossy_network"},
    "an answer that is cancelled in the instant it is asked for leaves no trace": {
        "cancel_before_it_begins",
        "link_lost_after_an_early_cancel",
    },
    "whoever ends a turn that a detector has begun is known by its end alone": {
        "beside_awaited_committed",
        "beside_written_committed",
        "beside_written_committed_late",
        "commit_into_a_late_reply",
        "commit_into_speech",
        "commit_into_speech_by_provider",
    },
    "what a client takes back in mid-speech is in no log": {"clear_into_speech", "clear_into_speech_and_an_answer"},
    "turns are found by one alone, whoever the settings name later": {
        "hands_free_again",
        "hands_free_again_after_two",
        "hands_free_again_after_two_in_a_row",
    },
}
"""What does not come back, and why."""
AGAIN = sorted({file.parent.name for file in CALLS.glob(f"*/{CASE_FILE}")} - set().union(*OTHERWISE.values()))
BY_DAY = {
    *("interruption", "interruption_of_a_tool", "lost_while_it_speaks", "pauses_in_a_turn", "push_into_a_reply"),
    *("question_by_server", "three_voices", "tool", "tools_in_parallel", "typed_into_a_reply", "written_then_spoken"),
    "wordless_voice",
}


def played(folder: Path) -> CallRecord:
    return clock.run(play(folder, frames=False))


def told(record: CallRecord) -> list[tuple[str | None, str, str | None]]:
    return [(item.role, item.text, item.status) for item in record.items if item.type == "message"]


def ends(record: CallRecord) -> list[str]:
    """Return how the responses ended, without those withdrawn unspoken because the cut reply went on instead."""
    done = [entry for entry in record.entries if isinstance(entry, s.AgentResponseDoneEvent)]
    goes_on = any("resumes" in (entry.metadata or {}) for entry in done)
    return [one.status for one in done if one.output_tokens or one.metadata or not goes_on]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in BY_DAY else pytest.mark.night) for name in AGAIN]
)
def test_an_exported_call_has_the_same_words_cut_at_the_same_places(name: str, tmp_path: Path) -> None:
    record = played(CALLS / name)
    again = played(export_case(record, tmp_path / name, config=dict(read_case(CALLS / name).config)))
    Run(again).meets_expectations()
    assert told(again) == told(record)
    assert ends(again) == ends(record)
