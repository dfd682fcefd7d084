"""What each client event makes the model do."""

import asyncio
from typing import Any

import msgspec
import pytest

from realtime.audio.playback import WallClockPlayback
from realtime.call.intake import MAX_COMPLAINT_BYTES, MAX_EVENT_ID_CHARS, MAX_GIVEN_BYTES, MAX_SENTENCE_CHARS
from realtime.errors import ClientError
from realtime.event import ClientEvents
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import ContentPart, ImageFormat, Item, ResponseOverrides
from realtime.event.config import SessionConfig, ToolDeclaration, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model import base
from tests.agent.fakes import NO_DETECTOR, PROFILE, WORDS, Alone, Call, FakeDetector, alone, call, speech

pytestmark = pytest.mark.virtual_time

MANUAL = SessionConfig(turn_detection="none")
SEEING = msgspec.structs.replace(PROFILE, input_modalities=frozenset({"text", "audio", "image"}))
MUTE_READER = msgspec.structs.replace(PROFILE, input_modalities=frozenset({"audio"}))


def kinds(made: Alone | Call, start: int = 0) -> list[str]:
    """What the model was sent, by class, without audio."""
    return [type(message).__name__ for message in made.link.sent[start:] if not isinstance(message, base.AudioAppend)]


def errors(made: Call) -> list[str]:
    return [event.code for event in made.of(s.AgentErrorEvent)]


# -- the nine ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", range(7))
async def test_each_documented_event_does_its_job(nth: int) -> None:
    """RTA-10: `handle_input` takes each of the nine; the two for the call itself are tested below."""
    config = SessionConfig(turn_detection="none", tools=(ToolDeclaration(name="where"),))
    async with alone(profile=SEEING, config=config) as made:
        link = made.link

        async def give(event: c.ClientEvent) -> None:
            await made.agent.handle_input(event)

        async def respond() -> None:
            await give(ClientEvents.ClientResponseCreateEvent())
            assert kinds(made) == ["ResponseCreate"]

        async def cancel() -> None:
            response_id = link.begin()
            await give(ClientEvents.ClientResponseCancelEvent())
            assert link.got(base.ResponseCancel) == [base.ResponseCancel(response_id)]

        async def text() -> None:
            await give(ClientEvents.ClientTextAppendEvent(text="Hello"))
            assert kinds(made) == ["ItemCreate", "ResponseCreate"]

        async def audio() -> None:
            await give(ClientEvents.ClientAudioAppendEvent(audio=speech(100)))
            assert link.heard_bytes() == speech(100)

        async def commit() -> None:
            await give(ClientEvents.ClientAudioAppendEvent(audio=speech(500)))
            await give(ClientEvents.ClientAudioCommitEvent())
            assert kinds(made) == ["AudioCommit", "ResponseCreate"]

        async def image() -> None:
            await give(ClientEvents.ClientImageAppendEvent(image=b"jpeg", format=ImageFormat(type="image/png")))
            assert link.got(base.ItemCreate)[0].item.content == (
                ContentPart(type="image", image=b"jpeg", media_type="image/png"),
            )

        async def tool_result() -> None:
            response_id = link.begin()
            call_block = ToolCallBlock(id="call_1", name="where", input="{}")
            link.say(
                made_tool_use(response_id, call_block),
            )
            await asyncio.sleep(0)
            await give(ClientEvents.ClientToolResultEvent(id="call_1", name="where", output="Paris"))
            await asyncio.sleep(0.1)
            assert [message.result.output for message in link.got(base.ToolResult)] == ["Paris"]

        jobs = [respond, cancel, text, audio, commit, image, tool_result]
        await jobs[nth]()


async def test_the_documented_events_for_the_call_do_their_job() -> None:
    """RTA-10."""
    async with call() as made:
        made.receive(ClientEvents.ClientSessionCreateEvent(config={}))
        assert errors(made) == ["session_exists"]
        made.receive(ClientEvents.ClientSessionEndEvent())
        await made.session.ended.wait()
        assert made.seen[-1].type == "agent_ended"
        assert made.link.closed


def made_tool_use(response_id: str, call_block: ToolCallBlock) -> m.ModelEvent:
    return m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=call_block)


