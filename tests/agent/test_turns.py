"""Who speaks when: barge-in, turns that ended in haste, and the transcript that holds what was heard."""

import asyncio
from typing import Any

import msgspec
import pytest

from realtime.audio.endpoint import SpeechStarted, TurnEnded
from realtime.audio.playback import AcknowledgedPlayback
from realtime.call.played import FLUSH_ANSWER_S
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.testing.cases.hearing import LoudnessDetector
from realtime.tool import Toolkit
from tests.agent.fakes import NO_DETECTOR, PROFILE, WORDS, Call, FakeDetector, call, named, speech

pytestmark = pytest.mark.virtual_time

LONG = " ".join(f"word{number}" for number in range(60))
SERVER = SessionConfig(turn_detection=TurnDetection(authority="server", interruption="immediate"))
CUTS = (s.ServerAudioFlushEvent, s.AgentItemTruncatedEvent, s.AgentItemDeletedEvent)


def kinds(made: Call, start: int = 0) -> list[str]:
    """What the model was sent, by class, without audio."""
    return [type(message).__name__ for message in made.link.sent[start:] if not isinstance(message, base.AudioAppend)]


def asked(made: Call, item_id: str = "u1", text: str = "Tell me a story.") -> None:
    """A spoken question, just ended."""
    made.link.hear_start(item_id, 0)
    made.link.hear_end(item_id, 900, text)


async def test_speech_during_a_reply_silences_it_first_and_keeps_what_was_heard() -> None:
    """RTA-22, RTA-23: InputStarted during audio -> cancel path; the transcript holds only what was heard."""
    async with call() as made:
        asked(made)
        response_id = made.link.begin()
        item_id = made.link.speak(response_id, 4_000, LONG)
        await asyncio.sleep(1)
        start, sent = len(made.seen), len(made.link.sent)
        made.link.hear_start("u2", 2_000)
        assert made.types(start)[:2] == ["server_audio_flush", "agent_item_truncated"]
        assert made.types(start)[-1] == "agent_input_started"
        assert kinds(made, sent) == ["ItemTruncate"]
        (cut,) = made.of(s.AgentItemTruncatedEvent)
        assert (cut.item_id, cut.audio_end_ms) == (item_id, 1_000)
        assert LONG.startswith(cut.transcript or "?")
        assert 0 < len(cut.transcript or "") <= len(LONG) / 4
        (truncate,) = made.link.got(base.ItemTruncate)
        assert (truncate.item_id, truncate.audio_end_ms, truncate.heard_text) == (item_id, 1_000, cut.transcript)
        made.link.speak(response_id, 2_000)
        made.link.finish(response_id, LONG, status="cancelled")
        made.link.hear_end("u2", 3_000, "Stop.")
        assert "agent_response_audio_delta" not in made.types(start)
        assert made.transcript() == [("user", "Tell me a story."), ("assistant", cut.transcript), ("user", "Stop.")]
        made.check_heard_truth()


@pytest.mark.parametrize("ahead_ms", [None, 350], ids=["unpaced", "paced"])
async def test_a_burst_of_12_s_is_silenced_at_the_report_not_behind_it(ahead_ms: int | None) -> None:
    """RTA-22: the provider has sent 12 s of audio and then reports speech; nothing comes before the silence."""
    async with call(ahead_ms=ahead_ms) as made:
        asked(made)
        item_id = made.link.reply(12_000, LONG)
        await asyncio.sleep(1.5)
        start = len(made.log)
        made.link.hear_start("u2", 2_000)
        flush = made.log[start]
        assert isinstance(flush, s.ServerAudioFlushEvent)
        assert flush.ts_ms == made.of(s.AgentInputStartedEvent)[-1].ts_ms == 1_500
        (cut,) = made.of(s.AgentItemTruncatedEvent)
        assert (cut.item_id, cut.audio_end_ms) == (item_id, 1_500)
        flushed_at = [event.type for event in made.seen].index("server_audio_flush")
        await asyncio.sleep(20)
        assert "agent_response_audio_delta" not in made.types(flushed_at)
        sent_ms = sum(len(event.delta) for event in made.of(s.AgentResponseAudioDeltaEvent)) / 48
        assert sent_ms == 12_000 if ahead_ms is None else 1_500 <= sent_ms <= 1_950
        made.check_heard_truth()


