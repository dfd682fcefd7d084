"""Both ends of a socket in one process: what arrives, in which order, and what either end learns when it is lost."""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.server.websocket_protocol import EXTENSION
from realtime.testing.client.page import Page
from realtime.testing.client.pair import Direction, Frame, SocketPair, Uplink
from realtime.testing.client.steps import Network
from realtime.testing.clock import run
from tests.testing.served import served

pytestmark = pytest.mark.virtual_time(limit_s=120)


class Echo:
    """An application that answers each frame with itself and notes what it got."""

    def __init__(self, *, refuses: bool = False, takes: type[Any] | None = None) -> None:
        self.got: list[Frame] = []
        self.scope: dict[str, Any] = {}
        self.left_with: int | None = None
        self._refuses, self._takes = refuses, takes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = dict(scope)
        assert (await receive())["type"] == "websocket.connect"
        if self._refuses:
            await send({"type": "websocket.close", "code": 1008, "reason": "no"})
            return
        await send({"type": "websocket.accept", "subprotocol": next(iter(scope["subprotocols"]), None)})
        direct = scope["extensions"].get(EXTENSION)
        if direct is not None and self._takes is not None:
            direct.on_message = self._take
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                self.left_with = message["code"]
                return
            frame = message["text"] if "text" in message else message["bytes"]
            self.got.append(frame)
            if frame == "close":
                await send({"type": "websocket.close", "code": 4000, "reason": "elsewhere"})
            elif frame == "fail":
                raise LookupError("broken")
            else:
                await send({"type": "websocket.send", "text" if isinstance(frame, str) else "bytes": frame})

    def _take(self, frame: Frame) -> bool:
        assert self._takes is not None
        if not isinstance(frame, self._takes):
            return False
        self.got.append(frame)
        return True


async def settle() -> None:
    await asyncio.sleep(0.01)


async def leave(pair: SocketPair) -> None:
    pair.lose(1000)
    await pair.ended()


async def test_the_server_sees_address_and_subprotocols_and_its_choice_is_known() -> None:
    app = Echo()
    pair = SocketPair(app, "/ws/anna/one", subprotocols=("realtime.v1",), query="token=x", headers=[("Origin", "o")])
    await pair.open()
    assert pair.subprotocol == "realtime.v1"
    assert pair.is_open
    assert (app.scope["path"], app.scope["query_string"]) == ("/ws/anna/one", b"token=x")
    assert (b"origin", b"o") in app.scope["headers"]
    await leave(pair)
    assert not pair.is_open


@given(sent=st.lists(st.one_of(st.text(max_size=3), st.binary(max_size=3)), max_size=20))
def test_frames_arrive_both_ways_whole_and_in_order_whichever_way_the_server_takes(sent: list[Frame]) -> None:
    async def main(direct: bool, takes: type[Any] | None) -> tuple[list[Frame], list[Frame], list[Any]]:
        app, back, tapped = Echo(takes=takes), list[Frame](), list[Any]()
        pair = SocketPair(
            app, "/", direct=direct, on_frame=back.append, tap=lambda way, frame: tapped.append((way, frame))
        )
        await pair.open()
        for frame in sent:
            pair.send(frame)
        await settle()
        await leave(pair)
        return app.got, back, tapped

    frames = [frame for frame in sent if frame not in ("close", "fail")]
    got, back, tapped = run(main(False, None))
    assert got == back == frames
    assert [frame for way, frame in tapped if way == "received"] == frames
    assert [frame for way, frame in tapped if way == "sent"] == frames
    # With the short way: what the server does not take there comes by ASGI, and nothing overtakes it.
    got, back, _ = run(main(True, bytes))
    first_text = next((place for place, frame in enumerate(frames) if isinstance(frame, str)), len(frames))
    assert got == frames
    assert back == frames[first_text:]


async def test_a_server_that_does_not_accept_refuses_the_connection() -> None:
    pair = SocketPair(Echo(refuses=True), "/")
    with pytest.raises(ConnectionRefusedError, match="1008 no"):
        await pair.open()
    assert pair.closed_with == (1008, "no")


async def test_an_application_that_fails_raises_at_its_waiter() -> None:
    pair = SocketPair(Echo(), "/")
    await pair.open()
    pair.send("fail")
    with pytest.raises(LookupError, match="broken"):
        await pair.ended()
    assert pair.closed_with is not None


async def test_the_server_notices_a_lost_socket_with_its_code() -> None:
    app = Echo()
    pair = SocketPair(app, "/")
    await pair.open()
    pair.lose()
    pair.send("late")
    await pair.ended()
    assert (app.left_with, app.got, pair.closed_with) == (1006, [], (1006, ""))


async def test_nothing_passes_a_cut_socket_and_nobody_notices_until_it_is_lost() -> None:
    app, back = Echo(), list[Frame]()
    pair = SocketPair(app, "/", direct=False, on_frame=back.append)
    await pair.open()
    pair.send("one")
    pair.cut()
    pair.send("two")
    await settle()
    assert app.got == ["one"], "what was sent before is on its way"
    assert back == []
    assert app.left_with is None
    pair.lose()
    await pair.ended()
    assert app.left_with == 1006


async def test_the_client_learns_how_the_server_closed() -> None:
    closed: list[tuple[int, str]] = []
    app = Echo()
    pair = SocketPair(app, "/", on_close=lambda code, reason: closed.append((code, reason)))
    await pair.open()
    pair.send("close")
    await pair.ended()
    assert closed == [(4000, "elsewhere")]
    assert pair.closed_with == (4000, "elsewhere")
    assert app.left_with == 4000


async def test_frames_of_a_call_make_no_tasks() -> None:
    async with served() as app:
        page = Page(app)
        await page.join()
        await asyncio.sleep(1)
        tasks = asyncio.all_tasks()
        seen = set[asyncio.Task[Any]]()
        page.on_change = lambda: seen.update(asyncio.all_tasks())
        await asyncio.sleep(3)
        assert seen <= tasks
        assert seen
        await page.leave()


@given(
    seed=st.integers(0, 99),
    loss=st.sampled_from([0.0, 0.3]),
    jitter_ms=st.integers(0, 200),
    delay_ms=st.integers(0, 200),
)
def test_frames_keep_their_order_and_only_speech_is_lost(seed: int, loss: float, jitter_ms: int, delay_ms: int) -> None:
    async def main() -> tuple[list[tuple[float, Frame]], int]:
        loop = asyncio.get_running_loop()
        arrived: list[tuple[float, Frame]] = []

        def tap(way: Direction, frame: Frame) -> None:
            if way == "received":
                arrived.append((loop.time(), frame))

        pair = SocketPair(Echo(), "/", tap=tap)
        await pair.open()
        uplink = Uplink(Random(seed))
        uplink.network = Network(loss=loss, jitter_ms=jitter_ms, delay_ms=delay_ms)
        for number in range(50):
            uplink.send(pair, str(number), is_audio=number % 5 != 0)
            await asyncio.sleep(0.04)
            if number == 40:
                uplink.network = Network()
        await asyncio.sleep(1)
        await leave(pair)
        return arrived, uplink.lost_frames

    arrived, lost = run(main())
    numbers = [int(frame) for _, frame in arrived]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 50 - lost
    assert set(range(0, 50, 5)) <= set(numbers)
    assert loss or not lost
    for number, (at_s, _) in zip(numbers, arrived, strict=True):
        late_s = at_s - number * 0.04
        assert -1e-6 <= late_s <= (jitter_ms + delay_ms) / 1000 + 1e-6
        assert number > 40 or late_s >= delay_ms / 1000 - 1e-6
    assert run(main()) == (arrived, lost)
