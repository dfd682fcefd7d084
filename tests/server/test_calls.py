"""Limits over all calls, and how they end together."""

import asyncio

import pytest

from realtime.server.connections import OpenFiles
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server.harness import FakeSocket, create, serving
from tests.server.steps import END, TEXT, calling, hang_up


async def test_one_address_has_so_many_calls_and_gets_a_place_back_when_one_ends() -> None:
    async with serving(settings=ServerSettings(max_calls_per_address=2, drain_s=0)) as place:
        async with place.client() as one, place.client() as two, place.client() as three:
            await one.make_call()
            await two.make_call()
            await three.send(create())
            refused = await three.until("agent_error")
            assert (refused["code"], refused["retryable"]) == ("too_many_calls", True)
            await hang_up(one)
            await three.make_call()
        await settled(lambda: place.calls.running == 0)


async def test_a_proxys_clients_are_counted_apart() -> None:
    settings = ServerSettings(max_calls_per_address=1, trust_forwarded=True, drain_s=0)
    async with serving(settings=settings) as place:
        ann, ben = ({"X-Forwarded-For": address} for address in ("10.0.0.1", "10.0.0.2"))
        async with place.client(additional_headers=ann) as one, place.client(additional_headers=ben) as two:
            await one.make_call()
            await two.make_call()
            async with place.client(additional_headers=ann) as three:
                await three.send(create())
                assert (await three.until("agent_error"))["code"] == "too_many_calls"


async def test_a_server_holds_so_many_calls() -> None:
    settings = ServerSettings(max_calls=1, drain_s=0)
    async with serving(settings=settings) as place, place.client() as one, place.client() as two:
        await one.make_call()
        await two.send(create())
        assert (await two.until("agent_error"))["code"] == "server_full"


async def test_a_server_without_files_for_a_call_refuses_it_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The calls that run go on; the next ones begin again once there are files."""
    async with serving() as place, place.client() as running:
        await running.make_call()
        with monkeypatch.context() as few:
            few.setattr(OpenFiles, "lack", lambda *_: True)
            for _ in range(3):
                async with place.client() as late:
                    await late.send(create())
                    refused = await late.until("agent_error")
                    assert (refused["code"], refused["retryable"]) == ("overloaded", True)
                    assert (await late.closed())[0] == 1013
        await running.send(TEXT)
        await running.until("agent_response_done")
        async with place.client() as again:
            await again.make_call()
    assert [record.name for record in caplog.records if record.levelname == "WARNING"] == ["realtime.server.calls"]


@pytest.mark.parametrize("wrong", [{"max_calls": 0}, {"max_calls_per_address": 0}])
def test_a_server_for_no_calls_is_a_mistake(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ServerSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.virtual_time
async def test_draining_says_goodbye_takes_no_new_calls_and_waits_for_the_running_ones() -> None:
    async with calling() as client:
        draining = asyncio.create_task(client.calls.drain(30))
        await client.until("server_goodbye")
        client.say(TEXT)
        await client.until("agent_response_done")
        async with FakeSocket(calls=client.calls) as late:
            late.say(create())
            await late.until("agent_error")
            assert late.codes == ["draining"]
        assert not draining.done()
        client.say(END)
        await draining
        ended = await client.until("server_session_ended")
        assert ended["reason"] == "client_end"
        assert ended["ts_ms"] < 1_000


@pytest.mark.virtual_time
async def test_calls_that_outlast_the_draining_are_ended() -> None:
    """Without calls it is over at once."""
    await FakeSocket().calls.drain(30)
    assert asyncio.get_running_loop().time() < 0.1
    async with calling() as client:
        await client.calls.drain(30)
        ended = await client.until("server_session_ended")
        assert ended["reason"] == "shutdown"
        assert 30_000 <= ended["ts_ms"] <= 30_100
        assert client.types[2:] == ["server_goodbye", "agent_ended", "server_session_ended"]


@pytest.mark.virtual_time
async def test_a_second_drain_ends_what_the_first_still_waits_for() -> None:
    async with calling() as client:
        first = asyncio.create_task(client.calls.drain(30))
        await client.until("server_goodbye")
        await client.calls.drain(0)
        await first
        assert (await client.until("server_session_ended"))["ts_ms"] < 1_000
