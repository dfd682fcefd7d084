"""What each client event makes the model do, its audio at any rate, and requests that are never answered."""

import asyncio
from typing import Any

import msgspec
import pytest

from realtime.agent.input import MAX_GAP_MS
from realtime.agent.responses import RESPONSE_REFUSED
from realtime.audio.playback import WallClockPlayback
from realtime.call.intake import MAX_COMPLAINT_BYTES, MAX_EVENT_ID_CHARS, MAX_GIVEN_BYTES, MAX_SENTENCE_CHARS
from realtime.errors import ClientError
from realtime.event import ClientEvents
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, ImageFormat, Item, ResponseOverrides
from realtime.event.config import SessionConfig, ToolDeclaration, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.turn.responses import UNANSWERED_S
from tests.agent.fakes import NO_DETECTOR, PROFILE, WORDS, Alone, Call, FakeDetector, alone, call, speech

pytestmark = pytest.mark.virtual_time

MANUAL = SessionConfig(turn_detection="none")
SEEING = msgspec.structs.replace(PROFILE, input_modalities=frozenset({"text", "audio", "image"}))
MUTE_READER = msgspec.structs.replace(PROFILE, input_modalities=frozenset({"audio"}))
DEAF = msgspec.structs.replace(PROFILE, input_modalities=frozenset({"text"}))

HELLO = c.ClientTextAppendEvent(text="Hello")
AUDIO = c.ClientAudioAppendEvent(audio=speech(500))
COMMIT = c.ClientAudioCommitEvent()
RESPOND = c.ClientResponseCreateEvent()
CANCEL = c.ClientResponseCancelEvent()


def kinds(made: Alone | Call, start: int = 0) -> list[str]:
    """What the model was sent, by class, without audio."""
    return [type(message).__name__ for message in made.link.sent[start:] if not isinstance(message, base.AudioAppend)]


def errors(made: Call) -> list[str]:
    return [event.code for event in made.of(s.AgentErrorEvent)]


def written(item_id: str, text: str, role: str = "user") -> Item:
    return Item(id=item_id, role=role, content=(ContentPart(type="text", text=text),))  # type: ignore[arg-type]


def uses_tool(response_id: str) -> m.ModelEvent:
    use = ToolCallBlock(id="call_1", name="where", input="{}")
    return m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=use)


async def test_each_documented_event_does_its_job() -> None:
    """RTA-10: `handle_input` takes each of the nine; the two for the call itself are tested below."""
    config = SessionConfig(turn_detection="none", tools=(ToolDeclaration(name="where"),))
    async with alone(profile=SEEING, config=config) as made:
        link, give = made.link, made.agent.handle_input

        await give(ClientEvents.ClientImageAppendEvent(image=b"jpeg", format=ImageFormat(type="image/png")))
        image = ContentPart(type="image", image=b"jpeg", media_type="image/png")
        assert [message.item.content for message in link.got(base.ItemCreate)] == [(image,)]
        await give(ClientEvents.ClientAudioAppendEvent(audio=speech(500)))
        assert link.heard_bytes() == speech(500)
        await give(ClientEvents.ClientAudioCommitEvent())
        assert kinds(made)[1:] == ["AudioCommit", "ResponseCreate"]

        response_id = link.begin()
        link.say(uses_tool(response_id))
        await asyncio.sleep(0)
        await give(ClientEvents.ClientToolResultEvent(id="call_1", name="where", output="Paris"))
        await asyncio.sleep(0.1)
        assert [message.result.output for message in link.got(base.ToolResult)] == ["Paris"]
        await give(ClientEvents.ClientResponseCancelEvent())
        assert link.got(base.ResponseCancel) == [base.ResponseCancel(response_id)]
        link.say(m.ModelResponseDoneEvent(response_id=response_id, status="cancelled"))

        sent = len(link.sent)
        await give(ClientEvents.ClientTextAppendEvent(text="Hello"))
        assert kinds(made, sent) == ["ItemCreate", "ResponseCreate"]
        link.reply(500)
        await asyncio.sleep(1)
        await give(ClientEvents.ClientResponseCreateEvent())
        assert kinds(made, sent)[2:] == ["ResponseCreate"]


async def test_the_documented_events_for_the_call_do_their_job() -> None:
    """RTA-10."""
    async with call() as made:
        made.receive(ClientEvents.ClientSessionCreateEvent(config={}))
        assert errors(made) == ["session_exists"]
        made.receive(ClientEvents.ClientSessionEndEvent())
        await made.session.ended.wait()
        assert made.seen[-1].type == "agent_ended"
        assert made.link.closed


QUIET = SessionConfig(text_auto_response=False)
UNANSWERED = SessionConfig(turn_detection="none", auto_response=False)
TURNS = SessionConfig()
TINY = c.ClientAudioAppendEvent(audio=speech(40))

