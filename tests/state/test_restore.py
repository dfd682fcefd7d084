"""A call from its stored log: the whole of it is the live conversation, any part of it is one that came to an end."""

from typing import Any

import pytest

from bench.resume import one_call
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.state.log import AudioRun, Entry, Log
from realtime.state.restore import BEFORE_VOICE_MS, LastPlayed, Owed, ends_of_grace, restore
from realtime.testing.clock import run
from tests.agent.fakes import told

WORDS = "One two three four five six seven eight."


@pytest.fixture(scope="module")
def whole() -> tuple[list[Entry], list[tuple[str, str, str]]]:
    """The log of a call with interruptions, and its conversation."""
    outcome = run(one_call(0, 0.0))
    return outcome.log, outcome.told


def test_the_whole_log_is_the_conversation(whole: tuple[list[Entry], list[tuple[str, str, str]]]) -> None:
    entries, conversation = whole
    restored = restore(entries)
    assert told(restored.conversation) == conversation
    assert restored.closing == []
    last_end = max(one.audio_end_ms for one in entries if isinstance(one, s.AgentInputDoneEvent))
    assert restored.understood_ms == last_end
    assert restored.last_seq == max(one.last_seq if isinstance(one, AudioRun) else one.seq for one in entries)


def test_after_any_part_of_it_everything_is_closed(whole: tuple[list[Entry], list[tuple[str, str, str]]]) -> None:
    entries, conversation = whole
    for end in range(len(entries) + 1):
        restored = restore(entries[:end])
        begun = {one.response_id for one in entries[:end] if isinstance(one, s.AgentResponseCreatedEvent)}
        over = [one.response_id for one in entries[:end] if isinstance(one, s.AgentResponseDoneEvent)]
        over += [one.response_id for one in restored.closing if isinstance(one, s.AgentResponseDoneEvent)]
        assert begun == set(over)
        assert len(over) == len(set(over))
        assert all(item.status != "in_progress" for item in restored.conversation.items() if item.role == "assistant")
        # Nobody said or heard anything that the call did not hold later.
        for (_, role, words), (_, same_role, later) in zip(told(restored.conversation), conversation, strict=False):
            assert role == same_role
            if role == "user":
                assert words in ("", later)


def broken_off(*, transcribed: bool = True) -> list[Entry]:
    """A log that ends in the middle of an answer of which 4 s of speech were sent."""
    part: dict[str, Any] = {"response_id": "r1", "item_id": "i2"}
    words = [s.AgentInputTranscriptionDoneEvent(item_id="i1", transcript="Count.")] if transcribed else []
    return logged(
        s.AgentInputStartedEvent(item_id="i1", audio_start_ms=500),
        s.AgentItemAddedEvent(item=Item(id="i1", role="user", content=VOICE)),
        *words,
        s.AgentResponseCreatedEvent(response_id="r1", agent_name="Friday"),
        s.AgentItemAddedEvent(item=Item(id="i2", role="assistant", status="in_progress"), previous_item_id="i1"),
        s.AgentResponseAudioTranscriptDeltaEvent(delta=WORDS, **part),
        s.AgentResponseAudioDeltaEvent(delta=bytes(4_000 * 48), format=AudioFormat.pcm16(24_000), **part),
    ).read()


VOICE = (ContentPart(type="audio"),)


def logged(*events: s.ServerEvent) -> Log:
    log = Log(lambda: 0.0)
    for event in events:
        log.append(event)
    return log


def spoken(item_id: str, start_ms: int, words: str | None = None, before: str | None = None) -> list[s.ServerEvent]:
    """A turn of 400 ms; null: its words are not known yet."""
    told = [] if words is None else [s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=words)]
    return [
        s.AgentInputStartedEvent(item_id=item_id, audio_start_ms=start_ms),
        s.AgentInputDoneEvent(item_id=item_id, audio_end_ms=start_ms + 400),
        s.AgentItemAddedEvent(item=Item(id=item_id, role="user", content=VOICE), previous_item_id=before),
        *told,
    ]