# -- text --------------------------------------------------------------------------------------------------------------


async def test_typed_text_is_a_turn_of_the_user_and_is_answered() -> None:
    """CEV-07, AMB-50: the text reaches the model as a user turn and triggers a response by default."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(session_id="session1", text="Hello"))

        created, asked = made.link.sent
        assert isinstance(created, base.ItemCreate)
        assert (created.item.role, created.item.text) == ("user", "Hello")
        assert asked == base.ResponseCreate(None)
        assert made.types()[-2:] == ["agent_item_added", "agent_item_done"]
        assert made.transcript() == [("user", "Hello")]
        made.check_heard_truth()


async def test_typed_text_waits_for_a_request_where_the_call_says_so() -> None:
    """AMB-50: `text_auto_response=false` turns the answer off."""
    async with call(config=SessionConfig(text_auto_response=False)) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"), c.ClientTextAppendEvent(text="Are you there?"))
        assert kinds(made) == ["ItemCreate", "ItemCreate"]

        made.receive(c.ClientResponseCreateEvent())
        assert kinds(made)[2:] == ["ResponseCreate"]


@pytest.mark.parametrize("begun", [False, True], ids=["before-it-begins", "after-it-began"])
async def test_a_request_after_typed_text_does_not_double_the_answer(begun: bool) -> None:
    """AMB-50: a following response_create in the same turn does not double it."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        if begun:
            made.link.begin()
        made.receive(c.ClientResponseCreateEvent())

        assert kinds(made) == ["ItemCreate", "ResponseCreate"]


async def test_a_request_after_the_answer_is_a_new_one() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        made.link.reply(500)
        await asyncio.sleep(2)
        made.receive(c.ClientResponseCreateEvent())

        assert kinds(made) == ["ItemCreate", "ResponseCreate", "ResponseCreate"]


async def test_typed_text_during_a_reply_interrupts_it_and_comes_after_the_cut() -> None:
    async with call() as made:
        link = made.link
        response_id = link.begin()
        item_id = link.speak(response_id, 4_000, WORDS)
        await asyncio.sleep(1)
        start, sent = len(made.seen), len(link.sent)

        made.receive(c.ClientTextAppendEvent(text="Wait."))

        assert made.types(start)[:2] == ["server_audio_flush", "agent_item_truncated"]
        assert kinds(made, sent) == ["ResponseCancel", "ItemTruncate", "ItemCreate", "ResponseCreate"]
        assert link.got(base.ItemTruncate)[0].item_id == item_id
        link.finish(response_id, WORDS, status="cancelled")
        made.check_heard_truth()


async def test_text_to_a_model_that_takes_none_is_refused_by_name() -> None:
    async with call(profile=MUTE_READER) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello", event_id="e7"))

        (error,) = made.of(s.AgentErrorEvent)
        assert (error.error_type, error.code, error.client_event_id) == ("client_error", "unsupported_modality", "e7")
        assert made.link.sent == []
        assert made.transcript() == []


# -- commit ------------------------------------------------------------------------------------------------------------


async def test_a_commit_in_manual_mode_ends_the_turn_and_is_answered() -> None:
    """RTA-19, CEV-09, AMB-51: with VAD off the commit is required and a response follows."""
    async with call(config=MANUAL) as made:
        assert made.link.settings.turn_detection == "none"
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())

        assert kinds(made) == ["AudioCommit", "ResponseCreate"]
        made.link.hear_end("u1", text="Hello")
        made.link.reply(500)
        await asyncio.sleep(2)
        assert made.transcript() == [("user", "Hello"), ("assistant", WORDS.strip())]
        made.check_heard_truth()


async def test_a_commit_without_an_answer_where_the_call_says_so() -> None:
    """AMB-51: `auto_response=false`."""
    async with call(config=SessionConfig(turn_detection="none", auto_response=False)) as made:
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())

        assert kinds(made) == ["AudioCommit"]


