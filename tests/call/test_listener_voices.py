"""What one client hears of the humans in its room: now or never, beside the agents or mixed with them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from realtime.audio.mix import FADE_MS, FRAME_MS, MEETS_MS
from realtime.audio.playback import AcknowledgedPlayback, EstimatedPlayback
from realtime.audio.unplayed import Chunk
from realtime.call.listener import EventDialect, Listener
from realtime.call.pacer import MIXED_AHEAD_MS, STRETCH_ENDS_MS
from realtime.dialects.native import LANES, NativeDialect
from realtime.event import frames
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime
from realtime.testing.clock import VirtualLoop
from tests.agent.fakes import GateSink, ListSink

pytestmark = pytest.mark.virtual_time

HZ = 24_000
CHUNK_S = FRAME_MS / 1000


class OneStream:
    """A dialect without lanes."""

    def encode(self, event: s.ServerEvent) -> list[Any]:
        return [event]


def runtime() -> Runtime:
    return Runtime.deterministic(asyncio.get_running_loop().time)


def now() -> float:
    return asyncio.get_running_loop().time()


async def settled() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    await loop.settle()


def listener(sink: ListSink, *, lanes: bool = False, **options: Any) -> Listener:
    options.setdefault("clock", EstimatedPlayback(HZ))
    if lanes:
        options["lanes"] = EventDialect()
    return Listener(sink=sink, dialect=OneStream(), runtime=runtime(), output_rate_hz=HZ, **options)


def one_stream(sink: ListSink | None = None) -> tuple[Listener, ListSink]:
    """A client without lanes that is fed in real time, and what it gets."""
    sink = sink or ListSink()
    return listener(sink, ahead_ms=350), sink


def noise(seed: int, ms: int = FRAME_MS, peak: int = 4_000) -> bytes:
    return np.random.default_rng(seed).integers(-peak, peak, ms * HZ // 1000).astype("<i2").tobytes()


def said(pcm: bytes, who: str = "ada", start: int = 0) -> Chunk:
    """A chunk of a human's voice."""
    event = s.AgentResponseAudioDeltaEvent(
        response_id="",
        item_id=f"{who}.voice",
        delta=pcm,
        format=AudioFormat.pcm16(HZ),
        agent_id=who,
        agent_name=who.title(),
    )
    return Chunk(event, start)


def reply(pcm: bytes, item_id: str = "a1") -> s.AgentResponseAudioDeltaEvent:
    """Speech of an agent."""
    return s.AgentResponseAudioDeltaEvent(
        response_id="r1", item_id=item_id, delta=pcm, format=AudioFormat.pcm16(HZ), agent_id="friday"
    )


