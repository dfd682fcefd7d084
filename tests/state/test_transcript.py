"""A call as lines, as text and as subtitles: the words that were heard, when they were heard."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.message import ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.state.log import AudioRun, Entry
from realtime.state.transcript import Line, as_srt, as_text, lines_of

FRIDAY: dict[str, Any] = {"agent_id": "a", "agent_name": "Friday"}
REPLY: dict[str, Any] = {**FRIDAY, "response_id": "r", "item_id": "i2"}


def user_item(text: str, item_id: str = "i1", kind: str = "audio") -> Item:
    part = ContentPart(type="audio", transcript=text) if kind == "audio" else ContentPart(type="text", text=text)
    return Item(id=item_id, role="user", content=(part,))


def spoken_turn() -> list[Entry]:
    """A question by voice from 1,000 to 2,000 ms of an audio that began at 500 ms, and a reply that was cut."""
    reply = Item(id="i2", role="assistant", status="in_progress")
    return [
        s.AgentInputStartedEvent(item_id="i1", audio_start_ms=500, seq=1, ts_ms=1_080, **FRIDAY),
        s.AgentInputDoneEvent(item_id="i1", audio_end_ms=1_500, seq=2, ts_ms=2_400, **FRIDAY),
        s.AgentItemAddedEvent(item=user_item(""), seq=3, ts_ms=2_400, **FRIDAY),
        s.AgentInputTranscriptionDoneEvent(item_id="i1", transcript="Tell me a story.", seq=4, ts_ms=2_500, **FRIDAY),
        s.AgentResponseCreatedEvent(response_id="r", seq=5, ts_ms=2_500, **FRIDAY),
        s.AgentItemAddedEvent(item=reply, seq=6, ts_ms=2_600, previous_item_id="i1", **FRIDAY),
        s.AgentResponseAudioTranscriptDeltaEvent(
            delta="Once upon a time there was a king.", seq=7, ts_ms=2_600, **REPLY
        ),
        AudioRun(seq=8, last_seq=9, ts_ms=2_600, last_ts_ms=2_700, item_id="i2", offset_bytes=0, n_bytes=48_000 * 3),
        s.ServerPlaybackEvent(item_id="i2", played_ms=100, seq=10, ts_ms=3_100),
        s.ServerPlaybackEvent(item_id="i2", played_ms=1_100, seq=11, ts_ms=4_100),
        s.ServerPlaybackEvent(item_id="i2", played_ms=1_400, seq=12, ts_ms=4_400),
        s.AgentItemTruncatedEvent(
            item_id="i2", audio_end_ms=1_400, transcript="Once upon a time", seq=13, ts_ms=4_450, **FRIDAY
        ),
        s.AgentResponseDoneEvent(response_id="r", status="cancelled", seq=14, ts_ms=4_450, **FRIDAY),
    ]


def test_each_line_has_the_words_that_were_heard_and_the_time_when_they_were() -> None:
    question, answer = lines_of(spoken_turn(), user_name="Ann")
    assert (question.who, question.text, question.from_ms, question.to_ms) == ("Ann", "Tell me a story.", 1_000, 2_000)
    assert (answer.who, answer.text, answer.from_ms, answer.to_ms) == ("Friday", "Once upon a time", 3_000, 4_400)
    assert (question.is_cut, answer.is_cut) == (False, True)


def test_a_recording_or_the_way_of_the_speech_say_when_words_were_said_where_nobody_reports() -> None:
    question, _ = lines_of(spoken_turn(), voice_from_ms=620.0)
    assert (question.from_ms, question.to_ms) == (1_120, 2_120)
    entries = [entry for entry in spoken_turn() if not isinstance(entry, s.ServerPlaybackEvent)]
    _, sent = lines_of(entries)
    assert (sent.from_ms, sent.to_ms) == (2_600, 4_000), "where it was sent, as long as it was heard"


def test_in_a_room_a_recording_says_when_the_own_voice_began_and_not_that_of_others() -> None:
    entries: list[Entry] = [s.ServerRoomJoinedEvent(participant_id="ann", name="Ann", kind="human", seq=1)]
    for seq, who in ((10, "ben"), (20, "ann")):
        item = Item(id=who, role="user", name=who, content=(ContentPart(type="audio", transcript="Hello."),))
        place: dict[str, Any] = {"agent_id": who, "agent_name": who}
        entries += [
            s.AgentInputStartedEvent(item_id=who, audio_start_ms=100, seq=seq, ts_ms=100 * seq, **place),
            s.AgentInputDoneEvent(item_id=who, audio_end_ms=600, seq=seq + 1, ts_ms=100 * seq + 700, **place),
            s.AgentItemAddedEvent(item=item, previous_item_id="ben", seq=seq + 2, ts_ms=100 * seq + 700, **place),
        ]
    lines = {line.who: line.from_ms for line in lines_of(entries, voice_from_ms=1_850.0)}
    assert lines == {"ben": 1_000 - 80, "ann": 1_950}


def test_what_was_written_and_what_a_tool_did_are_lines_at_their_time() -> None:
    call = ToolCallBlock(id="t1", name="area", input='{"width": 2}')
    result = ToolResultBlock(id="t1", name="area", output="4", state=ToolResultState.SUCCESS)
    answer = Item(id="i4", role="assistant")
    entries: list[Entry] = [
        s.AgentItemAddedEvent(item=user_item("How large is it?", kind="text"), seq=1, ts_ms=900, **FRIDAY),
        s.AgentResponseToolUseDoneEvent(tool_use=call, response_id="r", item_id="i2", seq=2, ts_ms=1_000, **FRIDAY),
        s.AgentResponseToolResultEvent(tool_result=result, item_id="i3", seq=3, ts_ms=1_700, **FRIDAY),
        s.AgentItemAddedEvent(item=answer, seq=4, ts_ms=1_800, previous_item_id="i3", **FRIDAY),
        s.AgentResponseTextDoneEvent(text="It has 4.", response_id="r", item_id="i4", seq=5, ts_ms=1_900, **FRIDAY),
    ]
    typed, tool, written = lines_of(entries)
    assert (typed.kind, typed.from_ms, typed.to_ms) == ("text", 900, 900 + 1_066)
    assert (tool.kind, tool.text, tool.tool_output, tool.tool_state) == ("tool", "area", "4", "success")
    assert (tool.from_ms, tool.to_ms) == (1_000, 1_700)
    assert (written.kind, written.who, written.text, written.from_ms) == ("text", "Friday", "It has 4.", 1_800)


def test_a_withdrawn_reply_is_no_line() -> None:
    entries = [*spoken_turn(), s.AgentItemDeletedEvent(item_id="i2", seq=15, ts_ms=5_000, **FRIDAY)]
    assert [line.item_id for line in lines_of(entries)] == ["i1"]


def test_it_can_be_read_by_people_as_text_and_as_subtitles_with_the_times_of_what_was_played() -> None:
    lines = lines_of(spoken_turn())
    assert as_text(lines) == "[0:01] user: Tell me a story.\n[0:03] Friday: Once upon a time … (interrupted)\n"
    assert as_srt(lines) == (
        "1\n00:00:01,000 --> 00:00:02,000\nuser: Tell me a story.\n"
        "\n"
        "2\n00:00:03,000 --> 00:00:04,400\nFriday: Once upon a time\n"
    )
    late = Line(item_id="i", who="Ann", role="user", kind="speech", text="Are\nyou there?", from_ms=3_723_000, to_ms=0)
    assert as_text([late]) == "[1:02:03] Ann: Are you there?\n"
    assert (lines_of([]), as_text([]), as_srt([])) == ([], "Nothing was said.\n", "")


def test_a_long_reply_is_several_subtitles_that_share_its_time() -> None:
    text = " ".join(["twelve chars"] * 20)
    line = Line(item_id="i", who="Friday", role="assistant", kind="speech", text=text, from_ms=0, to_ms=20_000)
    cues = as_srt([line]).split("\n\n")
    assert len(cues) == 4
    assert cues[0].startswith("1\n00:00:00,000 --> 00:00:0")
    assert "--> 00:00:20,000\n" in cues[-1]


@given(st.lists(st.tuples(st.text(max_size=300), st.integers(0, 10**7), st.integers(0, 10**5)), max_size=5))
def test_subtitles_never_run_backwards_and_no_words_break_their_form(told: list[tuple[str, int, int]]) -> None:
    lines = [
        Line(item_id=str(n), who="A", role="user", kind="speech", text=text, from_ms=begin, to_ms=begin + ms)
        for n, (text, begin, ms) in enumerate(told)
    ]
    cues = [cue.split("\n") for cue in as_srt(lines).split("\n\n") if cue]
    assert [cue[0] for cue in cues] == [str(number) for number in range(1, len(cues) + 1)]
    times = [cue[1].split(" --> ") for cue in cues]
    assert all(start < stop for start, stop in times)
    assert [start for start, _ in times] == sorted(start for start, _ in times)
    assert all("-->" not in cue[2] for cue in cues)


@pytest.mark.parametrize("text", ["שלום, מה שלומך?", "你好" * 200, "a" * 500])
def test_words_in_any_writing_are_kept_whole(text: str) -> None:
    line = Line(item_id="i", who="Ann", role="user", kind="speech", text=text, from_ms=0, to_ms=9_000)
    spoken = "".join(cue.split("\n")[2].removeprefix("Ann: ") for cue in as_srt([line]).split("\n\n"))
    assert spoken == text
