"""Where `websockets` lacks internals of the short way, providers are reached its standard way, which is told once."""

import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import partial

import pytest
from websockets.asyncio.client import ClientConnection

from realtime.model import link
from realtime.model._standard_link import StandardLink
from realtime.model.base import Address
from realtime.model.wire import Wire
from tests.model import test_wire_sockets as short
from tests.model.emulator import Emulator
from tests.model.providers import KEY, LIMITS
from tests.model.test_wire_sockets import Call, call, provider, wire

__all__ = ["call", "provider", "wire"]

CLOSING = short.test_closing_does_not_wait_for_a_stalled_provider_and_releases_everything_also_when_it_is_cancelled
ALIKE = [
    short.test_a_session_opens_speaks_and_closes,
    short.test_long_bursts_arrive_whole_and_in_order,
    short.test_what_is_sent_arrives_whole_and_in_order,
    short.test_fragmented_and_binary_messages_are_read,
    short.test_a_dropped_link_comes_back_with_context_and_the_audio_of_the_gap,
    short.test_a_stalled_provider_costs_bounded_memory_and_old_audio_only,
    short.test_reading_can_be_paused,
    short.test_an_exception_of_the_listener_does_not_harm_the_link,
    short.test_close_is_idempotent_and_nothing_is_sent_after_it,
    *(partial(CLOSING, cancelled=cancelled) for cancelled in (False, True)),
]


@pytest.fixture(autouse=True)
def without_an_internal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    link._has_internals.cache_clear()
    # The library calls it itself, so it is gone under this name only: another version may call it otherwise.
    monkeypatch.setattr(link, "NEEDED", ("renamed", *link.NEEDED))
    yield
    link._has_internals.cache_clear()


@pytest.mark.parametrize("behaves", ALIKE, ids=lambda test: getattr(test, "__name__", "closing"))
async def test_the_standard_way_behaves_alike(
    behaves: Callable[[Emulator, Call, Wire], Coroutine[None, None, None]], provider: Emulator, call: Call, wire: Wire
) -> None:
    await behaves(provider, call, wire)


async def test_a_message_beyond_the_limit_costs_the_link_not_the_session(provider: Emulator) -> None:
    await short.test_a_message_beyond_the_limit_costs_the_link_not_the_session(provider)


async def test_it_is_told_once_and_the_link_keeps_no_key(provider: Emulator, caplog: pytest.LogCaptureFixture) -> None:
    provider.on_open = short.stay_silent
    address = Address(provider.base_url.replace("http", "ws", 1) + "/realtime", headers=(("Authorization", KEY),))
    for _ in range(2):
        made = await link.dial_websocket(address, short._Nobody(), LIMITS)
        assert isinstance(made, StandardLink)
        assert isinstance(made._connection, ClientConnection)
        assert made._connection.request is None
        await made.close()
    told = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert told == ["websockets lacks renamed: providers are read its standard way, which costs more"]