async def speak(view: Listener, pcm: bytes, who: str = "ada") -> None:
    """A human speaks in real time, in pieces of 20 ms."""
    step = HZ * FRAME_MS // 1000 * 2
    for at in range(0, len(pcm), step):
        view.deliver_voice(said(pcm[at : at + step], who, at // 2))
        await asyncio.sleep(CHUNK_S)


def deltas(seen: list[Any]) -> list[s.AgentResponseAudioDeltaEvent]:
    return [event for event in seen if isinstance(event, s.AgentResponseAudioDeltaEvent)]


def samples(seen: list[Any]) -> NDArray[np.int64]:
    return np.frombuffer(b"".join(event.delta for event in deltas(seen)), "<i2").astype(np.int64)


def share(heard: NDArray[np.int64], source: bytes) -> float:
    """How much of the source is in what was heard: the factor of its best fit, at whatever delay."""
    wanted = np.frombuffer(source, "<i2").astype(float)
    padded = np.concatenate([heard.astype(float), np.zeros(len(wanted))])
    size = len(padded) + len(wanted)
    fit = np.fft.irfft(np.fft.rfft(padded, size) * np.conj(np.fft.rfft(wanted, size)), size)
    return float(np.max(fit) / np.dot(wanted, wanted))


async def test_a_lane_is_heard_at_once_and_counts_for_nothing_else() -> None:
    sink = ListSink()
    view = listener(sink, lanes=True, ahead_ms=350)
    view.deliver_voice(said(noise(1)))
    assert [event.delta for event in deltas(sink.frames)] == [noise(1)]
    assert view.unplayed_ms(now()) == 0
    assert view.clock.sent_ms("ada.voice") == 0
    view.deliver_voice(said(b""))
    assert len(sink.frames) == 1


async def test_a_flush_silences_agents_and_leaves_humans_alone() -> None:
    sink = ListSink()
    view = listener(sink, lanes=True, ahead_ms=350)
    view.deliver(reply(noise(9, 2_000)))
    view.deliver_voice(said(noise(1)))
    view.deliver(s.ServerAudioFlushEvent(reason="barge_in"))
    view.deliver_voice(said(noise(2)))
    sent = len(sink.frames)
    await asyncio.sleep(3)
    assert len(sink.frames) == sent, "the reply is gone"
    assert [one.delta for one in deltas(sink.frames) if one.agent_id == "ada"] == [noise(1), noise(2)]


@pytest.mark.parametrize("lanes", [True, False])
async def test_a_client_that_does_not_read_misses_voices_and_nothing_else(lanes: bool) -> None:
    sink = GateSink()
    view = listener(sink, lanes=lanes)
    events: list[s.ServerEvent] = [
        s.AgentErrorEvent(error_type="client_error", code="x", message="x", seq=number) for number in range(1, 5)
    ]
    view.deliver(events[0])
    for number, event in enumerate(events[1:]):
        view.deliver_voice(said(noise(number)))
        view.deliver(event)
    view.deliver(reply(noise(9)))
    assert view.voices_dropped == 3
    sink.open.set()
    await settled()
    assert [event for event in sink.frames if isinstance(event, s.AgentErrorEvent)] == events
    assert [(one.agent_id, one.delta) for one in deltas(sink.frames)] == [("friday", noise(9))]
    await speak(view, noise(5, 100))
    await asyncio.sleep(0.2)
    assert [one for one in deltas(sink.frames) if one.agent_id == "ada"], "it reads again, and hears again"
    assert view.voices_dropped == 3
    view.release()


async def test_a_voice_that_fills_the_socket_goes_out_whole() -> None:
    """The announcement of a lane is taken, then the socket is full: its first frame follows."""
    sink = GateSink()
    dialect = NativeDialect()
    view = dialect.listener(sink, runtime(), SessionConfig(audio_frames="binary"))
    view.deliver_voice(said(noise(1)))
    view.deliver_voice(said(noise(2), start=480))
    sink.open.set()
    await settled()
    announced, frame = sink.frames
    assert json.loads(announced)["item_index"] == 1
    assert frames.unpack(frame) == (frames.AGENT_AUDIO, 0, 1, 0, noise(1))
    assert view.voices_dropped == 1
    view.release()


@pytest.mark.parametrize("lanes", [True, False])
async def test_a_client_that_is_away_or_gone_is_not_kept_a_voice(lanes: bool) -> None:
    sink = ListSink()
    view = listener(sink, lanes=lanes)
    view.suspend()
    view.deliver_voice(said(noise(1)))
    assert view.voices_dropped == 1
    view.release()
    view.deliver_voice(said(noise(2)))
    assert view.voices_dropped == 1
    assert sink.frames == []


async def test_a_client_that_comes_back_is_told_of_the_lane_again_and_where_it_goes_on() -> None:
    config = SessionConfig(audio_frames="binary")
    before = NativeDialect().listener(ListSink(), runtime(), config)
    before.deliver_voice(said(noise(1)))
    before.suspend()
    sink = ListSink()
    after = NativeDialect().listener(sink, runtime(), config)
    after.take_over(before, [])
    assert sink.frames == [], "what was said meanwhile is gone"
    after.deliver_voice(said(noise(3), start=960))
    assert json.loads(sink.frames[0])["offset_samples"] == 960
    assert frames.unpack(sink.frames[1])[3] == 960


async def test_lanes_are_announced_once_and_run_beside_the_speech_of_agents() -> None:
    """ROOM-12: frames of several humans and an agent interleave, each under its own index with growing places."""
    sink = ListSink()
    view = NativeDialect().listener(sink, runtime(), SessionConfig(audio_frames="binary"))
    for number in range(3):
        view.deliver_voice(said(noise(1), "ada", 480 * number))
        view.deliver(reply(noise(2)))
        view.deliver_voice(said(noise(3), "ben", 480 * number))
    announced = [json.loads(frame) for frame in sink.frames if isinstance(frame, str)]
    assert [(one["item_index"], one["item_id"], one["agent_id"], one["response_id"]) for one in announced] == [
        (1, "ada.voice", "ada", ""),
        (2, "a1", "friday", "r1"),
        (3, "ben.voice", "ben", ""),
    ]
    got = [frames.unpack(frame) for frame in sink.frames if isinstance(frame, bytes)]
    assert [(index, start, pcm) for _, _, index, start, pcm in got] == [
        (index, 480 * number, noise(index)) for number in range(3) for index in (1, 2, 3)
    ]
    assert isinstance(view.clock, AcknowledgedPlayback)
    assert view.clock.sent_ms("a1") == 60


async def test_in_json_a_voice_is_the_delta_of_its_item() -> None:
    sink = ListSink()
    view = NativeDialect().listener(sink, runtime(), SessionConfig())
    for _ in range(2):
        view.deliver_voice(said(noise(1)))
    announced, *told = [json.loads(frame) for frame in sink.frames]
    assert announced["type"] == "server_audio_item"
    assert told == [said(noise(1)).event.model_dump()] * 2


async def test_many_humans_do_not_make_the_client_forget_what_it_plays() -> None:
    """What was played of a reply is understood however many lanes were announced since."""
    dialect = NativeDialect()
    view = dialect.listener(ListSink(), runtime(), SessionConfig(audio_frames="binary"))
    view.deliver(reply(noise(1)))
    for number in range(2 * LANES):
        view.deliver_voice(said(noise(2), f"human {number}"))
    told = dialect.decode(frames.pack_played(0, 1, 15, 0, noise(3)))
    assert (getattr(told, "played_item_id", None), getattr(told, "played_ms", None)) == ("a1", 15)


async def test_humans_alone_are_one_response_of_whoever_began() -> None:
    view, sink = one_stream()
    await speak(view, noise(1, 400))
    await asyncio.sleep(STRETCH_ENDS_MS / 1000 - 0.1)
    await speak(view, noise(2, 200), "ben")
    await asyncio.sleep(1)
    kinds = [type(event) for event in sink.frames]
    assert kinds[0] is s.AgentResponseCreatedEvent
    assert kinds[-2:] == [s.AgentResponseAudioDoneEvent, s.AgentResponseDoneEvent]
    assert {*kinds[1:-2]} == {s.AgentResponseAudioDeltaEvent}
    assert {(event.agent_id, event.response_id) for event in sink.frames} == {("ada", "ada.voice.1")}
    heard = samples(sink.frames)
    assert share(heard, noise(1, 400)) > 0.98
    assert share(heard, noise(2, 200)) > 0.98
    assert view.unplayed_ms(now()) == 0
    await speak(view, noise(3, 100), "ben")
    await asyncio.sleep(1)
    assert sink.frames[-1].response_id == "ben.voice.2"


async def test_agents_and_humans_sound_together() -> None:
    view, sink = one_stream()
    agent, ada, ben = noise(1, 1_500), noise(2, 1_000), noise(3, 1_000)
    talk = asyncio.gather(speak(view, ada, "ada"), speak(view, ben, "ben"))
    await asyncio.sleep(0.1)
    view.deliver(reply(agent))
    await talk
    await asyncio.sleep(3)
    heard = samples(sink.frames)
    assert [round(share(heard, source), 1) for source in (agent, ada, ben)] == [1.0, 1.0, 1.0]
    assert share(heard, noise(4, 1_000)) < 0.1
    of_agent = [event for event in deltas(sink.frames) if event.item_id == "a1"]
    assert len(b"".join(event.delta for event in of_agent)) == len(agent), "it is told truly what is the agent's"
    assert view.clock.played_ms("a1", now()) == 1_500


async def test_a_human_who_speaks_behind_speech_that_was_sent_ahead_is_heard_but_for_what_came_too_late() -> None:
    view, sink = one_stream()
    view.deliver(reply(noise(1, 3_000)))
    await speak(view, noise(2, 1_000), "ada")
    await asyncio.sleep(0.5)
    await speak(view, noise(3, 1_000), "ben")
    await asyncio.sleep(0.5)
    heard = samples(sink.frames)
    assert 0.7 < share(heard, noise(2, 1_000)) < 0.9, "350 ms were sent when nobody had spoken yet"
    assert share(heard, noise(3, 1_000)) > 0.98


class Timed(ListSink):
    """Knows when each frame came."""

    def __init__(self) -> None:
        super().__init__()
        self.came_s: list[float] = []

    def write(self, frame: Any) -> bool:
        if isinstance(frame, s.AgentResponseAudioDeltaEvent):
            self.came_s.append(now())
        return super().write(frame)

    def late_ms(self, voice: bytes, said_s: float) -> list[float]:
        """Of each frame of a voice that came through as it was: how much later it was sent than said."""
        size = len(noise(0))
        place = {voice[at : at + size]: at // size for at in range(0, len(voice), size)}
        return [
            1000 * (came_s - said_s - place[event.delta] * CHUNK_S)
            for event, came_s in zip(deltas(self.frames), self.came_s, strict=True)
            if event.delta in place
        ]


async def test_a_voice_that_comes_in_time_is_held_back_by_less_than_a_frame() -> None:
    sink = Timed()
    view, _ = one_stream(sink)
    for number in range(3):
        began_s, voice = now(), noise(number, 1_000)
        await speak(view, voice)
        await asyncio.sleep(0.2)
        late_ms = sink.late_ms(voice, began_s)
        assert len(late_ms) == 49, "all but the one that fades in"
        assert max(late_ms) <= MEETS_MS + 0.01


@pytest.mark.parametrize("after_ms", [1, 7, 11, 13, 19])
async def test_so_is_one_that_begins_while_another_goes_on(after_ms: int) -> None:
    """The other is silent, and goes on nonetheless."""
    sink = Timed()
    view, _ = one_stream(sink)
    other = asyncio.create_task(speak(view, bytes(HZ * 4), "ben"))
    await asyncio.sleep(0.3 + after_ms / 1000)
    began_s, voice = now(), noise(1, 1_000)
    await speak(view, voice)
    await other
    assert len(sink.late_ms(voice, began_s)) == 49
    assert max(sink.late_ms(voice, began_s)) < FRAME_MS


@pytest.mark.parametrize("late_ms", [7, 11, 16])
async def test_a_voice_whose_first_sound_came_late_is_met_again_after_its_next_pause(late_ms: int) -> None:
    """The frames of the stream begin with its first sound: all that follows in time would wait for them."""
    sink = Timed()
    view, _ = one_stream(sink)
    first, pause, voice = noise(1, 2_400), bytes(HZ // 5 * 2), noise(2, 1_000)
    began_s, whole = now(), first + pause + voice
    step = len(noise(0))
    for place, at in enumerate(range(0, len(whole), step)):
        said_s = began_s + place * CHUNK_S + (late_ms / 1000 if not place else 0.0)
        await asyncio.sleep(said_s - now())
        view.deliver_voice(said(whole[at : at + step]))
    await asyncio.sleep(0.2)
    waited_ms, now_ms = sink.late_ms(first, began_s), sink.late_ms(voice, began_s + (len(first) + len(pause)) / HZ / 2)
    assert min(waited_ms) == pytest.approx(late_ms + MEETS_MS, abs=0.01)
    assert len(now_ms) == 50
    assert max(now_ms) <= MEETS_MS + 0.01


async def test_a_client_whose_pieces_are_longer_waits_for_no_second() -> None:
    sink = Timed()
    view, _ = one_stream(sink)
    began_s, voice = now(), noise(1, 1_200)
    step = HZ * 40 // 1000 * 2
    for at in range(0, len(voice), step):
        view.deliver_voice(said(voice[at : at + step]))
        await asyncio.sleep(0.04)
    late_ms = sink.late_ms(voice, began_s)
    assert len(late_ms) == 59
    assert max(late_ms) <= MEETS_MS + 0.01, "of the second frame of a piece, as said then"


async def test_after_a_flush_a_human_is_heard_at_once_and_not_behind_what_was_dropped() -> None:
    sink = Timed()
    view, _ = one_stream(sink)
    view.deliver(reply(noise(1, 3_000)))
    began_s = now()
    talk = asyncio.create_task(speak(view, noise(2, 1_000)))
    await asyncio.sleep(0.05)
    view.deliver(s.ServerAudioFlushEvent(reason="barge_in"))
    flushed_s = now()
    await talk
    await asyncio.sleep(0.2)
    late_ms = sink.late_ms(noise(2, 1_000), began_s)
    assert max(late_ms) <= 1000 * (flushed_s - began_s) + FRAME_MS + 0.01
    assert share(samples(sink.frames), noise(2, 1_000)) > 0.98


async def test_speech_is_sent_in_time_while_a_human_sounds() -> None:
    view, _ = one_stream()
    view.deliver_voice(said(noise(1)))
    view.deliver(reply(noise(2, 5_000)))
    await speak(view, noise(3, 1_000))
    sent_ms = view.clock.sent_ms("a1")
    assert sent_ms <= 1_000 + FRAME_MS
    await asyncio.sleep(0.5)
    assert 1_500 < view.clock.sent_ms("a1") <= 1_500 + MIXED_AHEAD_MS + FRAME_MS


async def test_what_belongs_behind_the_speech_stays_behind_it_while_a_human_sounds() -> None:
    view, sink = one_stream()
    talk = asyncio.create_task(speak(view, noise(1, 1_000)))
    await asyncio.sleep(0.2)
    view.deliver(reply(noise(2, 310)))
    where: dict[str, Any] = {"response_id": "r1", "item_id": "a1"}
    closing: list[s.ServerEvent] = [s.AgentResponseAudioDoneEvent(**where), s.AgentResponseDoneEvent(response_id="r1")]
    for event in closing:
        view.deliver(event)
    await talk
    await asyncio.sleep(1)
    ours = [event for event in sink.frames if getattr(event, "response_id", "") == "r1"]
    assert ours[-2:] == closing
    assert len(b"".join(event.delta for event in deltas(ours))) == len(noise(2, 310))


async def test_a_flush_under_a_human_fades_the_agent_and_the_human_sounds_on() -> None:
    view, sink = one_stream()
    ada = noise(1, 1_000)
    talk = asyncio.create_task(speak(view, ada))
    await asyncio.sleep(0.2)
    level = np.full(HZ, 9_000, "<i2").tobytes()
    view.deliver(reply(level))
    view.deliver(s.AgentResponseDoneEvent(response_id="r1"))
    await asyncio.sleep(0.2)
    view.deliver(s.ServerAudioFlushEvent(reason="barge_in"))
    flushed_at = len(sink.frames)
    assert [type(event) for event in sink.frames[-2:]] == [s.ServerAudioFlushEvent, s.AgentResponseDoneEvent]
    assert view.unplayed_ms(now()) == view.clock.unplayed_ms(now()) == 0
    await talk
    await asyncio.sleep(1)
    after = sink.frames[flushed_at:]
    assert {event.agent_id for event in deltas(after)} == {"ada"}
    faded = samples(after)[: 2 * HZ * FADE_MS // 1000]
    assert faded[0] > 4_000, "the agent fades"
    assert abs(faded[HZ * FADE_MS // 1000 :].mean()) < 1_000
    assert share(samples(sink.frames), ada) > 0.9


async def test_a_client_whose_speech_is_not_paced_hears_humans_in_time() -> None:
    sink = ListSink()
    await speak(listener(sink), noise(1, 500))
    await asyncio.sleep(1)
    assert share(samples(sink.frames), noise(1, 500)) > 0.98


async def test_a_clock_that_is_always_a_little_late_makes_no_voice_fall_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    call_at = loop.call_at
    monkeypatch.setattr(loop, "call_at", lambda when, *args, **options: call_at(when + 0.004, *args, **options))
    view, sink = one_stream()
    voice = noise(1, 10_000)
    step, began_at = HZ * FRAME_MS // 1000 * 2, now()
    for number in range(len(voice) // step):
        view.deliver_voice(said(voice[number * step : (number + 1) * step]))
        await asyncio.sleep(max(0.0, began_at + (number + 1) * CHUNK_S - now() - 0.004))
    await asyncio.sleep(1)
    assert share(samples(sink.frames), voice) > 0.98


@pytest.mark.parametrize("gone", [True, False])
async def test_silence_sends_nothing_and_nothing_runs_on_behind_a_client_that_is_gone(gone: bool) -> None:
    view, sink = one_stream()
    await speak(view, noise(1, 200))
    if gone:
        view.release()
    else:
        await asyncio.sleep(1)
    sent = len(sink.frames)
    await asyncio.sleep(600)
    assert len(sink.frames) == sent