@pytest.mark.parametrize("config", [MANUAL, SessionConfig()], ids=["manual", "provider"])
async def test_an_empty_commit_is_ignored_without_an_error(config: SessionConfig) -> None:
    """AMB-51: an empty or tiny commit, or a second one, makes no provider error."""
    async with call(config=config) as made:
        made.receive(c.ClientAudioCommitEvent())
        made.hear(40)
        made.receive(c.ClientAudioCommitEvent(), c.ClientAudioCommitEvent())

        assert kinds(made) == []
        assert errors(made) == []


async def test_what_is_said_before_the_model_has_taken_the_turn_before_counts_for_the_next() -> None:
    async with call(config=MANUAL) as made:
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())
        made.hear(60)
        made.link.say(m.ModelInputCommittedEvent(item_id="i1"))
        made.hear(60)
        made.receive(c.ClientAudioCommitEvent())
        assert len(made.link.got(base.AudioCommit)) == 2


async def test_something_new_and_a_request_are_answered_also_while_an_answer_is_on_its_way() -> None:
    question = Item(id="i1", role="user", content=(ContentPart(type="text", text="What is two and two?"),))
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello."))
        made.link.begin()
        made.receive(c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 1, "there is nothing that this answer does not know"
        made.receive(c.ClientItemCreateEvent(item=question), c.ClientResponseCreateEvent())
        assert len(made.link.got(base.ResponseCreate)) == 2
        assert made.link.got(base.ResponseCancel) == [base.ResponseCancel("resp_1")]


async def test_an_answer_can_be_cancelled_by_its_id_while_its_tools_run_and_while_it_is_heard() -> None:
    config = SessionConfig(tools=(ToolDeclaration(name="look"),))
    async with call(config=config, clock=WallClockPlayback(24_000)) as made:
        made.receive(c.ClientTextAppendEvent(text="Look it up."))
        response_id = made.link.begin()
        made.link.speak(response_id, 20_000, "A long word.")
        made.link.finish(response_id, "A long word.")
        await asyncio.sleep(1)
        made.receive(c.ClientResponseCancelEvent(response_id="another"))
        assert made.of(s.ServerAudioFlushEvent) == []
        made.receive(c.ClientResponseCancelEvent(response_id=response_id))
        assert len(made.of(s.ServerAudioFlushEvent)) == 1

        made.receive(c.ClientTextAppendEvent(text="Look it up."))
        response_id = made.link.begin()
        call_block = ToolCallBlock(id="c1", name="look", input="{}")
        made.link.say(
            m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="call_1", tool_use=call_block),
            m.ModelResponseDoneEvent(response_id=response_id),
        )
        asked = len(made.link.got(base.ResponseCreate))
        made.receive(c.ClientResponseCancelEvent(response_id=response_id))
        made.receive(c.ClientToolResultEvent(id="c1", name="look", output="It is there."))
        assert len(made.link.got(base.ResponseCreate)) == asked


async def test_a_second_commit_commits_nothing() -> None:
    async with call(config=MANUAL) as made:
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent(), c.ClientAudioCommitEvent())

        assert kinds(made) == ["AudioCommit", "ResponseCreate"]


async def test_a_commit_with_provider_vad_closes_the_speech_that_goes_on() -> None:
    """AMB-51: with VAD on it closes the current input early and asks for a response."""
    async with call() as made:
        made.hear(500)
        made.link.hear_start("u1", 100)
        made.receive(c.ClientAudioCommitEvent())

        assert kinds(made) == ["AudioCommit", "ResponseCreate"]


async def test_a_commit_with_provider_vad_and_no_speech_asks_for_nothing() -> None:
    """AMB-51: only if there was speech."""
    async with call() as made:
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())

        assert kinds(made) == []


# -- responses ---------------------------------------------------------------------------------------------------------


async def test_a_response_can_be_asked_for_without_any_input() -> None:
    """RTA-18, CEV-05: works without any new input."""
    async with call() as made:
        made.receive(c.ClientResponseCreateEvent())
        assert made.link.sent == [base.ResponseCreate(None)]

        made.link.reply(500)
        await asyncio.sleep(1)
        assert made.types()[-1] == "agent_response_done"


