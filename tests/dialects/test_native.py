"""The native dialect: events as they are in JSON, and speech in binary frames both ways."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.audio.playback import KEPT_ITEMS, AcknowledgedPlayback
from realtime.dialects import SUBPROTOCOL, choose
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.base import AudioDeltaWriter, decode_json, encode_json
from realtime.dialects.native import NativeDialect
from realtime.errors import ClientError
from realtime.event import ClientEvents, ServerEvents, frames
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime
from tests.agent.fakes import ListSink, speech
from tests.volumes import volume


def golden(fixtures_dir: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((fixtures_dir / "protocol" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def delta(pcm: bytes, item_id: str = "a1", **fields: Any) -> s.AgentResponseAudioDeltaEvent:
    return s.AgentResponseAudioDeltaEvent(
        response_id="r1", item_id=item_id, delta=pcm, format=AudioFormat.pcm16(24_000), **fields
    )


def binary(**config: Any) -> NativeDialect:
    """A dialect whose client asked for binary audio."""
    dialect = NativeDialect()
    dialect.listener(ListSink(), Runtime(), SessionConfig(audio_frames="binary", **config))
    return dialect


FRAMES = [
    '{"type":"client_audio_append","session_id":"s","audio":"%s"}',
    '{"type": "client_audio_append", "session_id": "s", "audio": "%s", "format": {"rate": 16000}}',
    '{"type":"client_audio_append","audio":"%s","format":{"rate":8000,"sampleRate":8000}}',
    '{"type":"client_audio_append","audio":"%s","offset":640}',
    '{"type":"client_audio_append","audio":"%s","event_id":"e"}',
    '{"type":"client_audio_append","audio":"%s","played_item_id":"a","played_ms":40}',
    '{"type":"client_audio_append","audio":"%s"}, ',
    '{"type":"client_text_append","text":"%s"}',
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(FRAMES), st.sampled_from(["", "AAAA", "AAA=", "//8A", "\\/\\/8A", "A", "AA AA", '","x":"'])
        ),
        max_size=8,
    )
)
@settings(max_examples=volume(200, 5_000))
def test_speech_is_read_as_a_parser_reads_it_whatever_came_before(sent: list[tuple[str, str]]) -> None:
    dialect = NativeDialect()
    for frame, payload in sent:
        assert said(dialect.decode, frame % payload) == said(decode_json, frame % payload)


def said(decode: Callable[[str], object], frame: str) -> object:
    """What a frame says, or why it cannot be read."""
    try:
        return decode(frame)
    except ClientError as error:
        return str(error)


# -- which one ---------------------------------------------------------------------------------------------------------


def test_the_subprotocol_or_a_name_chooses_the_dialect() -> None:
    native = choose(["chat", SUBPROTOCOL])
    assert isinstance(native, NativeDialect)
    assert native.subprotocol == "realtime.v1"

    assert isinstance(choose([]), AgentScope1Dialect)
    assert choose([]).subprotocol is None
    named = choose([], "native")
    assert isinstance(named, NativeDialect)
    assert named.subprotocol is None
    assert isinstance(choose([SUBPROTOCOL], "agentscope1"), AgentScope1Dialect)
    with pytest.raises(ClientError, match="agentscope1, docs, native"):
        choose([], "esperanto")


# -- JSON --------------------------------------------------------------------------------------------------------------


def test_every_client_frame_is_read_as_its_event(fixtures_dir: Path) -> None:
    """BRW-04: JSON text frames in."""
    for frame in golden(fixtures_dir, "client"):
        assert NativeDialect().decode(json.dumps(frame)) == ClientEvents.from_json(frame)


def test_every_server_event_is_written_as_its_frame(fixtures_dir: Path) -> None:
    """BRW-04: JSON text frames out."""
    for frame in golden(fixtures_dir, "server"):
        (text,) = NativeDialect().encode(ServerEvents.from_json(frame))
        assert isinstance(text, str)
        assert json.loads(text) == frame


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a1", 'q"uo\\te', "ünïcode \u2028", '"delta":"', '"seq":0,"ts_ms":0}', ""]) | st.text(),
            st.text(max_size=5),
            st.binary(max_size=50),
            st.integers(0, 2**53),
            st.integers(0, 2**40),
        ),
        max_size=8,
    )
)
def test_the_quick_writer_of_audio_writes_what_the_encoder_writes(
    events: list[tuple[str, str, bytes, int, int]],
) -> None:
    writer, short = AudioDeltaWriter(), AudioDeltaWriter("response_audio_delta")
    for item_id, response_id, pcm, seq, ts_ms in events:
        event = s.AgentResponseAudioDeltaEvent(
            response_id=response_id,
            item_id=item_id,
            delta=pcm,
            format=AudioFormat.pcm16(24_000),
            agent_id=response_id,
            agent_name=item_id,
            seq=seq,
            ts_ms=ts_ms,
        )
        assert writer.encode(event) == encode_json(event)
        expected = json.loads(encode_json(event)) | {"type": "response_audio_delta"}
        assert json.loads(short.encode(event)) == expected


def test_the_quick_writer_follows_what_changes_from_one_delta_to_the_next() -> None:
    writer = AudioDeltaWriter()
    first = delta(b"\x01\x00")
    for changed in (
        first,
        msgspec.structs.replace(first, content_index=1),
        msgspec.structs.replace(first, response_id="r2"),
        msgspec.structs.replace(first, item_id="a2"),
        first,
    ):
        assert writer.encode(changed) == encode_json(changed)


# -- binary ------------------------------------------------------------------------------------------------------------


def test_binary_frames_are_packed_and_read_as_the_golden_ones(fixtures_dir: Path) -> None:
    for frame in golden(fixtures_dir, "binary"):
        raw, pcm = bytes.fromhex(frame["frame_hex"]), bytes.fromhex(frame["pcm_hex"])
        kind, stream, item_index, offset = (frame[name] for name in ("kind", "stream", "item_index", "sample_offset"))
        if kind == frames.CLIENT_AUDIO:
            assert frames.unpack_client(raw) == (kind, item_index, frame.get("played_ms"), offset, pcm)
        if "played_ms" in frame:
            assert frames.pack_played(stream, item_index, frame["played_ms"], offset, pcm) == raw
        else:
            assert frames.unpack(raw) == (kind, stream, item_index, offset, pcm)
            if not frame["flags"]:
                assert frames.pack(kind, stream, item_index, offset, pcm) == raw


def test_speech_of_the_client_comes_with_its_offset_at_the_rate_it_named() -> None:
    """AMB-46: binary frames for those who ask."""
    dialect = binary(input_audio_format=AudioFormat(type="audio/pcm", rate=48_000))
    event = dialect.decode(frames.pack(frames.CLIENT_AUDIO, 0, 0, 4_800, speech(10)))

    assert event == c.ClientAudioAppendEvent(audio=speech(10), format=AudioFormat.pcm16(48_000), offset=4_800)


def test_binary_speech_before_any_config_is_16_khz() -> None:
    event = NativeDialect().decode(frames.pack(frames.CLIENT_AUDIO, 0, 0, 0, b"\x01"))

    assert event == c.ClientAudioAppendEvent(audio=b"\x01", format=AudioFormat.pcm16(16_000), offset=0)


def test_binary_frames_that_mean_nothing_or_are_too_short_for_their_flag_are_refused() -> None:
    agents, no_kind = frames.pack(frames.AGENT_AUDIO, 0, 0, 0, b""), frames.pack(0, 0, 0, 0, b"")
    whole = frames.pack_played(0, 1, 100, 0, b"")
    too_short = {whole[: frames.HEADER_BYTES + n]: "4 more bytes" for n in range(4)}
    for frame, sentence in (dict.fromkeys((b"", b"\x01", bytes(15), agents, no_kind), ".") | too_short).items():
        with pytest.raises(ClientError, match=sentence) as raised:
            NativeDialect().decode(frame)
        assert raised.value.code == "invalid_frame"


@given(played_ms=st.integers(0, 2**32 - 1), offset=st.integers(0, 2**64 - 1), pcm=st.binary(max_size=20))
def test_speech_says_what_was_played_of_the_item_of_this_number(played_ms: int, offset: int, pcm: bytes) -> None:
    dialect = binary()
    for item_id in ("a1", "a2", "a1"):
        dialect.encode(delta(speech(20, 24_000), item_id))

    for item_index, item_id in ((1, "a1"), (2, "a2")):
        event = dialect.decode(frames.pack_played(0, item_index, played_ms, offset, pcm))
        assert event == c.ClientAudioAppendEvent(
            audio=pcm,
            format=AudioFormat.pcm16(16_000),
            offset=offset,
            played_item_id=item_id,
            played_ms=played_ms,
        )


@pytest.mark.parametrize("item_index", [0, 1, KEPT_ITEMS + 3, 2**32 - 1], ids=["none", "forgotten", "to-come", "no"])
def test_a_position_in_an_item_that_is_not_known_is_ignored_and_its_speech_is_not(item_index: int) -> None:
    dialect = binary()
    for number in range(1, KEPT_ITEMS + 3):
        dialect.encode(delta(speech(20, 24_000), f"a{number}"))

    event = dialect.decode(frames.pack_played(0, item_index, 500, 640, speech(10)))
    assert event == c.ClientAudioAppendEvent(audio=speech(10), format=AudioFormat.pcm16(16_000), offset=640)
    known = dialect.decode(frames.pack_played(0, 3, 500, 640, speech(10)))
    assert isinstance(known, c.ClientAudioAppendEvent)
    assert known.played_item_id == "a3"


def test_other_flags_of_the_client_and_the_index_beside_them_are_ignored() -> None:
    dialect = binary()
    dialect.encode(delta(speech(20, 24_000)))
    frame = bytearray(frames.pack(frames.CLIENT_AUDIO, 0, 1, 0, speech(10)))
    frame[1] = 0xFE

    event = dialect.decode(bytes(frame))
    assert event == c.ClientAudioAppendEvent(audio=speech(10), format=AudioFormat.pcm16(16_000), offset=0)


@pytest.mark.parametrize("played_ms", [-1, 0.5, "7", 2**53 + 1])
def test_what_a_json_client_has_played_is_a_whole_number_from_zero(played_ms: Any) -> None:
    append = {"type": "client_audio_append", "audio": "AAA=", "played_item_id": "a1"}
    event = NativeDialect().decode(json.dumps(append | {"played_ms": 250}))
    assert event == c.ClientAudioAppendEvent(audio=b"\0\0", played_item_id="a1", played_ms=250)

    with pytest.raises(ClientError, match="played_ms") as raised:
        NativeDialect().decode(json.dumps(append | {"played_ms": played_ms}))
    assert raised.value.code == "invalid_event"


def test_speech_of_the_agent_is_introduced_once_and_counted_in_samples() -> None:
    dialect = binary()
    out = [*dialect.encode(delta(speech(20, 24_000))), *dialect.encode(delta(speech(40, 24_000)))]
    out += dialect.encode(delta(speech(20, 24_000), "a2"))

    introduced = [json.loads(frame) for frame in out if isinstance(frame, str)]
    assert [(one["type"], one["item_index"], one["item_id"]) for one in introduced] == [
        ("server_audio_item", 1, "a1"),
        ("server_audio_item", 2, "a2"),
    ]
    assert introduced[0]["format"]["rate"] == 24_000
    spoken = [frames.unpack(frame) for frame in out if isinstance(frame, bytes)]
    assert [(kind, stream, index, offset) for kind, stream, index, offset, _ in spoken] == [
        (2, 0, 1, 0),
        (2, 0, 1, 480),
        (2, 0, 2, 0),
    ]
    assert spoken[1][4] == speech(40, 24_000)


def test_two_items_that_are_spoken_in_turns_keep_their_number_and_count() -> None:
    dialect = binary()
    out: list[Any] = []
    for item_id in ("a1", "a2", "a1", "a2"):
        out += dialect.encode(delta(speech(20, 24_000), item_id))

    spoken = [frames.unpack(frame)[2:4] for frame in out if isinstance(frame, bytes)]
    assert spoken == [(1, 0), (2, 0), (1, 480), (2, 480)]
    assert len([frame for frame in out if isinstance(frame, str)]) == 2


def test_other_events_stay_text_for_a_client_with_binary_audio(fixtures_dir: Path) -> None:
    dialect = binary()
    for frame in golden(fixtures_dir, "server"):
        if frame["type"] != "agent_response_audio_delta":
            (text,) = dialect.encode(ServerEvents.from_json(frame))
            assert isinstance(text, str)
            assert json.loads(text) == frame


def test_a_native_client_is_believed_what_it_played_and_told_what_arrived() -> None:
    listener = NativeDialect().listener(ListSink(), Runtime(), SessionConfig())

    assert isinstance(listener.clock, AcknowledgedPlayback)
    assert listener.tells_received_audio


def test_binary_speech_has_a_new_rate_once_the_server_has_confirmed_it() -> None:
    dialect = binary()
    for config, rate_hz in [({"instructions": "x"}, 16_000), ({"input_audio_format": {"rate": 8_000}}, 8_000)]:
        dialect.encode(s.ServerSessionUpdatedEvent(session_id="s", config=config))
        event = dialect.decode(frames.pack(frames.CLIENT_AUDIO, 0, 0, 0, b""))
        assert isinstance(event, c.ClientAudioAppendEvent)
        assert event.format == AudioFormat.pcm16(rate_hz)


@pytest.mark.parametrize("key", ["sampleRate", "channelCount", "num_channels", "sample_width", "sample_rate_hz"])
def test_speech_whose_format_has_another_key_is_refused_by_its_name(key: str) -> None:
    """Heard at another rate, or as mono, it would be noise without an error."""
    for more in ({}, {"rate": 16_000}):
        frame = {"type": "client_audio_append", "audio": "", "format": {key: 2, **more}, "event_id": "mine"}
        with pytest.raises(ClientError, match=f"audio format has no '{key}'") as raised:
            NativeDialect().decode(json.dumps(frame))
        assert (raised.value.code, raised.value.client_event_id) == ("unsupported_audio_format", "mine")


@pytest.mark.parametrize("key", ["input_audio_format", "output_audio_format"])
def test_a_rate_that_cannot_be_is_refused(key: str) -> None:
    config = SessionConfig.from_dict({key: {"type": "audio/pcm", "rate": 4_000}})
    with pytest.raises(ClientError, match="4000 Hz"):
        NativeDialect().listener(ListSink(), Runtime(), config)
