"""What a server sends is weighed before it is read, and its words steer nothing."""

import asyncio

import anyio
import pytest

from realtime.errors import ToolError
from realtime.tool.mcp.gate import (
    BURST_BYTES,
    BURST_REQUESTS,
    BYTES_PER_S,
    MAX_MESSAGE_BYTES,
    MAX_MESSAGE_PARTS,
    REQUESTS_PER_S,
    Gate,
    Scales,
)
from realtime.tool.mcp.words import plain

pytestmark = pytest.mark.virtual_time()


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_message_is_as_large_as_its_pieces() -> None:
    scales = Scales(b"\n\n")
    for _ in range(3):
        await scales.take(b"x" * (MAX_MESSAGE_BYTES // 2))
        await scales.take(b"x\n\nx")
    await scales.take(b"x" * (MAX_MESSAGE_BYTES // 2))
    with pytest.raises(ToolError, match="a message of more than 4,000,000 bytes"):
        await scales.take(b"x" * (MAX_MESSAGE_BYTES // 2))


async def test_a_message_has_so_many_parts_at_most() -> None:
    for part in (b"{", b"[", b"\n"):
        scales = Scales(b"\n\n")
        await scales.take((part + b"x") * (MAX_MESSAGE_PARTS // 2))
        with pytest.raises(ToolError, match="a message of more than 100,000 parts"):
            await scales.take((part + b"x") * (MAX_MESSAGE_PARTS // 2 + 1))


async def test_more_than_may_come_at_once_is_read_slowly() -> None:
    scales, piece = Scales(b"\n"), b"x" * 1_000_000
    for _ in range(BURST_BYTES // len(piece)):
        await scales.take(piece)
        await scales.take(b"\n")
    assert now() < 0.1
    began = now()
    for _ in range(10):
        await scales.take(piece)
        await scales.take(b"\n")
    assert now() - began == pytest.approx(10 * len(piece) / BYTES_PER_S, rel=0.05)


async def test_what_a_server_asks_is_read_at_fifty_a_second_and_its_answers_at_once() -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](1_000)
    gate = Gate(receive, lambda: None)  # type: ignore[arg-type]
    for number in range(BURST_REQUESTS + 50):
        ping = {"jsonrpc": "2.0", "id": f"ask-{number}", "method": "ping"}
        send.send_nowait(SessionMessage(jsonrpc_message_adapter.validate_python(ping)))
    for _ in range(BURST_REQUESTS + 50):
        await gate.receive()
    assert now() == pytest.approx(50 / REQUESTS_PER_S, abs=0.1)
    assert gate.is_flooded
    send.close()
    receive.close()


def test_words_of_a_server_steer_no_terminal() -> None:
    shown = {
        "\x1b[31mred\x1b[0m": "red",
        "\x1b]0;title\x07": "]0;title",
        "a\u202eb\u200bc\ufeff": "abc",
        "hidden\U000e0041": "hidden",
        "two\nlines\tand a tab": "two\nlines\tand a tab",
        "schön 好 \u200d\u05d0": "schön 好 \u200d\u05d0",
        "half \ud800": "half ?",
    }
    assert {given: plain(given) for given in shown} == shown
