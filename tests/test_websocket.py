"""Whole messages are cut out of the stream; all else reaches the library, in order and at frame boundaries."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from realtime.slices import slices_of
from realtime.websocket import (
    BINARY,
    LIVE_BYTES,
    LIVE_MESSAGES,
    OTHER,
    TEXT,
    FrameCutter,
    FrameReader,
    client_frame,
    server_frame,
)

SIZES = st.one_of(st.sampled_from([0, 1, 125, 126, 127, 2_000, 65_535, 65_536, 65_537, 70_000]), st.integers(0, 300))
MAX_BYTES = 1_000_000


def frames() -> st.SearchStrategy[Frame]:
    def make(opcode: Opcode, fin: bool, size: int) -> Frame:
        if opcode in (Opcode.PING, Opcode.PONG):
            return Frame(opcode, b"p" * (size % 126))
        return Frame(opcode, b"x" * size, fin)

    kinds = st.sampled_from([Opcode.TEXT, Opcode.TEXT, Opcode.BINARY, Opcode.CONT, Opcode.PING, Opcode.PONG])
    return st.builds(make, kinds, st.booleans(), SIZES)


def library(*, server: bool) -> ClientProtocol | ServerProtocol:
    """The library's reader behind its handshake."""
    if server:
        return ServerProtocol(state=State.OPEN, max_size=MAX_BYTES)
    return ClientProtocol(parse_uri("ws://localhost/"), state=State.OPEN, max_size=MAX_BYTES)


def events_of(protocol: ClientProtocol | ServerProtocol, data: bytes) -> list[tuple[int, bytes]]:
    protocol.receive_data(data)
    found = [event for event in protocol.events_received() if isinstance(event, Frame)]
    return [(int(event.opcode) | event.fin << 7, bytes(event.data)) for event in found]


@given(st.lists(frames(), max_size=8), st.booleans(), st.lists(st.integers(0, 140_000), max_size=12))
def test_cut_at_any_place_the_stream_gives_what_the_library_reads(
    sent: list[Frame], masked: bool, places: list[int]
) -> None:
    stream = b"".join(frame.serialize(mask=masked) for frame in sent)
    alone, beside = library(server=masked), library(server=masked)
    expected = events_of(alone, stream) if stream else []
    cutter = FrameCutter(masked=masked, max_bytes=MAX_BYTES)
    got: list[tuple[int, bytes]] = []
    at = 0
    for place in [*sorted(place % (len(stream) + 1) for place in places), len(stream)]:
        for kind, payload in cutter.push(stream[at:place]):
            if kind == OTHER:
                got += events_of(beside, payload) if payload else []
                if beside.state is not State.OPEN:
                    break
            else:
                got.append((kind | 0x80, payload))
        if beside.state is not State.OPEN:
            break
        at = place
    assert got == expected
    assert beside.state is alone.state


@given(st.sampled_from([TEXT, BINARY]), SIZES)
def test_what_is_written_is_what_the_library_reads(kind: int, size: int) -> None:
    payload = bytes(index & 0x7F for index in range(size))
    assert events_of(library(server=True), client_frame(kind, payload)) == [(kind | 0x80, payload)]
    assert events_of(library(server=False), server_frame(kind, payload)) == [(kind | 0x80, payload)]


def test_frames_that_break_the_protocol_are_left_to_the_library() -> None:
    unmasked, masked = server_frame(TEXT, b"hello"), client_frame(TEXT, b"hello")
    assert FrameCutter(masked=True, max_bytes=MAX_BYTES).push(unmasked) == [(OTHER, unmasked)]
    assert FrameCutter(masked=False, max_bytes=MAX_BYTES).push(masked) == [(OTHER, masked)]
    reserved = bytes((unmasked[0] | 0x40,)) + unmasked[1:]
    assert FrameCutter(masked=False, max_bytes=MAX_BYTES).push(reserved) == [(OTHER, reserved)]


def test_a_frame_beyond_the_limit_reaches_the_library_with_its_first_bytes() -> None:
    cutter = FrameCutter(masked=False, max_bytes=100)
    head = server_frame(TEXT, b"x" * 101)[:2]
    assert cutter.push(head) == [(OTHER, head)]
    rest = b"x" * 101
    assert cutter.push(rest + server_frame(TEXT, b"next")) == [(OTHER, rest), (TEXT, b"next")]


def test_part_of_a_frame_is_held_back_until_it_is_whole_or_asked_for() -> None:
    whole = server_frame(BINARY, b"\x01\x02\x03\x04")
    cutter = FrameCutter(masked=False, max_bytes=MAX_BYTES)
    assert cutter.push(whole[:3]) == []
    assert cutter.push(whole[3:] + whole[:4]) == [(BINARY, b"\x01\x02\x03\x04")]
    assert cutter.drain() == whole[:4]
    assert cutter.push(whole) == [(BINARY, b"\x01\x02\x03\x04")]


@given(st.booleans(), st.lists(st.integers(0, 140_000), max_size=12))
def test_a_message_longer_than_is_kept_is_too_long_all_the_same(masked: bool, places: list[int]) -> None:
    write = client_frame if masked else server_frame
    stream = write(TEXT, b"x" * 100_000) + write(BINARY, b"y" * 70_000) + write(TEXT, b"next")
    cutter = FrameCutter(masked=masked, max_bytes=MAX_BYTES, kept_bytes=80_000)
    found: list[tuple[int, bytes]] = []
    at = 0
    for place in [*sorted(place % (len(stream) + 1) for place in places), len(stream)]:
        found += cutter.push(stream[at:place])
        at = place
    assert [(kind, len(payload)) for kind, payload in found[1:]] == [(BINARY, 70_000), (TEXT, 4)]
    kind, payload = found[0]
    assert kind == TEXT
    assert len(payload) > 80_000


def test_a_read_full_of_frames_is_cut_bit_by_bit() -> None:
    cutter = FrameCutter(masked=True, max_bytes=MAX_BYTES)
    found = cutter.push(client_frame(TEXT, b"") * 10_000)
    assert cutter.has_more
    assert len(found) < 1_000
    while cutter.has_more:
        found += cutter.push(b"")
    assert found == [(TEXT, b"")] * 10_000


def read_beside_a_burst(sent: list[bytes]) -> list[bytes]:
    """What is delivered at once of frames that come in one read, while another socket's burst waits for its turns."""

    async def main() -> list[bytes]:
        loop = asyncio.get_running_loop()
        seen: list[bytes] = []

        def handle(kind: int, payload: bytes) -> bool:
            seen.append(payload)
            return payload != b"end"

        burst = slices_of(loop).run(itertools.repeat(None))
        assert burst is not None
        cutter = FrameCutter(masked=True, max_bytes=1_000_000)
        reader = FrameReader(cutter, handle, lambda: None, lambda: None, loop)
        reader.push(b"".join(client_frame(TEXT, one) for one in sent))
        burst.cancel()
        return [*seen]

    return asyncio.run(main())


SPEECH = [b"x" * 2_000] * 4


@pytest.mark.parametrize(
    ("sent", "at_once"),
    [
        (SPEECH, 4),
        ([b"x"] * LIVE_MESSAGES, LIVE_MESSAGES),
        ([b"x"] * (LIVE_MESSAGES + 1), 0),
        ([b"x" * LIVE_BYTES, b"x"], 0),
        ([b"x", b"end", b"x"], 2),
    ],
)
def test_a_read_of_live_speech_does_not_wait_behind_the_bursts_of_others(sent: list[bytes], at_once: int) -> None:
    assert read_beside_a_burst(sent) == sent[:at_once]