OUTCOMES: dict[str, tuple[SessionConfig, list[c.ClientEvent], list[str]]] = {
    "AMB-50: with text_auto_response=false typed text waits": (QUIET, [HELLO, HELLO], ["ItemCreate", "ItemCreate"]),
    "AMB-50: and is answered on request": (QUIET, [HELLO, RESPOND], ["ItemCreate", "ResponseCreate"]),
    "AMB-50: a request does not double an answer": (TURNS, [HELLO, RESPOND], ["ItemCreate", "ResponseCreate"]),
    "AMB-51: auto_response=false": (UNANSWERED, [AUDIO, COMMIT], ["AudioCommit"]),
    "AMB-51: an empty, tiny or second commit, manual": (MANUAL, [COMMIT, TINY, COMMIT, COMMIT], []),
    "AMB-51: an empty, tiny or second commit, provider": (TURNS, [COMMIT, TINY, COMMIT, COMMIT], []),
    "AMB-51: a commit without speech, provider": (TURNS, [AUDIO, COMMIT], []),
    "a second commit commits nothing": (MANUAL, [AUDIO, COMMIT, COMMIT], ["AudioCommit", "ResponseCreate"]),
    "RTA-18, CEV-05: a request without any new input": (TURNS, [RESPOND], ["ResponseCreate"]),
    "what is cleared is not committed": (MANUAL, [AUDIO, c.ClientAudioClearEvent(), COMMIT], ["AudioClear"]),
}


@pytest.mark.parametrize("case", OUTCOMES)
async def test_what_these_events_make_the_model_do(case: str) -> None:
    """RTA-18, CEV-05, AMB-50, AMB-51"""
    config, events, sent = OUTCOMES[case]
    async with call(config=config) as made:
        made.receive(*events)
        assert kinds(made) == sent
        assert errors(made) == []


async def test_typed_text_is_a_turn_of_the_user_and_is_answered_once() -> None:
    """CEV-07, AMB-50: the text reaches the model as a user turn and triggers a response by default.

    A following response_create in the same turn does not double it; one after the answer is a new one.
    """
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(session_id="session1", text="Hello"))
        created, asked = made.link.sent
        assert isinstance(created, base.ItemCreate)
        assert (created.item.role, created.item.text) == ("user", "Hello")
        assert asked == base.ResponseCreate(None)
        assert made.types()[-2:] == ["agent_item_added", "agent_item_done"]
        assert made.transcript() == [("user", "Hello")]
        response_id = made.link.begin()
        made.receive(RESPOND)
        assert len(made.link.sent) == 2
        made.link.speak(response_id, 500)
        made.link.finish(response_id)
        await asyncio.sleep(2)
        made.receive(RESPOND)
        assert kinds(made) == ["ItemCreate", "ResponseCreate", "ResponseCreate"]
        made.check_heard_truth()


@pytest.mark.parametrize(
    ("profile", "event"),
    [
        (MUTE_READER, c.ClientTextAppendEvent(text="Hello", event_id="e7")),
        (PROFILE, c.ClientImageAppendEvent(image=b"jpeg", event_id="e7")),
        (DEAF, c.ClientAudioAppendEvent(audio=speech(100), event_id="e7")),
    ],
    ids=["text", "image", "audio"],
)
async def test_what_the_model_does_not_take_is_refused_by_name(profile: base.Profile, event: c.ClientEvent) -> None:
    async with call(profile=profile) as made:
        made.receive(event)
        (error,) = made.of(s.AgentErrorEvent)
        assert (error.error_type, error.code, error.client_event_id) == ("client_error", "unsupported_modality", "e7")
        assert made.link.sent == []
        assert made.transcript() == []


async def test_a_commit_in_manual_mode_ends_the_turn_and_is_answered() -> None:
    """RTA-19, CEV-09, AMB-51: with VAD off the commit is required and a response follows."""
    async with call(config=MANUAL) as made:
        assert made.link.settings.turn_detection == "none"
        made.receive(AUDIO, COMMIT)
        assert kinds(made) == ["AudioCommit", "ResponseCreate"]
        made.link.hear_end("u1", text="Hello")
        made.link.reply(500)
        await asyncio.sleep(2)
        assert made.transcript() == [("user", "Hello"), ("assistant", WORDS.strip())]
        made.check_heard_truth()


async def test_what_is_said_before_the_model_has_taken_the_turn_before_counts_for_the_next() -> None:
    async with call(config=MANUAL) as made:
        made.receive(AUDIO, COMMIT)
        made.hear(60)
        made.link.say(m.ModelInputCommittedEvent(item_id="i1"))
        made.hear(60)
        made.receive(COMMIT)
        assert len(made.link.got(base.AudioCommit)) == 2


async def test_something_new_and_a_request_are_answered_also_while_an_answer_is_on_its_way() -> None:
    async with call() as made:
        made.receive(HELLO)
        made.link.begin()
        made.receive(RESPOND)
        assert len(made.link.got(base.ResponseCreate)) == 1, "there is nothing that this answer does not know"
        made.receive(c.ClientItemCreateEvent(item=written("i1", "What is two and two?")), RESPOND)
        assert len(made.link.got(base.ResponseCreate)) == 2
        assert made.link.got(base.ResponseCancel) == [base.ResponseCancel("resp_1")]


