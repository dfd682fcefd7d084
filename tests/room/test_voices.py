"""Humans in a room hear each other: live, at their own rates, never themselves, and nothing of it is kept."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from realtime.audio.resample import Resampler
from realtime.audio.voice import is_voice
from realtime.call.listener import Listener
from realtime.call.session import Session
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.base import ClientDialect
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.dialects.native import NativeDialect
from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.event import client as c
from realtime.event import frames
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from tests.agent.fakes import FakeDetector, GateSink, ListSink
from tests.room.rooms import House, TalkModel, agent, house, utterance

pytestmark = pytest.mark.virtual_time(limit_s=3_600)

Samples = NDArray[np.float64]
STEP_MS = 20
RATES_HZ = (16_000, 24_000, 48_000)


def source(seed: int, ms: int, rate_hz: int = 16_000, peak: int = 5_000) -> bytes:
    """The same sound at any rate: noise below 3 kHz."""
    at_6k = np.random.default_rng(seed).integers(-peak, peak, ms * 6).astype("<i2").tobytes()
    at_48k = Resampler(6_000, 48_000)
    pcm = at_48k.push(at_6k) + at_48k.flush()
    if rate_hz == 48_000:
        return pcm
    resampler = Resampler(48_000, rate_hz)
    return resampler.push(pcm) + resampler.flush()


def samples(pcm: bytes) -> Samples:
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def share(heard: Samples, wanted: Samples) -> float:
    """How much of a source is in what was heard, at its best delay: 1 for all of it, 0 for nothing."""
    padded = np.concatenate([heard, np.zeros(len(wanted))])
    size = len(padded) + len(wanted)
    fit = np.fft.irfft(np.fft.rfft(padded, size) * np.conj(np.fft.rfft(wanted, size)), size)
    return float(np.max(fit) / np.dot(wanted, wanted))


class Guest:
    """A human with a client that speaks a dialect, as over a socket."""

    def __init__(
        self, home: House, name: str, dialect: ClientDialect, config: SessionConfig, sink: ListSink | None
    ) -> None:
        self.home = home
        self.sink = sink or ListSink()
        self.dialect = dialect
        self.config = config
        self.participant = home.room.make_human(name, home.runtime)
        self.call = Session(participant=self.participant, runtime=home.runtime, session_id=name)
        self.view: Listener = dialect.listener(self.sink, home.runtime, config)
        self.call.attach(self.view)

    @property
    def id(self) -> str:
        return self.participant.id

    async def speak(self, pcm: bytes, rate_hz: int = 16_000) -> None:
        """In real time, in pieces of 20 ms."""
        step = rate_hz * STEP_MS // 1000 * 2
        for at in range(0, len(pcm), step):
            self.send(pcm[at : at + step], rate_hz)
            await asyncio.sleep(STEP_MS / 1000)

    def send(self, pcm: bytes, rate_hz: int = 16_000, **fields: Any) -> None:
        event = c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(rate_hz), **fields)
        self.call.receive(event, self.view)

    def lanes(self) -> dict[str, bytes]:
        """What a native client with binary audio got, by who said it."""
        who: dict[int, str] = {}
        heard: dict[str, bytes] = {}
        for frame in self.sink.frames:
            if isinstance(frame, str):
                told = json.loads(frame)
                if told["type"] == "server_audio_item":
                    assert told["item_index"] not in who
                    who[told["item_index"]] = told["agent_id"]
                continue
            _, _, index, _, pcm = frames.unpack(frame)
            heard[who[index]] = heard.get(who[index], b"") + pcm
        return heard

    def told(self) -> list[dict[str, Any]]:
        """The JSON frames that it got."""
        return [json.loads(frame) for frame in self.sink.frames if isinstance(frame, str)]

    def one_stream(self) -> bytes:
        """All sound of a client without lanes."""
        deltas = [told["delta"] for told in self.told() if told["type"] == "agent_response_audio_delta"]
        return b"".join(map(base64.b64decode, deltas))

    def logged_voices(self) -> list[str]:
        """Humans' items in the log of its call."""
        items = (getattr(one, "item_id", None) for one in self.call.log.read(0))
        return [item_id for item_id in items if isinstance(item_id, str) and is_voice(item_id)]


