"""The AgentScope 1.x pages: what they send is taken verbatim, what they get is what they can show and play."""

import asyncio
import base64
import json
from typing import Any

import numpy as np
import pytest

from realtime.dialects import choose
from realtime.dialects.agentscope1 import TAIL_MS, AgentScope1Dialect
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.message import ToolCallBlock
from realtime.runtime import Runtime
from tests.agent.fakes import WORDS, Call, ListSink, call, speech
from tests.dialects.exchanges import differing

pytestmark = pytest.mark.virtual_time

SILENCE = base64.b64encode(bytes(8_192)).decode()
CHATBOT = [
    '{"type":"client_session_create","config":{"instructions":"You are a helpful assistant named Friday.",'
    '"agent_name":"Friday","model_provider":"dashscope"}}',
    '{"type":"client_audio_append","session_id":"session1","audio":"' + SILENCE + '",'
    '"format":{"rate":16000,"type":"audio/pcm"}}',
    '{"type":"client_text_append","session_id":"session1","text":"Hello"}',
    '{"type":"client_audio_commit","session_id":"session1"}',
]
"""What the chatbot page sends, as seen on the wire."""
SAMPLE = [
    '{"type":"client_session_create","config":{"instructions":"You are a helpful assistant.","user_name":"User1"}}',
    '{"type":"client_audio_append","session_id":"session1","audio":"' + SILENCE + '",'
    '"format":{"encoding":"pcm16","sample_rate":16000}}',
]
"""What the documentation's JavaScript sample sends."""


class Reader:
    """A dialect, and what its page is sent."""

    def __init__(self, **options: Any) -> None:
        self.dialect = AgentScope1Dialect(**options)
        self.frames: list[dict[str, Any]] = []

    def take(self, frame: dict[str, Any]) -> list[Any]:
        return [self.dialect.decode(json.dumps(frame))]

    def tell(self, *events: s.ServerEvent) -> None:
        self.frames += [json.loads(frame) for event in events for frame in self.dialect.encode(event)]


class Page:
    """What the chatbot page does with a frame: the queue of its player and its bubbles."""

    def __init__(self) -> None:
        self.pcm = b""
        self.user: list[str] = []
        self.agent: list[str] = []
        self.open: dict[str, str] = {}
        self.types: list[str] = []

    def on_message(self, frame: str) -> None:
        data = json.loads(frame)
        self.types.append(data["type"])
        match data["type"]:
            case "agent_response_audio_delta":
                chunk = base64.b64decode(data["delta"])
                np.frombuffer(chunk, dtype="<i2")  # throws for an odd length, as Int16Array does
                self.pcm += chunk
            case "agent_response_audio_transcript_delta":
                self.open["agent"] = self.open.get("agent", "") + data["delta"]
            case "agent_response_audio_transcript_done":
                self.agent.append(self.open.pop("agent", ""))
            case "agent_input_transcription_delta":
                self.open["user"] = self.open.get("user", "") + data["delta"]
            case "agent_input_transcription_done":
                self.user.append(self.open.pop("user", "") + (data["transcript"] or ""))


class PageSink(ListSink):
    """A page at the other end."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def write(self, frame: Any) -> bool:
        self.page.on_message(frame)
        return super().write(frame)


def page_in(made: Call) -> Page:
    """A page that listens to the call beside the test's own listener."""
    sink = PageSink()
    made.session.attach(AgentScope1Dialect().listener(sink, made.session.runtime, SessionConfig()))
    return sink.page


# -- in ----------------------------------------------------------------------------------------------------------------


def test_each_exchange_goes_as_written() -> None:
    """AMB-55: a tool call has an object as its input and the raw text beside it, a result no state of ours."""
    assert differing("agentscope1_exchanges.jsonl", lambda setup: Reader(**setup)) == {}


def test_arguments_without_a_bottom_are_shown_as_an_empty_object() -> None:
    page, call = Reader(), ToolCallBlock(id="call_1", name="clock", input="[" * 100_000)
    page.tell(s.AgentResponseToolUseDoneEvent(response_id="r1", item_id="i1", tool_use=call))
    assert (page.frames[0]["tool_use"]["input"], page.frames[0]["tool_use"]["raw_input"]) == ({}, call.input)


def test_the_frames_of_the_chatbot_page_are_taken_as_they_are() -> None:
    dialect = AgentScope1Dialect()
    create, audio, text, commit = [dialect.decode(frame) for frame in CHATBOT]

    assert isinstance(create, c.ClientSessionCreateEvent)
    assert create.session_id is None
    config = SessionConfig.from_dict(create.config)
    assert (config.agent_name, config.model_provider) == ("Friday", "dashscope")
    assert audio == c.ClientAudioAppendEvent(
        session_id="session1", audio=bytes(8_192), format=AudioFormat(rate=16_000, type="audio/pcm")
    )
    assert text == c.ClientTextAppendEvent(session_id="session1", text="Hello")
    assert commit == c.ClientAudioCommitEvent(session_id="session1")