async def test_an_answer_can_be_cancelled_by_its_id_while_its_tools_run_and_while_it_is_heard() -> None:
    config = SessionConfig(tools=(ToolDeclaration(name="where"),))
    async with call(config=config, clock=WallClockPlayback(24_000)) as made:
        made.receive(HELLO)
        response_id = made.link.begin()
        made.receive(c.ClientResponseCancelEvent(response_id="another"))
        assert made.link.got(base.ResponseCancel) == []
        made.link.speak(response_id, 20_000, "A long word.")
        made.link.finish(response_id, "A long word.")
        await asyncio.sleep(1)
        made.receive(c.ClientResponseCancelEvent(response_id="another"))
        assert made.of(s.ServerAudioFlushEvent) == []
        made.receive(c.ClientResponseCancelEvent(response_id=response_id))
        assert len(made.of(s.ServerAudioFlushEvent)) == 1
        made.receive(HELLO)
        response_id = made.link.begin()
        made.link.say(uses_tool(response_id), m.ModelResponseDoneEvent(response_id=response_id))
        asked = len(made.link.got(base.ResponseCreate))
        made.receive(c.ClientResponseCancelEvent(response_id=response_id))
        made.receive(c.ClientToolResultEvent(id="call_1", name="where", output="It is there."))
        assert len(made.link.got(base.ResponseCreate)) == asked


async def test_a_response_without_any_input_takes_overrides() -> None:
    """RTA-18, CEV-05: works without any new input."""
    async with call() as made:
        overrides = ResponseOverrides(instructions="Say hello.", temperature=0.2)
        made.receive(c.ClientResponseCreateEvent(response=overrides))
        assert made.link.sent == [base.ResponseCreate(overrides)]
        made.link.reply(500)
        await asyncio.sleep(1)
        assert made.types()[-1] == "agent_response_done"


async def test_an_out_of_band_response_leaves_the_conversation_and_the_turn_alone() -> None:
    """It is cancelled by its id alone, while it runs."""
    side = m.ModelResponseCreatedEvent(response_id="side", conversation="none")
    async with call() as made:
        made.receive(c.ClientResponseCreateEvent(response=ResponseOverrides(conversation="none")))
        made.link.say(
            side,
            m.ModelResponseTextDeltaEvent(response_id="side", item_id="i", delta="Topic: weather"),
            m.ModelResponseTextDoneEvent(response_id="side", item_id="i", text="Topic: weather"),
        )
        made.receive(c.ClientResponseCancelEvent(response_id="side"), c.ClientResponseCancelEvent(response_id="other"))
        made.link.say(m.ModelResponseDoneEvent(response_id="side", status="cancelled", conversation="none"))
        made.receive(c.ClientResponseCancelEvent(response_id="side"))
        assert made.link.got(base.ResponseCancel) == [base.ResponseCancel("side")]
        assert made.transcript() == []
        assert "agent_response_text_done" in made.types()
        made.receive(HELLO)
        assert kinds(made)[-2:] == ["ItemCreate", "ResponseCreate"]


async def test_cancel_silences_tells_the_model_and_closes_the_response() -> None:
    """RTA-17, CEV-06, SEV-07: audio stops within one frame, provider cancel sent, AgentResponseDone follows."""
    async with call() as made:
        link = made.link
        made.receive(HELLO)
        response_id = link.begin()
        item_id = link.speak(response_id, 4_000, WORDS)
        await asyncio.sleep(1)
        start = len(made.seen)
        made.receive(CANCEL)
        assert made.types(start)[0] == "server_audio_flush"
        assert link.got(base.ResponseCancel) == [base.ResponseCancel(response_id)]
        link.speak(response_id, 2_000)
        link.finish(response_id, WORDS, status="cancelled")
        rest = made.types(start)
        assert "agent_response_audio_delta" not in rest
        assert rest[-1] == "agent_response_done"
        assert rest.index("agent_response_audio_done") < rest.index("agent_response_audio_transcript_done")
        assert made.of(s.AgentResponseDoneEvent)[-1].status == "cancelled"
        assert made.of(s.AgentItemTruncatedEvent)[-1].item_id == item_id
        made.check_heard_truth()


async def test_items_can_be_created_read_and_deleted() -> None:
    async with call() as made:
        first, second = written("i1", "I am Ada."), written("i2", "Hello Ada.", "assistant")
        made.receive(
            c.ClientItemCreateEvent(item=second),
            c.ClientItemCreateEvent(item=first, previous_item_id="root"),
            c.ClientItemRetrieveEvent(item_id="i1"),
            c.ClientItemDeleteEvent(item_id="i2"),
        )
        assert kinds(made) == ["ItemCreate", "ItemCreate", "ItemDelete"]
        assert made.of(s.AgentItemRetrievedEvent)[0].item == first
        assert made.transcript() == [("user", "I am Ada.")]
        made.check_heard_truth()


