"""Rebuild a call from its stored log: the conversation as it was heard, and the events that close open ones.

Pure. It serves calls whose process was killed or whose client returns late: the model gets the conversation again, and
the log continues.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, ContentPart, Item
from realtime.message import ToolResultBlock, ToolResultState
from realtime.permission.accepted import PERMISSION_UPDATED, Rules, accepted_in
from realtime.state.conversation import Conversation
from realtime.state.log import AudioRun, Entry, last_seq_of

AGENT_CHANGED = "agent_changed"
"""Name of the `server_custom` event by which a call changes its agent."""
BROKEN_OFF = "call_interrupted"
"""Reason of a response or words cut off by the process's end."""
BEFORE_VOICE_MS = 300
"""A detector needs this much audio from before a voice."""
_BYTES_PER_MS = DEFAULT_OUTPUT_RATE_HZ * 2 / 1000


class LastPlayed(NamedTuple):
    """The last item that the client played, and how much of it."""

    item_id: str
    played_ms: int


class Owed(NamedTuple):
    """An answer that is owed: the rest of an item, or, without one, all of it."""

    item_id: str | None = None


@dataclass(slots=True)
class Restored:
    """A rebuilt call. `closing` are the events to append to its log, in order."""

    conversation: Conversation = field(default_factory=Conversation)
    config: dict[str, Any] = field(default_factory=dict)
    """The settings that updates have changed."""
    closing: list[s.ServerEvent] = field(default_factory=list)
    last_seq: int = 0
    last_ts_ms: int = 0
    accepted: Rules = ()
    """The permission rules that the user has accepted."""
    agent_id: str | None = None
    """The agent that spoke last."""
    agent_name: str | None = None
    """Its name, where the call was handed over to it."""
    owed: Owed | None = None
    """The answer that the end of the process broke off; None: there is none."""
    understood_ms: int | None = None
    """The position in the client's audio up to which it was understood; None if the log lacks it. The client sends the
    rest again."""


def restore(entries: Iterable[Entry], played: LastPlayed | None = None) -> Restored:
    """Rebuild a call from its whole log.

    A response that was broken off is truncated where `played` says, and counts as unplayed if `played` names another
    item; without `played`, all that was sent counts as played.
    """
    reader = ConversationReader()
    for entry in entries:
        reader.read(entry)
    return reader.finish(played)


def ends_of_grace(entry: Entry) -> bool:
    """Whether the entry is an end that the call's continuation voids; clients do not get it."""
    return isinstance(entry, s.ServerSessionEndedEvent | s.AgentEndedEvent | s.ServerGoodbyeEvent)


@dataclass(slots=True)
class _Response:
    """An open response."""

    created: s.AgentResponseCreatedEvent
    items: list[str] = field(default_factory=list)