@pytest.mark.parametrize("truncates", [True, False])
async def test_a_reply_that_is_finished_but_still_heard_is_cut_all_the_same(truncates: bool) -> None:
    """Models that cannot truncate are not asked to. The flush tells why."""
    profile = msgspec.structs.replace(PROFILE, supports_truncation=truncates, supports_item_delete=truncates)
    async with call(profile=profile) as made:
        asked(made)
        made.link.reply(5_000, LONG)
        await asyncio.sleep(2)
        made.link.hear_start("u2", 2_000)
        assert kinds(made) == ["ItemTruncate"] * truncates
        assert made.of(s.AgentItemTruncatedEvent)[0].audio_end_ms == 2_000
        (flush,) = made.of(s.ServerAudioFlushEvent)
        assert (flush.item_id, flush.reason != "") == (None, True)
        made.check_heard_truth()


async def test_a_reply_that_was_heard_to_its_end_is_not_touched() -> None:
    async with call() as made:
        asked(made)
        made.link.reply(2_000)
        await asyncio.sleep(2.1)
        start, sent = len(made.seen), len(made.link.sent)
        made.link.hear_start("u2", 2_000)
        assert made.types(start) == ["agent_input_started"]
        assert kinds(made, sent) == []
        assert made.transcript()[1] == ("assistant", WORDS.strip())
        made.check_heard_truth()


async def test_a_second_reply_that_was_not_heard_at_all_leaves_no_trace() -> None:
    """Two items wait; only the first has begun to play."""
    async with call() as made:
        asked(made)
        response_id = made.link.begin()
        made.link.speak(response_id, 3_000, LONG, item_id="a1")
        made.link.speak(response_id, 3_000, LONG, item_id="a2")
        await asyncio.sleep(1)
        made.link.hear_start("u2", 2_000)
        assert [event.item_id for event in made.of(s.AgentItemTruncatedEvent)] == ["a1"]
        assert [event.item_id for event in made.of(s.AgentItemDeletedEvent)] == ["a2"]
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="cancelled"))
        made.check_heard_truth()


@pytest.mark.parametrize(
    ("played_ms", "cut", "heard"),
    [(2_000, "agent_item_truncated", ["one two three four five"]), (0, "agent_item_deleted", [])],
    ids=["half", "nothing"],
)
async def test_what_the_client_acknowledged_is_what_was_heard(played_ms: int, cut: str, heard: list[str]) -> None:
    """RTA-23: a client that says what it played is believed, to the word."""
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        asked(made)
        item_id = made.link.reply(4_000)
        await asyncio.sleep(3)
        if played_ms:
            made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=played_ms))
        made.link.hear_start("u2", 2_000)
        await asyncio.sleep(FLUSH_ANSWER_S)
        assert named(made.seen, *CUTS) == ["server_audio_flush", cut]
        assert [event.audio_end_ms for event in made.of(s.AgentItemTruncatedEvent)] == [2_000] * len(heard)
        assert [words for _, words in made.transcript()] == ["Tell me a story.", *heard]
        made.check_heard_truth()


async def interrupted(made: Call) -> str:
    """An answer of 4 s is interrupted after 2 s, of which the client has told 1 s."""
    asked(made)
    response_id = made.link.begin()
    item_id = made.link.speak(response_id, 4_000, "one two three four five six seven eight nine ten")
    made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=1_000))
    await asyncio.sleep(2)
    made.link.hear_start("u2", 2_000)
    made.link.finish(response_id, status="cancelled")
    return item_id


async def test_an_answer_ends_where_the_client_says_that_it_fell_silent() -> None:
    """The network is between what was told last and what was played: the truncation waits for the answer.

    So does the next request: the model would else take all of its words for heard.
    """
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        item_id = await interrupted(made)
        made.receive(c.ClientTextAppendEvent(text="Next."))
        await asyncio.sleep(0.3)
        assert made.of(s.AgentItemTruncatedEvent) == []
        assert kinds(made)[-1] == "ItemCreate"
        made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=1_940, flushed=True))
        assert kinds(made)[-2:] == ["ItemTruncate", "ResponseCreate"]
        assert [cut.audio_end_ms for cut in made.of(s.AgentItemTruncatedEvent)] == [1_940]
        assert [cut.audio_end_ms for cut in made.link.got(base.ItemTruncate)] == [1_940]
        after = [kind for kind in made.types() if kind in ("agent_item_truncated", "agent_response_done")]
        assert after == ["agent_item_truncated", "agent_response_done"]
        made.link.reply(1_000, "Well.")
        assert made.of(s.AgentResponseCreatedEvent)[-1].response_id == "resp_2"
        made.check_heard_truth()