def test_the_frames_of_the_documented_sample_are_taken_as_they_are() -> None:
    """BRW-05, BRW-07: the first frame without a session_id, and audio with the sample's format spelling."""
    create, audio = [AgentScope1Dialect().decode(frame) for frame in SAMPLE]

    assert isinstance(create, c.ClientSessionCreateEvent)
    assert create.session_id is None
    assert SessionConfig.from_dict(create.config) == SessionConfig(
        instructions="You are a helpful assistant.", user_name="User1"
    )
    assert isinstance(audio, c.ClientAudioAppendEvent)
    assert audio.format.rate_hz(0) == 16_000


@pytest.mark.parametrize(
    "frame", ['{"type":"client_image_append"}', '{"type":"client_text_append","data":"x"}', "[", "7"]
)
def test_what_cannot_be_read_stays_an_error(frame: str) -> None:
    with pytest.raises(ClientError):
        AgentScope1Dialect().decode(frame)


class Recorders:
    """What the page sends: a live recorder and those that were never stopped, 256 ms a frame each."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.dialect = AgentScope1Dialect(now=lambda: self.now_s)
        self.taken: list[bytes] = []

    def switch_off(self) -> None:
        self.dialect.decode('{"type":"client_audio_commit","session_id":"session1"}')

    def run(self, n_frames: int, live: bytes, *offsets_ms: int) -> list[bytes]:
        """Frames of the live recorder; each other one sends its zeros that much later. What was taken of all."""
        self.taken = []
        for _ in range(n_frames):
            for at_ms, frame in [(0, live), *((offset, bytes(8_192)) for offset in offsets_ms), (256, None)]:
                until_s = self.now_s + at_ms / 1000
                if frame is None:
                    self.now_s = until_s
                    continue
                self._send(frame, until_s)
        return self.taken

    def _send(self, frame: bytes, at_s: float) -> None:
        before, self.now_s = self.now_s, at_s
        audio = base64.b64encode(frame).decode()
        event = self.dialect.decode(CHATBOT[1].replace(SILENCE, audio))
        assert isinstance(event, c.ClientAudioAppendEvent)
        self.taken.append(event.audio)
        self.now_s = before


LOUD = speech(256, 16_000)


@pytest.mark.parametrize("offsets_ms", [(10,), (100,), (200,), (250,), (100, 180)])
def test_zeros_of_a_recorder_that_was_not_stopped_do_not_chop_the_speech(offsets_ms: tuple[int, ...]) -> None:
    recorders = Recorders()
    recorders.run(4, LOUD)
    recorders.switch_off()
    taken = [one for one in recorders.run(40, LOUD, *offsets_ms) if one]
    assert taken.count(LOUD) == 40
    # At most one frame of zeros gets in, at the very beginning.
    assert len(taken) - 40 <= 1
    assert taken[2:] == [LOUD] * (len(taken) - 2)


def test_silence_between_words_lasts_as_long_as_it_was() -> None:
    recorders = Recorders()
    recorders.run(4, LOUD)
    recorders.switch_off()
    recorders.run(10, LOUD, 100)
    taken_ms = sum(map(len, recorders.run(40, bytes(8_192), 100))) / 32
    assert taken_ms == pytest.approx(40 * 256, abs=2 * 256)


def test_nothing_is_left_out_before_the_button_was_used_or_without_a_clock() -> None:
    recorders = Recorders()
    assert all(recorders.run(40, bytes(8_192), 100))
    plain = AgentScope1Dialect()
    for frame in [CHATBOT[3], *[CHATBOT[1]] * 40]:
        event = plain.decode(frame)
        assert not isinstance(event, c.ClientAudioAppendEvent) or len(event.audio) == 8_192


@pytest.mark.parametrize("name", [None, "agentscope1", "docs"])
def test_the_pages_are_recognised_by_asking_for_nothing(name: str | None) -> None:
    dialect = choose([], name, providers={"dashscope": "local"})
    event = dialect.decode(CHATBOT[0])
    assert isinstance(event, c.ClientSessionCreateEvent)
    assert event.config["model_provider"] == "local"


# -- out ---------------------------------------------------------------------------------------------------------------


def test_the_listener_of_a_page_is_paced_at_24_khz_whatever_was_asked() -> None:
    sink = ListSink()
    config = SessionConfig(output_audio_format=AudioFormat(rate=16_000))
    listener = AgentScope1Dialect().listener(sink, Runtime(now=lambda: 0.0), config)
    assert not listener.tells_received_audio


async def test_speech_of_any_model_is_played_at_24_khz() -> None:
    sink = PageSink()
    loop = asyncio.get_running_loop()
    listener = AgentScope1Dialect().listener(sink, Runtime.deterministic(loop.time), SessionConfig())
    for start in range(0, 32_000, 641 * 2):
        pcm = speech(1_000, 16_000)[start : start + 641 * 2]
        listener.deliver(
            s.AgentResponseAudioDeltaEvent(response_id="r1", item_id="a1", delta=pcm, format=AudioFormat.pcm16(16_000))
        )
    listener.deliver(s.AgentResponseAudioDoneEvent(response_id="r1", item_id="a1"))
    await asyncio.sleep(2)

    assert len(sink.page.pcm) == 48_000 + TAIL_MS * 48
    assert {json.loads(frame)["format"]["rate"] for frame in sink.frames if "delta" in json.loads(frame)} == {24_000}


# -- whole conversations -----------------------------------------------------------------------------------------------


async def test_a_page_shows_and_plays_a_whole_turn() -> None:
    async with call() as made:
        page = page_in(made)
        made.link.hear_start("u1")
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="Hello"))
        made.link.hear_end("u1", 900, "Hello.")
        made.link.reply(2_000, "Good morning.")
        await asyncio.sleep(3)

        assert page.user == ["Hello."]
        assert page.agent == ["Good morning."]
        assert len(page.pcm) == (2_000 + TAIL_MS) * 48
        assert page.types[-3:] == [
            "agent_response_audio_done",
            "agent_response_audio_transcript_done",
            "agent_response_done",
        ]


@pytest.mark.parametrize("how", ["speech", "text", "cancel", "lost link", "failed"])
async def test_a_page_gets_every_reply_closed_however_it_ends(how: str) -> None:
    """Every audio is followed by audio_done, every transcript by transcript_done, cancelled and failed ones too."""
    async with call() as made:
        page = page_in(made)
        made.link.hear_start("u1")
        made.link.hear_end("u1", 900, "Hello.")
        response_id = made.link.begin()
        made.link.speak(response_id, 8_000, WORDS)
        await asyncio.sleep(1)
        if how == "speech":
            made.link.hear_start("u2")
        elif how == "text":
            made.receive(c.ClientTextAppendEvent(text="Wait."))
        elif how == "cancel":
            made.receive(c.ClientResponseCancelEvent())
        elif how == "lost link":
            made.link.say(m.ModelReconnectingEvent(attempt=1, retry_after_ms=1, reason="lost"))
        else:
            made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="failed"))
        await asyncio.sleep(10)

        assert page.open == {}
        assert page.types.count("agent_response_audio_done") == 1
        assert page.types.count("agent_response_audio_transcript_done") == 1
        after = page.types[page.types.index("agent_response_audio_done") :]
        assert "agent_response_audio_delta" not in after


async def test_a_reply_ends_with_silence_where_it_was_not_cut() -> None:
    """The chatbot page stops its player up to 250 ms early."""
    async with call() as made:
        page = page_in(made)
        made.link.reply(1_000, "Good morning.")
        await asyncio.sleep(2)
        assert page.pcm[1_000 * 48 :] == bytes(TAIL_MS * 48)
        whole = len(page.pcm)
        made.link.reply(8_000, WORDS)
        await asyncio.sleep(1)
        made.link.hear_start("u1")
        await asyncio.sleep(1)
        assert any(page.pcm[-2_400:])
        assert len(page.pcm) - whole <= 1_350 * 48


async def test_an_interrupted_page_hears_at_most_350_ms_more() -> None:
    async with call() as made:
        page = page_in(made)
        made.link.hear_start("u1")
        made.link.hear_end("u1", 900, "Hello.")
        made.link.reply(12_000, WORDS)
        await asyncio.sleep(2)
        made.link.hear_start("u2")
        played = len(page.pcm)
        await asyncio.sleep(20)

        assert len(page.pcm) == played
        assert played / 48 <= 2_000 + 350


async def test_a_hasty_turn_end_shows_the_page_no_word_twice() -> None:
    async with call() as made:
        page = page_in(made)
        made.link.hear_start("u1")
        made.link.hear_end("u1", 900, "I would like")
        made.link.hear_start("u2")
        made.link.hear_end("u2", 1_900, "tea.")
        await asyncio.sleep(1)

        assert "".join(page.user) == "I would like tea."


async def test_nothing_but_the_end_comes_after_the_end() -> None:
    async with call() as made:
        page = page_in(made)
        made.link.reply(8_000, WORDS)
        await asyncio.sleep(1)
        made.receive(c.ClientSessionEndEvent())
        await made.session.ended.wait()
        await asyncio.sleep(10)

        assert page.types[-2:] == ["agent_ended", "server_session_ended"]
        assert page.open == {}


# -- the documentation's sample ----------------------------------------------------------------------------------------


async def test_the_documented_handler_gets_the_short_names_and_plays() -> None:
    """BRW-09, BRW-10, AMB-47: the printed handler waits for `response_audio_delta` and plays `data.delta`."""
    async with call() as made:
        sink = ListSink()
        dialect = AgentScope1Dialect(short_names=True)
        made.session.attach(dialect.listener(sink, made.session.runtime, SessionConfig()))
        made.link.reply(1_000, "Good morning.")
        await asyncio.sleep(2)

        played = b""
        for frame in sink.frames:
            data = json.loads(frame)
            if data["type"] == "response_audio_delta":
                played += base64.b64decode(data["delta"])
        assert len(played) == 48_000
        assert np.abs(np.frombuffer(played, dtype="<i2").astype(float)).mean() > 0
        types = {json.loads(frame)["type"] for frame in sink.frames}
        assert not {name for name in types if name.startswith("agent_")}