async def test_overrides_travel_with_the_request() -> None:
    async with call() as made:
        overrides = ResponseOverrides(instructions="Say hello.", temperature=0.2)
        made.receive(c.ClientResponseCreateEvent(response=overrides))

        assert made.link.sent == [base.ResponseCreate(overrides)]


async def test_an_out_of_band_response_leaves_the_conversation_and_the_turn_alone() -> None:
    async with call() as made:
        overrides = ResponseOverrides(conversation="none")
        made.receive(c.ClientResponseCreateEvent(response=overrides))
        link = made.link
        link.say(m.ModelResponseCreatedEvent(response_id="side", conversation="none"))
        link.say(m.ModelResponseTextDeltaEvent(response_id="side", item_id="i", delta="Topic: weather"))
        link.say(m.ModelResponseTextDoneEvent(response_id="side", item_id="i", text="Topic: weather"))
        link.say(m.ModelResponseDoneEvent(response_id="side", conversation="none"))

        assert made.transcript() == []
        assert "agent_response_text_done" in made.types()
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        assert kinds(made) == ["ResponseCreate", "ItemCreate", "ResponseCreate"]


async def test_a_response_beside_the_conversation_is_cancelled_by_its_id_alone() -> None:
    async with call() as made:
        made.receive(c.ClientResponseCreateEvent(response=ResponseOverrides(conversation="none")))
        made.link.say(m.ModelResponseCreatedEvent(response_id="side", conversation="none"))
        made.receive(c.ClientResponseCancelEvent(response_id="side"))
        made.receive(c.ClientResponseCancelEvent(response_id="other"))
        made.link.say(m.ModelResponseDoneEvent(response_id="side", status="cancelled", conversation="none"))
        made.receive(c.ClientResponseCancelEvent(response_id="side"))

        assert made.link.got(base.ResponseCancel) == [base.ResponseCancel("side")]


async def test_cancel_silences_tells_the_model_and_closes_the_response() -> None:
    """RTA-17, CEV-06, SEV-07: audio stops within one frame, provider cancel sent, AgentResponseDone follows."""
    async with call() as made:
        link = made.link
        made.receive(c.ClientTextAppendEvent(text="Count."))
        response_id = link.begin()
        item_id = link.speak(response_id, 4_000, WORDS)
        await asyncio.sleep(1)
        start = len(made.seen)

        made.receive(c.ClientResponseCancelEvent())
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


async def test_cancel_before_the_response_begins_cancels_it_when_it_does() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Count."), c.ClientResponseCancelEvent())
        response_id = made.link.begin()
        made.link.speak(response_id, 1_000, WORDS)
        made.link.finish(response_id, WORDS, status="cancelled")

        assert made.link.got(base.ResponseCancel) == [base.ResponseCancel(response_id)]
        assert made.of(s.AgentResponseAudioDeltaEvent) == []
        assert made.types()[-1] == "agent_response_done"
        assert made.transcript() == [("user", "Count.")]
        made.check_heard_truth()


async def test_cancel_with_nothing_to_cancel_does_nothing() -> None:
    async with call() as made:
        made.receive(c.ClientResponseCancelEvent())

        assert made.link.sent == []
        assert made.types() == ["agent_ready"]


async def test_cancel_of_another_response_than_the_running_one_does_nothing() -> None:
    async with call() as made:
        made.link.begin()
        made.receive(c.ClientResponseCancelEvent(response_id="resp_99"))

        assert made.link.sent == []


async def test_a_model_that_refuses_a_response_does_not_block_the_next() -> None:
    async with call() as made:
        made.receive(c.ClientResponseCreateEvent())
        made.link.say(
            m.ModelErrorEvent(
                error_type="provider_error", code="conversation_already_has_active_response", message="one at a time"
            )
        )
        made.receive(c.ClientResponseCreateEvent())

        assert kinds(made) == ["ResponseCreate", "ResponseCreate"]


# -- items and images --------------------------------------------------------------------------------------------------


