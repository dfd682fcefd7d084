"""How long the user waited: both ends in the client's own audio, and where the time went."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.message import ToolCallBlock, ToolCallState, ToolResultBlock
from realtime.state.latency import STALLED_MS, begins_ms, latencies, latency_of
from realtime.state.log import AudioRun, Entry

ANSWER: dict[str, Any] = {"response_id": "r1", "item_id": "a1"}
CALL = ToolCallBlock(id="t1", name="lookup", input="{}")


def run(ts_ms: int, item_id: str = "a1") -> AudioRun:
    return AudioRun(0, 0, ts_ms, ts_ms, item_id, 0, 4_800)


def turn(*between: Entry, playback: s.ServerPlaybackEvent | None = None) -> list[Entry]:
    """A voice from 400 to 1,400 ms of the client's audio, whose first sample came at 100 ms of the call.

    The turn ends at 2,000 ms; the answer sounds from 2,700 ms on.
    """
    return [
        s.AgentInputStartedEvent(item_id="u1", audio_start_ms=400, ts_ms=600),
        s.AgentInputDoneEvent(item_id="u1", audio_end_ms=1_400, ts_ms=2_000),
        s.AgentInputTranscriptionDoneEvent(item_id="u1", transcript="Hello.", ts_ms=2_040),
        s.AgentResponseCreatedEvent(response_id="r1", ts_ms=2_050),
        *between,
        run(2_600),
        s.AgentResponseAudioTranscriptDoneEvent(transcript="Hi.", ts_ms=2_610, **ANSWER),
        playback or s.ServerPlaybackEvent(item_id="a1", played_ms=60, input_ms=2_660, ts_ms=2_760),
    ]


def measured(entries: list[Entry], **options: Any) -> s.ServerLatencyEvent:
    found = latency_of(entries, "u1", **options)
    assert found is not None
    return found


def test_it_counts_from_the_end_of_the_voice_to_the_first_sample_that_was_played() -> None:
    found = measured(turn(), sent_ms=2_605)
    assert (found.response_id, found.item_id, found.estimated) == ("r1", "u1", False)
    assert found.latency_ms == 2_660 - 60 - 1_400
    stages = ("turn_end", "transcript", "response", "first_audio", "sent", "played")
    assert [*found.stages_ms.items()] == [*zip(stages, (500, 40, 10, 550, 5, 95), strict=True)]
    assert found.turn_end_to_audio_ms == 600


def test_words_that_come_before_their_sound_are_stages() -> None:
    """So are those that say how long they waited for it; words that come with their sound tell nothing."""
    words = [
        s.AgentResponseAudioTranscriptDeltaEvent(delta="It is", ts_ms=2_200, **ANSWER),
        s.AgentResponseAudioTranscriptDeltaEvent(delta=" 3.5 now. And", ts_ms=2_300, **ANSWER),
        s.AgentResponseAudioTranscriptDeltaEvent(delta=" then. ", ts_ms=2_400, **ANSWER),
    ]
    stages_ms = measured(turn(*words)).stages_ms
    assert (stages_ms["first_token"], stages_ms["first_sentence"]) == (150, 100)
    assert [*stages_ms] == [
        *("turn_end", "transcript", "response", "first_token", "first_sentence", "first_audio", "played")
    ]
    ready_ms = {"first_token": 400, "first_sentence": 250}
    waited = s.AgentResponseAudioTranscriptDeltaEvent(delta="Hi.", ready_ms=ready_ms, ts_ms=2_600, **ANSWER)
    stages_ms = measured(turn(waited)).stages_ms
    assert (stages_ms["first_token"], stages_ms["first_sentence"], stages_ms["first_audio"]) == (150, 150, 250)
    caption = s.AgentResponseAudioTranscriptDeltaEvent(delta="Hi.", ts_ms=2_600, **ANSWER)
    assert {"first_token", "first_sentence"}.isdisjoint(measured(turn(caption)).stages_ms)


def asked(state: str, ts_ms: int, call_id: str = "t1") -> s.ServerCustomEvent:
    return s.ServerCustomEvent(
        name="consent_question", value={"tool_call_id": call_id, "state": state, "by": "card"}, ts_ms=ts_ms
    )


def paid(*questions: Entry, result_ms: int) -> list[Entry]:
    """A turn whose tool asks; the answer sounds 150 ms after the result."""
    later_ms = result_ms + 150
    return [
        *turn()[:4],
        s.AgentResponseToolUseDoneEvent(tool_use=CALL, response_id="r1", item_id="i1", ts_ms=2_150),
        *questions,
        s.AgentResponseToolResultEvent(
            tool_result=ToolResultBlock(id="t1", name="lookup", output="42"), response_id="r1", ts_ms=result_ms
        ),
        s.AgentResponseCreatedEvent(response_id="r2", ts_ms=result_ms + 10),
        run(result_ms + 100),
        s.AgentResponseAudioTranscriptDoneEvent(transcript="Paid.", ts_ms=later_ms, response_id="r2", item_id="a1"),
        s.ServerPlaybackEvent(item_id="a1", played_ms=10, input_ms=later_ms - 90, ts_ms=later_ms + 10),
    ]


def form(at_ms: int, until_ms: int) -> list[Entry]:
    """A form of the tool that was called."""
    shown = ToolCallBlock(id="f1", name="elicitation", input="{}", state=ToolCallState.ASKING)
    answered = ToolResultBlock(id="f1", name="elicitation", output="answered")
    return [
        s.AgentResponseToolUseDoneEvent(tool_use=shown, response_id="r1", item_id="", ts_ms=at_ms),
        s.AgentResponseToolResultEvent(tool_result=answered, ts_ms=until_ms),
    ]


@pytest.mark.parametrize("asks", ["a question for consent", "a form"])
def test_the_time_in_which_the_user_answers_is_a_part_of_its_own_and_no_latency(asks: str) -> None:
    at_once = measured(paid(result_ms=2_450))
    questions = [asked("asking", 2_150), asked("answered", 22_150)] if asks != "a form" else form(2_150, 22_150)
    thought = measured(paid(*questions, result_ms=22_450))
    assert thought.stages_ms == {**at_once.stages_ms, "consent": 20_000}
    assert (thought.latency_ms, thought.turn_end_to_audio_ms) == (at_once.latency_ms, at_once.turn_end_to_audio_ms)
    assert [*thought.stages_ms][3:6] == ["tool_call", "consent", "tool_result"]
    assert "consent" not in measured(paid(asked("asking", 2_150), result_ms=2_450)).stages_ms, "still open"


def test_what_a_tool_works_between_two_questions_is_latency() -> None:
    questions = [
        *(asked("asking", 2_150), asked("waiting", 2_150, "t2"), asked("answered", 3_150, "t2")),
        *(asked("answered", 5_150), asked("asking", 7_150, "t3"), asked("repeated", 8_150, "t3")),
        asked("answered", 10_150, "t3"),
    ]
    stages_ms = measured(paid(*questions, result_ms=10_450)).stages_ms
    assert (stages_ms["consent"], stages_ms["tool_result"]) == (6_000, 2_300)


def test_a_tool_before_the_answer_is_part_of_the_wait() -> None:
    entries = turn(
        s.AgentResponseToolUseDoneEvent(tool_use=CALL, response_id="r1", item_id="i1", ts_ms=2_150),
        s.AgentResponseToolResultEvent(
            tool_result=ToolResultBlock(id="t1", name="lookup", output="42"), response_id="r1", ts_ms=2_450
        ),
        s.AgentResponseCreatedEvent(response_id="r2", ts_ms=2_460),
        s.AgentResponseAudioTranscriptDoneEvent(transcript="42.", ts_ms=2_550, response_id="r2", item_id="a2"),
        run(2_550, "a2"),
        s.ServerPlaybackEvent(item_id="a2", played_ms=50, input_ms=2_600, ts_ms=2_700),
    )[:-3]
    found = measured(entries)
    assert found.response_id == "r2"
    assert (found.stages_ms["tool_call"], found.stages_ms["tool_result"]) == (100, 300)


def test_what_answers_no_turn_ends_no_wait() -> None:
    aside, rest = ({"conversation": "none"}, {"metadata": {"resumes": "a0"}})
    logs: dict[str, list[Entry]] = {
        "said outside the conversation": turn(),
        "goes on with a cut reply": turn(),
        "a reply that began before the turn": [*turn()[:3], *turn()[4:]],
        "a turn that is not over": [entry for entry in turn() if not isinstance(entry, s.AgentInputDoneEvent)],
    }
    logs["said outside the conversation"][3] = s.AgentResponseCreatedEvent(response_id="r1", ts_ms=2_050, **aside)
    logs["goes on with a cut reply"][3] = s.AgentResponseCreatedEvent(response_id="r1", ts_ms=2_050, **rest)
    assert {name: latency_of(log, "u1") for name, log in logs.items()} == dict.fromkeys(logs)


def test_a_turn_that_went_on_after_a_hasty_end_counts_from_its_last_end() -> None:
    hasty = [
        s.AgentInputStartedEvent(item_id="u1", audio_start_ms=100, ts_ms=300),
        s.AgentInputDoneEvent(item_id="u1", audio_end_ms=200, ts_ms=400),
        s.AgentResponseCreatedEvent(response_id="r0", ts_ms=410),
    ]
    assert measured([*hasty, *turn()]).latency_ms == measured(turn()).latency_ms


def test_a_typed_turn_counts_from_its_arrival_and_a_held_button_from_its_release() -> None:
    typed = Item(id="u1", role="user", content=(ContentPart(type="text", text="Hello"),))
    found = measured([s.AgentItemAddedEvent(item=typed, ts_ms=2_000), *turn()[3:]])
    assert (found.latency_ms, found.estimated) == (700, False)
    assert "turn_end" not in found.stages_ms
    released = s.AgentInputCommittedEvent(item_id="u1", audio_end_ms=1_900, ts_ms=2_000)
    assert measured([released, *turn()[2:]]).latency_ms == 2_660 - 60 - 1_900


def test_what_the_client_did_not_tell_is_measured_by_the_servers_clock_and_that_is_said() -> None:
    stopped = s.ServerPlaybackEvent(item_id="a1", played_ms=60, input_ms=1_400, ts_ms=2_760)
    found = measured(turn(playback=stopped))
    assert (found.latency_ms, found.estimated) == (2_700 - 2_000, True)
    guessed = s.ServerPlaybackEvent(item_id="a1", played_ms=60, input_ms=2_660, estimated=True, ts_ms=2_760)
    assert measured(turn(playback=guessed)).estimated
    assert begins_ms(guessed) == 2_700, "so long before its report as was played"


@given(
    uplink_ms=st.integers(0, 2_000),
    late_ms=st.integers(0, STALLED_MS),
    played_ms=st.integers(1, 5_000),
    waited_ms=st.integers(0, 20_000),
)
def test_neither_the_way_to_the_server_nor_a_late_report_changes_the_number(
    uplink_ms: int, late_ms: int, played_ms: int, waited_ms: int
) -> None:
    reported_ms = 1_400 + waited_ms + played_ms
    arrives_ms = reported_ms + uplink_ms + late_ms
    entries: list[Entry] = [
        s.AgentInputStartedEvent(item_id="u1", audio_start_ms=400, ts_ms=500 + uplink_ms),
        s.AgentInputDoneEvent(item_id="u1", audio_end_ms=1_400, ts_ms=1_400 + uplink_ms),
        s.AgentResponseCreatedEvent(response_id="r1", ts_ms=1_400 + uplink_ms),
        run(1_400 + uplink_ms),
        s.AgentResponseAudioTranscriptDoneEvent(transcript="Hi.", ts_ms=1_400 + uplink_ms, **ANSWER),
        s.ServerPlaybackEvent(item_id="a1", played_ms=played_ms, input_ms=reported_ms, ts_ms=arrives_ms),
    ]
    found = measured(entries, sent_ms=1_400 + uplink_ms)
    assert (found.latency_ms, found.estimated) == (waited_ms, False)
    assert sum(found.stages_ms.values()) == waited_ms
    assert min(found.stages_ms.values()) >= 0


def test_logs_of_earlier_versions_tell_no_wait() -> None:
    old = s.ServerLatencyEvent(response_id="r1", turn_end_to_audio_ms=45, stages_ms={"to_audio": 45})
    now = measured(turn())
    assert latencies([old, now]) == [now]