async def test_the_next_answer_does_not_wait_for_a_client_that_answers_too_late_but_it_is_still_believed() -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        item_id = await interrupted(made)
        made.receive(c.ClientTextAppendEvent(text="Next."))
        await asyncio.sleep(FLUSH_ANSWER_S + 0.01)
        assert kinds(made)[-2:] == ["ItemTruncate", "ResponseCreate"]
        made.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=1_940, flushed=True))
        assert [cut.audio_end_ms for cut in made.of(s.AgentItemTruncatedEvent)] == [1_000, 1_940]
        assert len(made.link.got(base.ItemTruncate)) == 1, "a model cannot take back what it has thrown away"
        made.check_heard_truth()


async def test_a_request_that_waits_is_asked_once_where_the_link_is_lost_meanwhile() -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        await interrupted(made)
        made.receive(c.ClientTextAppendEvent(text="Next."))
        made.link.say(m.ModelReconnectingEvent(reason="link_lost", attempt=1, retry_after_ms=500))
        assert made.link.got(base.ResponseCreate) == []
        made.link.say(m.ModelReconnectedEvent(gap_ms=500))
        assert len(made.link.got(base.ResponseCreate)) == 1


async def test_of_two_typed_turns_in_a_row_both_are_asked_for_in_order() -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        await interrupted(made)
        made.receive(c.ClientTextAppendEvent(text="Next."), c.ClientTextAppendEvent(text="No, this."))
        await asyncio.sleep(1)
        assert kinds(made)[-5:] == ["ItemCreate", "ItemTruncate", "ResponseCreate", "ItemCreate", "ResponseCreate"]
        made.link.begin()
        (unwanted,) = made.link.got(base.ResponseCancel)[-1:]
        assert unwanted.response_id == "resp_2"
        made.link.say(m.ModelResponseDoneEvent(response_id="resp_2", status="cancelled"))
        made.link.reply(500, "This.")
        assert made.transcript()[-1] == ("assistant", "This.")


async def test_a_turn_that_goes_on_was_not_over() -> None:
    async with call() as made:
        asked(made, "u1", "I would like")
        response_id = made.link.begin_speaking(2_000, LONG)
        await asyncio.sleep(0.35)
        start = len(made.seen)
        made.link.hear_start("u2", 1_300)
        made.link.finish(response_id, LONG, status="cancelled")
        made.link.hear_end("u2", 2_000, "a cup of tea.")
        assert named(made.seen[start:], *CUTS) == ["server_audio_flush", "agent_item_deleted"]
        assert made.link.got(base.ItemDelete) == [base.ItemDelete("reply_1")]
        assert made.transcript() == [("user", "I would like a cup of tea.")]
        assert {event.item_id for event in made.of(s.AgentInputStartedEvent)} == {"u1"}
        assert made.of(s.AgentInputTranscriptionDoneEvent)[-1].transcript == "I would like a cup of tea."
        assert made.of(s.AgentResponseAudioDeltaEvent) != []
        assert made.agent.hasty_turns == 1
        made.check_heard_truth()


async def test_the_answer_to_the_whole_turn_stands_behind_it() -> None:
    async with call() as made:
        asked(made, "u1", "I would like")
        made.link.reply(2_000, LONG)
        await asyncio.sleep(0.2)
        made.link.hear_start("u2", 1_300)
        made.link.hear_end("u2", 2_000, "tea.")
        await asyncio.sleep(0.1)
        made.link.reply(1_000, "Here you are.")
        await asyncio.sleep(3)
        assert made.transcript() == [("user", "I would like tea."), ("assistant", "Here you are.")]
        made.check_heard_truth()


PIECES: dict[str, tuple[m.ModelEvent, ...]] = {
    "words 1": (m.ModelInputTranscriptionDoneEvent(item_id="u1", transcript="I would like"),),
    "end 2": (m.ModelInputDoneEvent(item_id="u2", audio_end_ms=2_000), m.ModelInputCommittedEvent(item_id="u2")),
    "words 2": (m.ModelInputTranscriptionDoneEvent(item_id="u2", transcript="tea."),),
}