async def guest(
    home: House, name: str, dialect: ClientDialect | None = None, *, rate_hz: int = 24_000, sink: ListSink | None = None
) -> Guest:
    config = SessionConfig(audio_frames="binary", output_audio_format=AudioFormat.pcm16(rate_hz))
    made = Guest(home, name, dialect or NativeDialect(), config, sink)
    await made.call.start(made.config)
    home.humans.append(made)  # type: ignore[arg-type]
    return made


@asynccontextmanager
async def two_guests(
    model: TalkModel | None = None, *, rate_hz: int = 24_000, **options: Any
) -> AsyncIterator[tuple[House, Guest, Guest]]:
    """A room with Friday, Ada and Ben; nobody is heard to speak, so that nobody is interrupted."""
    options = {"make_detector": lambda _: FakeDetector()} | options
    async with house(agent("Friday", model or TalkModel()), **options) as home:
        yield home, await guest(home, "Ada"), await guest(home, "Ben", rate_hz=rate_hz)


async def test_two_humans_and_an_agent_each_hear_the_others_and_not_themselves() -> None:
    """CARD-04: a room with two clients and an agent: sound of each reaches the others, under their names."""
    model = TalkModel("I am the agent, and I go on for quite a while.")
    async with two_guests(model) as (home, ada, ben):
        ada.call.receive(c.ClientTextAppendEvent(text="Please."), ada.view)
        said = {one.id: source(seed, 1_500) for seed, one in enumerate((ada, ben), 1)}
        await asyncio.gather(ada.speak(said[ada.id]), ben.speak(said[ben.id]))
        await asyncio.sleep(3)
        for one, other, seed in ((ada, ben, 2), (ben, ada, 1)):
            heard = one.lanes()
            assert set(heard) == {other.id, "friday"}
            assert share(samples(heard[other.id]), samples(source(seed, 1_500, 24_000))) > 0.98
            whole = np.concatenate([samples(pcm) for pcm in heard.values()])
            assert share(whole, samples(source(3 - seed, 1_500, 24_000))) < 0.1
            spoken = b"".join(one.delta for one in home.of(s.AgentResponseAudioDeltaEvent))
            assert heard["friday"] == spoken
            items = [told for told in one.told() if told["type"] == "server_audio_item"]
            lane = next(told for told in items if told["agent_id"] == other.id)
            expected = (f"{other.id}.voice", "", other.participant.name)
            assert (lane["item_id"], lane["response_id"], lane["agent_name"]) == expected
            assert one.logged_voices() == []


async def test_nobody_waits_for_a_voice() -> None:
    """What is said reaches the others' sockets at the instant it comes, but for 2 ms of a filter between rates."""
    async with two_guests() as (_, ada, ben):
        pcm = source(1, 200, 16_000)
        for at in range(0, len(pcm), 640):
            ada.send(pcm[at : at + 640])
            heard_ms = len(ben.lanes().get(ada.id, b"")) / 48
            assert heard_ms >= (at + 640) / 32 - 2
            await asyncio.sleep(STEP_MS / 1000)


@pytest.mark.parametrize("out_hz", [24_000, 16_000])
@pytest.mark.parametrize("in_hz", RATES_HZ)
async def test_everybody_hears_at_their_own_rate(in_hz: int, out_hz: int) -> None:
    async with two_guests(rate_hz=out_hz) as (_, ada, ben):
        await ada.speak(source(1, 1_000, in_hz), in_hz)
        heard = ben.lanes()[ada.id]
        assert share(samples(heard), samples(source(1, 1_000, out_hz))) > 0.98
        assert abs(len(heard) / 2 / out_hz - 1.0) < 0.02


async def test_whoever_is_muted_is_not_heard() -> None:
    async with two_guests() as (home, ada, ben):
        await ada.speak(source(1, 200))
        before = ben.lanes()[ada.id]
        home.room.mute(ada.id)
        await ada.speak(source(2, 200))
        assert ben.lanes()[ada.id] == before
        home.room.mute(ada.id, False)
        await ada.speak(source(3, 200))
        assert share(samples(ben.lanes()[ada.id]), samples(source(3, 200, 24_000))) > 0.9


