"""An agent's language model writes for its tools, beside the conversation."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import Any

from realtime.event.base import ContentPart, Item
from realtime.formatter import FormatterBase
from realtime.model.local.language_model import CallLanguageModel, Prompt, ReplyText
from realtime.runtime import unique_id
from realtime.tool.context import Sampler, Sampling


def sampler_of_connection(connection: object) -> Sampler | None:
    """Return what writes where a language model is behind the voice; None for a speech-to-speech model."""
    language_model: CallLanguageModel | None = getattr(connection, "language_model", None)
    return None if language_model is None else partial(_respond, language_model)


def sampler_of_agent(agent: Any) -> Sampler | None:
    """Return what writes for an agent that has a chat model; None for another one."""
    from realtime.model.chat.base import ChatModelBase
    from realtime.model.chat.sampling import write

    model, formatter = getattr(agent, "model", None), getattr(agent, "formatter", None)
    if isinstance(model, ChatModelBase) and isinstance(formatter, FormatterBase):
        return partial(write, model, formatter)
    return None


async def _respond(language_model: CallLanguageModel, asked: Sampling) -> str:
    history = [
        Item(
            id=unique_id(),
            role="assistant" if role == "assistant" else "user",
            content=(ContentPart(type="text", text=words),),
        )
        for role, words in asked.messages
    ]
    prompt = Prompt(
        instructions=asked.system,
        history=history,
        temperature=asked.temperature,
        max_output_tokens=asked.max_tokens,
        is_beside=True,
    )
    async with aclosing(language_model.respond(prompt)) as pieces:
        return "".join([piece.text async for piece in pieces if isinstance(piece, ReplyText)])