@pytest.mark.parametrize("order", [("words 1", "end 2", "words 2"), ("end 2", "words 2", "words 1")])
async def test_the_words_of_two_pieces_may_come_late_and_in_any_order(order: tuple[str, ...]) -> None:
    async with call() as made:
        made.link.hear_start("u1")
        made.link.hear_end("u1", 900)
        await asyncio.sleep(0.5)
        made.link.hear_start("u2", 1_300)
        made.link.say(*[event for piece in order for event in PIECES[piece]])
        assert made.transcript() == [("user", "I would like tea.")]
        made.check_heard_truth()


@pytest.mark.parametrize(
    ("gap_ms", "heard_from_ms", "hasty"),
    [
        (800, 401, True),  # 399 ms heard
        (800, 400, False),  # 400 ms heard
        (801, 801, False),
        (100, 100, True),
        (100, 0, True),
    ],
    ids=["just-hasty", "heard-too-much", "too-late", "before-a-sound", "during-a-sound"],
)
async def test_haste_ends_after_800_ms_or_400_ms_heard(gap_ms: int, heard_from_ms: int, hasty: bool) -> None:
    async with call() as made:
        asked(made, "u1", "I would like")
        await asyncio.sleep(heard_from_ms / 1000)
        response_id = made.link.begin_speaking(3_000, LONG)
        await asyncio.sleep((gap_ms - heard_from_ms) / 1000)
        made.link.hear_start("u2", 2_000)
        made.link.finish(response_id, LONG, status="cancelled")
        made.link.hear_end("u2", 3_000, "tea.")
        turns = [words for who, words in made.transcript() if who == "user"]
        assert turns == (["I would like tea."] if hasty else ["I would like", "tea."])
        assert made.agent.hasty_turns == int(hasty)
        made.check_heard_truth()


async def test_a_reply_that_used_a_tool_is_not_withdrawn() -> None:
    """What had an effect on the world happened."""

    def order() -> str:
        """Order tea."""
        return "ordered"

    async with call(toolkit=Toolkit([order])) as made:
        asked(made, "u1", "Tea, please.")
        response_id = made.link.begin_speaking(2_000, LONG)
        use = ToolCallBlock(id="call_1", name="order", input="{}")
        made.link.say(m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=use))
        await asyncio.sleep(0.3)
        made.link.hear_start("u2", 1_300)
        made.link.finish(response_id, LONG, status="cancelled")
        made.link.hear_end("u2", 2_000, "With milk.")
        await asyncio.sleep(1)
        who = [name for name, _ in made.transcript()]
        assert (who.count("user"), who.count("tool_call"), who.count("tool_result")) == (2, 1, 1)
        assert made.agent.hasty_turns == 0
        made.check_heard_truth()


def loud() -> dict[str, Any]:
    """Options of a call in which this server takes whatever is loud for speech."""
    return {"profile": NO_DETECTOR, "config": SERVER, "make_detector": lambda _: LoudnessDetector()}


async def test_a_client_whose_line_stalls_for_a_moment_has_one_turn_which_ends_when_it_stops_sending() -> None:
    async with call(**loud()) as made:
        for _ in range(3):
            made.receive(c.ClientAudioAppendEvent(audio=speech(1_000)))
            await asyncio.sleep(1.9)
        assert made.of(s.AgentInputDoneEvent) == []
        assert "ResponseCreate" not in kinds(made)
        await asyncio.sleep(1.1)
        assert kinds(made)[-2:] == ["AudioCommit", "ResponseCreate"]
        (ended,) = made.of(s.AgentInputDoneEvent)
        assert ended.audio_end_ms == 3_000


ENDING = c.ClientAudioAppendEvent(audio=speech(500) + bytes(32_000))


@pytest.mark.parametrize(("rest", "pause_s"), [((ENDING,), 5), ((), 3)], ids=["its rest follows", "no silence between"])
async def test_speech_that_the_client_takes_back_is_not_answered_and_the_next_is_a_turn(
    rest: tuple[c.ClientEvent, ...], pause_s: int
) -> None:
    async with call(**loud()) as made:
        made.receive(c.ClientAudioAppendEvent(audio=speech(1_000)), c.ClientAudioClearEvent(), *rest)
        await asyncio.sleep(pause_s)
        assert not {"AudioCommit", "ResponseCreate"} & {*kinds(made)}
        assert made.of(s.AgentInputDoneEvent) == []
        made.receive(ENDING)
        assert kinds(made)[-2:] == ["AudioCommit", "ResponseCreate"]


