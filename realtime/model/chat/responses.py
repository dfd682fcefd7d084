"""The responses of a chat model, whether it streams or not."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from realtime.model.chat.base import ChatResponse


async def responses_of(
    answer: ChatResponse | AsyncGenerator[ChatResponse, None],
) -> AsyncGenerator[ChatResponse, None]:
    """Yield what a call of a chat model gave: its responses as they come, or its one. Closing ends the request."""
    if isinstance(answer, ChatResponse):
        yield answer
        return
    try:
        async for response in answer:
            yield response
    finally:
        await answer.aclose()
