"""Compression of a long memory: the older messages become a summary, which the prompts hold in their place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from string import Formatter
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from realtime.errors import UsageError
from realtime.formatter.base import FormatterBase
from realtime.memory import MemoryBase
from realtime.message import Msg, UserMsg
from realtime.model.chat.base import ChatModelBase
from realtime.model.chat.responses import responses_of
from realtime.options import PositiveInt, check_fields
from realtime.token import TokenCounterBase

logger = logging.getLogger(__name__)

COMPRESSED = "compressed"
"""The mark of messages that a summary stands for. They stay in the memory and out of prompts."""
ATTEMPTS = 2
"""Requests for one summary: the second one says what was wrong with the first."""
RETRY_SHARE = 0.25
"""How much a history grows after a failure before the next attempt."""


class SummarySchema(BaseModel):
    """The default fields of a summary."""

    task_overview: str = Field(
        max_length=300, description="What the user asked for, and what counts as success, with later clarifications."
    )
    current_state: str = Field(
        max_length=300, description="What is done so far; files that were made, changed or read; results."
    )
    important_discoveries: str = Field(
        max_length=300, description="Constraints, decisions with their reasons, errors, and what did not work."
    )
    next_steps: str = Field(max_length=200, description="What has to be done next, in order, and what is still open.")
    context_to_preserve: str = Field(
        max_length=300, description="What the user prefers, details of the subject, promises that were made."
    )


# The texts of AgentScope: programs compare them.
COMPRESSION_PROMPT = (
    "<system-hint>You have been working on the task described above but have not yet completed it. Now write a "
    "continuation summary that will allow you to resume work efficiently in a future context window where the "
    "conversation history will be replaced with this summary. Your summary should be structured, concise, and "
    "actionable.</system-hint>"
)
SUMMARY_TEMPLATE = """<system-info>Here is a summary of your previous work
# Task Overview
{task_overview}

# Current State
{current_state}

# Important Discoveries
{important_discoveries}

# Next Steps
{next_steps}

# Context to Preserve
{context_to_preserve}</system-info>"""


@dataclass(kw_only=True)
class CompressionConfig:
    """When and how the memory of an agent is compressed.

    Where the summary cannot be had (the model fails, takes too long, or writes one that is invalid or no shorter), the
    conversation goes on without it, and a warning is logged. The next attempt is made when the history has a quarter
    more messages; failures in a row are one warning. Raises UsageError for numbers below 1 and for a template
    with fields that the schema does not have.
    """

    enable: bool
    agent_token_counter: TokenCounterBase
    """Counts the prompts of the agent's model."""
    trigger_threshold: PositiveInt
    """Tokens of a prompt above which older messages are compressed."""
    keep_recent: PositiveInt = 3
    """The last messages that stay as they are; each round of a reply that goes on counts as one."""
    compression_prompt: str = COMPRESSION_PROMPT
    """The user message that asks for the summary."""
    summary_template: str = SUMMARY_TEMPLATE
    """The text of the summary; fields of the schema stand in braces."""
    summary_schema: type[BaseModel] = SummarySchema
    compression_model: ChatModelBase | None = None
    """Writes the summary; None: the agent's model."""
    compression_formatter: FormatterBase | None = None
    """The formatter of the compression model; None: the agent's."""
    background: bool | None = None
    """Compress after replies, in a task of the agent; None: in voice calls.

    Then no reply waits for it.
    """
    trim_threshold: PositiveInt | None = None
    """Tokens of a prompt that may be without a summary; None: any number.

    Where none can be had, the oldest messages of a longer prompt are left out.
    """
    timeout_s: float = 60.0
    """Seconds for a summary."""

    def __post_init__(self) -> None:
        check_fields(self)
        used = {
            field.split(".")[0].split("[")[0] for _, field, _, _ in Formatter().parse(self.summary_template) if field
        }
        if unknown := used - {*self.summary_schema.model_fields}:
            raise UsageError(
                f"summary_template has fields that {self.summary_schema.__name__} lacks: {', '.join(sorted(unknown))}",
                code="bad_compression_config",
            )


@dataclass(slots=True)
class Backoff:
    """Lets a memory grow after a failure before it is compressed again."""

    n_failed: int = 0
    """Failures in a row."""
    _n_messages: int = 0
    _n_more: int = 0

    def is_due(self, n_messages: int) -> bool:
        """Whether there may be an attempt at so many messages."""
        # The rounds of a reply become one message at its end.
        self._n_messages = min(self._n_messages, n_messages)
        return not self.n_failed or n_messages >= self._n_messages + self._n_more

    def fail(self, n_messages: int, n_in_prompt: int) -> None:
        """An attempt has failed at so many messages; `n_in_prompt`: those in prompts."""
        self.n_failed += 1
        self._n_messages, self._n_more = n_messages, max(1, round(n_in_prompt * RETRY_SHARE))

    def end(self) -> None:
        """An attempt has succeeded."""
        self.n_failed = 0