class ConversationReader:
    """Reads a log and rebuilds its conversation."""

    def __init__(self, conversation: Conversation | None = None) -> None:
        self._made = Restored(conversation=conversation if conversation is not None else Conversation())
        self._conversation = self._made.conversation
        self._responses: dict[str, _Response] = {}
        self._growing: dict[str, str] = {}
        """The items of open responses, with their response."""
        self._voices: dict[str, int] = {}
        """Where the user items without words, or with an open voice, begin."""
        self._voice_ends: dict[str, int] = {}
        self._own_voices: set[str] = set()
        """The items of this user: those of others in a room count the audio of other clients."""
        self._own_id = ""
        """The user's participant id in the room; empty outside rooms."""
        self._has_positions = True
        """Whether the log has each turn's position in the client's audio."""
        self._present: dict[str, str] = {}
        """The names of the room's participants by id; their room ends with the server."""
        self._has_floor = False
        self._is_heard_again = False
        """Whether the client sends a turn once more."""
        self._cut: set[str] = set()
        """The items that the end of the process has cut."""
        self._is_leaving = self._was_answering = False
        """Whether the server has said goodbye, and was answering then."""

    def read(self, entry: Entry) -> None:
        """Read the next entry."""
        self._made.last_seq = max(self._made.last_seq, last_seq_of(entry))
        self._made.last_ts_ms = entry.last_ts_ms if isinstance(entry, AudioRun) else entry.ts_ms
        if type(entry) is s.AgentResponseAudioDeltaEvent:
            # A live event; a stored log has it as part of a run.
            rate_hz = entry.format.rate or DEFAULT_OUTPUT_RATE_HZ
            self._conversation.add_audio(entry.item_id, len(entry.delta) / (rate_hz * 2 / 1000))
            return
        if isinstance(entry, AudioRun):
            self._conversation.add_audio(entry.item_id, entry.n_bytes / _BYTES_PER_MS)
            return
        self._read_item(entry)
        self._read_response(entry)
        self._read_turn(entry)
        self._read_room(entry)
        if isinstance(entry, s.ServerSessionUpdatedEvent) and entry.config:
            # None means unset.
            self._made.config.update((key, value) for key, value in entry.config.items() if value is not None)
        elif isinstance(entry, s.ServerGoodbyeEvent):
            self._is_leaving, self._was_answering = True, self._is_answering
        elif isinstance(entry, s.AgentReadyEvent):
            self._is_leaving = self._was_answering = False
            self._cut.clear()
            self._made.agent_id = entry.agent_id or None
        elif isinstance(entry, s.ServerCustomEvent) and entry.name == AGENT_CHANGED:
            self._made.agent_name = str(entry.value.get("to") or "") or None
        elif isinstance(entry, s.ServerCustomEvent) and entry.name == PERMISSION_UPDATED:
            self._made.accepted = accepted_in(entry.value)

    def _read_item(self, event: s.ServerEvent) -> None:
        conversation = self._conversation
        match event:
            case s.AgentItemAddedEvent(item=item, previous_item_id=previous):
                conversation.add(item, previous or "root")
            case s.AgentItemDoneEvent(item=item) if item.id in conversation:
                conversation.add(item)
            case s.AgentItemDeletedEvent(item_id=item_id):
                conversation.delete(item_id)
                self._voices.pop(item_id, None)
            case s.AgentItemTruncatedEvent(item_id=item_id) if item_id in conversation:
                conversation.truncate(item_id, event.audio_end_ms, transcript=event.transcript or "", anew=True)
                if self._is_leaving:
                    self._cut.add(item_id)
            case s.AgentResponseToolUseDoneEvent(item_id=item_id, tool_use=call) if item_id:
                conversation.add_tool_call(item_id, call)
            case s.AgentResponseToolResultEvent(item_id=str(item_id), tool_result=result):
                conversation.add_tool_result(item_id, result)
            case _:
                pass

    def _read_response(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentResponseCreatedEvent():
                self._responses[event.response_id] = _Response(event)
            case s.AgentResponseDoneEvent():
                response = self._responses.pop(event.response_id, None)
                for item_id in response.items if response is not None else ():
                    self._growing.pop(item_id, None)
            case (
                s.AgentResponseAudioTranscriptDeltaEvent(response_id=response_id, item_id=item_id, delta=delta)
                | s.AgentResponseTextDeltaEvent(response_id=response_id, item_id=item_id, delta=delta)
            ) if self._counts(item_id):
                self._grow(response_id, item_id)
                self._conversation.add_text(item_id, delta)
            case s.AgentResponseAudioTranscriptDoneEvent(item_id=item_id, transcript=text) if self._counts(item_id):
                self._correct(item_id, text)
                self._conversation.update(item_id, content=(ContentPart(type="audio", transcript=text),))
            case s.AgentResponseTextDoneEvent(item_id=item_id, text=text) if self._counts(item_id):
                self._correct(item_id, text)
                self._conversation.set_text(item_id, text)
            case s.AgentResponseAudioDoneEvent(item_id=item_id) if self._counts(item_id):
                self._conversation.audio_complete(item_id)
            case _:
                pass

    def _correct(self, item_id: str, whole: str) -> None:
        if item_id in self._conversation:
            self._conversation.correct_text(item_id, self._conversation.spoken_text(item_id), whole)

    def _read_turn(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentInputStartedEvent(item_id=item_id, audio_start_ms=start_ms):
                self._voices.setdefault(item_id, start_ms)
                if event.agent_id == self._own_id or not self._own_id:
                    self._own_voices.add(item_id)
            case s.AgentInputDoneEvent(item_id=item_id, audio_end_ms=end_ms):
                self._voice_ends[item_id] = end_ms
            case s.AgentInputCommittedEvent(item_id=item_id, audio_end_ms=int(end_ms)):
                # Push-to-talk: all audio since the previous turn.
                self._voices[item_id] = max(self._voice_ends.values(), default=0)
                self._own_voices.add(item_id)
                self._voice_ends[item_id] = end_ms
            case s.AgentInputCommittedEvent(item_id=item_id):
                self._has_positions = self._has_positions and item_id in self._voice_ends
            case s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=text):
                self._voices.pop(item_id, None)
                if item_id in self._conversation:
                    self._conversation.set_transcript(item_id, text)
            case s.AgentInputTranscriptionFailedEvent(item_id=item_id) | s.AgentInputClearedEvent(item_id=str(item_id)):
                self._voices.pop(item_id, None)
            case s.AgentInputClearedEvent():
                self._voices = {one: start for one, start in self._voices.items() if one in self._conversation}
            case _:
                pass

    def _read_room(self, event: s.ServerEvent) -> None:
        match event:
            case (
                s.ServerRoomJoinedEvent(participant_id=who, name=name)
                | s.ServerRoomChangedEvent(participant_id=who, name=name)
            ):
                if not self._present:
                    # The first one that a client gets is its own.
                    self._own_id = who
                self._present[who] = name
            case s.ServerRoomLeftEvent(participant_id=who, reason=reason) if reason not in ("away", "renamed"):
                self._present.pop(who, None)
            case s.ServerRoomFloorEvent(participant_id=holder):
                self._has_floor = holder is not None
            case _:
                pass

    def _counts(self, item_id: str) -> bool:
        return item_id in self._conversation and not self._conversation.is_truncated(item_id)

    def _grow(self, response_id: str, item_id: str) -> None:
        response = self._responses.get(response_id)
        if response is not None and item_id not in self._growing:
            self._growing[item_id] = response_id
            response.items.append(item_id)

    # -- the end ---------------------------------------------------------------------------------------------------

    def finish(self, played: LastPlayed | None) -> Restored:
        """Close everything that is open at the end of the log."""
        for response in self._responses.values():
            self._close(response, played)
        if played is not None:
            self._cut_unplayed(played)
        self._find_understood_end()
        self._made.owed = self._find_owed()
        self._answer_tools()
        self._empty_room()
        for item in self._conversation.items():
            if item.status == "in_progress":
                # It had no content yet, or its response ended before it did.
                done = self._conversation.complete(item.id, "incomplete")
                self._made.closing.append(s.AgentItemDoneEvent(item=done))
        for item_id in self._voices:
            self._made.closing.append(
                s.AgentInputTranscriptionFailedEvent(
                    item_id=item_id, code=BROKEN_OFF, message="the server stopped before the words were known"
                )
            )
        return self._made

    @property
    def _is_answering(self) -> bool:
        return any(one.created.conversation != "none" for one in self._responses.values())

    def _find_owed(self) -> Owed | None:
        """Find whether the conversation ends before its answer does."""
        if self._is_heard_again:
            return None  # The user's turn comes first.
        items = self._conversation.items()
        last = items[-1] if items else None
        is_broken_off = self._is_answering or self._was_answering
        if last is None or last.role == "system":
            return Owed() if is_broken_off else None
        if last.role == "assistant" and last.tool_call is None:
            is_heard = bool(self._conversation.spoken_text(last.id).strip())
            is_cut = is_broken_off or last.id in self._cut
            return Owed(last.id if is_heard else None) if is_cut else None
        # A turn, a tool call or its result: the answer had not begun.
        return Owed()

    def _find_understood_end(self) -> None:
        """Find the audio since the last understood turn: the client resends it.

        A turn that ended without words or a response is not understood either. A turn that was continued keeps its
        known words.
        """
        if not self._has_positions:
            return
        items = self._conversation.items()
        last_id = items[-1].id if items else ""
        own = {item_id: start for item_id, start in self._voices.items() if item_id in self._own_voices}
        again = {item_id: start for item_id, start in own.items() if item_id not in self._conversation}
        if last_id in own:
            again[last_id] = self._voices.pop(last_id)
            if not items[-1].text:
                self._conversation.delete(last_id)
                self._made.closing.append(s.AgentItemDeletedEvent(item_id=last_id))
        self._is_heard_again = bool(again)
        ends = (self._voice_ends.get(item_id, 0) for item_id in self._own_voices if item_id not in again)
        settled_ms = max(ends, default=0)
        starts = [start - BEFORE_VOICE_MS for start in again.values() if start >= settled_ms]
        self._made.understood_ms = max(settled_ms, min(starts, default=settled_ms))

    def _empty_room(self) -> None:
        """Close the room: a returning client gets all participants again, under new ids."""
        if self._has_floor:
            self._made.closing.append(s.ServerRoomFloorEvent(reason=BROKEN_OFF))
        for who, name in self._present.items():
            self._made.closing.append(s.ServerRoomLeftEvent(participant_id=who, name=name, reason=BROKEN_OFF))

    def _cut_unplayed(self, played: LastPlayed) -> None:
        """Truncate responses that were sent whole but not played: providers are faster than speech."""
        is_later = False
        for item in self._conversation.items():
            spoken_ms = self._conversation.audio_ms(item.id) if item.role == "assistant" else 0
            if not spoken_ms or item.id in self._growing:
                continue
            if item.id == played.item_id:
                is_later, played_ms = True, float(played.played_ms)
            elif is_later:
                played_ms = 0.0
            else:
                continue
            if self._conversation.is_truncated(item.id) or played_ms >= spoken_ms - 1:
                continue
            cut = self._conversation.truncate(item.id, played_ms)
            self._cut.add(item.id)
            self._made.closing.append(cut.event(item.id))

    def _answer_tools(self) -> None:
        """Add results to open tool calls: models refuse a history without them."""
        items = self._conversation.items()
        answered = {item.tool_result.id for item in items if item.tool_result is not None}
        for item in items:
            call = item.tool_call
            if call is None or call.id in answered:
                continue
            result = ToolResultBlock(
                id=call.id,
                name=call.name,
                output="the server stopped before there was a result",
                state=ToolResultState.INTERRUPTED,
            )
            item_id = f"{item.id}_result"
            self._conversation.add_tool_result(item_id, result)
            self._made.closing.append(s.AgentResponseToolResultEvent(tool_result=result, item_id=item_id))

    def _close(self, response: _Response, played: LastPlayed | None) -> None:
        created = response.created
        who: dict[str, Any] = {"agent_id": created.agent_id, "agent_name": created.agent_name}
        closing = self._made.closing
        for item_id in response.items:
            item = self._conversation.get(item_id)
            if item is None or item.status != "in_progress":
                continue
            closing += self._cut_off(created.response_id, item, played, who)
        closing.append(
            s.AgentResponseDoneEvent(
                response_id=created.response_id,
                status="cancelled",
                status_details={"reason": BROKEN_OFF},
                conversation=created.conversation,
                **who,
            )
        )

    def _cut_off(
        self, response_id: str, item: Item, played: LastPlayed | None, who: dict[str, Any]
    ) -> Iterable[s.ServerEvent]:
        """Truncate an open item to what was played; returns the closing events."""
        part: dict[str, Any] = {"response_id": response_id, "item_id": item.id, **who}
        audio_ms = self._conversation.audio_ms(item.id)
        if not audio_ms:
            done = self._conversation.complete(item.id, "incomplete")
            text = self._conversation.spoken_text(item.id)
            return [s.AgentResponseTextDoneEvent(text=text, **part), s.AgentItemDoneEvent(item=done, **who)]
        played_ms = audio_ms if played is None else float(played.played_ms) if played.item_id == item.id else 0.0
        cut = self._conversation.truncate(item.id, played_ms)
        done = self._conversation.get(item.id) or item
        return [
            cut.event(item.id, **who),
            s.AgentResponseAudioDoneEvent(**part),
            s.AgentResponseAudioTranscriptDoneEvent(transcript=cut.transcript, **part),
            s.AgentItemDoneEvent(item=done, **who),
        ]
