"""A call: how long it lives, who listens, whose ear counts, and what its events say."""

import asyncio
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback
from realtime.call.limits import Limits
from realtime.call.listener import Listener
from realtime.call.played import FLUSH_ANSWER_S
from realtime.call.session import Session
from realtime.errors import ClientError, ProviderError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime
from realtime.state.log import AudioRun
from tests.agent.fakes import CHUNK_MS, WORDS, Call, FakeModel, ListSink, call, listener_into, speech, unreachable

pytestmark = pytest.mark.virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


def errors(made: Call) -> list[tuple[str, str | None]]:
    return [(event.code, event.client_event_id) for event in made.of(s.AgentErrorEvent)]


def reason_of(made: Call) -> str:
    """Why the call ended."""
    assert isinstance(made.log[-1], s.ServerSessionEndedEvent)
    return made.log[-1].reason


def second_listener(made: Call, **options: Any) -> tuple[Listener, ListSink]:
    sink = ListSink()
    listener = listener_into(sink, made.session.runtime, **options)
    made.session.attach(listener)
    return listener, sink


async def test_a_call_says_that_it_exists_that_its_agent_is_ready_and_that_it_is_over() -> None:
    """SEV-03, SEV-04, CEV-04: created, ready; at client_session_end the provider is closed, `ended` is last."""
    async with call() as made:
        made.receive(c.ClientSessionEndEvent(session_id="session1"))
        await made.session.ended.wait()
        assert [entry.type for entry in made.session.log.read() if not isinstance(entry, AudioRun)] == [
            "server_session_created",
            "agent_ready",
            "agent_ended",
            "server_session_ended",
        ]
        created = made.session.log.read()[0]
        assert isinstance(created, s.ServerSessionCreatedEvent)
        assert (created.session_id, created.call_id) == ("session1", made.session.call_id)
        assert reason_of(made) == "client_end"
        assert made.link.closed


@pytest.mark.parametrize(
    ("refused", "code", "words"),
    [
        (unreachable(), "provider_unreachable", None),
        (ProviderError("the key was refused", code="invalid_api_key"), "invalid_api_key", "the key was refused"),
        (ValueError("a detail of ours"), "internal", "the model could not be started: ValueError"),
    ],
)
async def test_a_call_whose_model_cannot_be_had_says_why_and_ends_itself(
    refused: Exception, code: str, words: str | None
) -> None:
    """A fault of ours is told without details."""
    ended: list[Session] = []
    agent = RealtimeAgent("Friday", "", FakeModel(refuses=refused))
    session = Session(participant=agent.run(), runtime=Runtime.deterministic(now), session_id="s")
    session.on_ended.append(ended.append)
    with pytest.raises(ProviderError):
        await session.start(SessionConfig())
    assert session.ended.is_set()
    assert ended == [session]
    error, last = session.log.read()[-2:]
    assert isinstance(error, s.AgentErrorEvent)
    assert isinstance(last, s.ServerSessionEndedEvent)
    assert (last.reason, error.code) == ("agent_failed", code)
    assert words is None or error.message == words


async def test_the_end_comes_once_whoever_asks_for_it() -> None:
    """Whoever waits for it and gives up does not keep the call alive; nothing runs or is taken afterwards."""
    before = asyncio.all_tasks()
    async with call(limits=Limits(grace_s=30)) as made:
        made.link.reply(5_000)
        waiting = asyncio.create_task(made.session.end("one"))
        await asyncio.sleep(0)
        waiting.cancel()
        made.session.end_soon("two")
        await asyncio.gather(made.session.end("three"), made.session.end("four"))
        await asyncio.sleep(1)
        assert made.session.ended.is_set()
        assert made.link.closed
        assert [event.type for event in made.log].count("server_session_ended") == 1
        assert reason_of(made) == "one"
        assert asyncio.all_tasks() == before
        last = made.session.log.last_seq
        await asyncio.sleep(7_200)
        assert made.session.log.last_seq == last
        sent = [*made.link.sent]
        made.receive(c.ClientTextAppendEvent(text="Hello?", event_id="e1"))
        made.receive(c.ClientSessionEndEvent())
        assert errors(made)[0] == ("session_ended", "e1")
        assert made.link.sent == sent


async def test_the_call_ends_with_its_agent() -> None:
    async with call() as made:
        made.link.gone("provider_closed")
        await asyncio.sleep(1)
        assert [event.type for event in made.log[-2:]] == ["agent_ended", "server_session_ended"]
        assert made.link.closed