@dataclass(frozen=True, slots=True)
class Compressor:
    """Compresses a memory once, if its prompt is too long."""

    config: CompressionConfig
    memory: MemoryBase
    head: list[Msg]
    """What each prompt begins with."""
    model: ChatModelBase
    formatter: FormatterBase
    backoff: Backoff
    """That of the memory, which outlives this."""

    async def compress(self, rounds: Sequence[Msg] = ()) -> int:
        """Compress what is too long. `rounds` follow the memory: a reply that goes on.

        Returns how many of the rounds are in the summary now. Cancelling leaves the memory as it was.
        """
        messages = await self.memory.get_memory(exclude_mark=COMPRESSED, prepend_summary=False)
        whole = await self.memory.get_memory(exclude_mark=COMPRESSED)
        summary = whole[: len(whole) - len(messages)]
        history = [*messages, *rounds]
        n_tokens = await self._count([*summary, *history])
        if n_tokens <= self.config.trigger_threshold:
            return 0
        n_old = first_kept(history, self.config.keep_recent)
        n_messages = await self.memory.size() + len(rounds)
        if n_old and self.backoff.is_due(n_messages):
            text = await self._summary([*summary, *history[:n_old]])
            if text is not None and await self._count([UserMsg("user", text), *history[n_old:]]) >= n_tokens:
                self._warn("the summary is no shorter than what it stands for")
                text = None
            if text is None:
                self.backoff.fail(n_messages, len(history))
            else:
                self.backoff.end()
                await self.memory.update_compressed_summary(text)
                await self._mark(messages[:n_old])
                return max(0, n_old - len(messages))
        if self.config.trim_threshold is not None and n_tokens > self.config.trim_threshold:
            await self._mark(messages[: await self._n_too_many(summary, history)])
        return 0

    async def _summary(self, history: list[Msg]) -> str | None:
        """Return the summary of a history; None where there is none to be had."""
        config = self.config
        formatter, model = config.compression_formatter or self.formatter, config.compression_model or self.model
        request = [*self.head, *history, UserMsg("user", config.compression_prompt)]
        try:
            async with asyncio.timeout(config.timeout_s):
                for _ in range(ATTEMPTS):
                    answer = await model(await formatter.format(request), structured_model=config.summary_schema)
                    fields = await _metadata_of(answer)
                    try:
                        summary = config.summary_schema.model_validate(fields)
                    except ValidationError as error:
                        request.append(
                            UserMsg("user", f"<system-hint>Not valid, write it again: {error}</system-hint>")
                        )
                    else:
                        return config.summary_template.format(**summary.model_dump())
        except Exception as error:  # The model and the formatter are foreign code: their faults end no conversation.
            self._warn(f"{type(error).__name__}")
        else:
            self._warn(f"{ATTEMPTS} summaries in a row were invalid")
        return None

    async def _n_too_many(self, summary: list[Msg], history: list[Msg]) -> int:
        """Return how many of the oldest messages exceed `trim_threshold`."""
        fewest, most = 0, len(history) - 1
        while fewest < most:
            n = (fewest + most) // 2
            if await self._count([*summary, *history[n:]]) > (self.config.trim_threshold or 0):
                fewest = n + 1
            else:
                most = n
        return with_pairs(history, fewest)

    async def _count(self, history: Sequence[Msg]) -> int:
        payload = await self.formatter.format([*self.head, *history])
        return await self.config.agent_token_counter.count(payload)

    async def _mark(self, messages: Sequence[Msg]) -> None:
        if messages:
            await self.memory.update_messages_mark(COMPRESSED, msg_ids=[msg.id for msg in messages])
            logger.info("%d messages are compressed", len(messages))

    def _warn(self, why: str) -> None:
        level = logging.INFO if self.backoff.n_failed else logging.WARNING
        logger.log(
            level,
            "the memory is not compressed, the conversation goes on without a summary and another attempt comes when "
            "its history has grown by %.0f %%: %s",
            RETRY_SHARE * 100,
            why,
        )


async def replace_memory(memory: MemoryBase, messages: Sequence[Msg], remembered: Sequence[Msg]) -> None:
    """Let a memory that holds `messages` hold `remembered`: rewritten from the first that differs.

    Messages that are compressed stay so.
    """
    same = (one is other or one == other for one, other in zip(messages, remembered, strict=False))
    place = next((place for place, is_same in enumerate(same) if not is_same), min(len(messages), len(remembered)))
    if place == len(messages) == len(remembered):
        return
    compressed = {one.id for one in await memory.get_memory(mark=COMPRESSED, prepend_summary=False)}
    await memory.delete([one.id for one in messages[place:]])
    for one in remembered[place:]:
        await memory.add(one, marks=COMPRESSED if one.id in compressed else None)


async def _metadata_of(answer: Any) -> dict[str, Any] | None:
    """Return the object in the last response of a model's answer."""
    fields = None
    async with aclosing(responses_of(answer)) as responses:
        async for response in responses:
            fields = response.metadata
    return fields


def first_kept(history: Sequence[Msg], keep_recent: int) -> int:
    """Return the place of the first message that stays: `keep_recent` from the end, or earlier for whole pairs."""
    return with_pairs(history, max(0, len(history) - keep_recent))


def with_pairs(history: Sequence[Msg], place: int) -> int:
    """Return the last place up to `place` that parts no pair.

    A pair is a tool result and its call.
    """
    calls = {block.id: at for at, msg in enumerate(history) for block in msg.get_content_blocks("tool_call")}
    at = len(history)
    while at > place:
        at -= 1
        for block in history[at].get_content_blocks("tool_result"):
            place = min(place, calls.get(block.id, place))
    return place
