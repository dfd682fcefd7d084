"""Calls of the MCP servers that an OpenAI client names.

A call is an `mcp_call` of the response that made it, which ends with what the model said: the call may end later. Its
client then asks for the next response, as after a function of its own: OpenAI's SDKs do so for every `mcp_call`. One
that waits for approval is an `mcp_approval_request` first, which the client answers by an item.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from realtime.dialects.openai_family.client import EventRefusal, Json
from realtime.dialects.openai_family.openai_client import WireItem
from realtime.dialects.openai_family.openai_server import OpenAIReplies
from realtime.dialects.openai_family.replies import MakeFrame, Output, Reply
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.call import ServerCustomEvent
from realtime.message import ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from realtime.tool.mcp.of_client import LISTED, ClientServers, RemoteTool

_RETRIEVED = "mcp_item_retrieved"
"""Name of the event that shows an item again; its value is the item."""


@dataclass(slots=True)
class _Call:
    """A call that has no result yet."""

    reply: Reply
    item_id: str
    tool: RemoteTool
    block: ToolCallBlock
    request_id: str | None = None
    """The item that asks for approval."""
    answer: Json | None = None
    """The client's answer to it, until it is confirmed."""
    output: Output | None = None
    """The call as the client sees it; None while it waits for approval."""


class RemoteCalls:
    """The calls of one session's servers."""

    def __init__(
        self, servers: ClientServers, replies: OpenAIReplies, frame: MakeFrame, new_id: Callable[[str], str]
    ) -> None:
        self._servers = servers
        self._replies = replies
        self._frame = frame
        self._new_id = new_id
        self._calls: dict[str, _Call] = {}
        self._items: dict[str, Json] = {}
        """What the client may retrieve, by id: lists of tools, requests for approval, calls."""

    # -- from the client -------------------------------------------------------------------------------------------

    def answered(self, wire: WireItem, label: str | None) -> c.ClientEvent:
        """Return what the client's answer to a request for approval means. Raises EventRefusal."""
        if wire.approve is None:
            message = "Missing required parameter: 'item.approve'."
            raise EventRefusal(message, code="missing_required_parameter", param="item.approve")
        asked = wire.approval_request_id or ""
        for call_id, call in self._calls.items():
            if call.request_id == asked and call.output is None:
                call.answer = {
                    "id": wire.id or self._new_id("item"),
                    "type": "mcp_approval_response",
                    "approval_request_id": asked,
                    "approve": wire.approve,
                    "reason": wire.reason,
                }
                return c.ClientToolResultEvent(
                    id=call_id,
                    name=call.block.name,
                    output=wire.reason or "",
                    confirmed=wire.approve,
                    event_id=label,
                )
        raise EventRefusal(
            f"No approval request with id '{asked[:64]}' waits for an answer.",
            code="invalid_value",
            param="item.approval_request_id",
        )

    def retrieved(self, item_id: str) -> ServerCustomEvent | None:
        """Return the event that shows this item; None if it is no item of a server."""
        wire = self._items.get(item_id)
        return None if wire is None else ServerCustomEvent(name=_RETRIEVED, value=wire)

    # -- to the client ---------------------------------------------------------------------------------------------

    def told(self, event: s.ServerEvent) -> list[str] | None:
        """Return the frames that say the event; None where it is about something else."""
        match event:
            case s.AgentResponseToolUseDeltaEvent() if self._servers.tool(event.tool_use.name) is not None:
                return []  # all of its arguments come at once, later
            case s.AgentResponseToolUseDoneEvent() if (tool := self._servers.tool(event.tool_use.name)) is not None:
                return self._called(event, tool)
            case s.AgentItemDoneEvent() if event.item.tool_call is not None:
                call = self._calls.get(event.item.tool_call.id)
                if call is None:
                    return None
                call.block = event.item.tool_call
                return [*self._confirmed(call), *self._begun(call)]
            case s.AgentResponseToolResultEvent() if event.tool_result.id in self._calls:
                if event.item_id is not None:
                    self._replies.hide(event.item_id)
                return self._ended(self._calls.pop(event.tool_result.id), event.tool_result)
            case ServerCustomEvent(name=name) if name == LISTED:
                return self._listed(str(event.value["server_label"]), str(event.value["state"]))
            case ServerCustomEvent(name=name) if name == _RETRIEVED:
                return [self._frame("conversation.item.retrieved", item=event.value)]
            case _:
                return None

    def _called(self, event: s.AgentResponseToolUseDoneEvent, tool: RemoteTool) -> list[str] | None:
        reply = self._replies.running(event.response_id)
        if reply is None or not event.item_id:
            return None
        reply.calls_client = True  # it ends here, also with other calls that run in this server
        call = self._calls[event.tool_use.id] = _Call(reply, event.item_id, tool, event.tool_use)
        if event.tool_use.state is not ToolCallState.ASKING:
            return self._begun(call)
        call.request_id = self._new_id("mcpr")
        self._replies.hide(event.item_id)
        asked = self._wire(call, call.request_id, "mcp_approval_request") | {"arguments": event.tool_use.input or "{}"}
        self._items[call.request_id] = asked
        return [*self._replies.shown(reply, asked)]

    def _wire(self, call: _Call, item_id: str, kind: str) -> Json:
        return {"id": item_id, "type": kind, "server_label": call.tool.server_label, "name": call.tool.name}

    def _begun(self, call: _Call) -> list[str]:
        if call.output is not None:
            return []
        arguments = call.block.input or "{}"
        wire = self._wire(call, call.item_id, "mcp_call") | {
            "arguments": "",
            "approval_request_id": call.request_id,
            "output": None,
            "error": None,
        }
        frames: list[str] = []
        call.output = self._replies.added(call.reply, wire, frames)
        call.output.outlasts = True
        place = {"item_id": call.item_id, "output_index": call.output.output_index}
        whole = {"response_id": call.reply.id, **place}
        call.output.wire = self._items[call.item_id] = wire | {"arguments": arguments}
        return [
            *frames,
            self._frame("response.mcp_call_arguments.delta", **whole, delta=arguments),
            self._frame("response.mcp_call_arguments.done", **whole, arguments=arguments),
            self._frame("response.mcp_call.in_progress", **place),
        ]

    def _confirmed(self, call: _Call) -> list[str]:
        """The answer of the client is an item, too."""
        answer, call.answer = call.answer, None
        if answer is None:
            return []
        before = self._replies.last_item_id
        return [
            self._frame(f"conversation.item.{said}", previous_item_id=before, item=answer) for said in ("added", "done")
        ]

    def _ended(self, call: _Call, result: ToolResultBlock) -> list[str]:
        frames = self._confirmed(call)
        if call.output is None or call.output.done:
            return frames  # it was refused, or its response is over
        text = result.output if isinstance(result.output, str) else result.output_text()
        place = {"item_id": call.item_id, "output_index": call.output.output_index}
        if result.state is ToolResultState.SUCCESS:
            call.output.wire |= {"output": text}
            frames.append(self._frame("response.mcp_call.completed", **place))
        else:
            call.output.wire |= {"error": {"type": "tool_execution_error", "message": text}}
            frames.append(self._frame("response.mcp_call.failed", **place))
        return [*frames, *self._replies.closed(call.reply, call.output)]

    def _listed(self, label: str, state: str) -> list[str]:
        item_id, before = self._new_id("mcpl"), self._replies.last_item_id
        wire = {"id": item_id, "type": "mcp_list_tools", "server_label": label, "tools": []}
        tools = self._servers.listed(label) if state == "completed" else []
        self._items[item_id] = wire | {"tools": tools}
        return [
            self._frame("conversation.item.added", previous_item_id=before, item=wire),
            self._frame("mcp_list_tools.in_progress", item_id=item_id),
            self._frame(f"mcp_list_tools.{state}", item_id=item_id),
            self._frame("conversation.item.done", previous_item_id=before, item=self._items[item_id]),
        ]
