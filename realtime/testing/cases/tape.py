"""Reads from a call's log what its test case repeats: turns, steps, responses, tool results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from realtime.agent.tool_calls import REFUSED
from realtime.audio.pcm import SAMPLE_BYTES
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, INITIATIVE
from realtime.event.config import SessionConfig
from realtime.message import ToolResultBlock
from realtime.state.log import AudioRun, Entry
from realtime.testing.cases.case import Returned
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.stand_in import Answer, Call, Nothing, Say, WriteText
from realtime.testing.cassettes.format import parsed
from realtime.testing.client.steps import GREETS, Send, Step, Type
from realtime.testing.record import Lane
from realtime.tool.background import is_late_hint

OUTPUT_FILE = "output.flac"
OPEN_MS = 60_000
"""How long after the call still-open turns and tools end."""
WITHDRAWN_MS = 100
"""How much later than its withdrawal an unplayed response comes: a replay may be a frame or two late."""
_NOT_FOR_A_CASE = (
    *("recording", "model", "model_provider", "instructions"),
    *("extra", "token_hash", "token_expires_at", "permissions"),
)
"""Settings that the test decides, or that only page and server use.

The test decides which agent is called, and that it is not recorded. It keeps no rules for later calls.
"""


@dataclass(slots=True)
class Response:
    """One response of the model."""

    created_ms: int
    asked_ms: int
    words: str = ""
    item_id: str | None = None
    first_ms: int | None = None
    last_ms: int = 0
    n_bytes: int = 0
    n_chunks: int = 0
    in_text: bool = False
    tools: list[ToolUse] = field(default_factory=list)
    called_ms: int = 0
    done_ms: int = 0
    cancelled: bool = False
    is_rest: bool = False
    """Whether it is the rest of a cut response. The agent plays it without the model."""

    def answer(self, heard: Lane | None, where: dict[str, tuple[int, int]]) -> Answer:
        """Return the response as a stand-in's answer."""
        after_ms = max(0, (self.first_ms if self.first_ms is not None else self.done_ms) - self.asked_ms)
        if not self.tools:
            return self._words(after_ms, heard, where)
        if self.first_ms is None:
            after_ms = max(0, self.called_ms - self.asked_ms)
        before = self._words(after_ms, heard, where)
        if isinstance(before, Nothing):
            return Call(tools=tuple(self.tools), after_ms=after_ms)
        said_ms = self.last_ms if self.first_ms is not None else self.called_ms
        return Call(tools=tuple(self.tools), after_ms=max(0, self.called_ms - said_ms), before=before)

    def _words(self, after_ms: int, heard: Lane | None, where: dict[str, tuple[int, int]]) -> Say | WriteText | Nothing:
        if self.first_ms is None:
            return WriteText(text=self.words, after_ms=after_ms) if self.words else Nothing()
        ms = self.n_bytes * 1000 // (DEFAULT_OUTPUT_RATE_HZ * SAMPLE_BYTES)
        said = Say(text=self.words, ms=ms, after_ms=after_ms, **self._flow(ms))
        start_ms, heard_ms = where.get(self.item_id or "", (0, 0))
        if heard is not None and heard_ms >= ms > 0:
            place = {"audio": OUTPUT_FILE, "from_ms": start_ms, "to_ms": start_ms + ms, "ms": None}
            return msgspec.structs.replace(said, **place)
        return said

    def _flow(self, ms: int) -> dict[str, Any]:
        """Return the audio's chunks and pace, and the rest of stopped audio."""
        chunk_ms = max(1, -(-ms // max(1, self.n_chunks)))
        took_ms = self.last_ms - (self.first_ms or 0)
        pace = None if took_ms <= 0 else max(0.1, chunk_ms * (self.n_chunks - 1) / took_ms)
        if not self.cancelled:
            return {"chunk_ms": chunk_ms, "pace": None if pace is None else round(pace, 2)}
        # The next chunk was due after that, or it would have come.
        rest_ms = max(1, self.done_ms - self.last_ms + WITHDRAWN_MS)
        pace = chunk_ms / rest_ms if pace is None else min(pace, chunk_ms / max(1, self.done_ms - self.last_ms))
        n_more = 1 + int(rest_ms * pace / chunk_ms)
        return {"chunk_ms": chunk_ms, "pace": round(max(0.01, pace), 3), "open_ms": n_more * chunk_ms}


@dataclass(slots=True)
class Tape:
    """The part of a log that a case needs."""

    hears: list[dict[str, Any]] = field(default_factory=list)
    done: list[tuple[int, Step]] = field(default_factory=list)
    """What the user typed, and where they ended a turn themselves (push-to-talk)."""
    responses: dict[str, Response] = field(default_factory=dict)
    returned: dict[str, list[Returned]] = field(default_factory=dict)
    calls: dict[str, tuple[int, ToolUse]] = field(default_factory=dict)
    """Tool calls without a result."""
    understood: dict[str, str] = field(default_factory=dict)
    """The words understood of a turn so far, by its item."""
    overlap_ms: int | None = None
    """When a voice over a reply was noticed, until it is dismissed."""
    asked_ms: int = 0
    unanswered: tuple[int, str] | None = None
    """The place in `done` and the text that have no response yet."""
    typed: bool = False
    """Whether the next text stopped a response: it was typed, not placed."""
    settings: SessionConfig = field(default_factory=SessionConfig)
    """The call's settings: who requests responses, and which tools run in the client."""
    is_due: bool = False
    """Whether the next response comes without a request."""
    beside: set[str] = field(default_factory=set)
    """Responses outside the conversation, none of which is exported."""
    asking: set[str] = field(default_factory=set)
    """Tool calls that wait for the user's consent."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Number of calls of each tool so far; a stand-in uses it to name a call."""

    def read(self, entry: Entry) -> None:
        match entry:
            case s.ServerAudioFlushEvent(reason="cancel", ts_ms=ts_ms):
                self.unanswered = None
                self.done.append((ts_ms, Send({"type": "client_response_cancel"})))
            case s.ServerAudioFlushEvent(reason="text"):
                self.unanswered, self.typed = None, True
            case s.ServerSessionUpdatedEvent(config=config, ts_ms=ts_ms) if change := for_a_case(config):
                self.done.append((ts_ms, Send({"type": "client_session_update", "config": change})))
                self.settings = self.settings.merged(settings_of(change))
            case s.AgentReconnectedEvent():
                self.is_due = True
            case s.AgentItemDoneEvent(item=item, ts_ms=ts_ms) if item.tool_call is not None:
                if item.tool_call.state == "allowed" and item.tool_call.id in self.asking:
                    self.asking.remove(item.tool_call.id)
                    self._answer(ts_ms, item.tool_call.id, item.tool_call.name, "", confirmed=True)
            case s.AgentInterruptionEvent(state=state, ts_ms=ts_ms):
                self.overlap_ms = {"possible": ts_ms, "confirmed": self.overlap_ms, "dismissed": None}[state]
            case s.AgentInputStartedEvent(item_id=item_id, audio_start_ms=from_ms, ts_ms=ts_ms):
                noticed_ms = ts_ms if self.overlap_ms is None else self.overlap_ms
                self.hears.append({"item_id": item_id, "from_ms": from_ms, "noticed_ms": noticed_ms})
                self.overlap_ms = None
            case s.AgentInputDoneEvent(item_id=item_id, audio_end_ms=to_ms, ts_ms=ts_ms):
                self._turn(item_id).update(to_ms=to_ms, ended_ms=ts_ms)
                self._go_on(ts_ms, is_due=self.answers_turns)
            case s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=text):
                self._understand(item_id, text)
            case s.AgentItemAddedEvent(item=item, ts_ms=ts_ms) if item.role == "user" and item.type == "message":
                text = " ".join(part.text for part in item.content if part.text)
                if text:
                    self._go_on(ts_ms, is_due=True)
                    self.unanswered = None if self.typed else (len(self.done), text)
                    self.typed = False
                    self.done.append((ts_ms, Type(text)))
            case s.AgentItemAddedEvent(item=item, ts_ms=ts_ms) if item.type == "message" and item.status == "completed":
                if item.role == "system" and is_late_hint(item.text):
                    self.asked_ms, self.is_due = ts_ms, True  # The agent hears of it anew from the tool.
                elif item.role is not None and item.text:  # an agent's message begins without words
                    self._go_on(ts_ms, is_due=False)
                    self.done.append((ts_ms, _placed(item.role, item.text, len(self.done))))
            case s.AgentInputCommittedEvent(item_id=item_id, ts_ms=ts_ms):
                if not any(turn["item_id"] == item_id for turn in self.hears):
                    self.hears.append({"item_id": item_id})
                    self.done.append((ts_ms, Send({"type": "client_audio_commit"})))
                    self._go_on(ts_ms, is_due=self.answers_turns)
            case AudioRun():
                self._sound(entry)
            case _:
                self._response(entry)

    def _go_on(self, ts_ms: int, *, is_due: bool) -> None:
        """The client continues.

        Its earlier text that got no response goes into the conversation without a request: a history that the client
        brought, or words replaced by others.
        """
        if self.unanswered is not None:
            place, text = self.unanswered
            self.done[place] = self.done[place][0], _placed("user", text, place)
            self.unanswered = None
        self.asked_ms, self.is_due = ts_ms, is_due

    @property
    def answers_turns(self) -> bool:
        """Whether the end of a turn gets a response without a request."""
        return self.settings.auto_response is not False and self.settings.detection.create_response is not False

    def runs_in_client(self, tool: str) -> bool:
        """Whether the tool's results come from the client."""
        return any(one.name == tool for one in self.settings.tools or ())

    @property
    def in_speech(self) -> bool:
        """Whether the call ended while the user spoke."""
        return bool(self.hears) and "from_ms" in self.hears[-1] and "to_ms" not in self.hears[-1]

    def _response(self, entry: Entry) -> None:
        if getattr(entry, "response_id", None) in self.beside:
            return
        match entry:
            case s.AgentResponseCreatedEvent(response_id=response_id, conversation="none"):
                self.beside.add(response_id)
            case s.AgentResponseCreatedEvent(response_id=response_id, metadata={"resumes": _}, ts_ms=ts_ms):
                self.responses[response_id] = Response(ts_ms, ts_ms, is_rest=True)
            case s.AgentResponseCreatedEvent(response_id=response_id, ts_ms=ts_ms):
                if not self.is_due:
                    self._go_on(ts_ms, is_due=True)
                    greets = str((entry.metadata or {}).get(INITIATIVE, "")).startswith(GREETS)
                    request = {"type": "client_response_create"}
                    self.done.append((ts_ms, Send(request | {"event_id": GREETS} if greets else request)))
                self.unanswered, self.is_due = None, False
                self.responses[response_id] = Response(ts_ms, self.asked_ms or ts_ms)
            case s.AgentResponseAudioTranscriptDeltaEvent(response_id=response_id, item_id=item_id, delta=delta):
                response = self._of(response_id)
                response.item_id, response.words = item_id, response.words + delta
            case s.AgentResponseTextDeltaEvent(response_id=response_id, delta=delta):
                response = self._of(response_id)
                response.in_text, response.words = True, response.words + delta
            case s.AgentResponseToolUseDoneEvent(response_id=response_id, tool_use=call, ts_ms=ts_ms):
                use = ToolUse(call.name, _json(call.input))
                response = self._of(response_id)
                response.called_ms = response.called_ms or ts_ms
                response.tools.append(use)
                self.calls[call.id] = (ts_ms, use)
                self.numbers[call.id] = len(self.numbers) + 1
                if call.state == "asking":
                    self.asking.add(call.id)
            case s.AgentResponseToolResultEvent():
                self._returned(entry)
            case s.AgentResponseDoneEvent(response_id=response_id, status=status, ts_ms=ts_ms):
                response = self._of(response_id)
                response.done_ms, response.cancelled = ts_ms, status == "cancelled"

    def _returned(self, event: s.AgentResponseToolResultEvent) -> None:
        result, ts_ms = event.tool_result, event.ts_ms
        called_ms, use = self.calls.pop(result.id, (ts_ms, ToolUse(result.name)))
        self.asked_ms, self.is_due = ts_ms, True
        if result.id in self.asking:
            self.asking.remove(result.id)
            if result.state != "interrupted":
                why = result.output_text().removeprefix(REFUSED).removeprefix(": ")
                self._answer(ts_ms, result.id, result.name, why, confirmed=False)
        elif self.runs_in_client(result.name):
            if result.state == "success":
                self._answer(ts_ms, result.id, result.name, result.output_text())
        else:
            returned = Returned(
                output=_output(result),
                arguments=use.arguments,
                state="success" if result.state == "success" else "error",
                after_ms=ts_ms - called_ms,
            )
            self.returned.setdefault(result.name, []).append(returned)

    def _answer(self, ts_ms: int, call_id: str, name: str, output: str, **more: bool) -> None:
        """Record the client's result of a tool call, or its consent."""
        answer = {"type": "client_tool_result", "id": f"call_{self.numbers.get(call_id, 0)}", "name": name}
        self.done.append((ts_ms, Send({**answer, "output": output, **more})))

    def end(self, until_ms: int) -> None:
        """End the tape: a tool that still ran at the end of the call must not run in a test."""
        for call_id, (called_ms, use) in self.calls.items():
            if call_id not in self.asking and not self.runs_in_client(use.name):
                late = Returned(output="", arguments=use.arguments, after_ms=until_ms - called_ms + OPEN_MS)
                self.returned.setdefault(use.name, []).append(late)

    def _of(self, response_id: str) -> Response:
        return self.responses.setdefault(response_id, Response(self.asked_ms, self.asked_ms))

    def _turn(self, item_id: str) -> dict[str, Any]:
        known = next((turn for turn in reversed(self.hears) if turn["item_id"] == item_id), None)
        if known is None:
            known = {"item_id": item_id}
            self.hears.append(known)
        return known

    def _understand(self, item_id: str, text: str) -> None:
        """Record words of a turn.

        One whose end was reverted has several parts, and each event repeats the words of all so far.
        """
        words = text.removeprefix(self.understood.get(item_id, "")).strip()
        self.understood[item_id] = text
        parts = [turn for turn in self.hears if turn["item_id"] == item_id and "ended_ms" in turn]
        part = next((turn for turn in parts if "text" not in turn), None) or self._turn(item_id)
        part["text"] = f"{part.get('text', '')} {words}".strip()

    def _sound(self, run: AudioRun) -> None:
        for response in reversed(self.responses.values()):
            if response.item_id in (None, run.item_id):
                response.item_id = run.item_id
                response.first_ms = run.ts_ms if response.first_ms is None else response.first_ms
                response.last_ms, response.n_bytes = run.last_ts_ms, response.n_bytes + run.n_bytes
                response.n_chunks += run.last_seq - run.seq + 1
                return


def settings_of(config: dict[str, Any]) -> SessionConfig:
    """Return the typed settings, empty for those of an incompatible release."""
    try:
        return SessionConfig.from_dict(config)
    except ValueError:
        return SessionConfig()


def for_a_case(config: dict[str, Any] | None) -> dict[str, Any]:
    """Return the settings for a test. A client may have sent unknown keys; a case must not."""
    known = {name for name in SessionConfig.__struct_fields__ if name not in _NOT_FOR_A_CASE}
    return {name: value for name, value in (config or {}).items() if name in known}


def _placed(role: str, text: str, number: int) -> Send:
    """Return a step that places a message without requesting a response. The server makes no such item id."""
    item = {"id": f"placed_{number}", "role": role, "content": [{"type": "text", "text": text}]}
    return Send({"type": "client_item_create", "item": item})


def _json(text: str) -> dict[str, Any]:
    value = parsed(text or "{}")
    return value if isinstance(value, dict) else {}


def _output(result: ToolResultBlock) -> Any:
    """Return a tool's output, decoded if it is JSON."""
    if not isinstance(result.output, str):
        return " ".join(getattr(block, "text", "") for block in result.output).strip()
    value = parsed(result.output)
    return value if isinstance(value, dict | list) else result.output
