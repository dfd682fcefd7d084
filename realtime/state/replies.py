"""Projects a call's log to reply events, and those to messages. Pure.

| realtime event | reply events |
|---|---|
| the user's voice | a reply with the role `user`; `reply_id` and `block_id` are the item's |
| an added item with words or pictures | a whole reply of its role |
| `agent_response_created` | REPLY_START, MODEL_CALL_START; the latter alone after tools or a lost link |
| words of a response, spoken or written | a text block per item |
| thoughts of the model | a thinking block per item |
| its audio, with `keeps_audio` | a data block per item: all of it, played or not |
| tool use | TOOL_CALL_*, and as soon as the model has finished TOOL_RESULT_START, or REQUIRE_EXTERNAL_EXECUTION |
| a call of the client's tools to which no one had to agree | USER_CONFIRM_RESULT before that: it is allowed |
| a call that is `asking` | REQUIRE_USER_CONFIRM; the user's answer USER_CONFIRM_RESULT |
| such a call of an agent behind the voice | the same in a reply of its own |
| a piece of a tool's result | TOOL_RESULT_TEXT_DELTA; a note about its work is CUSTOM `tool_progress` |
| a system item that is a reminder | HINT_BLOCK in the reply that is open, else in the next one |
| `agent_response_report` | HINT_BLOCK, CUSTOM, EXCEED_MAX_ITERS, REQUEST_STOP; the reason of REPLY_END |
| a tool's result | TOOL_RESULT_*, or EXTERNAL_EXECUTION_RESULT if the tool runs in the client |
| `agent_response_done` | MODEL_CALL_END |
| `agent_error` | the reason of a failed reply; CUSTOM `error` if it ends none |
| a participant enters or leaves the room | CUSTOM `team_updated` |
| `server_custom` | CUSTOM with its name and value |

`reply_id` is the id of the turn's first response. Responses outside the conversation make no replies.

**The end of a reply waits until it is final.** A response is often complete long before it is played, and may be
truncated until then. So a complete spoken reply ends when the response to the next turn begins, the agent leaves, or
`settle` is called; its end has the words that were played and the time when it was complete. A reply of the user ends
when its words are there and the turn can no longer continue after a pause. A withdrawn response (a hasty end of turn is
undone) ends `interrupted` with empty words; `messages` leaves it out. A flush over an open question for consent stops
only the voice: the result of the call is still to come, and says whether it was interrupted.

**Later corrections** are CUSTOM `text_corrected` {reply_id, block_id, text}: a client truncates, deletes or replaces
words of a reply that has ended; `messages` applies them. A tool that outlives the interruption of its reply is CUSTOM
`late_tool_result` {tool_result}.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

import msgspec

from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.base import Item
from realtime.event.meaning import Report
from realtime.message import (
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    fold_messages,
    system_reminder,
)
from realtime.state._agent_reply import AgentReply
from realtime.state._user_reply import HASTY_MS, Outlet, UserReply

OPEN_USER_REPLIES = 8
"""Spoken turns that may still wait for their words."""
UNPLAYED_REPLIES = 4
"""Complete replies to one turn that may still be truncated."""
REMINDER = system_reminder("").partition("\n")[0]
"""Begins the text of a system item that is a hint."""
OPEN_CALLS = 64
"""Tool calls of a history whose results may still come."""
KNOWN_ITEMS = 4_096
"""Correctable items of ended replies, and reply ids in use."""


def is_question_within(event: s.ServerEvent) -> bool:
    """Return whether an agent behind the voice asks, or its tool."""
    return isinstance(event, s.AgentResponseToolUseDoneEvent) and not event.item_id


class ReplyProjection:
    """Follows the log of one call; deterministic in events, ids and times.

    `created_at_of` turns the log's `ts_ms` into ISO 8601. `client_tools` are the tools of the client by the call's
    first settings, which are not in the log; later settings are. `user_name` is the default until an item has a name.
    The state is the open replies and a bounded memory of ids.
    """

    def __init__(
        self,
        session_id: str,
        *,
        created_at_of: Callable[[int], str],
        keeps_audio: bool = False,
        client_tools: Iterable[str] = (),
        user_name: str = "user",
    ) -> None:
        self._out = Outlet(session_id, created_at_of)
        self._keeps_audio = keeps_audio
        self._client_tools = frozenset(client_tools)
        self._user_name = user_name
        self._model_names: dict[str, str] = {}
        self._users: dict[str, UserReply] = {}
        self._agents: list[AgentReply] = []
        self._running: dict[tuple[str, str], AgentReply] = {}
        self._open_calls: dict[str, Item] = {}
        self._questions: set[str] = set()
        """The calls whose question for consent is open."""
        self._hints: list[tuple[str | None, r.HintBlockEvent]] = []
        """Hints that no reply holds yet, behind the agent that read it; None: any."""
        self._spoken_at_ms = -1_000_000
        # The (reply_id, block_id) of items whose reply has ended.
        self._known: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._reply_ids: OrderedDict[str, None] = OrderedDict()

    def push(self, event: s.ServerEvent) -> list[r.AgentEvent]:
        """Take the next event of the log; returns the reply events that it causes."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            # A stored log has no audio: nothing but the data blocks may depend on it.
            reply = self._running.get((event.agent_id, event.response_id)) if self._keeps_audio else None
            if reply is None:
                return []
            self._out.at(event.seq, event.ts_ms)
            reply.add_audio(event)
            return self._out.take()
        self._out.at(event.seq, event.ts_ms)
        self._end_what_is_complete()
        self._follow(event)
        self._end_what_is_complete()
        return self._out.take()

    def settle(self) -> list[r.AgentEvent]:
        """End every complete reply without waiting for its playback."""
        for reply in [*self._agents]:
            if reply.is_over:
                self._end_agent_reply(reply)
        return self._out.take()

    def is_open(self, reply_id: str) -> bool:
        """Whether this reply of the agent is still open."""
        return any(reply.reply_id == reply_id and not reply.is_over for reply in self._agents)

    # -- following the log -----------------------------------------------------------------------------------------

    def _follow(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentInputStartedEvent():
                self._voice_starts(event)
            case s.AgentInputDoneEvent():
                self._spoken_at_ms = event.ts_ms
                if (user := self._users.get(event.item_id)) is not None:
                    user.is_quiet()
            case s.AgentInputCommittedEvent():
                self._user(event.item_id).commit()
            case s.AgentInputTranscriptionDeltaEvent():
                if event.item_id not in self._known:
                    self._user(event.item_id).text.add(event.delta)
            case s.AgentInputTranscriptionDoneEvent():
                self._transcribed(event.item_id, event.transcript)
            case s.AgentInputTranscriptionFailedEvent():
                self._transcribed(event.item_id, None)
            case s.AgentItemAddedEvent():
                self._item_added(event)
            case s.AgentItemDoneEvent():
                self._item_done(event.item)
            case s.AgentItemTruncatedEvent():
                self._correct(event.item_id, event.transcript or "")
            case s.AgentItemDeletedEvent():
                self._correct(event.item_id, "")
            case s.ServerAudioFlushEvent(reason=reason):
                if reason == s.CLAIM_WITHHELD:
                    return  # what follows corrects the same reply
                for reply in self._agents:
                    reply.interrupt(asked=bool(self._questions))
            case s.AgentResponseCreatedEvent():
                self._response_created(event)
            case s.AgentErrorEvent():
                self._failed(event)
            case s.ServerSessionUpdatedEvent():
                if (tools := (event.config or {}).get("tools")) is not None:
                    self._client_tools = frozenset(str(tool.get("name")) for tool in tools)
            case s.AgentReadyEvent():
                # The call continues after its server was lost: open replies will not be finished.
                self._end_all(event.agent_id)
                self._model_names[event.agent_id] = str((event.model or {}).get("model", ""))
            case s.AgentEndedEvent():
                self._end_all(event.agent_id)
            case s.ServerSessionEndedEvent():
                self._end_all(None)
            case s.ServerRoomJoinedEvent() | s.ServerRoomLeftEvent():
                joined = isinstance(event, s.ServerRoomJoinedEvent)
                value = {"participant_id": event.participant_id, "name": event.name, "joined": joined}
                self._out.emit(r.CustomEvent, "", name="team_updated", value=value)
            case s.AgentToolProgressEvent():
                self._tool_reports(event)
            case s.ServerCustomEvent():
                self._follow_question(event)
                self._out.emit(r.CustomEvent, "", name=event.name, value=event.value)
            case s.AgentResponseToolResultEvent():
                self._tool_result(event)
            case s.AgentResponseReportEvent(report=report):
                self._reported(event.agent_id, event.response_id, report)
            case _:
                self._follow_response(event)

    def _follow_response(self, event: s.ServerEvent) -> None:
        """Take an event of a response."""
        key = (str(getattr(event, "agent_id", "")), str(getattr(event, "response_id", "")))
        reply = self._running.get(key)
        if isinstance(event, s.AgentResponseToolUseDoneEvent) and is_question_within(event):
            # It is a reply of its own, which its result ends.
            reply = AgentReply(self._out, self._new_reply_id(event.tool_use.id), event.agent_id, event.agent_name)
            reply.waits = "consent"
            self._agents.append(reply)
        if reply is None:
            return
        match event:
            case s.AgentResponseAudioTranscriptDeltaEvent():
                reply.speaks = True
                reply.add_words(event.item_id, event.delta)
            case s.AgentResponseTextDeltaEvent():
                reply.add_words(event.item_id, event.delta)
            case s.AgentResponseAudioTranscriptDoneEvent():
                reply.speaks = True
                reply.settle_words(event.item_id, event.transcript)
            case s.AgentResponseTextDoneEvent():
                reply.settle_words(event.item_id, event.text)
            case s.AgentResponseAudioDoneEvent():
                reply.speaks = True
                reply.end_audio(event.item_id, event.content_index)
            case s.AgentResponseThinkingDeltaEvent():
                reply.think(event.item_id, event.delta)
            case s.AgentResponseThinkingDoneEvent():
                reply.end_thought(event.item_id)
            case s.AgentResponseToolUseDeltaEvent() | s.AgentResponseToolUseDoneEvent():
                call, complete = event.tool_use, isinstance(event, s.AgentResponseToolUseDoneEvent)
                delta = event.delta if isinstance(event, s.AgentResponseToolUseDeltaEvent) else ""
                external = call.name in self._client_tools and reply.waits != "consent"
                reply.use_tool(call, delta, external=external, complete=complete)
            case s.AgentResponseDoneEvent():
                del self._running[key]
                errors, failed = reply.errors, event.status == "failed"
                reply.finish_response(event)
                reply.errors = []
                for error in () if failed else errors:
                    self._emit_error(error)
            case _:
                return

    def _response_created(self, event: s.AgentResponseCreatedEvent) -> None:
        if event.conversation == "none":
            return
        reply = next((one for one in self._agents if one.agent_id == event.agent_id and one.goes_on), None)
        if reply is None:
            over = [one for one in self._agents if one.is_over and one.agent_id == event.agent_id]
            for place, one in enumerate(over):
                # Unless the user spoke in between, it answers the same turn and is truncated with the earlier one.
                if one.is_followed or place < len(over) - UNPLAYED_REPLIES:
                    self._end_agent_reply(one)
            reply_id = self._new_reply_id(event.response_id)
            reply = AgentReply(self._out, reply_id, event.agent_id, event.agent_name)
            self._agents.append(reply)
        self._running[event.agent_id, event.response_id] = reply
        waiting, self._hints = self._hints, []
        for agent_id, hint in waiting:
            if agent_id in (None, event.agent_id):
                reply.take_report(hint)
            else:
                self._hints.append((agent_id, hint))
        reply.begin_response(event.response_id, self._model_names.get(event.agent_id, ""), event.metadata)

    def _reported(self, agent_id: str, response_id: str, report: Report) -> None:
        """Take a report of a thinking agent, also between two responses."""
        open_replies = (one for one in reversed(self._agents) if one.agent_id == agent_id and not one.is_over)
        reply = self._running.get((agent_id, response_id)) or next(open_replies, None)
        if reply is not None:
            reply.take_report(report)
        elif isinstance(report, r.HintBlockEvent):
            self._hints.append((agent_id, report))

    def _tool_reports(self, event: s.AgentToolProgressEvent) -> None:
        reply = next((one for one in reversed(self._agents) if one.waits_for(event.tool_call_id)), None)
        if event.kind == "result" and reply is not None:
            reply.add_result(event.tool_call_id, event.delta)
        elif event.kind == "note":
            value = {"tool_call_id": event.tool_call_id, "text": event.delta}
            self._out.emit(r.CustomEvent, "" if reply is None else reply.reply_id, name="tool_progress", value=value)

    def _follow_question(self, event: s.ServerCustomEvent) -> None:
        """Note whether a question for consent is open."""
        if event.name == "consent_question":
            call_id = str(event.value.get("tool_call_id"))
            if event.value.get("state") == "answered":
                self._questions.discard(call_id)
            else:
                self._questions.add(call_id)

    def _tool_result(self, event: s.AgentResponseToolResultEvent) -> None:
        self._questions.discard(event.tool_result.id)
        for reply in reversed(self._agents):
            if reply.take_result(event.tool_result):
                reply.end_question()
                return
        if event.tool_result.state != "interrupted":
            value = {"tool_result": event.tool_result.model_dump()}
            self._out.emit(r.CustomEvent, "", name="late_tool_result", value=value)

    def _failed(self, event: s.AgentErrorEvent) -> None:
        """Keep an error of the model until its response is done; report any other at once."""
        if event.error_type == "provider_error":
            for reply in self._agents:
                if reply.response_id is not None:
                    reply.errors.append(event)
                    return
                if reply.goes_on and reply.waits == "tools":
                    reply.fail(event.message)
                    return
        self._emit_error(event)

    def _emit_error(self, event: s.AgentErrorEvent) -> None:
        value = {
            "error_type": event.error_type,
            "code": event.code,
            "message": event.message,
            "retryable": event.retryable,
        }
        self._out.emit(r.CustomEvent, "", name="error", value=value)

    # -- what the user says ----------------------------------------------------------------------------------------

    def _voice_starts(self, event: s.AgentInputStartedEvent) -> None:
        for item_id, other in self._users.items():
            if item_id != event.item_id:
                other.is_quiet()
        self._turn_is_taken()
        if event.item_id in self._known:
            # Repeated under the id of an ended reply: the words make a new reply.
            del self._known[event.item_id]
        self._user(event.item_id).speaks()

    def _turn_is_taken(self) -> None:
        """The next response answers the user, not the earlier tools."""
        for reply in self._agents:
            if reply.goes_on and reply.waits == "tools":
                reply.waits = None
            reply.is_followed = reply.is_followed or reply.is_over

    def _user(self, item_id: str) -> UserReply:
        user = self._users.get(item_id)
        if user is None:
            while len(self._users) >= OPEN_USER_REPLIES:
                self._end_user_reply(next(iter(self._users.values())))
            user = UserReply(self._out, self._new_reply_id(item_id), item_id, self._user_name)
            self._users[item_id] = user
        return user

    def _transcribed(self, item_id: str, transcript: str | None) -> None:
        if item_id not in self._known:
            self._user(item_id).transcribed(transcript)
        elif transcript is not None:
            self._correct(item_id, transcript)

    # -- items -----------------------------------------------------------------------------------------------------

    def _item_added(self, event: s.AgentItemAddedEvent) -> None:
        item = event.item
        if item.role == "user" and (item.text or any(part.type == "audio" for part in item.content)):
            self._turn_is_taken()
        if item.role == "user" and item.name:
            self._user_name = item.name
        if item.role == "user" and any(part.type == "audio" for part in item.content):
            user = self._user(item.id)
            user.committed = True
            if item.text:
                user.text.settle(item.text)
        elif item.tool_call is not None:
            # In a model's history the call and its result make one reply.
            self._open_calls[item.tool_call.id] = item
            if len(self._open_calls) > OPEN_CALLS:
                self._emit_call(next(iter(self._open_calls.values())), event.agent_name)
        elif (result := item.tool_result) is not None:
            call = self._open_calls.get(result.id) or Item(
                id=item.id, type="tool_call", tool_call=ToolCallBlock(id=result.id, name=result.name)
            )
            self._emit_call(call, event.agent_name, result)
        elif item.role == "system" and item.text.startswith(REMINDER):
            reply = next((one for one in reversed(self._agents) if not one.is_over), None)
            hint = r.HintBlockEvent(
                id="", created_at="", reply_id="", block_id=item.id, hint=item.text, source=item.name
            )
            if reply is not None:
                reply.take_report(hint)
            else:
                self._hints.append((None, hint))
        elif item.text or any(part.image for part in item.content):
            self._whole_reply(item, event.agent_name)

    def _emit_call(self, item: Item, agent_name: str, result: ToolResultBlock | None = None) -> None:
        out, call = self._out, item.tool_call
        if call is None:
            return
        self._open_calls.pop(call.id, None)
        reply_id = self._new_reply_id(item.id)
        out.emit(r.ReplyStartEvent, reply_id, session_id=out.session_id, name=item.name or agent_name)
        out.emit(r.ToolCallStartEvent, reply_id, tool_call_id=call.id, tool_call_name=call.name)
        out.emit(r.ToolCallDeltaEvent, reply_id, tool_call_id=call.id, delta=call.input)
        out.emit(r.ToolCallEndEvent, reply_id, tool_call_id=call.id)
        if result is not None:
            text = result.output_text(names_media=True)
            out.emit(r.ToolResultStartEvent, reply_id, tool_call_id=call.id, tool_call_name=call.name)
            out.emit(r.ToolResultTextDeltaEvent, reply_id, tool_call_id=call.id, delta=text)
            out.emit(r.ToolResultEndEvent, reply_id, tool_call_id=call.id, state=result.state)
        out.emit(r.ReplyEndEvent, reply_id, session_id=out.session_id)

    def _whole_reply(self, item: Item, agent_name: str) -> None:
        """Emit a whole reply for an added item: typed, shown, or history of the model."""
        out, reply_id = self._out, self._new_reply_id(item.id)
        role = item.role or "assistant"
        name = item.name or (agent_name if role == "assistant" else self._user_name if role == "user" else role)
        out.emit(r.ReplyStartEvent, reply_id, session_id=out.session_id, name=name, role=role)
        if item.text:
            out.emit(r.TextBlockStartEvent, reply_id, block_id=item.id)
            out.emit(r.TextBlockDeltaEvent, reply_id, block_id=item.id, delta=item.text)
            out.emit(r.TextBlockEndEvent, reply_id, block_id=item.id)
        for place, part in enumerate(item.content):
            if part.image and role != "system":
                media_type = part.media_type or "image/jpeg"
                block_id = f"{item.id}_{place}"
                out.emit(r.DataBlockStartEvent, reply_id, block_id=block_id, media_type=media_type)
                out.emit(r.DataBlockDeltaEvent, reply_id, block_id=block_id, data=part.image)
                out.emit(r.DataBlockEndEvent, reply_id, block_id=block_id)
        out.emit(r.ReplyEndEvent, reply_id, session_id=out.session_id)
        self._remember(item.id, reply_id)

    def _item_done(self, item: Item) -> None:
        if (call := item.tool_call) is not None:
            if call.state == "allowed":
                for reply in self._agents:
                    reply.allow(call)
            return
        if (user := self._users.get(item.id)) is not None:
            if user.text.words.strip() != item.text:
                user.text.settle(item.text)
            return
        for reply in self._agents:
            if item.id in reply.texts:
                reply.complete_item(item.id, item.text)

    def _correct(self, item_id: str, text: str) -> None:
        """Replace the words of an item."""
        if (user := self._users.get(item_id)) is not None:
            user.text.truncate(text)
            return
        for reply in self._agents:
            if item_id in reply.texts:
                reply.truncate(item_id, text)
                return
        if item_id in self._known:
            reply_id, block_id = self._known[item_id]
            value = {"reply_id": reply_id, "block_id": block_id, "text": text}
            self._out.emit(r.CustomEvent, "", name="text_corrected", value=value)

    # -- ends ------------------------------------------------------------------------------------------------------

    def _end_what_is_complete(self) -> None:
        ts_ms = self._out.ts_ms
        for user in [*self._users.values()]:
            if user.is_complete(ts_ms):
                self._end_user_reply(user)
        for reply in [*self._agents]:
            # Written words are not truncated, but the response to a hasty end of turn is withdrawn.
            if reply.is_over and not reply.speaks and ts_ms > self._spoken_at_ms + HASTY_MS:
                self._end_agent_reply(reply)

    def _end_user_reply(self, user: UserReply) -> None:
        del self._users[user.item_id]
        user.end()
        self._remember(user.item_id, user.reply_id)

    def _end_agent_reply(self, reply: AgentReply) -> None:
        self._agents.remove(reply)
        self._running = {key: one for key, one in self._running.items() if one is not reply}
        reply.end()
        for item_id in reply.texts:
            self._remember(item_id, reply.reply_id)

    def _end_all(self, agent_id: str | None) -> None:
        """End the replies of this agent, or all; the user's replies end with an agent's."""
        self._questions.clear()
        for item in [*self._open_calls.values()]:
            self._emit_call(item, item.name or "assistant")
        for user in [*self._users.values()]:
            self._end_user_reply(user)
        for reply in [*self._agents]:
            if agent_id is None or reply.agent_id == agent_id:
                self._end_agent_reply(reply)
        out = self._out
        for _, hint in self._hints:
            reply_id = self._new_reply_id(hint.block_id)
            out.emit(r.ReplyStartEvent, reply_id, session_id=out.session_id, name=hint.source or "assistant")
            out.emit(r.HintBlockEvent, reply_id, block_id=hint.block_id, hint=hint.hint, source=hint.source)
            out.emit(r.ReplyEndEvent, reply_id, session_id=out.session_id)
        self._hints.clear()

    def _remember(self, item_id: str, reply_id: str) -> None:
        self._known[item_id] = (reply_id, item_id)
        if len(self._known) > KNOWN_ITEMS:
            self._known.popitem(last=False)

    def _new_reply_id(self, wanted: str) -> str:
        """Return a unique reply id: some models count from one on every link."""
        reply_id = f"{wanted}_{self._out.seq}" if wanted in self._reply_ids else wanted
        self._reply_ids[reply_id] = None
        if len(self._reply_ids) > KNOWN_ITEMS:
            self._reply_ids.popitem(last=False)
        return reply_id


def messages(events: Iterable[r.AgentEvent]) -> list[Msg]:
    """Fold reply events to messages: corrections applied, withdrawn and empty ones left out."""
    kept = [*events]
    folded = {message.id: message for message in fold_messages(kept)}
    for event in kept:
        if isinstance(event, r.CustomEvent) and event.name == "text_corrected":
            message = folded.get(event.value["reply_id"])
            if message is not None:
                _correct(message, event.value["block_id"], event.value["text"], event.created_at)
    return [message for message in folded.values() if not _is_void(message)]


def _correct(message: Msg, block_id: str, text: str, created_at: str) -> None:
    blocks = message.content
    for place, block in enumerate(blocks):
        if isinstance(block, TextBlock) and block.id == block_id:
            blocks[place] = msgspec.structs.replace(block, text=text)
            return
    if text:
        blocks.append(TextBlock(text=text, id=block_id, created_at=created_at, finished_at=created_at))


def _is_void(message: Msg) -> bool:
    """Whether the message was withdrawn, deleted (with its thoughts) or only noise."""
    interrupted = message.finished_reason == "interrupted"
    for block in message.content:
        if isinstance(block, TextBlock) and not block.text:
            continue
        if not (interrupted and isinstance(block, ThinkingBlock)):
            return False
    return interrupted or (message.finished_reason == "completed" and message.role == "assistant")
