"""One client's view of a call: everything in order however slowly it reads, speech in time, silence at once."""

import asyncio
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.audio.playback import AcknowledgedPlayback
from realtime.audio.resample import Resampler
from realtime.call.listener import MAX_CONTROL_EVENTS, MAX_WAITING_AUDIO_BYTES, EventDialect, Listener, queue_listener
from realtime.call.pacer import MAX_PACED_BYTES
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.runtime import Runtime
from realtime.testing.clock import VirtualLoop, run
from tests.agent.fakes import GateSink, ListSink, listener_into, speech
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time

AHEAD_MS = 350
LONGEST_CHUNK_MS = 100
WHERE: dict[str, Any] = {"response_id": "r1", "item_id": "a1"}


def runtime() -> Runtime:
    return Runtime.deterministic(asyncio.get_running_loop().time)


def now() -> float:
    return asyncio.get_running_loop().time()


def audio(pcm: bytes, rate_hz: int = 24_000, item_id: str = "a1") -> s.AgentResponseAudioDeltaEvent:
    return s.AgentResponseAudioDeltaEvent(
        response_id="r1", item_id=item_id, delta=pcm, format=AudioFormat.pcm16(rate_hz)
    )


def words(text: str, item_id: str = "a1") -> s.AgentResponseAudioTranscriptDeltaEvent:
    return s.AgentResponseAudioTranscriptDeltaEvent(response_id="r1", item_id=item_id, delta=text)


def closing(item_id: str = "a1") -> list[s.ServerEvent]:
    """What closes a spoken reply."""
    where: dict[str, Any] = {"response_id": "r1", "item_id": item_id}
    return [
        s.AgentResponseAudioDoneEvent(**where),
        s.AgentResponseAudioTranscriptDoneEvent(transcript="all", **where),
        s.AgentResponseDoneEvent(response_id="r1"),
    ]


def tell(listener: Listener, *events: s.ServerEvent) -> None:
    for event in events:
        listener.deliver(event)


def paced() -> tuple[Listener, ListSink]:
    """A client that is fed in real time, and what it gets."""
    sink = ListSink()
    return listener_into(sink, runtime(), ahead_ms=AHEAD_MS), sink


def numbered(number: int) -> s.ServerEvent:
    return s.AgentErrorEvent(error_type="client_error", code="x", message="x", seq=number)


def pcm_of(frames: list[Any]) -> bytes:
    return b"".join(frame.delta for frame in frames if isinstance(frame, s.AgentResponseAudioDeltaEvent))


def types(frames: list[Any]) -> list[str]:
    return [frame.type for frame in frames]


class TwoFrameDialect:
    """Each event takes two frames, as a binary one may."""

    def encode(self, event: s.ServerEvent) -> list[Any]:
        return [("head", event.seq), ("body", event.seq)]


@settings(max_examples=volume(20, 200), deadline=None)
@given(
    steps=st.lists(st.sampled_from(["event", "audio", "open", "shut", "turn"]), max_size=60), two_frames=st.booleans()
)
def test_the_order_holds_however_the_client_reads(steps: list[str], two_frames: bool) -> None:
    """BRW-14: a client that stalls and reads on gets everything once and in order."""

    async def main() -> None:
        sink = GateSink()
        listener = Listener(sink=sink, dialect=TwoFrameDialect() if two_frames else EventDialect(), runtime=runtime())
        sent = 0
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        for step in steps:
            if step == "event":
                sent += 1
                listener.deliver(numbered(sent))
            elif step == "audio":
                sent += 1
                listener.deliver(msgspec.structs.replace(audio(speech(20, 24_000)), seq=sent))
            elif step == "open":
                sink.open.set()
            elif step == "shut":
                sink.open.clear()
            else:
                await loop.settle()
        sink.open.set()
        await loop.settle()
        if two_frames:
            assert sink.frames == [(part, number) for number in range(1, sent + 1) for part in ("head", "body")]
        else:
            assert [frame.seq for frame in sink.frames] == [*range(1, sent + 1)]
        assert listener.unplayed_ms(now()) == listener.clock.unplayed_ms(now())
        listener.release()

    run(main())


