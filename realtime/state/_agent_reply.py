"""An open reply of the agent: what it says and does in answer to one turn. A pure core of `realtime.state.replies`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import msgspec

from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.base import UsageDetail
from realtime.event.meaning import Report
from realtime.message import (
    Base64Source,
    ConfirmResult,
    FinishedReason,
    TextBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
)
from realtime.message.blocks import INTERRUPTED_BY_USER
from realtime.state._user_reply import Outlet, Text


@dataclass(slots=True)
class _Call:
    """A tool call of an open reply; `block_id` differs from its id if the model used that id twice."""

    block_id: str
    name: str
    external: bool = False
    input: str = ""
    complete: bool = False
    """Its input is complete."""
    ended: bool = False
    """Its input block has ended."""
    asks: bool = False
    """It waits for the user's consent."""
    allowed: bool = False
    """The user, a rule or the mode agreed."""
    running: bool = False
    """Its result has begun."""
    pieces: str = ""
    """What is known of its result while it runs."""
    n_told: int = 0
    """How much of that was emitted."""
    result: ToolResultBlock | None = None
    answered: bool = False


@dataclass(slots=True)
class AgentReply:
    """What the agent says and does in answer to one turn: the responses of all tool rounds.

    `waits`: the last response is done and another one continues the reply, after tools, a lost link or a withheld
    claim; or `consent`: it is no answer, but the question of an agent behind the voice. `is_followed`: the reply is
    over, and the user has spoken since.
    """

    out: Outlet
    reply_id: str
    agent_id: str
    name: str
    response_id: str | None = None
    waits: str | None = None
    speaks: bool = False
    is_followed: bool = False
    texts: dict[str, Text] = field(default_factory=dict)
    _thoughts: set[str] = field(default_factory=set)
    """The open thinking blocks."""
    errors: list[s.AgentErrorEvent] = field(default_factory=list)
    """Errors of the model during the running response: the reason if it fails."""
    _calls: dict[str, _Call] = field(default_factory=dict)
    _audio: dict[tuple[str, int], str] = field(default_factory=dict)
    _audio_ids: set[str] = field(default_factory=set)
    _metadata: dict[str, Any] = field(default_factory=dict)
    """Of the running model call."""
    _interrupted: bool = False
    _spared: bool = False
    """The user was asked when it was to be interrupted."""
    _error: str | None = None
    _told: r.ReplyEndEvent | None = None
    """How it ended, as a thinking agent behind the voice tells it."""
    _over_ms: int = 0

    def __post_init__(self) -> None:
        self._emit(r.ReplyStartEvent, session_id=self.out.session_id, name=self.name, role="assistant")

    def _emit(self, event: type[Any], **fields: Any) -> None:
        self.out.emit(event, self.reply_id, **fields)

    @property
    def is_over(self) -> bool:
        """Whether the reply is complete; a truncation may still shorten it."""
        return self.response_id is None and self.waits is None

    @property
    def goes_on(self) -> bool:
        """Whether the next response continues the reply."""
        waits = self.waits not in (None, "consent")
        return self.response_id is None and waits and self._all_answered

    @property
    def _all_answered(self) -> bool:
        return all(call.answered for call in self._calls.values())

    def begin_response(self, response_id: str, model_name: str, labels: dict[str, Any] | None = None) -> None:
        """Begin a response; `labels` are the metadata of its request."""
        self.response_id, self.waits, self._error, self._told = response_id, None, None, None
        self._spared = False
        self._metadata = {"response_id": response_id}
        if labels:
            self._metadata["response_metadata"] = labels
        self._emit(r.ModelCallStartEvent, model_name=model_name, metadata=self._metadata)

    # -- words and sound -------------------------------------------------------------------------------------------

    def add_words(self, item_id: str, delta: str) -> None:
        """Append words of an item."""
        self._text(item_id).add(delta)

    def settle_words(self, item_id: str, whole: str) -> None:
        """Set all words of an item."""
        self._text(item_id).settle(whole, may_grow=self.response_id is not None)

    def think(self, item_id: str, delta: str) -> None:
        """Append to a thought, as a thinking block."""
        if item_id not in self._thoughts:
            self._thoughts.add(item_id)
            self._emit(r.ThinkingBlockStartEvent, block_id=item_id)
        self._emit(r.ThinkingBlockDeltaEvent, block_id=item_id, delta=delta)

    def end_thought(self, item_id: str) -> None:
        """End a thinking block."""
        if item_id in self._thoughts:
            self._thoughts.remove(item_id)
            self._emit(r.ThinkingBlockEndEvent, block_id=item_id)

    def complete_item(self, item_id: str, text: str) -> None:
        """Set the final text of an item, unless only outer blanks differ."""
        if (known := self.texts.get(item_id)) is not None and known.words.strip() != text:
            known.settle(text, may_grow=self.response_id is not None)

    def truncate(self, item_id: str, played: str) -> None:
        """Keep only these words of the item, which were played."""
        self.texts[item_id].truncate(played)
        self._over_ms = self.out.ts_ms

    def _text(self, item_id: str) -> Text:
        text = self.texts.get(item_id)
        if text is None:
            text = self.texts[item_id] = Text(self.out, self.reply_id, item_id)
        return text

    def add_audio(self, event: s.AgentResponseAudioDeltaEvent) -> None:
        """Append audio, as a data block."""
        key = (event.item_id, event.content_index)
        block_id = self._audio.get(key)
        if block_id is None:
            block_id = f"{event.item_id}_audio"
            if block_id in self._audio_ids:
                block_id = f"{block_id}_{self.out.seq}"
            self._audio[key] = block_id
            self._audio_ids.add(block_id)
            media_type = f"audio/pcm;rate={event.format.rate_hz(24_000)}"
            self._emit(r.DataBlockStartEvent, block_id=block_id, media_type=media_type)
        self._emit(r.DataBlockDeltaEvent, block_id=block_id, data=event.delta)

    def end_audio(self, item_id: str, content_index: int) -> None:
        """End the data block of this part."""
        block_id = self._audio.pop((item_id, content_index), None)
        if block_id is not None:
            self._emit(r.DataBlockEndEvent, block_id=block_id)

    def take_report(self, report: Report) -> None:
        """Take what a thinking agent behind the voice tells of its reply."""
        match report:
            case r.HintBlockEvent(block_id=block_id, hint=hint, source=source):
                self._emit(r.HintBlockEvent, block_id=block_id, hint=hint, source=source)
            case r.CustomEvent(name=name, value=value):
                self._emit(r.CustomEvent, name=name, value=value)
            case r.ExceedMaxItersEvent(name=name):
                self._emit(r.ExceedMaxItersEvent, name=name)
            case r.RequestStopEvent(source=source, reason=reason):
                self._emit(r.RequestStopEvent, source=source, reason=reason)
            case r.ReplyEndEvent():
                self._told = report
            case _:
                assert_never(report)

    # -- tools -----------------------------------------------------------------------------------------------------

    def use_tool(self, call: ToolCallBlock, delta: str, *, external: bool, complete: bool) -> None:
        """Append `delta` to the input of a call, or complete it."""
        known = self._calls.get(call.id)
        if known is None or known.answered:
            block_id = call.id if known is None else f"{call.id}_{self.out.seq}"
            known = self._calls[call.id] = _Call(block_id, call.name, external)
            self._emit(r.ToolCallStartEvent, tool_call_id=block_id, tool_call_name=call.name)
        if known.ended:
            return
        if complete:
            delta = call.input[len(known.input) :] if call.input.startswith(known.input) else ""
        if delta:
            known.input += delta
            self._emit(r.ToolCallDeltaEvent, tool_call_id=known.block_id, delta=delta)
        if complete:
            known.complete = True
            known.external = known.external and call.state != "finished"  # the client does not run what is denied
            self._end_input(known)
            if call.state == "asking":
                known.asks = True
                block = ToolCallBlock(
                    id=known.block_id,
                    name=known.name,
                    input=known.input,
                    state=ToolCallState.ASKING,
                    suggested_rules=call.suggested_rules,
                )
                self._emit(r.RequireUserConfirmEvent, tool_calls=[block])

    def allow(self, call: ToolCallBlock) -> None:
        """Take the consent to a call, with the input in `call`: that of the user, or of a rule in their place."""
        known = self._calls.get(call.id)
        if known is not None and not (known.answered or known.running or known.result is not None):
            known.name, known.input = call.name, call.input
            self._answer(known, confirmed=True)
            if self.response_id is None and known.external:
                self._submit([known])
            elif self.response_id is None:
                self._start_result(known)

    def _submit(self, calls: Sequence[_Call]) -> None:
        """Hand calls over to the client; what no one had to agree to is allowed by that."""
        for one in calls:
            if not one.allowed:
                self._answer(one, confirmed=True)
        if calls:
            blocks = [ToolCallBlock(id=one.block_id, name=one.name, input=one.input) for one in calls]
            self._emit(r.RequireExternalExecutionEvent, tool_calls=blocks)

    def _answer(self, call: _Call, *, confirmed: bool) -> None:
        call.asks, call.allowed = False, confirmed
        block = ToolCallBlock(id=call.block_id, name=call.name, input=call.input)
        self._emit(r.UserConfirmResultEvent, confirm_results=[ConfirmResult(confirmed=confirmed, tool_call=block)])

    def waits_for(self, call_id: str) -> bool:
        """Whether this reply has the call, without a result."""
        call = self._calls.get(call_id)
        return call is not None and not call.answered and call.result is None

    def add_result(self, call_id: str, delta: str) -> None:
        """Append to the result of a running call, emitted after the response."""
        call = self._calls[call_id]
        call.pieces += delta
        if self.response_id is None:
            self._start_result(call)

    def take_result(self, result: ToolResultBlock) -> bool:
        """Take the result of a tool, emitted after the response; returns False if no call waits for it."""
        call = self._calls.get(result.id)
        if call is None or call.answered or call.result is not None:
            return False
        call.result = result
        if self.response_id is None:
            self._emit_result(call, result)
            if self._spared and self._all_answered and result.state == "interrupted":
                self.interrupt()
        return True

    def _end_input(self, call: _Call) -> None:
        if not call.ended:
            call.ended = True
            self._emit(r.ToolCallEndEvent, tool_call_id=call.block_id)

    def _run_tools(self) -> None:
        """Start the tools after the response; those of the client run there."""
        external = []
        for call in self._calls.values():
            if call.answered:
                continue
            if not call.complete:
                self._stop(call, "")
            elif call.result is not None and not call.external:
                self._emit_result(call, call.result)
            elif call.external and not call.asks:
                external.append(call)
            elif not call.running and not call.asks:
                self._start_result(call)
        self._submit(external)
        for call in external:
            if call.result is not None:
                self._emit_result(call, call.result)

    def _start_result(self, call: _Call) -> None:
        if not call.running:
            call.running = True
            self._emit(r.ToolResultStartEvent, tool_call_id=call.block_id, tool_call_name=call.name)
        if delta := call.pieces[call.n_told :]:
            call.n_told = len(call.pieces)
            self._emit(r.ToolResultTextDeltaEvent, tool_call_id=call.block_id, delta=delta)

    def _emit_result(self, call: _Call, result: ToolResultBlock) -> None:
        call.answered = True
        if call.external:
            block = ToolResultBlock(id=call.block_id, name=call.name, output=result.output, state=result.state)
            self._emit(r.ExternalExecutionResultEvent, execution_results=[block])
            return
        if call.asks and result.state == "denied":
            self._answer(call, confirmed=False)
        told, call.pieces = call.pieces[: call.n_told], ""
        self._start_result(call)
        parts = [TextBlock(text=result.output, id="")] if isinstance(result.output, str) else result.output
        for part in parts:
            if isinstance(part, TextBlock):
                text, told = _after(told, part.text)
                if text:
                    self._emit(r.ToolResultTextDeltaEvent, tool_call_id=call.block_id, delta=text)
            else:
                source = part.source
                where = {"data": source.data} if isinstance(source, Base64Source) else {"url": source.url}
                self._emit(
                    r.ToolResultDataDeltaEvent,
                    tool_call_id=call.block_id,
                    block_id=part.id,
                    media_type=source.media_type,
                    **where,
                )
        self._emit(r.ToolResultEndEvent, tool_call_id=call.block_id, state=result.state)

    def _stop(self, call: _Call, why: str) -> None:
        """End a call whose result is no longer wanted; `why` says who wants none."""
        self._end_input(call)
        self._start_result(call)
        call.answered = True
        if why:
            delta = f"\n{why}" if call.n_told else why
            self._emit(r.ToolResultTextDeltaEvent, tool_call_id=call.block_id, delta=delta)
        self._emit(r.ToolResultEndEvent, tool_call_id=call.block_id, state=ToolResultState.INTERRUPTED)

    def _stop_calls(self, why: str = "") -> None:
        for call in self._calls.values():
            if not call.answered:
                self._stop(call, why)

    # -- the end ---------------------------------------------------------------------------------------------------

    def interrupt(self, *, asked: bool = False) -> None:
        """Interrupt the reply and stop its calls; does nothing if it is over.

        While the user is `asked`, its open calls go on: it is interrupted if the last of their results says so.
        """
        if self.is_over or self.waits == "consent":
            return
        if asked and self.waits == "tools" and not self._all_answered:
            self._spared = True
            return
        self._interrupted, self.waits = True, None
        self._over_ms = self.out.ts_ms
        if self.response_id is None:
            self._stop_calls(INTERRUPTED_BY_USER)

    def end_question(self) -> None:
        """End the reply if it is a question, which has its result."""
        if self.waits == "consent":
            self.waits, self._over_ms = None, self.out.ts_ms

    def fail(self, message: str) -> None:
        """End the waiting for a continuation that failed."""
        self.waits, self._error, self._over_ms = None, message, self.out.ts_ms

    def finish_response(self, event: s.AgentResponseDoneEvent) -> None:
        """End a response; the reply ends with it unless tools or a new link continue it."""
        asks = any(call.complete and not call.answered for call in self._calls.values())
        self._end_model_call(event.input_tokens, event.output_tokens, event.usage_detail)
        self._over_ms = self.out.ts_ms
        if self._interrupted:
            self._stop_calls(INTERRUPTED_BY_USER)
            return
        self._run_tools()
        details = event.status_details or {}
        if event.status == "failed":
            self._error = _reason_of(details, self.errors)
        if asks:
            self.waits = "tools"
        elif event.status == "failed" and details.get("reason") == "link_lost":
            self.waits = "link"
        elif details.get("reason") == s.CLAIM_WITHHELD:
            self.waits = "correction"
        elif event.status == "cancelled":
            self._interrupted = True

    def _end_model_call(self, input_tokens: int, output_tokens: int, detail: UsageDetail | None = None) -> None:
        self.response_id = None
        for item_id, content_index in [*self._audio]:
            self.end_audio(item_id, content_index)
        for item_id in sorted(self._thoughts):
            self.end_thought(item_id)
        for call in self._calls.values():
            self._end_input(call)
        told = {} if detail is None else msgspec.structs.asdict(detail)
        counts = {name: count for name, count in told.items() if count is not None}
        metadata = {**self._metadata, "usage_detail": counts} if counts else self._metadata
        self._emit(r.ModelCallEndEvent, input_tokens=input_tokens, output_tokens=output_tokens, metadata=metadata)

    def end(self) -> None:
        """End the reply with the played words, when it is completed."""
        unfinished = self.response_id is not None or not self._all_answered
        if unfinished:
            self._over_ms = self.out.ts_ms
        if self.response_id is not None:
            self._end_model_call(0, 0)
        self._stop_calls()
        for text in self.texts.values():
            text.end(self._over_ms)
        reason: FinishedReason = "completed"
        if self._interrupted or any(text.cut for text in self.texts.values()):
            reason = "interrupted"
        elif self._error is not None:
            reason = "error"
            if self._told is not None and self._told.error is not None:
                self._error = self._told.error
        elif unfinished:
            reason = "interrupted"
        elif self._told is not None:
            reason = self._told.finished_reason
        self._emit(
            r.ReplyEndEvent,
            ts_ms=self._over_ms,
            session_id=self.out.session_id,
            finished_reason=reason,
            error=self._error if reason == "error" else None,
            message=self._told_message(),
        )

    def _told_message(self) -> dict[str, Any]:
        """Return what a thinking agent's message has beside its blocks."""
        told = {} if self._told is None else self._told.message
        return {name: value for name, value in told.items() if name not in ("id", "content")}


def _after(told: str, text: str) -> tuple[str, str]:
    """Return the rest of `text` after `told`, and the rest of `told`."""
    if told.startswith(text):
        return "", told[len(text) :]
    if text.startswith(told):
        return text[len(told) :], ""
    return f"\n{text}", ""


def _reason_of(details: dict[str, Any], errors: list[s.AgentErrorEvent]) -> str:
    """Return why a response failed, from the most specific source."""
    error = details.get("error")
    reported = [error.get("message"), error.get("code")] if isinstance(error, dict) else []
    known = [*reported, errors[-1].message if errors else None, details.get("message"), details.get("reason")]
    return next((str(one) for one in known if one), "the response failed")
