"""A chat model writes an answer outside of any conversation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from realtime.formatter import FormatterBase
from realtime.message import Msg, SystemMsg, TextBlock
from realtime.model.chat.base import ChatBlock, ChatModelBase
from realtime.model.chat.families import FAMILIES, Family
from realtime.model.chat.responses import responses_of
from realtime.tool.context import Sampling


async def write(model: ChatModelBase, formatter: FormatterBase, asked: Sampling) -> str:
    """Return what the model writes. Raises ProviderError where it does not answer."""
    messages = [Msg(role, words, "assistant" if role == "assistant" else "user") for role, words in asked.messages]
    if asked.system:
        messages.insert(0, SystemMsg("system", asked.system))
    family: Family = getattr(model, "family", FAMILIES["openai"])
    options: dict[str, float] = {family.limit_name: asked.max_tokens}
    if asked.temperature is not None and family.takes_temperature:
        options["temperature"] = asked.temperature
    content: Sequence[ChatBlock] = ()
    async with aclosing(responses_of(await model(await formatter.format(messages), **options))) as responses:
        async for response in responses:
            content = response.content
    return "".join(block.text for block in content if isinstance(block, TextBlock))