def turn_ended(end_ms: int) -> TurnEnded:
    return TurnEnded(start_ms=0, end_ms=end_ms, pcm=b"")


def found(*events: tuple[int, Any]) -> dict[str, Any]:
    """Options of a call whose detector finds these events at these positions, in ms."""
    return {"config": SERVER, "make_detector": lambda detection: FakeDetector(*events)}


def heard(made: Call, item_id: str, words: str) -> None:
    """The model has taken a turn that this server found, and tells its words."""
    made.link.say(m.ModelInputCommittedEvent(item_id=item_id))
    made.link.say(m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=words))


ONE_TURN = (1_000, SpeechStarted(900)), (1_500, turn_ended(1_200))


@pytest.mark.parametrize("chunk_ms", [100, 5_000])
async def test_only_speech_and_the_moment_before_it_reach_the_model(chunk_ms: int) -> None:
    """However long the chunks are: nothing of the speech is missing, and its end is where it was."""
    async with call(**found((2_000, SpeechStarted(1_800)), (3_000, turn_ended(2_600)))) as made:
        for _ in range(5_000 // chunk_ms):
            made.hear(chunk_ms)
        kept_ms = len(made.link.heard_bytes()) / 32
        assert 1_000 + 200 <= kept_ms <= 1_000 + 800
        assert kinds(made) == ["AudioCommit", "ResponseCreate"]
        assert made.link.sent[-1] == base.ResponseCreate(None)
        assert [event.audio_start_ms for event in made.of(s.AgentInputStartedEvent)] == [1_800]
        assert [event.audio_end_ms for event in made.of(s.AgentInputDoneEvent)] == [2_600]


async def test_speech_during_a_reply_cancels_it_at_the_model() -> None:
    """RTA-22: under the server's authority the model is told to stop, before it is told what was heard."""
    async with call(**found(*ONE_TURN, (4_000, SpeechStarted(3_900)))) as made:
        made.hear(1_500)
        heard(made, "p1", "Tell me a story.")
        response_id = made.link.begin_speaking(8_000, LONG)
        await asyncio.sleep(2.5)
        start, sent = len(made.seen), len(made.link.sent)
        made.hear(2_500)
        assert made.types(start)[0] == "server_audio_flush"
        assert kinds(made, sent) == ["ResponseCancel", "ItemTruncate"]
        assert made.of(s.AgentItemTruncatedEvent)[0].audio_end_ms == 2_500
        made.link.finish(response_id, LONG, status="cancelled")
        assert made.transcript()[0] == ("user", "Tell me a story.")
        made.check_heard_truth()


async def test_silence_for_minutes_sends_the_model_nothing_and_what_it_reports_itself_is_not_listened_to() -> None:
    async with call(**found()) as made:
        for _ in range(600):
            made.hear(100)
        assert made.link.sent == []
        made.link.reply(4_000, LONG)
        await asyncio.sleep(1)
        made.link.hear_start("u1")
        assert made.of(s.ServerAudioFlushEvent) == []


async def test_a_model_without_a_detector_gets_audio_at_its_rate_through_the_gate() -> None:
    profile = msgspec.structs.replace(NO_DETECTOR, input_rate_hz=24_000)
    detector = FakeDetector((1_000, SpeechStarted(900)), (3_000, turn_ended(2_700)))
    async with call(profile=profile, make_detector=lambda detection: detector) as made:
        for _ in range(100):
            made.hear(50, rate_hz=48_000)
        assert detector.pushed_ms == pytest.approx(5_000, abs=100)
        assert 2_000 + 200 <= len(made.link.heard_bytes()) / 48 <= 2_000 + 700
        assert kinds(made) == ["AudioCommit", "ResponseCreate"]


async def test_a_commit_in_mid_speech_ends_the_turn_and_the_next_speech_is_heard_as_one_of_its_own() -> None:
    """Gemini's `audioStreamEnd`, and a page whose button is let go, commit where a detector finds the turns."""
    detector = FakeDetector((1_000, SpeechStarted(900)))
    async with call(config=SERVER, make_detector=lambda _: detector) as made:
        made.hear(1_500)
        made.receive(c.ClientAudioCommitEvent())
        assert kinds(made) == ["AudioCommit", "ResponseCreate"]
        assert [event.audio_end_ms for event in made.of(s.AgentInputDoneEvent)] == [1_500]
        assert detector.resets == 1, "else it takes the next speech for the rest of this one"
        before = len(made.link.heard_bytes())
        made.hear(1_000)
        assert len(made.link.heard_bytes()) == before, "what is no speech is held back again"
        longer = {"turn_detection": {"authority": "server", "silence_duration_ms": 2_000}}
        made.receive(c.ClientSessionUpdateEvent(config=longer))
        assert detector.silence_ms == 2_000, "how long a silence ends a turn can be changed in the middle of a call"


async def test_speech_stands_where_it_was_also_behind_a_hole_that_was_closed_up() -> None:
    detector = FakeDetector((2_000, SpeechStarted(1_900)), (3_000, turn_ended(2_700)))
    async with call(config=SERVER, make_detector=lambda _: detector) as made:
        made.hear(1_000)
        made.hear(2_000, offset=16 * 31_000)
        assert [event.audio_start_ms for event in made.of(s.AgentInputStartedEvent)] == [31_900]
        assert [event.audio_end_ms for event in made.of(s.AgentInputDoneEvent)] == [32_700]


PUSH_TO_TALK = SessionConfig(turn_detection="none")


async def test_in_push_to_talk_a_commit_during_a_reply_interrupts_it_and_audio_alone_does_not() -> None:
    """RTA-22: in push-to-talk the button interrupts."""
    async with call(config=PUSH_TO_TALK) as made:
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())
        made.link.hear_end("p1", text="Tell me a story.")
        response_id = made.link.begin_speaking(5_000, LONG)
        await asyncio.sleep(1)
        start, sent = len(made.seen), len(made.link.sent)
        made.hear(500)
        assert made.of(s.ServerAudioFlushEvent) == []
        assert made.link.heard_bytes() == speech(500) * 2
        made.receive(c.ClientAudioCommitEvent())
        made.link.finish(response_id, LONG, status="cancelled")
        made.link.hear_end("p2", text="Stop.")
        assert made.types(start)[0] == "server_audio_flush"
        assert kinds(made, sent) == ["ResponseCancel", "ItemTruncate", "AudioCommit", "ResponseCreate"]
        assert [words for who, words in made.transcript() if who == "user"] == ["Tell me a story.", "Stop."]
        made.check_heard_truth()


