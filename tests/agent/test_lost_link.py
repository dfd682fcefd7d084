"""A lost link to the model: what is kept of the call, said again, and what it owed comes after all. On a fake model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.replay_buffer import KEPT_MS, KEPT_WHILE_QUIET_MS, ReplayBuffer
from realtime.agent.user_turn import UserTurn
from realtime.audio.endpoint import SpeechStarted, TurnEnded
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import ResponseOverrides
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.model.base import AudioAppend, AudioCommit
from realtime.tool import Toolkit
from tests.agent.fakes import NO_DETECTOR, WORDS, Call, FakeDetector, call, speech

pytestmark = pytest.mark.virtual_time

LOST = m.ModelReconnectingEvent(attempt=1, retry_after_ms=500, reason="lost")
BACK = m.ModelReconnectedEvent(gap_ms=10)
PUSH_TO_TALK = SessionConfig(turn_detection="none")


def lose(made: Call, *running: str) -> int:
    """The link is lost, with the responses that ran on it. Returns how much the model had been sent before."""
    sent = len(made.link.sent)
    details = {"type": "failed", "reason": "link_lost"}
    for response_id in running:
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="failed", status_details=details))
    made.link.say(LOST)
    return sent


def since(made: Call, sent: int) -> list[str]:
    """The kinds of what the model was sent since then; a run of audio counts once."""
    kinds = [type(message).__name__ for message in made.link.sent[sent:]]
    return [kind for place, kind in enumerate(kinds) if kind != "AudioAppend" or kinds[place - 1 : place] != [kind]]


def again(made: Call, sent: int) -> bytes:
    """The audio that was said again."""
    return b"".join(m.pcm for m in made.link.sent[sent:] if isinstance(m, base.AudioAppend) and m.again)


def found(*events: Any) -> dict[str, Any]:
    return {
        "profile": NO_DETECTOR,
        "config": SessionConfig(turn_detection=TurnDetection(authority="server")),
        "make_detector": lambda detection: FakeDetector(*events),
    }


def turn(made: Call, item_id: str, start_ms: int, end_ms: int, words: str | None = None) -> None:
    """The provider hears a turn, and knows its words if there are any."""
    made.link.hear_start(item_id, start_ms)
    made.link.hear_end(item_id, end_ms, words)


def committed(made: Call, **words: str) -> None:
    """The provider has taken these turns, whose ends it was told, and knows their words."""
    for item_id, text in words.items():
        made.link.say(m.ModelInputCommittedEvent(item_id=item_id))
        made.link.say(m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=text))


async def test_a_lost_link_closes_what_was_being_said() -> None:
    async with call() as made:
        made.link.begin_speaking(500, WORDS)
        start = len(made.seen)
        made.link.say(LOST)
        assert made.types(start) == [
            "agent_response_audio_done",
            "agent_response_audio_transcript_done",
            "agent_item_done",
            "agent_response_done",
            "agent_reconnecting",
        ]
        assert made.of(s.AgentResponseDoneEvent)[0].status == "failed"
        made.check_heard_truth()


async def test_an_answer_goes_on_after_what_arrived_of_it() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Count."))
        response_id = made.link.begin_speaking(1_000, WORDS)
        sent = lose(made, response_id)
        heard = made.transcript()[-1]
        assert heard[0] == "assistant"
        assert WORDS.startswith(heard[1])
        assert 0 < len(heard[1]) <= 15, "no more words than a second holds, though the text had run ahead"
        assert since(made, sent) == []
        made.link.say(BACK)
        hint, create = made.link.sent[sent:]
        assert isinstance(hint, base.ItemCreate)
        assert hint.item.role == "system"
        assert isinstance(create, base.ResponseCreate)
        made.link.reply(500, "and the rest")
        assert [who for who, _ in made.transcript()] == ["user", "assistant", "assistant"]
        assert made.of(s.ServerAudioFlushEvent) == [], "what has arrived is played to its end"
        made.check_heard_truth()


EXPIRED = m.ModelErrorEvent(error_type="provider_error", code="session_expired", message="60 minutes", retryable=True)


@pytest.mark.parametrize(
    ("after_s", "answered", "asked_again"),
    [(0.5, False, True), (60.0, False, False), (0.0, True, False)],
    ids=["at once", "a minute later", "it came all the same"],
)
async def test_an_error_that_is_the_last_word_of_a_link_refuses_no_answer(
    after_s: float, answered: bool, asked_again: bool
) -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello."))
        made.link.say(EXPIRED)
        await asyncio.sleep(after_s)
        if answered:
            made.link.reply(500, "It came all the same.")
        sent = lose(made)
        made.link.say(BACK)
        assert since(made, sent) == ["ResponseCreate"] * asked_again


async def test_an_answer_that_had_arrived_whole_is_complete() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello."))
        response_id = made.link.begin()
        item_id = made.link.speak(response_id, 1_000, WORDS)
        made.link.say(m.ModelResponseAudioDoneEvent(response_id=response_id, item_id=item_id))
        sent = lose(made, response_id)
        made.link.say(BACK)
        assert since(made, sent) == []
        assert made.of(s.AgentResponseDoneEvent)[0].status == "completed"
        assert made.transcript()[-1] == ("assistant", WORDS.strip())


async def test_an_answer_of_which_nothing_was_heard_is_made_anew() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello."))
        response_id = made.link.begin()
        where = {"response_id": response_id, "item_id": "a1"}
        made.link.say(m.ModelResponseAudioTranscriptDeltaEvent(**where, delta="Good morning"))
        sent = lose(made, response_id)
        made.link.say(BACK)
        assert made.transcript() == [("user", "Hello.")]
        assert since(made, sent) == ["ItemDelete", "ResponseCreate"]
        made.check_heard_truth()


async def test_a_request_that_was_under_way_is_made_again_as_it_was_and_one_of_an_earlier_turn_is_not() -> None:
    overrides = ResponseOverrides(instructions="Greet the user.")
    async with call() as made:
        made.receive(c.ClientResponseCreateEvent(response=overrides))
        sent = lose(made)
        made.link.say(BACK)
        assert made.link.sent[sent:] == [base.ResponseCreate(overrides)]
        made.link.reply(100, "Hello!")
        turn(made, "u1", 0, 500, "Count.")
        response_id = made.link.begin_speaking(1_000, WORDS)
        sent = lose(made, response_id)
        made.link.say(BACK)
        assert made.link.sent[sent:][-1] == base.ResponseCreate(None)
        made.link.reply(500, "and the rest")


async def test_a_new_question_in_the_gap_takes_the_place_of_what_was_owed() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        sent = lose(made)
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        made.link.say(BACK)
        made.link.reply(500, "Yes.")
        assert since(made, sent) == ["ItemCreate", "ResponseCreate"]
        assert made.transcript()[-1] == ("assistant", "Yes.")


async def test_an_answer_that_is_cancelled_in_the_gap_does_not_come_back() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        sent = lose(made, made.link.begin_speaking(1_000, "Hello to you."))
        made.receive(c.ClientResponseCancelEvent())
        made.link.say(BACK)
        assert "ResponseCreate" not in since(made, sent)


async def test_after_the_results_of_tools_the_model_goes_on_once() -> None:
    async def look(word: str) -> str:
        """Look it up."""
        await asyncio.sleep(1)
        return word

    async with call(toolkit=Toolkit([look])) as made:
        made.receive(c.ClientTextAppendEvent(text="Look."))
        response_id = made.link.begin()
        use = ToolCallBlock(id="call_1", name="look", input='{"word": "x"}')
        made.link.say(m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use", tool_use=use))
        sent = lose(made, response_id)
        made.link.say(BACK)
        await asyncio.sleep(2)
        assert since(made, sent) == ["ToolResult", "ResponseCreate"]


async def test_of_silence_little_is_said_again_and_of_speech_all_of_it_up_to_ten_seconds() -> None:
    async with call() as made:
        for _ in range(40):
            made.hear(100)
        assert len(again(made, lose(made))) == KEPT_WHILE_QUIET_MS * 32
        made.link.say(BACK)
        made.link.hear_start("u1", 3_900)
        for _ in range(150):
            made.hear(100)
        assert len(again(made, lose(made))) == KEPT_MS * 32


async def test_what_was_understood_is_not_said_again() -> None:
    async with call() as made:
        made.hear(1_000)
        turn(made, "u1", 200, 600, "Hello.")
        made.link.reply(500, "Hi.")
        sent = lose(made)
        made.link.say(BACK)
        assert again(made, sent) == speech(1_000)[600 * 32 :]
        assert since(made, sent) == ["AudioAppend"]


async def test_speech_that_goes_on_over_a_lost_link_is_one_turn_and_its_words_count_once() -> None:
    async with call() as made:
        made.hear(600)
        made.link.hear_start("u1", 200)
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="What"))
        lose(made)
        made.link.say(BACK)
        made.link.hear_start("u2", 210)
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u2", delta="What time"))
        made.hear(600)
        made.link.hear_end("u2", 1_000, "What time is it?")
        made.link.reply(500, "Nine.")
        assert [event.item_id for event in made.of(s.AgentInputStartedEvent)] == ["u1"]
        assert [event.item_id for event in made.of(s.AgentInputDoneEvent)] == ["u1"]
        assert [event.delta for event in made.of(s.AgentInputTranscriptionDeltaEvent)] == ["What"]
        made.link.gone("closed")
        assert len(made.of(s.AgentInputTranscriptionDoneEvent)) == 1
        assert made.transcript() == [("user", "What time is it?"), ("assistant", "Nine.")]
        assert made.session.conversation.items()[0].id == "u1"
        made.check_heard_truth()


async def test_a_turn_whose_words_were_not_known_is_heard_again_and_answered_by_the_model_itself() -> None:
    async with call() as made:
        made.hear(1_000)
        turn(made, "u1", 200, 600)
        sent = lose(made)
        made.link.say(BACK)
        assert since(made, sent) == ["AudioAppend"], "asking as well would make it answer twice"
        turn(made, "u2", 200, 600, "Hello.")
        made.link.reply(500, "Hi.")
        assert made.transcript() == [("user", "Hello."), ("assistant", "Hi.")]
        for kind in (s.AgentInputStartedEvent, s.AgentInputDoneEvent, s.AgentInputCommittedEvent):
            assert len(made.of(kind)) == 1
        assert made.agent.hasty_turns == 0
        made.check_heard_truth()


@pytest.mark.parametrize("words", [None, "Hello."])
async def test_turns_that_are_heard_again_only_for_their_words_are_not_answered_again(words: str | None) -> None:
    """Also where nobody transcribes: there no turn is ever known to have been understood."""
    async with call() as made:
        made.hear(3_000)
        for piece, start_ms in (("u1", 200), ("u2", 1_600)):
            turn(made, piece, start_ms, start_ms + 400)
            made.link.reply(200, "Hi.")
            await asyncio.sleep(1)
        lose(made)
        made.link.say(BACK)
        for piece, start_ms in (("u3", 200), ("u4", 1_600)):
            turn(made, piece, start_ms, start_ms + 400, words)
            made.link.reply(500, "Hi again.")
        assert len(made.link.got(base.ResponseCancel)) == 2
        assert made.transcript() == [("user", words or ""), ("assistant", "Hi.")] * 2
        turn(made, "u5", 6_000, 7_000, words)
        made.link.reply(500, "Now.")
        assert made.transcript()[-1] == ("assistant", "Now.")
        made.check_heard_truth()


async def test_a_turn_that_is_not_heard_again_leaves_the_next_one_alone() -> None:
    async with call() as made:
        made.hear(1_000)
        turn(made, "u1", 200, 600)
        lose(made)
        made.link.say(BACK)
        await asyncio.sleep(3)
        made.hear(3_000)
        turn(made, "u2", 3_000, 3_800, "Are you there?")
        made.link.reply(500, "Yes.")
        assert made.transcript() == [("user", ""), ("user", "Are you there?"), ("assistant", "Yes.")]
        assert made.link.got(base.ResponseCancel) == []
        made.check_heard_truth()


async def test_a_commit_of_the_client_is_made_again_and_keeps_its_turn_and_what_was_cleared_is_not() -> None:
    async with call(config=PUSH_TO_TALK) as made:
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())
        made.hear(300)
        made.receive(c.ClientAudioClearEvent())
        sent = lose(made)
        assert since(made, sent) == ["AudioAppend", "AudioCommit"]
        made.hear(400)
        made.receive(c.ClientAudioCommitEvent())
        made.link.say(BACK)
        assert since(made, sent) == ["AudioAppend", "AudioCommit", "AudioAppend", "AudioCommit", "ResponseCreate"]
        assert again(made, sent) == speech(500)
        committed(made, p1="First.", p2="Second.")
        assert made.transcript() == [("user", "First."), ("user", "Second.")]
        made.check_heard_truth()


async def test_a_committed_turn_whose_words_were_not_known_keeps_its_item() -> None:
    async with call(config=PUSH_TO_TALK) as made:
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())
        made.link.say(m.ModelInputCommittedEvent(item_id="p1"))
        lose(made)
        made.link.say(BACK)
        committed(made, p2="First.")
        assert [(item.id, item.text) for item in made.session.conversation.items()] == [("p1", "First.")]
        made.check_heard_truth()


async def test_turns_that_this_server_finds_are_said_again_in_order() -> None:
    options = found(
        (1_000, SpeechStarted(900)),
        (1_500, TurnEnded(start_ms=900, end_ms=1_200, pcm=b"")),
        (4_000, SpeechStarted(3_900)),
        (5_000, TurnEnded(start_ms=3_900, end_ms=4_500, pcm=b"")),
    )
    async with call(**options) as made:
        made.hear(1_500)
        first = made.of(s.AgentInputStartedEvent)[-1].item_id
        sent = lose(made)
        await asyncio.sleep(2)
        made.hear(3_500)
        second = made.of(s.AgentInputStartedEvent)[-1].item_id
        made.link.say(BACK)
        assert since(made, sent) == ["AudioAppend", "AudioCommit", "AudioAppend", "AudioCommit", "ResponseCreate"]
        committed(made, p1="First.", p2="Second.")
        heard = [(item.id, item.text) for item in made.session.conversation.items()]
        assert heard == [(first, "First."), (second, "Second.")]
        made.check_heard_truth()


async def test_a_written_answer_that_is_broken_off_keeps_its_words() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Count."))
        response_id = made.link.begin()
        where: dict[str, Any] = {"response_id": response_id, "item_id": "written"}
        made.link.say(m.ModelResponseTextDeltaEvent(**where, delta="One, two"))
        lose(made, response_id)
        assert made.transcript()[-1] == ("assistant", "One, two")
        assert made.of(s.AgentResponseTextDoneEvent)[0].text == "One, two"
        made.link.say(BACK)
        made.link.reply(500, "three")


async def test_speech_in_one_large_chunk_and_all_speech_of_an_outage_is_said_again_whole_and_once() -> None:
    async with call() as made:
        made.hear(3_000)
        assert again(made, lose(made)) == speech(3_000)
        sent = len(made.link.sent)
        made.link.say(m.ModelReconnectingEvent(attempt=2, retry_after_ms=900, reason="lost"))
        assert since(made, sent) == []
    async with call() as made:
        lose(made)
        for _ in range(40):
            made.hear(100)
        made.link.say(BACK)
        made.hear(100)
        assert again(made, lose(made)) == speech(100) * 41, "when the link is lost once more"


async def test_a_new_voice_is_not_taken_for_one_that_was_lost() -> None:
    async with call() as made:
        made.hear(500)
        made.link.hear_start("u1", 100)
        lose(made)
        made.link.say(BACK)
        for _ in range(60):
            made.hear(1_000)
        made.link.hear_start("u2", 60_000)
        assert [event.audio_start_ms for event in made.of(s.AgentInputStartedEvent)] == [100, 60_000]


RATE_HZ = 16_000
BYTES_PER_MS = 32


def sent(ms: int, *, chunk_ms: int = 20, start_ms: int = 0) -> tuple[ReplayBuffer, bytes]:
    """So much audio was sent, in chunks."""
    kept, pcm = ReplayBuffer(RATE_HZ), speech(start_ms + ms)[start_ms * BYTES_PER_MS :]
    say(kept, pcm, chunk_ms)
    return kept, pcm


def say(kept: ReplayBuffer, pcm: bytes, chunk_ms: int = 20) -> None:
    step = chunk_ms * BYTES_PER_MS
    for at in range(0, len(pcm), step):
        kept.add(pcm[at : at + step], waits_for_speech=False)


def said_again(kept: ReplayBuffer) -> tuple[bytes, list[int]]:
    """The audio that is said again, and after how many ms of it the commits stand."""
    pcm, commits = b"", []
    for message in kept.replay():
        if isinstance(message, AudioAppend):
            assert message.again
            pcm += message.pcm
        else:
            assert isinstance(message, AudioCommit)
            commits.append(len(pcm) // BYTES_PER_MS)
    return pcm, commits


@given(
    chunk_ms=st.integers(1, 200),
    sent_ms=st.integers(0, 3_000),
    end_ms=st.integers(0, 3_000),
    later_ms=st.integers(0, 500),
)
def test_all_but_what_was_understood_is_said_again_however_it_was_cut(
    chunk_ms: int, sent_ms: int, end_ms: int, later_ms: int
) -> None:
    kept, pcm = sent(sent_ms, chunk_ms=chunk_ms)
    kept.started(UserTurn("u1"), "u1", 0)
    kept.stopped("u1", min(end_ms, sent_ms))
    say(kept, pcm[: later_ms * BYTES_PER_MS], chunk_ms)
    kept.settle("u1")
    assert said_again(kept)[0] == (pcm + pcm[: later_ms * BYTES_PER_MS])[min(end_ms, sent_ms) * BYTES_PER_MS :]


@given(chunk_ms=st.integers(1, 200), sent_ms=st.integers(0, 30_000))
def test_never_more_than_ten_seconds_are_kept_and_these_are_the_last(chunk_ms: int, sent_ms: int) -> None:
    kept, pcm = sent(sent_ms, chunk_ms=chunk_ms)
    said = said_again(kept)[0]
    assert len(said) <= KEPT_MS * BYTES_PER_MS
    assert pcm.endswith(said)
    assert len(said) >= min(len(pcm), (KEPT_MS - chunk_ms) * BYTES_PER_MS)


def test_commits_stand_where_they_stood_and_one_of_next_to_nothing_is_left_out() -> None:
    """Saying it again twice says the same. Positions go on after what was not committed is forgotten."""
    kept, pcm = sent(300)
    first = kept.end_piece(UserTurn("a"), committed=True)
    say(kept, pcm[: 60 * BYTES_PER_MS])
    kept.end_piece(UserTurn("b"), committed=True)
    say(kept, pcm)
    assert said_again(kept) == said_again(kept) == (pcm + pcm[: 60 * BYTES_PER_MS] + pcm, [300])
    assert kept.commits == [first]
    kept, pcm = sent(400)
    kept.end_piece(committed=True)
    say(kept, pcm[: 200 * BYTES_PER_MS])
    kept.clear()
    say(kept, pcm)
    assert said_again(kept) == (pcm * 2, [400])


def test_a_turn_of_the_models_finding_whose_beginning_is_gone_is_left_out() -> None:
    kept, _ = sent(1_000)
    kept.started(UserTurn("u1"), "u1", 200)
    kept.stopped("u1", 800)
    say(kept, speech(KEPT_MS - 500))
    said, _ = said_again(kept)
    assert said == speech(1_000)[800 * BYTES_PER_MS :] + speech(KEPT_MS - 500)
    assert kept.n_whole == 0


def test_a_new_voice_later_than_the_turn_that_was_said_again_is_another_turn() -> None:
    kept, _ = sent(1_000)
    turn = UserTurn("u1")
    kept.started(turn, "u1", 200)
    kept.stopped("u1", 800)
    said_again(kept)
    assert kept.n_whole == 1
    assert kept.taken_up("u2", 2_000) is None
    said_again(kept)
    found = kept.taken_up("u2", 210)
    assert found is not None
    assert found.turn is turn
    assert kept.stopped("u2", 790) is False, "it was told already"