async def test_behind_an_item_that_is_not_there_a_new_one_comes_last_here_and_at_the_model() -> None:
    """The model's service would refuse it, and know one item less than everybody else."""
    async with call() as made:
        for item_id, previous in (("i1", None), ("i2", "gone"), ("i3", "i1")):
            made.receive(c.ClientItemCreateEvent(item=written(item_id, "I am Ada."), previous_item_id=previous))
        assert [message.previous_item_id for message in made.link.got(base.ItemCreate)] == [None, None, "i1"]
        assert [item.id for item in made.session.conversation.items()] == ["i1", "i3", "i2"]


async def test_an_item_that_is_not_there_is_an_error_by_name_and_only_answers_can_be_cut() -> None:
    async with call() as made:
        made.receive(
            c.ClientItemDeleteEvent(item_id="i9"),
            c.ClientItemRetrieveEvent(item_id="i9"),
            c.ClientItemTruncateEvent(item_id="i9", audio_end_ms=5),
        )
        assert errors(made) == ["unknown_item"] * 3
        assert made.link.sent == []
        made.receive(HELLO)
        item_id = made.session.conversation.items()[0].id
        made.receive(c.ClientItemTruncateEvent(item_id=item_id, audio_end_ms=0))
        assert errors(made)[3:] == ["invalid_item"]


async def test_a_client_can_cut_an_answer_itself() -> None:
    async with call() as made:
        item_id = made.link.reply(2_000)
        await asyncio.sleep(3)
        made.receive(c.ClientItemTruncateEvent(item_id=item_id, audio_end_ms=1_000))
        (cut,) = made.of(s.AgentItemTruncatedEvent)
        assert (cut.audio_end_ms, cut.transcript) == (1_000, "one two three four five")
        assert made.link.got(base.ItemTruncate) == [base.ItemTruncate(item_id, 1_000, cut.transcript or "")]
        made.check_heard_truth()


async def test_new_settings_reach_the_model_and_are_confirmed() -> None:
    """SEV-02: config change during a session."""
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"instructions": "Speak slowly.", "voice": "heart"}))
        (update,) = made.link.got(base.SessionUpdate)
        (confirmed,) = [event for event in made.log if isinstance(event, s.ServerSessionUpdatedEvent)]
        assert confirmed.session_id == "session1"
        assert (update.settings.instructions, update.settings.voice) == ("Speak slowly.", "heart")
        made.receive(c.ClientSessionUpdateEvent(config={"temperature": 0.1}))
        assert made.link.got(base.SessionUpdate)[-1].settings.instructions == "Speak slowly."
        limits = []
        for limit in (50, "inf"):
            made.receive(c.ClientSessionUpdateEvent(config={"max_output_tokens": limit}))
            limits.append(made.link.got(base.SessionUpdate)[-1].settings.max_output_tokens)
        assert limits == [50, None], "a limit can be lifted"


async def test_who_asks_for_reply_events_on_the_socket_gets_an_error_and_the_call_goes_on() -> None:
    """AMB-57"""
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"events": ["realtime", "agent"], "temperature": 0.1}))
        (error,) = made.of(s.AgentErrorEvent)
        assert (error.code, "vocabulary=reply" in error.message) == ("invalid_config", True)
        assert made.link.got(base.SessionUpdate) == [], "all of a change holds, or none of it"
        made.receive(HELLO)
        assert kinds(made)[-1] == "ResponseCreate"


async def test_turn_detection_and_answers_can_be_switched_off_on_the_way() -> None:
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"turn_detection": "none"}))
        assert made.link.got(base.SessionUpdate)[-1].settings.turn_detection == "none"
        made.receive(AUDIO, COMMIT)
        assert kinds(made)[1:] == ["AudioCommit", "ResponseCreate"]
        made.link.hear_end("u1", text="Hello")
        made.link.reply(500)
        await asyncio.sleep(1)
        made.receive(c.ClientSessionUpdateEvent(config={"auto_response": False, "text_auto_response": False}))
        made.receive(AUDIO, COMMIT, HELLO)
        assert kinds(made)[-2:] == ["AudioCommit", "ItemCreate"]
        assert len(made.link.got(base.ResponseCreate)) == 1


async def test_the_turns_of_a_model_without_a_detector_are_the_servers_unless_the_client_says_otherwise() -> None:
    """Clients of foreign protocols say it only when the session has begun: until the first audio they may."""
    wanted: list[TurnDetection] = []

    def make_detector(detection: TurnDetection) -> FakeDetector:
        wanted.append(detection)
        return FakeDetector()

    async with call() as late:
        late.hear(20)
        late.receive(c.ClientSessionUpdateEvent(config={"turn_detection": {"authority": "server"}}))
        assert errors(late) == ["unsupported_turn_detection"]
        assert late.link.got(base.SessionUpdate) == []
        assert late.agent.describe()["turn_authority"] == "provider"
    async with call(profile=NO_DETECTOR, make_detector=make_detector) as made:
        assert made.of(s.AgentReadyEvent)[0].model is not None
        assert made.agent.describe()["turn_authority"] == "server"
        assert made.link.settings.turn_detection == "none"
        assert len(wanted) == 1
        made.receive(c.ClientSessionUpdateEvent(config={"turn_detection": "none"}), AUDIO, COMMIT)
        assert errors(made) == []
        assert [type(one) for one in made.link.sent[-2:]] == [base.AudioCommit, base.ResponseCreate]


