"""The endpoint of the tests whose language model is a chat model."""

from collections.abc import AsyncIterator

import pytest

from tests.model.local.chat_endpoint import ChatEndpoint, chat_endpoint


@pytest.fixture
async def endpoint() -> AsyncIterator[ChatEndpoint]:
    async with chat_endpoint() as made:
        yield made