async def test_items_can_be_created_read_and_deleted() -> None:
    async with call() as made:
        first = Item(id="i1", role="user", content=(ContentPart(type="text", text="I am Ada."),))
        second = Item(id="i2", role="assistant", content=(ContentPart(type="text", text="Hello Ada."),))
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
        words = (ContentPart(type="text", text="I am Ada."),)
        made.receive(
            c.ClientItemCreateEvent(item=Item(id="i1", role="user", content=words)),
            c.ClientItemCreateEvent(item=Item(id="i2", role="user", content=words), previous_item_id="gone"),
            c.ClientItemCreateEvent(item=Item(id="i3", role="user", content=words), previous_item_id="i1"),
        )

        assert [message.previous_item_id for message in made.link.got(base.ItemCreate)] == [None, None, "i1"]
        assert [item.id for item in made.session.conversation.items()] == ["i1", "i3", "i2"]


@pytest.mark.parametrize(
    "event",
    [
        c.ClientItemDeleteEvent(item_id="i9"),
        c.ClientItemRetrieveEvent(item_id="i9"),
        c.ClientItemTruncateEvent(item_id="i9", audio_end_ms=5),
    ],
    ids=lambda event: event.type,
)
async def test_an_item_that_is_not_there_is_an_error_by_name(event: c.ClientEvent) -> None:
    async with call() as made:
        made.receive(event)

        assert errors(made) == ["unknown_item"]
        assert made.link.sent == []


async def test_a_client_can_cut_an_answer_itself() -> None:
    async with call() as made:
        item_id = made.link.reply(2_000)
        await asyncio.sleep(3)
        made.receive(c.ClientItemTruncateEvent(item_id=item_id, audio_end_ms=1_000))

        (cut,) = made.of(s.AgentItemTruncatedEvent)
        assert cut.audio_end_ms == 1_000
        assert made.link.got(base.ItemTruncate) == [base.ItemTruncate(item_id, 1_000, cut.transcript or "")]
        assert cut.transcript == "one two three four five"
        made.check_heard_truth()


async def test_only_answers_can_be_cut() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        item_id = made.session.conversation.items()[0].id
        made.receive(c.ClientItemTruncateEvent(item_id=item_id, audio_end_ms=0))

        assert errors(made) == ["invalid_item"]


async def test_an_image_is_refused_by_a_model_that_sees_none() -> None:
    async with call() as made:
        made.receive(c.ClientImageAppendEvent(image=b"jpeg"))

        assert errors(made) == ["unsupported_modality"]
        assert made.transcript() == []


# -- settings ----------------------------------------------------------------------------------------------------------


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


async def test_auto_response_can_be_switched_off_on_the_way() -> None:
    async with call(config=MANUAL) as made:
        made.receive(c.ClientSessionUpdateEvent(config={"auto_response": False, "text_auto_response": False}))
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent(), c.ClientTextAppendEvent(text="Hello"))

        assert made.link.got(base.ResponseCreate) == []


async def test_turn_detection_can_be_switched_off_on_the_way() -> None:
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"turn_detection": "none"}))
        assert made.link.got(base.SessionUpdate)[-1].settings.turn_detection == "none"

        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())
        assert kinds(made)[1:] == ["AudioCommit", "ResponseCreate"]


async def test_turns_do_not_pass_to_the_servers_detector_once_there_was_audio() -> None:
    async with call() as made:
        made.hear(20)
        made.receive(c.ClientSessionUpdateEvent(config={"turn_detection": {"authority": "server"}}))

        assert errors(made) == ["unsupported_turn_detection"]
        assert made.link.got(base.SessionUpdate) == []
        assert made.agent.describe()["turn_authority"] == "provider"


async def test_before_the_first_audio_a_client_may_still_say_who_decides_about_turns() -> None:
    """Clients of foreign protocols say it only when the session has begun."""
    async with call(profile=NO_DETECTOR, make_detector=lambda _: FakeDetector()) as made:
        made.receive(c.ClientSessionUpdateEvent(config={"turn_detection": "none"}))
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())

        assert errors(made) == []
        assert [type(one) for one in made.link.sent[-2:]] == [base.AudioCommit, base.ResponseCreate]


async def test_the_turns_of_a_model_without_a_detector_are_the_servers() -> None:
    wanted: list[TurnDetection] = []

    def make_detector(detection: TurnDetection) -> FakeDetector:
        wanted.append(detection)
        return FakeDetector()

    async with call(profile=NO_DETECTOR, make_detector=make_detector) as made:
        assert made.of(s.AgentReadyEvent)[0].model is not None
        assert made.agent.describe()["turn_authority"] == "server"
        assert made.link.settings.turn_detection == "none"
        assert len(wanted) == 1


