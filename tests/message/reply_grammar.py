"""The grammar of a stream of reply events, which every such stream is held to.

A reply begins with REPLY_START and ends with REPLY_END, each once. Inside, blocks and tool calls follow start, delta,
end; a model call holds what the model says, tool results come between model calls. One exception, which a voice
needs: a text block begins and grows inside its model call, but may end later, when it is known what was heard.
One-shot events come anywhere inside.
"""

from collections.abc import Iterable
from typing import Any

from realtime.event.reply import AgentEvent

BLOCKS = {"TEXT_BLOCK": "block_id", "THINKING_BLOCK": "block_id", "DATA_BLOCK": "block_id"}
TOOLS = {"TOOL_CALL": "tool_call_id", "TOOL_RESULT": "tool_call_id"}
ONE_SHOT = {
    "HINT_BLOCK",
    "CUSTOM",
    "EXCEED_MAX_ITERS",
    "REQUEST_STOP",
    "REQUIRE_USER_CONFIRM",
    "USER_CONFIRM_RESULT",
    "REQUIRE_EXTERNAL_EXECUTION",
    "EXTERNAL_EXECUTION_RESULT",
    "USER_INTERRUPT",
}


class _Reply:
    def __init__(self) -> None:
        self.open: set[tuple[str, str]] = set()
        self.seen: set[tuple[str, str]] = set()
        self.in_model_call = False
        self.model_calls = 0
        self.ended = False

    def take(self, event: Any) -> None:
        kind: str = event.type
        if kind == "REPLY_END":
            assert not self.open, f"{self.open} are open at the end of {event.reply_id}"
            assert not self.in_model_call, f"a model call is open at the end of {event.reply_id}"
            self.ended = True
        elif kind in ("MODEL_CALL_START", "MODEL_CALL_END"):
            begins = kind == "MODEL_CALL_START"
            assert self.in_model_call is not begins, f"{kind} in {event.reply_id}"
            self.in_model_call, self.model_calls = begins, self.model_calls + begins
            assert not [one for one in self.open if one[0] != "TEXT_BLOCK"], f"{self.open} are open at {kind}"
        elif kind not in ONE_SHOT:
            self.take_part(event)

    def take_part(self, event: Any) -> None:
        name, _, phase = event.type.removesuffix("_TEXT_DELTA").removesuffix("_DATA_DELTA").rpartition("_")
        if event.type.startswith("TOOL_RESULT") and event.type.endswith("_DELTA"):
            name, phase = "TOOL_RESULT", "DELTA"
        key = (name, getattr(event, {**BLOCKS, **TOOLS}[name]))
        if phase == "START":
            assert key not in self.seen, f"{key} begins twice in {event.reply_id}"
            self.seen.add(key)
            self.open.add(key)
        assert key in self.open, f"{event.type} of {key}, which is not open"
        if phase == "END":
            self.open.remove(key)
        if name == "TOOL_RESULT":
            assert ("TOOL_CALL", key[1]) in self.seen - self.open, f"{key} comes before its call is complete"
            assert not self.in_model_call, f"{event.type} inside a model call"
        elif self.model_calls and not (name == "TEXT_BLOCK" and phase == "END"):
            assert self.in_model_call, f"{event.type} of {key} outside its model call"


def check_replies(events: Iterable[AgentEvent], *, complete: bool = True) -> None:
    """Raises AssertionError where a stream breaks the grammar. `complete`: every reply has to have ended."""
    replies: dict[str, _Reply] = {}
    ids: set[str] = set()
    for event in events:
        assert event.id not in ids, f"two events have the id {event.id}"
        ids.add(event.id)
        if event.type == "REPLY_START":
            assert event.reply_id not in replies, f"{event.reply_id} begins twice"
            replies[event.reply_id] = _Reply()
            continue
        if event.type == "CUSTOM" and not event.reply_id:
            continue
        reply = replies.get(event.reply_id)
        assert reply is not None, f"{event.type} before its reply has begun"
        assert not reply.ended, f"{event.type} after the end of {event.reply_id}"
        reply.take(event)
    if complete:
        assert not [reply_id for reply_id, reply in replies.items() if not reply.ended]