# -- no more than a server can hold ------------------------------------------------------------------------------------


async def test_what_is_too_much_is_refused_and_does_not_count() -> None:
    """What was deleted counts, and so do settings."""
    picture = ContentPart(type="image", image=bytes(MAX_GIVEN_BYTES // 6), media_type="image/png")
    async with call(profile=SEEING) as made:
        for number in range(5):
            made.receive(c.ClientItemCreateEvent(item=Item(id=f"i{number}", role="user", content=(picture,))))
        made.receive(c.ClientTextAppendEvent(text="Still there?"))
        assert errors(made) == ["too_much_given"]
        assert [message.item.id for message in made.link.got(base.ItemCreate)[:-1]] == ["i0", "i1", "i2", "i3"]
        assert made.link.got(base.ItemCreate)[-1].item.text == "Still there?"
    book = "x" * (MAX_GIVEN_BYTES // 3)
    async with call() as made:
        for item_id in ("i0", "i1"):
            made.receive(c.ClientItemCreateEvent(item=written(item_id, book)), c.ClientItemDeleteEvent(item_id=item_id))
        made.receive(c.ClientSessionUpdateEvent(config={"instructions": "x" * (MAX_GIVEN_BYTES // 2)}))
        assert errors(made) == ["too_much_given"]
        assert made.of(s.ServerSessionUpdatedEvent) == []


async def test_what_is_told_again_counts_as_often_as_it_is_told() -> None:
    """Sixty bytes that ask for an item make the log a megabyte longer."""
    async with call() as made:
        made.receive(c.ClientItemCreateEvent(item=written("i0", "x" * 1_000_000)))
        made.receive(*[c.ClientItemRetrieveEvent(item_id="i0")] * 100)
        assert len(made.of(s.AgentItemRetrievedEvent)) == 62
        assert set(errors(made)) == {"too_much_given"}
        made.receive(c.ClientSessionEndEvent())
        await made.session.ended.wait()


async def test_what_is_wrong_is_cut_and_told_for_so_long_and_no_longer() -> None:
    """Each mistake is kept in the log, with what it tells back of the client's words."""
    long = "x" * 60_000
    async with call() as made:
        made.receive(c.ClientAudioAppendEvent(audio=speech(20), session_id=long))
        told = made.of(s.AgentErrorEvent)[0]
        assert (told.code, len(told.message) <= MAX_SENTENCE_CHARS + 3) == ("session_mismatch", True)
        made.session.complain(ClientError("no such event", code="unknown_event", client_event_id=long))
        assert made.of(s.AgentErrorEvent)[1].client_event_id is None
        most = MAX_COMPLAINT_BYTES // MAX_SENTENCE_CHARS
        made.receive(*[c.ClientAudioAppendEvent(audio=speech(20), session_id=long)] * (most + 100))
        assert len(made.of(s.AgentErrorEvent)) <= most
        made.receive(c.ClientTextAppendEvent(text="Still there?"))
        assert made.transcript()[-1] == ("user", "Still there?")


async def test_what_cannot_be_written_or_kept_is_refused_with_a_sentence() -> None:
    """An object is no JSON, half a character is mended; an id of any length is not kept."""
    odd: tuple[Any, ...] = ({"a": object()}, "\ud800")
    async with call() as made:
        made.receive(*[c.ClientSessionUpdateEvent(config={"instructions": words}) for words in odd])
        made.receive(c.ClientTextAppendEvent(text="Lost", event_id="x" * (MAX_EVENT_ID_CHARS + 1)))
        assert errors(made) == ["invalid_event", "invalid_event_id"]
        made.receive(c.ClientTextAppendEvent(text="Still there\ud83d?", event_id="x" * MAX_EVENT_ID_CHARS))
        assert made.transcript() == [("user", "Still there\ufffd?")]


async def test_a_typed_line_that_is_refused_interrupts_nobody() -> None:
    async with call() as made:
        made.receive(RESPOND)
        response_id = made.link.begin_speaking(1_000, "A long story.")
        made.receive(c.ClientTextAppendEvent(text="Stop." * MAX_GIVEN_BYTES))
        assert errors(made) == ["too_much_given"]
        assert kinds(made) == ["ResponseCreate"]
        made.link.finish(response_id, "A long story.")
        assert made.transcript()[-1] == ("assistant", "A long story.")
        assert made.of(s.AgentResponseDoneEvent)[-1].status == "completed"


BUTTON = SessionConfig(turn_detection=TurnDetection(authority="client"))


def words(made: Call) -> list[str]:
    """What the user has got from the agent."""
    return [event.transcript for event in made.of(s.AgentResponseAudioTranscriptDoneEvent)]


@pytest.mark.parametrize("interrupted_after_s", [1.0, UNANSWERED_S + 1])
async def test_a_call_goes_on_after_a_request_that_the_model_never_answers(interrupted_after_s: float) -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        await asyncio.sleep(interrupted_after_s)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(UNANSWERED_S)
        for number in (1, 2, 3):
            made.receive(c.ClientTextAppendEvent(text="Are you there?"))
            made.link.reply(500, f"Answer {number}.")
            await asyncio.sleep(1)
        assert words(made) == ["Answer 1.", "Answer 2.", "Answer 3."]


async def test_an_answer_can_be_asked_for_again_when_the_model_has_lost_the_request() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientResponseCreateEvent())
        made.receive(c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 1, "it is on its way"
        await asyncio.sleep(UNANSWERED_S)
        made.receive(c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.link.reply(500, "Here I am.")
        await asyncio.sleep(1)
        assert words(made) == ["Here I am."]


async def test_the_answer_of_a_slow_model_to_a_question_that_was_taken_back_is_not_heard() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Question 1?"))
        await asyncio.sleep(5)
        made.receive(c.ClientTextAppendEvent(text="No: question 2?"))
        await asyncio.sleep(11)
        for answer in ("Answer 1.", "Answer 2."):
            made.link.reply(500, answer)
            await asyncio.sleep(5)
        assert words(made) == ["Answer 2."]


async def test_a_call_that_is_refused_after_a_lost_request_awaits_no_answer() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        await asyncio.sleep(1)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(UNANSWERED_S)
        made.receive(c.ClientTextAppendEvent(text="Are you there?"))
        code = sorted(RESPONSE_REFUSED)[0]
        made.link.say(m.ModelErrorEvent(error_type="provider_error", code=code, message="Not now."))
        made.receive(c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 3, "nothing is on its way any more"


async def test_a_slow_answer_that_was_stopped_stays_unsaid() -> None:
    async with call(config=BUTTON) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        await asyncio.sleep(UNANSWERED_S + 1)
        made.receive(c.ClientResponseCancelEvent())
        made.link.reply(500, "At last.")
        await asyncio.sleep(1)
        assert words(made) == []


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("model_hz", [16_000, 24_000])
async def test_audio_of_any_rate_reaches_the_model_at_its_own(rate_hz: int, model_hz: int) -> None:
    """CEV-08: reaches the model, resampled."""
    profile = msgspec.structs.replace(PROFILE, input_rate_hz=model_hz)
    async with call(profile=profile) as made:
        pcm = speech(1_000, rate_hz)
        for start in range(0, len(pcm), 641):
            chunk = pcm[start : start + 641]
            made.receive(c.ClientAudioAppendEvent(audio=chunk, format=AudioFormat(encoding="pcm16", rate=rate_hz)))
        got = made.link.heard_bytes()
        assert len(got) % 2 == 0
        if rate_hz == model_hz:
            assert got == pcm
        else:
            held_back = model_hz - len(got) / 2  # by the filter, which needs to look ahead
            assert 0 <= held_back <= model_hz / 10


async def test_odd_byte_counts_are_joined_to_whole_samples() -> None:
    async with call() as made:
        pcm = speech(100)
        for start in range(0, len(pcm), 7):
            made.receive(c.ClientAudioAppendEvent(audio=pcm[start : start + 7]))
        assert made.link.heard_bytes() == pcm
        assert all(len(message.pcm) % 2 == 0 for message in made.link.got(base.AudioAppend))


async def test_audio_without_a_format_is_16_khz_and_both_spellings_are_read() -> None:
    """AMB-48: both printed spellings of the format, also mixed, are accepted."""
    async with call() as made:
        for format in (
            AudioFormat(),
            AudioFormat(encoding="pcm16", sample_rate=16_000),
            AudioFormat(type="audio/pcm", rate=16_000),
            AudioFormat(type="audio/pcm", sample_rate=16_000),
        ):
            made.receive(c.ClientAudioAppendEvent(audio=speech(100), format=format))
        assert made.link.heard_bytes() == speech(100) * 4
        assert errors(made) == []


@pytest.mark.parametrize("confirms", [True, False])
async def test_cleared_audio_is_reported_once_whether_or_not_the_model_confirms_it(confirms: bool) -> None:
    async with call(config=MANUAL) as made:
        made.hear(300)
        made.receive(c.ClientAudioClearEvent())
        if confirms:
            made.link.say(m.ModelInputClearedEvent())
        assert len(made.of(s.AgentInputClearedEvent)) == 1
        assert len(made.link.got(base.AudioClear)) == 1


async def test_a_model_that_confirms_at_once_does_not_report_cleared_audio_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model of this process does, before it returns."""
    async with call(config=MANUAL) as made:
        send = made.link.send

        def send_and_confirm(message: base.ModelInput) -> None:
            send(message)
            if isinstance(message, base.AudioClear):
                made.link.say(m.ModelInputClearedEvent())

        monkeypatch.setattr(made.link, "send", send_and_confirm)
        for _ in range(2):
            made.receive(c.ClientAudioClearEvent())
        assert len(made.of(s.AgentInputClearedEvent)) == 2


async def test_what_a_model_cannot_forget_is_refused_and_stays_part_of_the_turn() -> None:
    async with call(profile=msgspec.structs.replace(PROFILE, supports_audio_clear=False), config=MANUAL) as made:
        made.receive(c.ClientAudioClearEvent(event_id="nothing yet"))
        made.hear(300)
        made.receive(c.ClientAudioClearEvent(event_id="too late"))
        (error,) = made.of(s.AgentErrorEvent)
        assert (error.code, error.client_event_id) == ("unsupported_audio_clear", "too late")
        assert len(made.of(s.AgentInputClearedEvent)) == 1
        made.receive(c.ClientAudioCommitEvent())
        assert len(made.link.got(base.AudioCommit)) == 1
        assert made.link.got(base.AudioClear) == []


AT_48_KHZ = {"encoding": "pcm16", "sample_rate": 48_000}
LIKE_THE_CALL: list[tuple[dict[str, Any], AudioFormat, int]] = [
    ({}, AudioFormat(), 16_000),
    ({"rate": 8_000}, AudioFormat(), 8_000),
    ({"type": "audio/pcm"}, AudioFormat(), 16_000),
    ({"type": "audio/pcm", "channels": None}, AudioFormat(), 16_000),
    (AT_48_KHZ, AudioFormat(), 48_000),
    (AT_48_KHZ | {"channels": 1}, AudioFormat(encoding="pcm16"), 48_000),
    (AT_48_KHZ, AudioFormat(type="audio/pcm", channels=1), 48_000),
    (AT_48_KHZ, AudioFormat(rate=24_000), 24_000),
    ({"rate": 8_000}, AudioFormat(sample_rate=48_000), 48_000),
]
"""The call's format, that of the audio, and the rate that holds."""


async def set_before(wanted: SessionConfig, audio: c.ClientAudioAppendEvent) -> bytes:
    async with call(config=wanted) as made:
        made.receive(audio)
        return made.link.heard_bytes()


async def set_later(wanted: SessionConfig, audio: c.ClientAudioAppendEvent) -> bytes:
    async with call() as made:
        format = msgspec.to_builtins(wanted.input_audio_format)
        made.receive(c.ClientSessionUpdateEvent(config={"input_audio_format": format}), audio)
        return made.link.heard_bytes()


async def set_as_an_object(wanted: SessionConfig, audio: c.ClientAudioAppendEvent) -> bytes:
    async with alone() as made:
        settings: Any = SessionConfig(input_audio_format=wanted.input_audio_format)
        await made.agent.handle_input(c.ClientSessionUpdateEvent(config=settings))
        await made.agent.handle_input(audio)
        return made.link.heard_bytes()


async def set_without_a_server(wanted: SessionConfig, audio: c.ClientAudioAppendEvent) -> bytes:
    async with alone(config=wanted) as made:
        await made.agent.handle_input(audio)
        return made.link.heard_bytes()


async def set_for_an_item(wanted: SessionConfig, audio: c.ClientAudioAppendEvent) -> bytes:
    async with call(config=wanted) as made:
        part = ContentPart(type="audio", audio=audio.audio, format=audio.format)
        made.receive(c.ClientItemCreateEvent(item=Item(id="said", role="user", content=(part,))))
        return made.link.got(base.ItemCreate)[0].item.content[0].audio or b""


@pytest.mark.parametrize("way", [set_before, set_later, set_as_an_object, set_without_a_server, set_for_an_item])
@pytest.mark.parametrize(("given", "said", "rate_hz"), LIKE_THE_CALL)
async def test_audio_that_says_no_rate_has_the_one_of_the_call(
    given: dict[str, Any], said: AudioFormat, rate_hz: int, way: Any
) -> None:
    """A second of it is a second for the model, at 16 kHz, whichever way the rate was set."""
    wanted = SessionConfig.from_dict({"input_audio_format": given})
    heard = await way(wanted, c.ClientAudioAppendEvent(audio=speech(1_000, rate_hz), format=said))
    assert len(heard) == pytest.approx(32_000, abs=200)


WRONG_FORMATS: list[dict[str, Any]] = [
    {"channels": 2},
    {"channels": 0},
    {"rate": 48_000, "channels": 6},
    {"rate": 1},
    {"encoding": "opus"},
    {"type": "audio/pcmu", "rate": 8_000},
    {"rate": 16_000, "sample_rate": 48_000},
]


@pytest.mark.parametrize("given", WRONG_FORMATS)
async def test_a_format_that_cannot_be_is_refused_wherever_it_is_given(given: dict[str, Any]) -> None:
    wrong = msgspec.convert(given, AudioFormat)
    part = ContentPart(type="audio", audio=speech(100), format=wrong)
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"input_audio_format": given, "instructions": "Never."}))
        made.receive(c.ClientSessionUpdateEvent(config={"output_audio_format": given}))
        made.receive(c.ClientAudioAppendEvent(audio=speech(100), format=wrong))
        made.receive(c.ClientItemCreateEvent(item=Item(id="said", role="user", content=(part,))))
        assert errors(made) == ["unsupported_audio_format"] * 4
        made.hear(100)
        assert made.link.heard_bytes() == speech(100), "all else is as before"
    for config in (SessionConfig(input_audio_format=wrong), SessionConfig(output_audio_format=wrong)):
        with pytest.raises(ClientError, match="audio") as raised:
            async with alone(config=config):
                pass
        assert raised.value.code == "unsupported_audio_format"


@pytest.mark.parametrize("key", ["sampleRate", "channelCount", "sample_rate_hertz", "bits_per_sample", "rate_hz"])
def test_a_config_whose_format_has_another_key_is_refused_by_its_name(key: str) -> None:
    for side in ("input_audio_format", "output_audio_format"):
        with pytest.raises(ValueError, match=f"config.{side}: audio format has no '{key}': its keys are type, rate"):
            SessionConfig.from_dict({side: {"encoding": "pcm16", key: 2}})
    with pytest.raises(ValueError, match=f"audio format has no '{key}'"):
        c.ClientAudioAppendEvent(audio=b"", format={"encoding": "pcm16", key: 2})  # type: ignore[arg-type]


REFUSED: list[tuple[c.ClientEvent, str]] = [
    (c.ClientAudioAppendEvent(audio=speech(100), format=AudioFormat(encoding="opus")), "unsupported_audio_format"),
    (c.ClientAudioAppendEvent(audio=speech(100), format=AudioFormat(rate=4_000)), "unsupported_audio_format"),
    (
        c.ClientAudioAppendEvent(audio=speech(100), format=AudioFormat(rate=16_000, sample_rate=24_000)),
        "unsupported_audio_format",
    ),
    (c.ClientAudioAppendEvent(audio=speech(100), offset=-1), "invalid_audio_offset"),
]


@pytest.mark.parametrize("told", [True, False])
async def test_audio_that_cannot_be_read_is_refused_at_any_time_and_the_call_lives(told: bool) -> None:
    """Also once so much has arrived that the client is due to be told."""
    async with call(listener={"tells_received_audio": told}) as made:
        for event, _ in REFUSED:
            made.receive(event)
        assert errors(made) == [code for _, code in REFUSED]
        made.receive(c.ClientAudioAppendEvent(audio=b""), c.ClientAudioAppendEvent(audio=b"\x01"))
        assert made.link.sent == [], "empty audio is no message"
    async with call(listener={"tells_received_audio": told}) as made:
        for _ in range(3):
            made.hear(300)
            made.receive(c.ClientAudioAppendEvent(audio=bytes(640), format=AudioFormat(rate=12_345)))
        assert errors(made) == ["unsupported_audio_format"] * 3
        assert made.link.heard_bytes() == speech(300) * 3


PCM = speech(300)
FAR = 16 * (MAX_GAP_MS + 101)


@pytest.mark.parametrize(
    ("chunks", "heard"),
    [
        ([(0, PCM[:6_400]), (0, PCM[:6_400]), (1_600, PCM[3_200:])], PCM),
        ([(0, PCM[:3_200]), (3_200, PCM[6_400:])], PCM[:3_200] + bytes(3_200) + PCM[6_400:]),
        ([(0, speech(100)), (FAR, speech(100)), (FAR + 1_600, speech(100))], speech(100) * 3),
    ],
    ids=["what came before is dropped", "a hole is filled with silence", "an endless hole is closed up"],
)
async def test_audio_stands_where_its_offset_says(chunks: list[tuple[int, bytes]], heard: bytes) -> None:
    async with call() as made:
        for offset, pcm in chunks:
            made.receive(c.ClientAudioAppendEvent(audio=pcm, offset=offset))
        assert made.link.heard_bytes() == heard


@pytest.mark.parametrize("ms", [100, 1_000])
async def test_a_turn_that_the_client_ends_reaches_the_model_to_its_last_sample(ms: int) -> None:
    profile = msgspec.structs.replace(PROFILE, input_rate_hz=24_000)
    async with call(profile=profile, config=SessionConfig(turn_detection=TurnDetection(authority="client"))) as made:
        for _ in range(2):
            made.hear(ms)
            made.receive(c.ClientAudioCommitEvent())
        pieces, piece = [], 0
        for message in made.link.sent:
            if isinstance(message, base.AudioAppend):
                piece += len(message.pcm)
            elif isinstance(message, base.AudioCommit):
                pieces.append(piece)
                piece = 0
        assert pieces == [ms * 24 * 2, ms * 24 * 2], "nothing of a turn is left over for the next"