async def test_a_human_who_stops_an_agent_is_heard_through_it() -> None:
    """The flush silences the agent and no human, and what humans say is nothing to be interrupted in."""
    async with house(agent("Friday", TalkModel("I go on and on, and nobody can stop me but you."))) as home:
        ada, ben = await guest(home, "Ada"), await guest(home, "Ben")
        ada.call.receive(c.ClientTextAppendEvent(text="Please."), ada.view)
        await asyncio.sleep(0.5)
        assert home.room.turns.speaker.unplayed_ms() > 0
        words = utterance("Stop it, please, now and for ever.")
        await ben.speak(words)
        assert [told for told in ada.told() if told["type"] == "server_audio_flush"]
        assert home.room.turns.speaker.unplayed_ms() == 0
        heard = ada.lanes()[ben.id]
        resampler = Resampler(16_000, 24_000)
        assert heard == resampler.push(words)


async def test_a_client_that_stalls_misses_voices_and_nothing_else() -> None:
    """ROOM-13: the others hear everything, and the one that stalls gets each event of the room once it reads."""
    sink = GateSink()
    sink.open.set()
    async with house(agent("Friday", TalkModel("Yes, I am here.")), make_detector=lambda _: FakeDetector()) as home:
        ada, ben, slow = await guest(home, "Ada"), await guest(home, "Ben"), await guest(home, "Slow", sink=sink)
        sink.open.clear()
        ben.call.receive(c.ClientTextAppendEvent(text="Hello."), ben.view)
        await ada.speak(source(1, 1_000))
        await asyncio.sleep(3)
        assert ada.id not in slow.lanes()
        assert slow.view.voices_dropped == 50
        assert share(samples(ben.lanes()[ada.id]), samples(source(1, 1_000, 24_000))) > 0.98
        sink.open.set()
        await asyncio.sleep(0.1)
        assert slow.lanes()["friday"] == ben.lanes()["friday"]
        seen = [told["seq"] for told in slow.told() if "seq" in told]
        assert [*dict.fromkeys(seen)] == seen
        texts = [told for told in slow.told() if told["type"] == "agent_response_audio_transcript_done"]
        assert [told["transcript"] for told in texts] == ["Yes, I am here."]


async def test_what_a_client_sends_again_is_heard_once() -> None:
    async with two_guests(rate_hz=16_000) as (_, ada, ben):
        pcm = source(1, 300)
        ada.send(pcm[:3_201], offset=0)
        ada.send(pcm[1_600:6_400], offset=800)
        ada.send(pcm[6_400:8_000], offset=3_200)
        ada.send(pcm[:8_000], offset=0)
        ada.send(pcm[8_000:], offset=4_000)
        assert ben.lanes()[ada.id] == pcm


async def test_a_name_that_changes_is_told_with_the_voice() -> None:
    async with house(agent("Friday", TalkModel()), make_detector=lambda _: FakeDetector()) as home:
        ada, ben = await guest(home, "Ada"), await guest(home, "Ben", AgentScope1Dialect())
        await ada.speak(source(1, 200))
        await asyncio.sleep(2)
        home.room.rename(ada.id, "Countess")
        await ada.speak(source(2, 200))
        names = {told["agent_name"] for told in ben.told() if told["type"] == "agent_response_audio_delta"}
        assert names == {"Ada", "Countess"}


async def test_humans_who_come_and_go_leave_nothing_behind_and_disturb_nobody() -> None:
    async with two_guests() as (home, ada, ben):
        for number in range(12):
            passing = await guest(home, f"Guest {number}")
            await passing.speak(source(number + 9, 40))
            await ada.speak(source(1, 40))
            await passing.call.end("left")
        passed = [who for who in ben.lanes() if who not in (ada.id, "friday")]
        assert len(passed) == 12
        assert len(ben.lanes()[ada.id]) / 48 > 12 * 40 - 5


