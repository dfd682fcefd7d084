"""A call decided again with other settings: where it first differs, and whether its replay can be relied on."""

from pathlib import Path
from typing import Any

import pytest

from realtime.errors import UsageError
from realtime.testing.cases.case import LOG_FILE
from realtime.testing.score.again import (
    NAMES,
    Decision,
    Divergence,
    decide_again,
    decide_folder_again,
    first_difference,
    settings_in,
)

CALLS = Path(__file__).resolve().parents[2] / "fixtures" / "calls"
STARTED = Decision(1_000, "agent_input_started")
ENDED = Decision(2_000, "agent_input_done")
FLUSHED = Decision(1_000, "server_audio_flush", "speech_started")


def test_settings_are_read_by_their_types() -> None:
    words = ("silence_ms=400", "threshold=0.7", "interruption=selective", "backchannels=sure thing, quite")
    assert settings_in(words) == {
        "silence_duration_ms": 400,
        "threshold": 0.7,
        "interruption": "selective",
        "backchannels": ("sure thing", "quite"),
    }


def test_an_unknown_setting_is_an_error_that_lists_the_known_ones() -> None:
    for word in ("silence=400", "eagerness=low", "silence_ms"):
        with pytest.raises(UsageError) as failure:
            settings_in([word])
        assert all(name in failure.value.message for name in NAMES)


@pytest.mark.parametrize("word", ["silence_ms=long", "silence_ms=0", "interruption=soft"])
def test_a_value_that_cannot_be_is_an_error_that_names_the_setting(word: str) -> None:
    with pytest.raises(UsageError, match=word.split("=")[0].removesuffix("_ms")):
        settings_in([word])


@pytest.mark.parametrize(
    ("call", "again", "found"),
    [
        ([STARTED, ENDED], [STARTED, ENDED], None),
        ([STARTED], [STARTED, ENDED], Divergence(ENDED, None, is_new=True)),
        ([STARTED, ENDED], [STARTED], Divergence(ENDED, None, is_new=False)),
        (
            [STARTED, ENDED],
            [STARTED, ENDED._replace(ts_ms=1_900)],
            Divergence(ENDED._replace(ts_ms=1_900), ENDED, is_new=True),
        ),
        (
            [STARTED, ENDED],
            [STARTED, ENDED._replace(ts_ms=2_100)],
            Divergence(ENDED, ENDED._replace(ts_ms=2_100), is_new=False),
        ),
        ([FLUSHED, STARTED], [STARTED], Divergence(FLUSHED, None, is_new=False)),
        ([STARTED], [FLUSHED, STARTED], Divergence(FLUSHED, None, is_new=True)),
    ],
)
def test_the_first_difference_is_the_earliest(
    call: list[Decision], again: list[Decision], found: Divergence | None
) -> None:
    assert first_difference(call, again) == found


def test_a_decision_that_is_a_little_late_is_the_same_where_that_is_allowed() -> None:
    late = ENDED._replace(ts_ms=2_150)
    assert first_difference([ENDED], [late], late_ms=200) is None
    assert first_difference([ENDED], [late], late_ms=100) is not None


@pytest.mark.parametrize(
    ("name", "changes", "first", "other"),
    [
        ("pauses_in_a_turn", {"silence_duration_ms": 400}, "agent_input_done at 3,720 ms", "3,840 ms"),
        ("pauses_in_a_turn_by_server", {"silence_duration_ms": 400}, "agent_input_done at 3,720 ms", "3,840 ms"),
        (
            "two_speakers",
            {"protect_ms": 2_000},
            "agent_interruption confirmed speech at 3,600 ms",
            "agent_interruption dismissed protected",
        ),
        (
            "interruption_immediate",
            {"interruption": "off"},
            "server_audio_flush speech_started at 4,280 ms",
            "it does not happen",
        ),
        ("quiet_voice", {"threshold": 0.95}, "agent_input_started", "agent_input_started"),
    ],
)
def test_other_settings_change_the_call_at_a_decision(
    name: str, changes: dict[str, Any], first: str, other: str
) -> None:
    again = decide_again(CALLS / name, changes)
    assert again.unfaithful is None
    told, _, counterpart = str(again).partition("; ")
    assert first in told
    assert other in counterpart


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("question", {"interruption": "off"}),
        ("interruption_by_server", {"min_words": 1}),
        ("push_to_talk", {"silence_duration_ms": 200}),
    ],
)
def test_settings_that_decide_nothing_else_leave_the_call(name: str, changes: dict[str, Any]) -> None:
    assert str(decide_again(CALLS / name, changes)) == "decided the same to its end"


def test_a_replay_that_leaves_the_log_is_not_relied_on(tmp_path: Path) -> None:
    source = CALLS / "question"
    case = (source / "case.json").read_text().replace('"../../', f'"{CALLS.parent}/')
    (tmp_path / "case.json").write_text(case)
    log = (source / LOG_FILE).read_text().replace('"agent_input_done"', '"agent_input_started"')
    (tmp_path / LOG_FILE).write_text(log.replace("audio_end_ms", "audio_start_ms"))
    [(_, again)] = decide_folder_again(tmp_path, {"silence_duration_ms": 1_000})
    assert again.unfaithful is not None
    assert "Not reliable" in str(again)


def test_the_cases_of_a_folder_are_decided_one_by_one(tmp_path: Path) -> None:
    for name in ("question", "typed"):
        (tmp_path / name).mkdir()
        case = (CALLS / name / "case.json").read_text().replace('"../../', f'"{CALLS.parent}/')
        (tmp_path / name / "case.json").write_text(case)
    found = dict(decide_folder_again(tmp_path, {"silence_duration_ms": 1_000}))
    assert list(found) == ["question", "typed"]
    assert found["question"].divergence is not None
    assert found["typed"].divergence is None