# -- no more than a server can hold ------------------------------------------------------------------------------------


async def test_what_is_too_much_is_refused_and_does_not_count() -> None:
    picture = ContentPart(type="image", image=bytes(MAX_GIVEN_BYTES // 6), media_type="image/png")
    async with call(profile=SEEING) as made:
        for number in range(5):
            made.receive(c.ClientItemCreateEvent(item=Item(id=f"i{number}", role="user", content=(picture,))))
        made.receive(c.ClientTextAppendEvent(text="Still there?"))
        assert errors(made) == ["too_much_given"]
        assert [message.item.id for message in made.link.got(base.ItemCreate)[:-1]] == ["i0", "i1", "i2", "i3"]
        assert made.link.got(base.ItemCreate)[-1].item.text == "Still there?"


async def test_what_is_told_again_counts_as_often_as_it_is_told() -> None:
    """Sixty bytes that ask for an item make the log a megabyte longer."""
    book = ContentPart(type="text", text="x" * 1_000_000)
    async with call() as made:
        made.receive(c.ClientItemCreateEvent(item=Item(id="i0", role="user", content=(book,))))
        for _ in range(100):
            made.receive(c.ClientItemRetrieveEvent(item_id="i0"))
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
        for _ in range(10_000):
            made.receive(c.ClientAudioAppendEvent(audio=speech(20), session_id=long))
        assert len(made.of(s.AgentErrorEvent)) <= MAX_COMPLAINT_BYTES // MAX_SENTENCE_CHARS
        made.receive(c.ClientTextAppendEvent(text="Still there?"))
        assert made.transcript()[-1] == ("user", "Still there?")


async def test_what_was_deleted_and_settings_count_too() -> None:
    book = ContentPart(type="text", text="x" * (MAX_GIVEN_BYTES // 3))
    async with call() as made:
        for number in range(2):
            made.receive(c.ClientItemCreateEvent(item=Item(id=f"i{number}", role="user", content=(book,))))
            made.receive(c.ClientItemDeleteEvent(item_id=f"i{number}"))
        made.receive(c.ClientSessionUpdateEvent(config={"instructions": "x" * (MAX_GIVEN_BYTES // 2)}))
        assert errors(made) == ["too_much_given"]
        assert made.of(s.ServerSessionUpdatedEvent) == []


@pytest.mark.parametrize("odd", ["\ud800", {"a": object()}], ids=["half a character", "an object"])
async def test_what_cannot_be_written_as_json_is_refused_with_a_sentence(odd: Any) -> None:
    async with call() as made:
        made.receive(c.ClientSessionUpdateEvent(config={"instructions": odd}))
        assert errors(made) == ["invalid_event"]
        made.receive(c.ClientTextAppendEvent(text="Still there?"))
        assert made.transcript()[-1] == ("user", "Still there?")


async def test_an_event_id_of_any_length_is_not_kept() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Lost", event_id="x" * (MAX_EVENT_ID_CHARS + 1)))
        made.receive(c.ClientTextAppendEvent(text="Still there?", event_id="x" * MAX_EVENT_ID_CHARS))
        assert errors(made) == ["invalid_event_id"]
        assert [text for _, text in made.transcript()] == ["Still there?"]


async def test_a_typed_line_that_is_refused_interrupts_nobody() -> None:
    async with call() as made:
        made.receive(c.ClientResponseCreateEvent())
        response_id = made.link.begin()
        made.link.speak(response_id, 1_000, "A long story.")
        before = kinds(made)
        made.receive(c.ClientTextAppendEvent(text="Stop." * MAX_GIVEN_BYTES))
        assert errors(made) == ["too_much_given"]
        assert kinds(made) == before
        made.link.finish(response_id, "A long story.")
        assert made.transcript()[-1] == ("assistant", "A long story.")
        assert made.of(s.AgentResponseDoneEvent)[-1].status == "completed"
