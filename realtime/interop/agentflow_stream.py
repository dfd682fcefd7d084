"""The events of replies as Agentflow streams them: messages of pieces (`delta`), then the whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from realtime.event import reply as r
from realtime.interop.frame import dump
from realtime.interop.rest import THEIRS
from realtime.interop.table import Json, Shape
from realtime.message import Base64Source, Block, DataBlock, Msg, TextBlock, ThinkingBlock

_NAME = "agentflow"
_COUNTS = {
    "audio_tokens": ("input_audio_tokens", "output_audio_tokens"),
    "image_tokens": ("input_image_tokens",),
    "reasoning_tokens": ("output_reasoning_tokens",),
}


@dataclass(slots=True)
class _Reply:
    """A reply so far. `numbers`: which of the messages that `dump` makes of it holds a block, by kind and id."""

    msg: Msg
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    media_types: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    _last: tuple[str, int] = ("", -1)

    def number(self, kind: str, block_id: str) -> int:
        """Return the number of a block's message; a new block comes after all others."""
        if (kind, block_id) not in self.numbers:
            run = kind if kind in ("tool_result", "hint") else "own"
            before, number = self._last
            self._last = run, number if run == before and run != "hint" else number + 1
            self.numbers[kind, block_id] = self._last[1]
        return self.numbers[kind, block_id]


class AgentflowStream:
    """Turns reply events into messages of Agentflow, as they come.

    A piece has the `message_id` of its message, which follows whole when the reply ends: readers store only that. A
    call for the client to run is at once in a message of its own, as a `remote_tool_call`. Replies may interleave;
    events of replies that never begin give nothing. `shape` as for `dump`.
    """

    def __init__(self, *, shape: Shape = "page") -> None:
        self._shape: Shape = shape
        self._replies: dict[str, _Reply] = {}

    def push(self, event: r.AgentEvent) -> list[Json]:
        """Return the messages that this event gives."""
        if isinstance(event, r.ReplyStartEvent):
            self._replies.setdefault(event.reply_id, _Reply(Msg.from_events([event])))
            return []
        reply = self._replies.get(event.reply_id)
        if reply is None:
            return []
        reply.msg.append_event(event)
        match event:
            case r.TextBlockStartEvent(block_id=block_id):
                reply.number("text", block_id)
            case r.TextBlockDeltaEvent(block_id=block_id, delta=delta):
                return self._piece(reply, event, TextBlock(text=delta, id=block_id))
            case r.ThinkingBlockStartEvent(block_id=block_id):
                reply.number("thinking", block_id)
            case r.ThinkingBlockDeltaEvent(block_id=block_id, delta=delta):
                return self._piece(reply, event, ThinkingBlock(thinking=delta, id=block_id))
            case r.DataBlockStartEvent(block_id=block_id, media_type=media_type):
                reply.number("data", block_id)
                reply.media_types[block_id] = media_type
            case r.DataBlockDeltaEvent(block_id=block_id, data=data):
                source = Base64Source(data=data, media_type=reply.media_types.get(block_id, ""))
                return self._piece(reply, event, DataBlock(source=source, id=block_id))
            case r.HintBlockEvent(block_id=block_id):
                reply.number("hint", block_id)
            case r.ToolCallStartEvent(tool_call_id=call_id):
                reply.number("tool_call", call_id)
            case r.ToolResultStartEvent(tool_call_id=call_id):
                reply.number("tool_result", call_id)
            case r.ToolCallEndEvent(tool_call_id=call_id):
                return self._complete(reply, event, "tool_call", {call_id})
            case r.ToolResultEndEvent(tool_call_id=call_id):
                return self._complete(reply, event, "tool_result", {call_id})
            case r.ExternalExecutionResultEvent(execution_results=results):
                return self._complete(reply, event, "tool_result", {result.id for result in results})
            case r.RequireExternalExecutionEvent(tool_calls=calls):
                return self._sent(reply, event, {call.id for call in calls})
            case r.ModelCallEndEvent(metadata={"usage_detail": dict() as detail}):
                for name, count in detail.items():
                    reply.tokens[name] = reply.tokens.get(name, 0) + (count if isinstance(count, int) else 0)
            case r.ReplyEndEvent():
                return self._whole(self._replies.pop(event.reply_id))
        return []

    def _complete(self, reply: _Reply, event: r.AgentEvent, kind: str, ids: set[str]) -> list[Json]:
        """Return the pieces of blocks that come in one go."""
        blocks = [block for block in reply.msg.content if block.type == kind and block.id in ids]
        return [piece for block in blocks for piece in self._piece(reply, event, block)]

    def _piece(self, reply: _Reply, event: r.AgentEvent, block: Block) -> list[Json]:
        number = reply.number(block.type, block.id)
        (piece,) = self._written(reply, event, [block])
        if number:
            piece |= {"message_id": f"{reply.msg.id}_{number}", "metadata": {THEIRS: {"of": reply.msg.id}}}
        return [{**piece, "delta": True}]

    def _sent(self, reply: _Reply, event: r.AgentEvent, ids: set[str]) -> list[Json]:
        """Return the message by which a server has its client run calls."""
        calls = [
            call for call in reply.msg.get_content_blocks("tool_call") if call.id in ids and call.state == "submitted"
        ]
        (made,) = self._written(reply, event, calls)
        return [{**made, "message_id": event.id, "role": "tool", "metadata": {"is_remote": True}}] if calls else []

    def _written(self, reply: _Reply, event: r.AgentEvent, blocks: Sequence[Block]) -> list[Json]:
        said = Msg(reply.msg.name, blocks, reply.msg.role, id=reply.msg.id, created_at=event.created_at)
        return dump([said], _NAME, shape=self._shape, keep=False)

    def _whole(self, reply: _Reply) -> list[Json]:
        """Return the whole messages of a reply, with its tokens by kind."""
        made = dump([reply.msg], _NAME, shape=self._shape)
        if (usages := made[0].get("usages")) is not None:
            usages |= {name: sum(reply.tokens.get(kind, 0) for kind in kinds) for name, kinds in _COUNTS.items()}
        return made