async def test_a_client_that_is_gone_gets_nothing_more_and_one_that_is_released_leaves_nothing_running() -> None:
    before, sink = asyncio.all_tasks(), GateSink()
    listener = listener_into(sink, runtime())
    tell(listener, numbered(1), numbered(2))
    sink.lost = True
    sink.open.set()
    await asyncio.sleep(1)
    assert listener.closed
    listener.deliver(numbered(3))
    assert [frame.seq for frame in sink.frames] == [1]
    blocked = listener_into(GateSink(), runtime(), ahead_ms=AHEAD_MS)
    blocked.deliver(audio(speech(3_000, 24_000)))
    blocked.release()
    blocked.release()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_an_event_that_cannot_be_written_costs_none_of_those_that_wait_behind_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = GateSink()

    class Faulty(EventDialect):
        def encode(self, event: s.ServerEvent) -> list[Any]:
            if event.seq == 3:
                raise ValueError("no words for this")
            return super().encode(event)

    listener = Listener(sink=sink, dialect=Faulty(), runtime=runtime())
    for number in range(1, 6):
        listener.deliver(numbered(number))
    sink.open.set()
    await asyncio.sleep(1)
    listener.deliver(numbered(6))
    assert [frame.seq for frame in sink.frames] == [1, 2, 4, 5, 6]
    assert "could not be written" in caplog.text