async def test_a_client_without_lanes_gets_everybody_in_one_stream() -> None:
    """CARD-05: 16 and 48 kHz voices and a 24 kHz agent, resampled, framed and mixed: each is in it whole and once."""
    async with two_guests(TalkModel("I am the agent, and I go on for a while.")) as (home, ada, ben):
        page = await guest(home, "Page", AgentScope1Dialect())
        talk = asyncio.gather(
            ada.speak(source(1, 3_000)), ben.speak(source(2, 3_000, 48_000), 48_000), page.speak(source(3, 3_000))
        )
        await asyncio.sleep(0.3)
        ada.call.receive(c.ClientTextAppendEvent(text="Please."), ada.view)
        await talk
        await asyncio.sleep(3)
        heard = samples(page.one_stream())
        spoken = b"".join(one.delta for one in home.of(s.AgentResponseAudioDeltaEvent))
        sources = [source(1, 3_000, 24_000), source(2, 3_000, 24_000), spoken]
        assert [round(share(heard, samples(pcm)), 1) for pcm in sources] == [1.0, 1.0, 1.0]
        assert share(heard, samples(source(3, 3_000, 24_000))) < 0.1, "it does not hear itself"
        assert {told["format"]["rate"] for told in page.told() if told["type"] == "agent_response_audio_delta"} == {
            24_000
        }
        assert page.logged_voices() == []


async def test_each_stretch_of_talk_is_closed_and_has_no_silence_behind_it() -> None:
    """A page of AgentScope 1.x that is told of a sound without an end plays nobody else for ever."""
    async with house(agent("Friday", TalkModel()), make_detector=lambda _: FakeDetector()) as home:
        ada, page = await guest(home, "Ada"), await guest(home, "Page", AgentScope1Dialect())
        for seed in (1, 2):
            await ada.speak(source(seed, 400))
            await asyncio.sleep(2)
        kinds = [told["type"] for told in page.told() if told.get("agent_id") == ada.id]
        runs = [kind for kind, before in zip(kinds, ["", *kinds], strict=False) if kind != before]
        stretch = ("created", "audio_delta", "audio_done", "done")
        assert runs == [f"agent_response_{kind}" for kind in stretch] * 2
        assert len(page.one_stream()) / 48 < 2 * (400 + 3 * STEP_MS)


def gemini(home: House) -> ClientDialect:
    dialect = GeminiDialect(home.runtime, life_s=600, drain_s=1)
    dialect.decode(json.dumps({"setup": {"model": "models/gemini-live"}}))
    return dialect


ENDPOINTS: dict[str, Callable[[House], ClientDialect]] = {
    "openai": lambda home: OpenAIDialect("gpt-realtime", home.runtime),
    "dashscope": lambda home: DashScopeDialect("qwen-omni", home.runtime),
    "gemini": gemini,
}


def provider_sound(frame: str | bytes) -> bytes:
    """The sound in a frame of a provider's protocol."""
    told = json.loads(frame)
    if "serverContent" in told:
        parts = told["serverContent"].get("modelTurn", {}).get("parts", [])
        return b"".join(base64.b64decode(part["inlineData"]["data"]) for part in parts if "inlineData" in part)
    is_sound = told.get("type") in ("response.output_audio.delta", "response.audio.delta")
    return base64.b64decode(told["delta"]) if is_sound else b""


@pytest.mark.parametrize("name", ENDPOINTS)
async def test_clients_of_the_providers_protocols_hear_humans_as_responses(name: str) -> None:
    """Their protocols know no sound outside of a response, and each that begins is closed."""
    async with house(agent("Friday", TalkModel("I am here.")), make_detector=lambda _: FakeDetector()) as home:
        ada, page = await guest(home, "Ada"), await guest(home, "Page", ENDPOINTS[name](home))
        await ada.speak(source(1, 1_000))
        await asyncio.sleep(1)
        ada.call.receive(c.ClientTextAppendEvent(text="Please."), ada.view)
        await asyncio.sleep(1)
        await ada.speak(source(2, 500))
        await asyncio.sleep(1)
        heard = samples(b"".join(provider_sound(frame) for frame in page.sink.frames))
        spoken = b"".join(one.delta for one in home.of(s.AgentResponseAudioDeltaEvent))
        for pcm in (source(1, 1_000, 24_000), spoken, source(2, 500, 24_000)):
            assert share(heard, samples(pcm)) > 0.95
        told = [json.loads(frame) for frame in page.sink.frames]
        if name == "gemini":
            assert sum("turnComplete" in one.get("serverContent", {}) for one in told) == 3
        else:
            begun = [one["response"]["id"] for one in told if one["type"] == "response.created"]
            ended = [one["response"]["id"] for one in told if one["type"] == "response.done"]
            assert begun == ended
            assert len({*begun}) == 3
