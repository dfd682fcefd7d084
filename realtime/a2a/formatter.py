"""`A2AChatFormatter`: messages of ours as one message of Agent to Agent, and its messages and tasks as ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from realtime.a2a.parts import blocks_of, message_of, msg_of, plain
from realtime.formatter.base import FormatterBase
from realtime.message import AssistantMsg, Block, Msg, TextBlock
from realtime.message.speakers import speaker_and_words, spoken_by
from realtime.runtime import unique_id


class A2AChatFormatter(FormatterBase):
    """Turns messages into one message of the protocol, and back.

    `context_id` and `task_id` are the conversation and the task that it belongs to.
    """

    def __init__(self, *, context_id: str = "", task_id: str = "") -> None:
        self.context_id = context_id
        self.task_id = task_id

    async def format(self, msgs: Sequence[Msg], **kwargs: Any) -> Any:
        """Return messages as one `a2a.types.Message` of role user, oldest first.

        The words of several speakers have their names before them. Raises TypeError for anything but a list of
        messages, and UsageError where the SDK is not installed.
        """
        from realtime.a2a import sdk

        self.assert_list_of_msgs(msgs)
        loaded = await sdk.load()
        return loaded.parse(self.format_json(msgs), loaded.types.Message())

    def format_json(self, msgs: Sequence[Msg]) -> dict[str, Any]:
        """Return messages as one message, in the JSON of 1.0."""
        return message_of(one_speaker(msgs), message_id=unique_id(), context_id=self.context_id, task_id=self.task_id)

    async def format_a2a_message(self, name: str, message: Any) -> Msg:
        """Return a message of either SDK or as JSON, said by `name`."""
        read = msg_of(message, name)
        if read.faults:
            read.msg.metadata["a2a_faults"] = read.faults
        return read.msg

    async def format_a2a_task(self, name: str, task: Any) -> list[Msg]:
        """Return what a task says: the message of its status, with what its artifacts hold behind it."""
        fields = plain(task)
        if not isinstance(fields, Mapping):
            return []
        status = fields.get("status")
        message = status.get("message") if isinstance(status, Mapping) else None
        msgs = [] if message is None else [await self.format_a2a_message(name, message)]
        blocks: list[Block] = []
        faults: list[str] = []
        for place, artifact in enumerate(fields.get("artifacts") or ()):
            read = blocks_of(artifact.get("parts"), f"task.artifacts[{place}].parts")
            blocks += read.blocks
            faults += read.faults
        if blocks and msgs and msgs[0].role == "assistant":
            msgs[0].content = [*msgs[0].content, *blocks]
        elif blocks:
            msgs.append(AssistantMsg(name, blocks))
        if faults:
            msgs[-1:] = msgs[-1:] or [AssistantMsg(name, None)]
            msgs[-1].metadata["a2a_faults"] = [*msgs[-1].metadata.get("a2a_faults", []), *faults]
        return msgs


def one_speaker(msgs: Sequence[Msg]) -> list[Block]:
    """Return the blocks of messages as those of one user.

    Where several speak, their names stand before the words.
    """
    names = {msg.name for msg in msgs}
    if len(names) < 2:
        return [block for msg in msgs for block in msg.content]
    return [_named(msg.name, block) for msg in msgs for block in msg.content]


def _named(name: str, block: Block) -> Block:
    if not isinstance(block, TextBlock) or not block.text or speaker_and_words(block.text)[0] is not None:
        return block
    return TextBlock(text=spoken_by(name, block.text))
