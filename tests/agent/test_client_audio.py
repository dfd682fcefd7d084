"""The user's audio on its way to the model: any rate, any chunk, each sample once and in its place."""

import msgspec
import pytest

from realtime.agent.input import MAX_GAP_MS
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model import base
from tests.agent.fakes import PROFILE, Call, call, speech

pytestmark = pytest.mark.virtual_time

MANUAL = SessionConfig(turn_detection="none")
DEAF = msgspec.structs.replace(PROFILE, input_modalities=frozenset({"text"}))


def kinds(made: Call) -> list[str]:
    """What the model was sent, by class, without audio."""
    return [type(message).__name__ for message in made.link.sent if not isinstance(message, base.AudioAppend)]


def errors(made: Call) -> list[str]:
    return [event.code for event in made.of(s.AgentErrorEvent)]


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


REFUSED: list[tuple[c.ClientEvent, str]] = [
    (c.ClientAudioAppendEvent(audio=speech(100), format=AudioFormat(encoding="opus")), "unsupported_audio_format"),
    (c.ClientAudioAppendEvent(audio=speech(100), format=AudioFormat(rate=4_000)), "unsupported_audio_format"),
    (
        c.ClientAudioAppendEvent(audio=speech(100), format=AudioFormat(rate=16_000, sample_rate=24_000)),
        "unsupported_audio_format",
    ),
    (c.ClientAudioAppendEvent(audio=speech(100), offset=-1), "invalid_audio_offset"),
]


async def test_audio_that_cannot_be_read_is_refused_and_the_call_lives() -> None:
    async with call() as made:
        for event, _ in REFUSED:
            made.receive(event)
        assert errors(made) == [code for _, code in REFUSED]
        made.receive(c.ClientAudioAppendEvent(audio=b""), c.ClientAudioAppendEvent(audio=b"\x01"))
        assert made.link.sent == [], "empty audio is no message"
    async with call() as made:
        made.receive(REFUSED[0][0])
        made.hear(100)
        assert made.link.heard_bytes() == speech(100)


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


async def test_audio_to_a_model_that_takes_none_is_refused_by_name() -> None:
    async with call(profile=DEAF) as made:
        made.hear(100)
        assert errors(made) == ["unsupported_modality"]
        assert made.link.sent == []


async def test_clearing_reaches_the_model_and_leaves_nothing_to_commit() -> None:
    async with call(config=MANUAL) as made:
        made.hear(500)
        made.receive(c.ClientAudioClearEvent(), c.ClientAudioCommitEvent())
        assert kinds(made) == ["AudioClear"]


async def test_audio_of_a_rate_that_is_not_served_is_refused_at_any_time() -> None:
    """Also once so much has arrived that the client is due to be told."""
    async with call(listener={"tells_received_audio": True}) as made:
        for _ in range(3):
            made.hear(300)
            made.session.receive(
                c.ClientAudioAppendEvent(audio=bytes(640), format=AudioFormat(rate=12_345)), made.session.listeners[0]
            )
        assert [event.code for event in made.of(s.AgentErrorEvent)] == ["unsupported_audio_format"] * 3


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