async def is_idle_after(made: Call, seconds: float) -> None:
    """The call ends for want of speech after so long, with a goodbye."""
    await asyncio.sleep(seconds - 1)
    assert not made.session.ended.is_set()
    await asyncio.sleep(2)
    assert [event.type for event in made.log[-3:]] == ["server_goodbye", "agent_ended", "server_session_ended"]
    assert reason_of(made) == "idle"


async def test_a_call_without_speech_ends_after_five_minutes_with_a_goodbye() -> None:
    async with call() as made:
        await is_idle_after(made, 300)


@pytest.mark.parametrize("sign", ["speech", "text", "reply", "end of speech"])
async def test_whatever_is_said_keeps_the_call_alive_for_five_minutes_more(sign: str) -> None:
    async with call() as made:
        made.link.hear_start("u0")
        await asyncio.sleep(200)
        if sign == "speech":
            made.link.hear_start("u1")
        elif sign == "text":
            made.receive(c.ClientTextAppendEvent(text="Hello"))
        elif sign == "reply":
            made.link.begin()
        else:
            made.link.say(m.ModelInputDoneEvent(item_id="u0", audio_end_ms=200_000))
        await is_idle_after(made, 300)


async def test_five_minutes_count_from_the_end_of_what_is_heard() -> None:
    async with call() as made:
        made.link.reply(60_000, "")
        await is_idle_after(made, 360)


async def test_a_client_that_never_acknowledges_does_not_keep_a_call_alive() -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        made.link.reply(10_000, "")
        await asyncio.sleep(312)
        assert reason_of(made) == "idle"


async def test_silence_and_acknowledgements_are_not_speech() -> None:
    async with call() as made:
        for _ in range(301):
            made.receive(
                c.ClientAudioAppendEvent(audio=bytes(3_200)), c.ClientPlaybackAckEvent(item_id="x", played_ms=1)
            )
            await asyncio.sleep(1)
        assert reason_of(made) == "idle"


async def test_a_call_whose_time_is_up_but_for_a_rest_that_no_timer_can_wait_for_ends() -> None:
    async with call() as made:
        # Times are sums of fractions: five minutes later 4.5e-13 s of them are left.
        await asyncio.sleep(107.816)
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        await asyncio.sleep(301)
        assert reason_of(made) == "idle"


async def test_no_call_lasts_longer_than_an_hour() -> None:
    async with call() as made:
        for _ in range(35):
            made.receive(c.ClientTextAppendEvent(text="Still here."))
            await asyncio.sleep(100)
        assert not made.session.ended.is_set()
        made.receive(c.ClientTextAppendEvent(text="Still here."))
        await asyncio.sleep(101)
        assert made.log[-3].type == "server_goodbye"
        assert reason_of(made) == "call_limit"


async def test_limits_can_be_set() -> None:
    async with call(limits=Limits(idle_s=10, call_s=25)) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        await asyncio.sleep(9)
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        await asyncio.sleep(9)
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        await asyncio.sleep(8)
        assert reason_of(made) == "call_limit"


async def test_a_call_without_grace_ends_with_its_last_listener() -> None:
    """A closed socket ends the agent and the provider's session; no task is left."""
    before = asyncio.all_tasks()
    async with call() as made:
        second, _ = second_listener(made)
        made.session.detach(made.listener)
        seen = len(made.seen)
        made.link.reply(500)
        await asyncio.sleep(1)
        assert len(made.seen) == seen, "a listener that is gone gets nothing more"
        assert not made.session.ended.is_set()
        made.session.detach(second)
        await asyncio.sleep(0.1)
        assert made.session.ended.is_set()
        assert made.link.closed
        assert asyncio.all_tasks() == before


async def test_each_listener_sees_what_the_log_holds_in_its_order() -> None:
    async with call() as made:
        _, sink = second_listener(made)
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        made.link.reply(500)
        await asyncio.sleep(1)
        logged = [entry for entry in made.session.log.read(after_seq=2) if not isinstance(entry, AudioRun)]
        shown = [event for event in sink.frames if not isinstance(event, s.AgentResponseAudioDeltaEvent)]
        assert shown == logged
        assert sink.frames == made.log[2:] == made.seen[1:]
        assert [event.seq for event in sink.frames] == [*range(3, 3 + len(sink.frames))]
        (run,) = [entry for entry in made.session.log.read() if isinstance(entry, AudioRun)]
        assert run.n_bytes == 500 * 48
        chunks = [event.delta for event in made.of(s.AgentResponseAudioDeltaEvent)]
        assert b"".join(chunks) == speech(CHUNK_MS, 24_000) * (500 // CHUNK_MS)


async def play(made: Call, *played: tuple[Listener, int]) -> str:
    """A reply of 4 s of which each of these clients says how much it has played."""
    response_id = made.link.begin()
    item_id = made.link.speak(response_id, 4_000, WORDS)
    made.link.finish(response_id, WORDS)
    await asyncio.sleep(3)
    for listener, played_ms in played:
        made.session.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=played_ms), listener)
    return item_id