def test_an_answer_that_was_broken_off_is_cut_where_the_client_is() -> None:
    restored = restore(broken_off(), LastPlayed("i2", 2_000))
    heard = restored.conversation.items()[1].text
    assert WORDS.startswith(heard)
    assert 0 < len(heard) < len(WORDS)
    assert [event.type for event in restored.closing] == [
        "agent_item_truncated",
        "agent_response_audio_done",
        "agent_response_audio_transcript_done",
        "agent_item_done",
        "agent_response_done",
    ]
    assert {getattr(event, "agent_name", "") for event in restored.closing} == {"Friday"}
    unplayed = restore(broken_off(), LastPlayed("i0", 9_000))
    assert unplayed.conversation.items()[1].text == ""


CALLED = s.AgentResponseToolUseDoneEvent(
    response_id="r1", item_id="i3", tool_use=ToolCallBlock(id="c", name="find", input="")
)
RESULT = s.AgentResponseToolResultEvent(tool_result=ToolResultBlock(id="c", name="find", output="tea"), item_id="i4")
DONE = s.AgentResponseDoneEvent(response_id="r1")


def begun(*events: s.ServerEvent) -> list[Entry]:
    """A question, and what came of its answer before the process ended."""
    return logged(*spoken("i1", 500, "Count."), s.AgentResponseCreatedEvent(response_id="r1"), *events).read()


@pytest.mark.parametrize(
    ("entries", "played", "owed"),
    [
        (broken_off(), LastPlayed("i2", 2_000), Owed("i2")),
        (broken_off(), None, Owed("i2")),
        (broken_off(), LastPlayed("i0", 9_000), Owed()),
        ([*broken_off(), DONE], LastPlayed("i2", 2_000), Owed("i2")),
        ([*broken_off(), DONE], LastPlayed("i2", 4_000), None),
        (begun(), None, Owed()),
        (begun(CALLED), None, Owed()),
        (begun(CALLED, DONE, RESULT), None, Owed()),
        (logged(*spoken("i1", 500, "Count.")).read(), None, Owed()),
        (logged(*spoken("i1", 500)).read(), None, None),
        ([], None, None),
    ],
    ids=[
        *("in the middle", "where is unknown", "nothing heard", "sent whole", "heard whole", "not begun"),
        *("calling a tool", "behind a tool", "not asked for", "a turn that is sent again", "an empty call"),
    ],
)
def test_an_answer_whose_end_was_not_heard_is_owed(
    entries: list[Entry], played: LastPlayed | None, owed: Owed | None
) -> None:
    assert restore(entries, played).owed == owed


def test_words_that_were_not_known_are_told_to_be_lost_or_are_asked_for_again() -> None:
    """A turn that was answered is not heard again."""
    restored = restore(broken_off(transcribed=False))
    (failed,) = [one for one in restored.closing if isinstance(one, s.AgentInputTranscriptionFailedEvent)]
    assert failed.item_id == "i1"
    assert "i1" in restored.conversation
    assert restored.understood_ms == 0
    voice = logged(s.AgentInputStartedEvent(item_id="i9", audio_start_ms=7_500))
    assert restore(voice.read()).understood_ms == 7_500 - BEFORE_VOICE_MS


def test_a_voice_that_was_none_after_all_is_neither_lost_nor_asked_for_again() -> None:
    for cleared in (s.AgentInputClearedEvent(), s.AgentInputClearedEvent(item_id="i9")):
        started = s.AgentInputStartedEvent(item_id="i9", audio_start_ms=7_500)
        restored = restore(logged(*spoken("i1", 500, "Count."), started, cleared).read())
        assert (restored.understood_ms, restored.closing) == (900, [])


def test_a_turn_of_which_neither_words_nor_an_answer_came_is_heard_again() -> None:
    log = logged(*spoken("i1", 500, "Count."), *spoken("i2", 5_000, before="i1"))
    log.append(s.AgentInputCommittedEvent(item_id="i2"))
    restored = restore(log.read())
    assert restored.understood_ms == 5_000 - BEFORE_VOICE_MS
    assert [item.id for item in restored.conversation.items()] == ["i1"]
    assert restored.closing == [s.AgentItemDeletedEvent(item_id="i2")]


def test_the_words_of_a_turn_that_was_taken_up_again_stay() -> None:
    again = s.AgentInputStartedEvent(item_id="i1", audio_start_ms=1_500)
    restored = restore(logged(*spoken("i1", 500, "Count."), again).read())
    assert [item.text for item in restored.conversation.items()] == ["Count."]
    assert (restored.understood_ms, restored.closing) == (1_500 - BEFORE_VOICE_MS, [])


