"""The endpoint of the chat models' tests, the four families, and the end of what their SDKs keep."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.model.chat.scripts import PROVIDERS, Provider
from tests.model.local.chat_endpoint import ChatEndpoint, chat_endpoint


@pytest.fixture
async def endpoint() -> AsyncIterator[ChatEndpoint]:
    async with chat_endpoint() as made:
        yield made


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


@pytest.fixture(params=[True, False], ids=["stream", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    """Close the connections that the SDKs keep for the next request."""
    yield
    for provider in PROVIDERS.values():
        while provider.made:
            await provider.close(provider.made.pop())
