"""What every test shares: the choice of the event loop."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from realtime.testing.clock import VirtualLoop


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "virtual_time(costs=..., epoch_s=..., limit_s=...): run this async test and its fixtures on a VirtualLoop",
    )


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop of an async test: virtual where the test, its class or its module is marked, else asyncio's own."""
    mark = item.get_closest_marker("virtual_time")
    return {"virtual": partial(VirtualLoop, **mark.kwargs)} if mark else {"real": asyncio.new_event_loop}