@pytest.mark.parametrize(
    ("played_ms", "speaks", "leaves", "cut_at_ms"),
    [((3_000, 1_000), True, False, 1_000), ((1_000, 3_000), False, False, 3_000), ((2_000, 3_000), True, True, 2_000)],
    ids=["that of whoever speaks", "else the furthest", "none that left"],
)
async def test_the_ear_that_counts_where_several_listen(
    played_ms: tuple[int, int], speaks: bool, leaves: bool, cut_at_ms: int
) -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        second, _ = second_listener(made, clock=AcknowledgedPlayback(24_000))
        await play(made, *zip((made.listener, second), played_ms, strict=True))
        if speaks:
            made.session.receive(c.ClientAudioAppendEvent(audio=speech(100)), second)
        if leaves:
            made.session.detach(second)
        made.link.hear_start("u1")
        await asyncio.sleep(FLUSH_ANSWER_S)
        assert made.of(s.AgentItemTruncatedEvent)[0].audio_end_ms == cut_at_ms


async def test_what_speech_says_was_played_counts_before_the_speech_is_heard() -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        item_id = await play(made, (made.listener, 1_000))
        counted_ms: list[int] = []
        take = made.agent.receive

        def listen(event: c.ClientEvent) -> None:
            counted_ms.append(made.session.audience.played_ms(item_id))
            take(event)

        made.agent.receive = listen  # type: ignore[method-assign]
        for played_ms in (1_500, 1_200, None):
            made.receive(c.ClientAudioAppendEvent(audio=speech(40), played_item_id=item_id, played_ms=played_ms))
        made.receive(c.ClientAudioAppendEvent(audio=speech(40), played_item_id="another", played_ms=9))
        made.link.hear_start("u1")
        await asyncio.sleep(FLUSH_ANSWER_S)
        assert counted_ms == [1_500] * 4
        assert made.of(s.AgentItemTruncatedEvent)[0].audio_end_ms == 1_500
        assert errors(made) == []


async def test_a_client_that_says_where_it_stopped_is_believed() -> None:
    async with call() as made:
        item_id = await play(made)
        made.receive(c.ClientItemTruncateEvent(item_id=item_id, audio_end_ms=1_500))
        assert made.of(s.AgentItemTruncatedEvent)[0].audio_end_ms == 1_500
        assert made.session.audience.played_ms(item_id) == 1_500
        assert made.session.audience.unplayed_ms() == 0


async def test_an_event_that_cannot_be_taken_is_refused_and_harms_nothing() -> None:
    """BRW-11: mismatch -> agent_error."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello", session_id="session1"))
        sent = [*made.link.sent]
        made.receive(
            c.ClientTextAppendEvent(text="Who?", session_id="session2", event_id="e1"),
            c.ClientSessionCreateEvent(config={"instructions": "Be rude."}, event_id="e2"),
            c.ClientSessionUpdateEvent(config={"temperature": "hot"}, event_id="e3"),
        )
        assert errors(made) == [("session_mismatch", "e1"), ("session_exists", "e2"), ("invalid_config", "e3")]
        assert "temperature" in made.of(s.AgentErrorEvent)[2].message
        assert made.transcript() == [("user", "Hello")]
        assert made.link.sent == sent


async def test_complaints_say_whose_agent_it_is() -> None:
    """RTA-14: an error of the call carries agent_id and agent_name too."""
    async with call(agent_id="agent-7") as made:
        made.session.complain(ClientError("the frame is not JSON", code="malformed_json"))
        (error,) = made.of(s.AgentErrorEvent)
        assert (error.agent_id, error.agent_name, error.error_type) == ("agent-7", "Friday", "client_error")


async def test_the_server_says_how_much_audio_has_arrived() -> None:
    """To the client alone whose audio it is; audio in a format that is refused counts as none."""
    async with call(listener={"tells_received_audio": True}) as made:
        _, sink = second_listener(made)
        made.hear(900)
        made.receive(c.ClientAudioAppendEvent(audio=speech(500), format=AudioFormat(encoding="opus"), event_id="e1"))
        for _ in range(16):
            made.hear(100)
        assert errors(made) == [("unsupported_audio_format", "e1")]
        assert [event.offset for event in made.of(s.ServerAudioReceivedEvent)] == [16_000, 32_000]
        assert not [event for event in sink.frames if isinstance(event, s.ServerAudioReceivedEvent)]