async def test_a_client_that_does_not_read_speech_is_closed_alone() -> None:
    """BRW-14: a stalled reader costs bounded memory and nobody else's call."""
    stalled, reading = GateSink(), ListSink()
    listeners = [listener_into(sink, runtime()) for sink in (stalled, reading)]
    second = audio(speech(1_000, 24_000))
    for _ in range(MAX_WAITING_AUDIO_BYTES // len(second.delta) + 2):
        for listener in listeners:
            listener.deliver(second)
    assert stalled.closed_with is not None
    assert stalled.closed_with[0] == 1013
    assert listeners[0].closed
    assert listeners[0].events_dropped > 0
    assert listeners[0].unplayed_ms(now()) <= 1_000
    assert not listeners[1].closed
    assert len(reading.frames) == MAX_WAITING_AUDIO_BYTES // len(second.delta) + 2


async def test_a_client_that_does_not_read_events_is_closed() -> None:
    sink = GateSink()
    listener = listener_into(sink, runtime())
    for number in range(MAX_CONTROL_EVENTS + 10):
        listener.deliver(numbered(number))
    assert listener.closed
    assert len(sink.frames) == 1


@pytest.mark.parametrize(("seconds", "closes"), [(300, False), (MAX_PACED_BYTES // 48_000 + 3, True)])
async def test_a_burst_that_is_fed_in_real_time_closes_its_client_only_where_it_passes_the_bound(
    seconds: int, closes: bool
) -> None:
    listener, sink = paced()
    second = audio(speech(1_000, 24_000))
    tell(listener, *[second] * seconds)
    await asyncio.sleep(seconds + 1)
    assert (listener.closed, sink.closed_with is not None) == (closes, closes)
    if not closes:
        assert sum(len(frame.delta) for frame in sink.frames) == seconds * len(second.delta)


@pytest.mark.parametrize("chunk_ms", [20, 100, 700, 12_000])
async def test_a_burst_is_handed_out_at_most_350_ms_ahead_of_real_time_and_without_a_gap(chunk_ms: int) -> None:
    listener, sink = paced()
    pcm = speech(12_000, 24_000)
    step = chunk_ms * 48
    for start in range(0, len(pcm), step):
        listener.deliver(audio(pcm[start : start + step]))
    for tick in range(1_250):
        handed_ms = len(pcm_of(sink.frames)) / 48
        assert handed_ms <= tick * 10 + AHEAD_MS
        assert handed_ms >= min(12_000, tick * 10 + AHEAD_MS - LONGEST_CHUNK_MS)
        await asyncio.sleep(0.01)
    assert pcm_of(sink.frames) == pcm
    assert all(len(frame.delta) % 2 == 0 for frame in sink.frames)


async def test_what_closes_a_reply_comes_after_its_last_sound() -> None:
    listener, sink = paced()
    tell(listener, words("all"), audio(speech(2_000, 24_000)), *closing(), numbered(1))
    await asyncio.sleep(3)
    order = types(sink.frames)
    assert order[0] == "agent_response_audio_transcript_delta"
    assert order[-3:] == types(closing())
    assert "agent_error" in order[:-3]


async def test_words_stay_beside_the_speech_that_follows_them() -> None:
    listener, sink = paced()
    for number in range(5):
        tell(listener, words(f"{number}"), audio(speech(1_000, 24_000)))
    await asyncio.sleep(6)
    sound_ms = 0.0
    for frame in sink.frames:
        if isinstance(frame, s.AgentResponseAudioDeltaEvent):
            sound_ms += len(frame.delta) / 48
        else:
            assert int(frame.delta) * 1_000 <= sound_ms <= int(frame.delta) * 1_000 + LONGEST_CHUNK_MS


async def test_two_replies_in_a_row_keep_their_order() -> None:
    listener, sink = paced()
    for item_id in ("a1", "a2"):
        tell(listener, audio(speech(1_000, 24_000), item_id=item_id), *closing(item_id))
    await asyncio.sleep(3)
    said = [getattr(frame, "item_id", None) for frame in sink.frames if frame.type == "agent_response_audio_delta"]
    assert said == sorted(said, key=str)
    assert types(sink.frames).count("agent_response_audio_done") == 2
    assert types(sink.frames)[-3:] == types(closing())


async def test_a_paced_listener_says_what_it_has_not_sent_as_unheard() -> None:
    listener = listener_into(ListSink(), runtime(), ahead_ms=AHEAD_MS)
    listener.deliver(audio(speech(5_000, 24_000)))
    await asyncio.sleep(1)
    assert listener.unplayed_ms(now()) == pytest.approx(4_000, abs=2)
    assert listener.clock.played_ms("a1", now()) == pytest.approx(1_000, abs=2)
    await asyncio.sleep(4.5)
    assert listener.unplayed_ms(now()) == 0


async def test_a_flush_drops_unsent_speech_and_words_and_keeps_what_closes_the_reply() -> None:
    listener, sink = paced()
    for number in range(5):
        tell(listener, words(f"{number}"), audio(speech(1_000, 24_000)))
    tell(listener, *closing())
    await asyncio.sleep(1)
    start = len(sink.frames)
    listener.deliver(s.ServerAudioFlushEvent())
    await asyncio.sleep(10)
    assert types(sink.frames[start:]) == ["server_audio_flush", *types(closing())]
    assert listener.unplayed_ms(now()) == 0
    assert len(pcm_of(sink.frames)) / 48 <= 1_000 + AHEAD_MS


async def test_the_reply_after_a_flush_begins_at_once() -> None:
    listener, sink = paced()
    listener.deliver(audio(speech(5_000, 24_000)))
    await asyncio.sleep(1)
    listener.deliver(s.ServerAudioFlushEvent())
    start = len(sink.frames)
    listener.deliver(audio(speech(5_000, 24_000), item_id="a2"))
    assert len(pcm_of(sink.frames[start:])) / 48 >= AHEAD_MS - LONGEST_CHUNK_MS
    assert {frame.item_id for frame in sink.frames[start:]} == {"a2"}
    listener.release()


async def test_a_flush_reaches_a_stalled_client_without_the_speech_before_it() -> None:
    sink = GateSink()
    listener = listener_into(sink, runtime())
    for _ in range(50):
        listener.deliver(audio(speech(100, 24_000)))
    tell(listener, *closing(), s.ServerAudioFlushEvent())
    assert listener.unplayed_ms(now()) == 0
    sink.open.set()
    await asyncio.sleep(1)
    assert types(sink.frames) == [
        "agent_response_audio_delta",
        *types(closing()),
        "server_audio_flush",
    ]


async def test_the_end_of_the_agent_is_the_end_of_paced_speech() -> None:
    listener, sink = paced()
    tell(listener, audio(speech(5_000, 24_000)), *closing(), s.AgentEndedEvent())
    await asyncio.sleep(10)
    assert types(sink.frames)[-4:] == [*types(closing()), "agent_ended"]


def wave(ms: int, rate_hz: int) -> bytes:
    """A tone of 440 Hz at half scale."""
    at_s = np.arange(ms * rate_hz // 1000) / rate_hz
    return (np.sin(2 * np.pi * 440 * at_s) * 16_000).astype("<i2").tobytes()


@pytest.mark.parametrize("rate_hz", [16_000, 48_000])
@pytest.mark.parametrize("ahead_ms", [None, AHEAD_MS], ids=["unpaced", "paced"])
@pytest.mark.parametrize("chunk_bytes", [480, 2_002, 96_000])
async def test_speech_for_another_rate_in_chunks_is_the_speech_as_a_whole(
    rate_hz: int, ahead_ms: int | None, chunk_bytes: int
) -> None:
    sink = ListSink()
    listener = listener_into(
        sink, runtime(), clock=AcknowledgedPlayback(rate_hz), ahead_ms=ahead_ms, output_rate_hz=rate_hz
    )
    pcm = wave(1_000, 24_000)
    for start in range(0, len(pcm), chunk_bytes):
        listener.deliver(audio(pcm[start : start + chunk_bytes]))
    tell(listener, *closing())
    await asyncio.sleep(2)
    whole = Resampler(24_000, rate_hz)
    assert pcm_of(sink.frames) == whole.push(pcm) + whole.flush()
    assert len(pcm_of(sink.frames)) == rate_hz * 2
    assert {frame.format.rate for frame in sink.frames if frame.type == "agent_response_audio_delta"} == {rate_hz}
    assert types(sink.frames)[-3:] == types(closing())


async def test_neither_the_end_of_a_flushed_reply_nor_the_next_one_brings_any_of_its_sound() -> None:
    sink = ListSink()
    listener = listener_into(sink, runtime(), output_rate_hz=16_000, clock=AcknowledgedPlayback(16_000))
    tell(listener, audio(wave(500, 24_000)), s.ServerAudioFlushEvent())
    start = len(sink.frames)
    tell(listener, *closing())
    assert types(sink.frames[start:]) == types(closing())
    tell(listener, audio(bytes(48_000), item_id="a2"), *closing("a2"))
    after = pcm_of(sink.frames[start:])
    assert len(after) == 32_000
    assert not any(after)


async def test_one_reply_after_the_other_do_not_run_into_each_other() -> None:
    sink = ListSink()
    listener = listener_into(sink, runtime(), output_rate_hz=16_000, clock=AcknowledgedPlayback(16_000))
    for item_id in ("a1", "a2"):
        tell(listener, audio(wave(500, 24_000), item_id=item_id), *closing(item_id))
    said = [frame for frame in sink.frames if frame.type == "agent_response_audio_delta"]
    pcm = {item_id: pcm_of([one for one in said if one.item_id == item_id]) for item_id in ("a1", "a2")}
    assert pcm["a1"] == pcm["a2"]
    assert len(pcm["a1"]) == 16_000


async def test_a_bounded_queue_gets_everything_in_order_as_it_is_read() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue(maxsize=2)
    listener = queue_listener(queue, runtime())
    for number in range(10):
        listener.deliver(numbered(number))
    got = [(await queue.get()).seq for _ in range(10)]
    assert got == [*range(10)]
    listener.release()


async def test_a_queue_is_not_told_of_the_private_call_around_its_agent() -> None:
    events: list[Any] = []
    listener = queue_listener(events.append, runtime())
    tell(listener, s.ServerSessionCreatedEvent(session_id="s"), s.AgentReadyEvent())
    tell(listener, s.ServerSessionEndedEvent(session_id="s"))
    assert types(events) == ["agent_ready"]