def test_push_to_talk_is_heard_again_from_the_last_commit_that_was_understood() -> None:
    """A commit that says nothing of where in the audio it is, as older servers stored it: nothing is heard twice."""
    log = logged(
        s.AgentItemAddedEvent(item=Item(id="i1", role="user", content=VOICE)),
        s.AgentInputCommittedEvent(item_id="i1", audio_end_ms=1_500),
        s.AgentInputTranscriptionDoneEvent(item_id="i1", transcript="Count."),
    )
    assert restore(log.read()).understood_ms == 1_500
    log.append(s.AgentItemAddedEvent(item=Item(id="i2", role="user", content=VOICE), previous_item_id="i1"))
    log.append(s.AgentInputCommittedEvent(item_id="i2", audio_end_ms=4_000))
    restored = restore(log.read())
    assert (restored.understood_ms, restored.closing) == (1_500, [s.AgentItemDeletedEvent(item_id="i2")])
    said = (ContentPart(type="audio", transcript="One."),)
    answer = Item(id="i3", role="assistant", status="completed", content=said)
    log.append(s.AgentItemAddedEvent(item=answer, previous_item_id="i2"))
    assert restore(log.read()).understood_ms == 4_000
    assert restore(logged(s.AgentInputCommittedEvent(item_id="i1")).read()).understood_ms is None


def test_what_others_in_a_room_say_has_no_place_in_the_audio_of_the_user() -> None:
    log = logged(
        s.ServerRoomJoinedEvent(participant_id="p1", name="Ann", kind="human"),
        s.ServerRoomJoinedEvent(participant_id="p2", name="Ben", kind="human"),
        s.AgentInputStartedEvent(item_id="i1", audio_start_ms=500, agent_id="p1"),
        s.AgentInputDoneEvent(item_id="i1", audio_end_ms=900, agent_id="p1"),
        s.AgentInputTranscriptionDoneEvent(item_id="i1", transcript="Hello.", agent_id="p1"),
        s.AgentItemAddedEvent(item=Item(id="i1", role="user", content=VOICE)),
        s.AgentInputStartedEvent(item_id="i2", audio_start_ms=70_000, agent_id="p2"),
    )
    assert restore(log.read()).understood_ms == 900


def test_whoever_was_in_the_room_has_left_it_with_the_server() -> None:
    """A client that comes back is told of everybody anew, under new ids."""
    log = Log(lambda: 0.0)
    for number, name in enumerate(("Ann", "Emma", "Ben", "Carl")):
        log.append(s.ServerRoomJoinedEvent(participant_id=f"p{number}", name=name, kind="human"))
    log.append(s.ServerRoomLeftEvent(participant_id="p2", name="Ben"))
    log.append(s.ServerRoomLeftEvent(participant_id="p1", name="Emma", reason="away"))
    log.append(s.ServerRoomLeftEvent(participant_id="p3", name="Carl", reason="renamed"))
    log.append(s.ServerRoomChangedEvent(participant_id="p3", name="Charles", kind="human", muted=False, away=False))
    assert restore(log.read()).closing == [
        s.ServerRoomLeftEvent(participant_id=who, name=name, reason="call_interrupted")
        for who, name in (("p0", "Ann"), ("p1", "Emma"), ("p3", "Charles"))
    ]
    log.append(s.ServerRoomFloorEvent(participant_id="p1", reason="addressed"))
    assert restore(log.read()).closing[0] == s.ServerRoomFloorEvent(reason="call_interrupted")


def test_settings_that_were_changed_during_the_call_hold() -> None:
    first = s.ServerSessionUpdatedEvent(session_id="s", config={"voice": "a", "instructions": "Be brief."})
    log = logged(first, s.ServerSessionUpdatedEvent(session_id="s", config={"voice": "b"}))
    assert restore(log.read()).config == {"voice": "b", "instructions": "Be brief."}


def test_an_end_that_did_not_last_is_told_to_nobody() -> None:
    assert ends_of_grace(s.ServerSessionEndedEvent(session_id="s"))
    assert ends_of_grace(s.ServerGoodbyeEvent(reason="shutdown"))
    assert not ends_of_grace(s.AgentReadyEvent(agent_id="a"))
