"""The replies of a call while they are open: what the user says, and what the agent says and does.

Pure cores of `realtime.state.replies`. What was said is what was heard, and that is known later than the words are: so
the end of a text is kept back until nothing can be taken off it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from realtime.event import reply as r
from realtime.event import server as s
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

HASTY_MS = 1_500
"""So long after the end of a turn the user may still go on with the same one (`realtime.turn.machine`: 800 ms, and at
most 500 ms until the voice is noticed)."""
TRANSCRIPT_TIMEOUT_MS = 30_000
"""Words that have not come by then are not waited for."""


class Outlet:
    """Makes the reply events: ids from the place in the log that brings them about, times from its `ts_ms`."""

    def __init__(self, session_id: str, created_at_of: Callable[[int], str]) -> None:
        self.session_id = session_id
        self.seq = 0
        self.ts_ms = 0
        self._created_at_of = created_at_of
        self._count = 0
        self._events: list[r.AgentEvent] = []

    def at(self, seq: int, ts_ms: int) -> None:
        """What is emitted from now on comes from this place in the log."""
        if seq != self.seq:
            self._count = 0
        self.seq, self.ts_ms = seq, ts_ms

    def emit(self, event: type[Any], reply_id: str, *, ts_ms: int | None = None, **fields: Any) -> None:
        """One event; `ts_ms` where it tells of something earlier."""
        created_at = self._created_at_of(self.ts_ms if ts_ms is None else ts_ms)
        self._events.append(
            event(id=f"ev_{self.seq}_{self._count}", created_at=created_at, reply_id=reply_id, **fields)
        )
        self._count += 1

    def take(self) -> list[r.AgentEvent]:
        """What was emitted since the last time."""
        events, self._events = self._events, []
        return events


class Text:
    """The words of one item as a text block: begun with the first of them, ended by `end`."""

    def __init__(self, out: Outlet, reply_id: str, block_id: str) -> None:
        self.block_id = block_id
        self.cut = False
        self._out = out
        self._reply_id = reply_id
        self._sent: list[str] = []
        self._started = False
        self._whole: str | None = None

    @property
    def words(self) -> str:
        """The words that count."""
        return "".join(self._sent) if self._whole is None else self._whole

    def add(self, delta: str) -> None:
        """More words; none after a cut."""
        if self.cut or not delta:
            return
        self._start()
        self._out.emit(r.TextBlockDeltaEvent, self._reply_id, block_id=self.block_id, delta=delta)
        if self._whole is not None:
            self._whole += delta
        self._sent.append(delta)

    def settle(self, whole: str, *, may_grow: bool = True) -> None:
        """These are all words so far: what is new of them is told, or else the end of the block tells them."""
        if self.cut or whole == self.words:
            return
        sent = "".join(self._sent)
        if may_grow and self._whole is None and whole.startswith(sent):
            self.add(whole[len(sent) :])
        else:
            self._whole = whole

    def truncate(self, heard: str) -> None:
        """Only these words were heard."""
        self.cut, self._whole = True, heard

    def end(self, ts_ms: int) -> None:
        """End the block, where it has begun or has to: with its words, where they are not those that were told."""
        if not self._started:
            if not self.words:
                return
            self._start()
        sent = "".join(self._sent)
        text = self._whole if self.cut or self._whole not in (None, sent) else None
        self._out.emit(r.TextBlockEndEvent, self._reply_id, ts_ms=ts_ms, block_id=self.block_id, text=text)

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._out.emit(r.TextBlockStartEvent, self._reply_id, block_id=self.block_id)


class UserReply:
    """A spoken turn of the user. Its end waits for its words, and until it cannot go on after a pause any more."""

    def __init__(self, out: Outlet, reply_id: str, item_id: str, name: str) -> None:
        self.reply_id = reply_id
        self.item_id = item_id
        self.text = Text(out, reply_id, item_id)
        self.committed = False
        self._out = out
        self._speaking = False
        self._spoken_pieces = 0
        self._pieces = 0
        self._transcribed = 0
        self._quiet_ms = out.ts_ms
        out.emit(r.ReplyStartEvent, reply_id, session_id=out.session_id, name=name, role="user")

    def speaks(self) -> None:
        """A voice; perhaps again, after a short pause."""
        self._speaking = True
        self._spoken_pieces += 1
        self._pieces = max(self._pieces, self._spoken_pieces)

    def is_quiet(self) -> None:
        """The voice has ended."""
        if self._speaking:
            self._speaking = False
            self._quiet_ms = self._out.ts_ms

    def commit(self) -> None:
        """What was said is a turn."""
        self.committed = True
        self._pieces = max(self._pieces, 1)
        self.is_quiet()

    def transcribed(self, transcript: str | None) -> None:
        """The words of one piece are there, all so far together; None: they will not come."""
        self._pieces = max(self._pieces, 1)
        self._transcribed += 1
        if transcript is not None:
            self.text.settle(transcript)

    def is_complete(self, ts_ms: int) -> bool:
        """Whether nothing more is expected of it."""
        if self._speaking:
            return False
        if ts_ms > self._quiet_ms + TRANSCRIPT_TIMEOUT_MS:
            return True
        return self._transcribed >= self._pieces and (not self._spoken_pieces or ts_ms > self._quiet_ms + HASTY_MS)

    def end(self) -> None:
        """Close it. A voice that became no turn is `interrupted`."""
        reason: FinishedReason = "completed" if self.committed and not self.text.cut else "interrupted"
        self.text.end(self._out.ts_ms)
        self._out.emit(r.ReplyEndEvent, self.reply_id, session_id=self._out.session_id, finished_reason=reason)


@dataclass(slots=True)
class _Call:
    """A tool call of an open reply. `block_id`: its id there, which differs where the model gave one id twice."""

    block_id: str
    name: str
    external: bool = False
    input: str = ""
    complete: bool = False
    """Its input is."""
    ended: bool = False
    """Its input block is."""
    asks: bool = False
    """It waits for the user's consent."""
    running: bool = False
    """Its result has begun."""
    result: ToolResultBlock | None = None
    answered: bool = False