async def test_a_reply_that_speech_must_not_interrupt_is_told_to_its_end_and_the_next_one_follows() -> None:
    config = SessionConfig(turn_detection=TurnDetection(authority="server", interrupt_response=False))
    async with call(**found(*ONE_TURN) | {"config": config}) as made:
        made.link.reply(4_000, LONG)
        await asyncio.sleep(1)
        made.hear(2_000)
        made.link.reply(500, "Next.")
        assert made.of(s.ServerAudioFlushEvent) == []
        assert kinds(made) == ["AudioCommit", "ResponseCreate"]
        assert [words for who, words in made.transcript() if who == "assistant"] == [LONG.strip(), "Next."]
        made.receive(c.ClientResponseCancelEvent())
        assert len(made.of(s.AgentItemTruncatedEvent)) == 1, "both were still to be heard"
        assert made.transcript()[-1][1] != "Next."
        made.check_heard_truth()


@pytest.mark.parametrize(
    ("config", "change"),
    [
        (SessionConfig(turn_detection=TurnDetection(authority="server"), auto_response=False), None),
        (SessionConfig(turn_detection=TurnDetection(authority="server", create_response=False)), None),
        (SERVER, {"turn_detection": {"authority": "server", "create_response": False}}),
    ],
    ids=["no-answers", "not-to-speech", "changed-during-the-call"],
)
async def test_a_turn_that_the_client_wants_to_answer_itself_is_committed_and_not_answered(
    config: SessionConfig, change: dict[str, Any] | None
) -> None:
    async with call(**found(*ONE_TURN) | {"config": config}) as made:
        if change:
            made.receive(c.ClientSessionUpdateEvent(config=change))
        sent = len(made.link.sent)
        made.hear(2_000)
        assert kinds(made, sent) == ["AudioCommit"]
        made.receive(c.ClientResponseCreateEvent())
        assert kinds(made, sent) == ["AudioCommit", "ResponseCreate"]
        made.link.reply(500, "Now.")