@dataclass(slots=True)
class AgentReply:
    """What the agent says and does in answer to one turn: the responses of all tool rounds.

    `waits`: its last response is over and another one continues it, after tools or after a lost link. `is_followed`:
    it is over, and the user has had the word since.
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
    """The thinking blocks that have begun and not ended."""
    errors: list[s.AgentErrorEvent] = field(default_factory=list)
    """Of the model, while its response runs: if that fails, they say why."""
    _calls: dict[str, _Call] = field(default_factory=dict)
    _audio: dict[tuple[str, int], str] = field(default_factory=dict)
    _audio_ids: set[str] = field(default_factory=set)
    _metadata: dict[str, Any] = field(default_factory=dict)
    """Of the model call that runs."""
    _interrupted: bool = False
    _error: str | None = None
    _over_ms: int = 0

    def __post_init__(self) -> None:
        self._emit(r.ReplyStartEvent, session_id=self.out.session_id, name=self.name, role="assistant")

    def _emit(self, event: type[Any], **fields: Any) -> None:
        self.out.emit(event, self.reply_id, **fields)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it follows, except that less of it may have been heard."""
        return self.response_id is None and self.waits is None

    @property
    def goes_on(self) -> bool:
        """Whether the next response continues it."""
        return self.response_id is None and self.waits is not None and all(c.answered for c in self._calls.values())

    def begin_response(self, response_id: str, model_name: str, labels: dict[str, Any] | None = None) -> None:
        """The model is asked; `labels` are the metadata of the request."""
        self.response_id, self.waits, self._error = response_id, None, None
        self._metadata = {"response_id": response_id}
        if labels:
            self._metadata["response_metadata"] = labels
        self._emit(r.ModelCallStartEvent, model_name=model_name, metadata=self._metadata)

    # -- words and sound -------------------------------------------------------------------------------------------

    def add_words(self, item_id: str, delta: str) -> None:
        """More words of an item."""
        self._text(item_id).add(delta)

    def settle_words(self, item_id: str, whole: str) -> None:
        """All words of an item."""
        self._text(item_id).settle(whole, may_grow=self.response_id is not None)

    def think(self, item_id: str, delta: str) -> None:
        """More of what the model thinks, as a thinking block."""
        if item_id not in self._thoughts:
            self._thoughts.add(item_id)
            self._emit(r.ThinkingBlockStartEvent, block_id=item_id)
        self._emit(r.ThinkingBlockDeltaEvent, block_id=item_id, delta=delta)

    def end_thought(self, item_id: str) -> None:
        """These thoughts are complete."""
        if item_id in self._thoughts:
            self._thoughts.remove(item_id)
            self._emit(r.ThinkingBlockEndEvent, block_id=item_id)

    def complete_item(self, item_id: str, text: str) -> None:
        """The item as it is kept, without the blanks around its words."""
        if (known := self.texts.get(item_id)) is not None and known.words.strip() != text:
            known.settle(text, may_grow=self.response_id is not None)

    def truncate(self, item_id: str, heard: str) -> None:
        """Only these words of the item were heard."""
        self.texts[item_id].truncate(heard)
        self._over_ms = self.out.ts_ms

    def _text(self, item_id: str) -> Text:
        text = self.texts.get(item_id)
        if text is None:
            text = self.texts[item_id] = Text(self.out, self.reply_id, item_id)
        return text

    def add_audio(self, event: s.AgentResponseAudioDeltaEvent) -> None:
        """More of the voice, as a data block."""
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
        """The voice of this part is complete."""
        block_id = self._audio.pop((item_id, content_index), None)
        if block_id is not None:
            self._emit(r.DataBlockEndEvent, block_id=block_id)

    # -- tools -----------------------------------------------------------------------------------------------------

    def use_tool(self, call: ToolCallBlock, delta: str, *, external: bool, complete: bool) -> None:
        """The input of a call grows by `delta`, or is `complete`."""
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
            self._end_input(known)
            if call.state == "asking":
                known.asks = True
                block = ToolCallBlock(id=known.block_id, name=known.name, input=known.input, state=ToolCallState.ASKING)
                self._emit(r.RequireUserConfirmEvent, tool_calls=[block])

    def allow(self, call: ToolCallBlock) -> None:
        """The user lets a call run that asks, as `call` says."""
        known = self._calls.get(call.id)
        if known is not None and known.asks and not known.answered:
            known.name, known.input = call.name, call.input
            self._answer(known, confirmed=True)
            if self.response_id is None:
                self._start_result(known)

    def _answer(self, call: _Call, *, confirmed: bool) -> None:
        call.asks = False
        block = ToolCallBlock(id=call.block_id, name=call.name, input=call.input)
        self._emit(r.UserConfirmResultEvent, confirm_results=[ConfirmResult(confirmed=confirmed, tool_call=block)])

    def take_result(self, result: ToolResultBlock) -> bool:
        """What a tool returned; it is told once the model has said what else it had to. False: nobody waits for it."""
        call = self._calls.get(result.id)
        if call is None or call.answered or call.result is not None:
            return False
        call.result = result
        if self.response_id is None:
            self._tell_result(call, result)
        return True

    def _end_input(self, call: _Call) -> None:
        if not call.ended:
            call.ended = True
            self._emit(r.ToolCallEndEvent, tool_call_id=call.block_id)

    def _run_tools(self) -> None:
        """The model has said what it wants: tools run, those of the client there."""
        external = []
        for call in self._calls.values():
            if call.answered:
                continue
            if not call.complete:
                self._stop(call)
            elif call.result is not None and not call.external:
                self._tell_result(call, call.result)
            elif call.external:
                external.append(call)
            elif not call.running and not call.asks:
                self._start_result(call)
        if external:
            blocks = [ToolCallBlock(id=one.block_id, name=one.name, input=one.input) for one in external]
            self._emit(r.RequireExternalExecutionEvent, tool_calls=blocks)
        for call in external:
            if call.result is not None:
                self._tell_result(call, call.result)

    def _start_result(self, call: _Call) -> None:
        if not call.running:
            call.running = True
            self._emit(r.ToolResultStartEvent, tool_call_id=call.block_id, tool_call_name=call.name)

    def _tell_result(self, call: _Call, result: ToolResultBlock) -> None:
        call.answered = True
        if call.external:
            block = ToolResultBlock(id=call.block_id, name=call.name, output=result.output, state=result.state)
            self._emit(r.ExternalExecutionResultEvent, execution_results=[block])
            return
        if call.asks and result.state == "denied":
            self._answer(call, confirmed=False)
        self._start_result(call)
        parts = [TextBlock(text=result.output, id="")] if isinstance(result.output, str) else result.output
        for part in parts:
            if isinstance(part, TextBlock):
                if part.text:
                    self._emit(r.ToolResultTextDeltaEvent, tool_call_id=call.block_id, delta=part.text)
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

    def _stop(self, call: _Call) -> None:
        """Nobody waits for its result any more."""
        self._end_input(call)
        self._start_result(call)
        call.answered = True
        self._emit(r.ToolResultEndEvent, tool_call_id=call.block_id, state=ToolResultState.INTERRUPTED)

    def _stop_calls(self) -> None:
        for call in self._calls.values():
            if not call.answered:
                self._stop(call)

    # -- the end ---------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """The user wants no more of it: what runs is stopped. One that is over is not stopped by that."""
        if self.is_over:
            return
        self._interrupted, self.waits = True, None
        self._over_ms = self.out.ts_ms
        if self.response_id is None:
            self._stop_calls()

    def fail(self, message: str) -> None:
        """What it waited for will not come."""
        self.waits, self._error, self._over_ms = None, message, self.out.ts_ms

    def finish_response(self, event: s.AgentResponseDoneEvent) -> None:
        """A response is over, and with it the reply, unless tools or a new link let it go on."""
        asks = any(call.complete and not call.answered for call in self._calls.values())
        self._end_model_call(event.input_tokens, event.output_tokens)
        self._over_ms = self.out.ts_ms
        if self._interrupted:
            self._stop_calls()
            return
        self._run_tools()
        details = event.status_details or {}
        if event.status == "failed":
            self._error = _reason_of(details, self.errors)
        if asks:
            self.waits = "tools"
        elif event.status == "failed" and details.get("reason") == "link_lost":
            self.waits = "link"
        elif event.status == "cancelled":
            self._interrupted = True

    def _end_model_call(self, input_tokens: int, output_tokens: int) -> None:
        self.response_id = None
        for item_id, content_index in [*self._audio]:
            self.end_audio(item_id, content_index)
        for item_id in sorted(self._thoughts):
            self.end_thought(item_id)
        for call in self._calls.values():
            self._end_input(call)
        self._emit(r.ModelCallEndEvent, input_tokens=input_tokens, output_tokens=output_tokens, metadata=self._metadata)

    def end(self) -> None:
        """Close it: with the words that were heard, at the time when it was over."""
        unfinished = self.response_id is not None or not all(call.answered for call in self._calls.values())
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
        elif unfinished:
            reason = "interrupted"
        self._emit(
            r.ReplyEndEvent,
            ts_ms=self._over_ms,
            session_id=self.out.session_id,
            finished_reason=reason,
            error=self._error if reason == "error" else None,
        )


def _reason_of(details: dict[str, Any], errors: list[s.AgentErrorEvent]) -> str:
    """Why a response failed, in the words of whoever knows most."""
    error = details.get("error")
    told = [error.get("message"), error.get("code")] if isinstance(error, dict) else []
    known = [*told, errors[-1].message if errors else None, details.get("message"), details.get("reason")]
    return next((str(one) for one in known if one), "the response failed")
