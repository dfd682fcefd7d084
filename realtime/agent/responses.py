"""The model's responses: what listeners get, and what is kept.

Synchronous and complete: every stream that is opened on the wire is closed, whatever happens to the response. Methods
return what happened to the turn; `realtime.agent.controller` applies that. Which responses are due and which count is
in the `Ledger` (`realtime.turn.responses`); what their tool calls do, in `realtime.agent.tool_calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

import msgspec

from realtime.agent.context import AgentContext
from realtime.agent.open_responses import OpenCut, OpenResponse, Part, ThinkingEvent
from realtime.agent.reply_items import ReplyItems
from realtime.agent.resumption import SpokenPart, renamed
from realtime.agent.tool_calls import ToolCalls, ToolUseEvent
from realtime.agent.tools import ToolRunner
from realtime.agent.withholding import Withholding
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item, ResponseOverrides
from realtime.message import ToolResultBlock, ToolResultState
from realtime.model import base
from realtime.state.latency import RESUMES
from realtime.turn.machine import Signal
from realtime.turn.responses import After, Ledger, Response, initiative_of

RESPONSE_REFUSED = frozenset({"conversation_already_has_active_response", "bad_response_create"})
"""Errors that say: the requested response will not come."""

LINK_LOST = "link_lost"
"""Why a response failed that was lost with its link (`realtime.model.wire`)."""
CUT_OFF = "cut_off"
"""Why the rest of a cut reply ends before the reply does: its model was stopped."""
PartEvent = (
    m.ModelResponseAudioDoneEvent
    | m.ModelResponseAudioTranscriptDeltaEvent
    | m.ModelResponseAudioTranscriptDoneEvent
    | m.ModelResponseTextDeltaEvent
    | m.ModelResponseTextDoneEvent
)


def nothing_told(result: ToolResultBlock) -> None:
    """Leave a late result to the conversation."""


class Responses:
    """Follows the model's responses."""

    def __init__(self, context: AgentContext, tools: ToolRunner, ledger: Ledger, items: ReplyItems) -> None:
        self._context = context
        self._runtime = context.runtime
        self._emit = context.emit
        self._conversation = context.conversation
        self._send = context.send
        self._ledger = ledger
        self._items = items
        self._format: AudioFormat | None = None
        self._ms_per_byte = 0.0
        self._open: dict[str, OpenResponse] = {}
        self._cut: OpenCut | None = None
        self.claims: Withholding | None = None
        self.on_late_result: Callable[[ToolResultBlock], None] = nothing_told
        """Gets the result of a tool whose response another turn has replaced: nothing would tell the user."""
        self.tool_calls = ToolCalls(context, tools, ledger)
        self.waits: Callable[[Callable[[], None]], bool] = lambda go_on: False
        """Calls a function a moment later.

        It returns False where the model has to know nothing first.
        """
        self._waiting: list[base.ResponseCreate] = []

    # -- asking and interrupting -----------------------------------------------------------------------------------

    def request(self, overrides: ResponseOverrides | None = None, *, say: str = "") -> None:
        """Ask the model for a response; with `say`, for these words.

        It learns first where the reply before was cut: that is known when clients have reported what they played.
        """
        self._ledger.request(self._runtime.now(), overrides)
        request = base.ResponseCreate(overrides, say)
        if self._cut is None:
            self._ask(request)
        else:
            self._cut.requests.append(request)

    def _ask(self, request: base.ResponseCreate) -> None:
        """Send a request once nothing has to precede it; in order."""
        if self._waiting or self.waits(self._ask_waiting):
            self._waiting.append(request)
        else:
            self._send(request)

    def _ask_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            self._send(request)

    def drop(self, response_id: str) -> None:
        """Cancel an unsolicited response; does nothing for an unknown id."""
        if self._ledger.cancel(response_id):
            self._send(base.ResponseCancel(response_id))

    def resume(
        self, parts: Sequence[SpokenPart], *, is_whole: bool, overrides: ResponseOverrides | None
    ) -> Iterator[Signal]:
        """Play the rest of a cut reply as another response.

        Yields what happens to the turn meanwhile. The response's metadata name the item that it continues. Unless it
        `is_whole`, the model is asked for what it had not generated.
        """
        own = initiative_of(overrides.metadata if overrides is not None else None) or {}
        response = self._ledger.resume(self._runtime.new_id("response"), {RESUMES: parts[0].item_id} | own)
        opened = self._open[response.id] = OpenResponse(response)
        self._context.forward(m.ModelResponseCreatedEvent(response_id=response.id, metadata=response.metadata))
        yield Signal.RESPONSE_CREATED
        for part in renamed(parts, response.id, self._runtime.new_id):
            if not isinstance(part, m.ModelResponseAudioDeltaEvent):
                self.part(part)
            elif (signal := self.speak(part)) is not None:
                yield signal
        item_ids = opened.item_ids
        if is_whole:
            self.close_streams(response)
            self.done(m.ModelResponseDoneEvent(response_id=response.id))
        else:
            cut_off = {"type": "incomplete", "reason": CUT_OFF}
            self.done(m.ModelResponseDoneEvent(response_id=response.id, status="incomplete", status_details=cut_off))
        for item_id in item_ids:
            item = self._conversation.get(item_id)
            if item is not None and self._context.profile.supports_truncation:
                self._send(base.ItemCreate(item))  # a model that cannot truncate still knows the whole reply
        self.continue_broken_off(overrides)

    def truncate(self, running: Response | None) -> None:
        """Cut the reply once it is known what was played; then close its streams."""
        cut = self._cut = OpenCut([*self._items.spoken], running)
        self._context.ears.after_flush(lambda: self._settle(cut))

    def settle_cut(self, *, requests: bool = True) -> None:
        """Cut an interrupted reply to what is known now: something follows it.

        Without `requests`, what was to be asked then is dropped: the link is lost, or the call is over.
        """
        if not requests:
            self._waiting.clear()
        if self._cut is not None:
            if not requests:
                self._cut.requests.clear()
            self._settle(self._cut)

    def end_heard(self) -> None:
        """The call is over: what was heard of the reply until now is what counts of it."""
        self.settle_cut(requests=False)
        self._items.end()

    async def close(self, connection: base.Connection) -> None:
        """Close the model, which may remember the call: as it was heard."""
        self._items.tell_heard()
        await connection.close()

    def _settle(self, cut: OpenCut) -> None:
        if cut is not self._cut:
            self._items.correct(cut.cuts_ms)
            return
        self._cut = None
        cut.cuts_ms = self._items.cut_to_played(cut.item_ids)
        for request in cut.requests:
            self._ask(request)
        self.close_streams(cut.running)
        for event in cut.done:
            self.done(event)

    # -- following the model ---------------------------------------------------------------------------------------

    def created(self, event: m.ModelResponseCreatedEvent) -> Signal | None:
        """A response begins."""
        self.settle_cut()
        response = self._ledger.begin(
            event.response_id,
            self._runtime.now(),
            out_of_band=event.conversation == "none",
            metadata=event.metadata,
        )
        self._open[response.id] = OpenResponse(response)
        is_unwanted = response.cancelled
        if response.out_of_band:
            self._context.forward(event)
            return None
        self._context.forward(msgspec.structs.replace(event, metadata=response.metadata))
        if is_unwanted:
            self._send(base.ResponseCancel(response.id))
        # A room may have dropped it meanwhile.
        return None if response.cancelled else Signal.RESPONSE_CREATED

    def speak(self, event: m.ModelResponseAudioDeltaEvent) -> Signal | None:
        """Pass on a chunk of speech. The hottest path of the package."""
        open_response = self._open.get(event.response_id)
        if open_response is None or open_response.response.cancelled:
            return None
        signal = None
        part = open_response.parts.get((event.item_id, event.content_index))
        if part is None or not part.audio_open:
            signal = self._open_audio(open_response, event)
        if open_response.response.out_of_band:
            spoken = open_response.part(event.item_id, event.output_index, event.content_index)
            spoken.beside_ms += len(event.delta) * 500 / (event.format.rate or self._context.profile.output_rate_hz)
        else:
            if event.format is not self._format:
                # Another model may take over in the middle of a call.
                self._format = event.format
                self._ms_per_byte = 500 / (event.format.rate or self._context.profile.output_rate_hz)
            if not self._conversation.add_audio(event.item_id, len(event.delta) * self._ms_per_byte):
                # It was deleted while it was spoken.
                return signal
            if (kept := self._items.speech) is not None:
                kept.parts.append(event)
                if len(kept.parts) >= kept.look_at:
                    self._items.trim_speech()
        self._emit(
            s.AgentResponseAudioDeltaEvent(
                response_id=event.response_id,
                item_id=event.item_id,
                output_index=event.output_index,
                content_index=event.content_index,
                delta=event.delta,
                format=event.format,
                agent_id=self._context.agent_id,
                agent_name=self._context.agent_name,
            )
        )
        return signal

    def part(self, event: PartEvent) -> None:
        """Pass on words, and the ends of words and audio."""
        open_response = self._open.get(event.response_id)
        if open_response is None or open_response.response.cancelled:
            return
        part = self._open_part(open_response, event.item_id, event.output_index, event.content_index)
        told = not open_response.response.out_of_band
        if told and event.item_id not in self._conversation:
            return
        match event:
            case m.ModelResponseAudioTranscriptDeltaEvent():
                part.transcript_open = True
                if told:
                    self._items.speak(event.item_id)
                    self._add_words(part, event)
            case m.ModelResponseTextDeltaEvent():
                part.text_open = True
                if told:
                    self._items.write(event.item_id)
                    part.words += event.delta
                    self._conversation.add_text(event.item_id, event.delta)
            case m.ModelResponseAudioDoneEvent():
                part.audio_open = False
                if told:
                    self._conversation.audio_complete(event.item_id)
            case m.ModelResponseAudioTranscriptDoneEvent():
                part.transcript_open = False
                if told:
                    self._complete_words(part, event)
                    event = msgspec.structs.replace(event, transcript=self._conversation.spoken_text(event.item_id))
            case m.ModelResponseTextDoneEvent():
                part.text_open = False
                if told:
                    whole = event.text or part.words
                    self._correct_words(part, whole)
                    self._conversation.set_text(event.item_id, whole)
                    event = msgspec.structs.replace(event, text=whole)
            case _:
                assert_never(event)
        self._context.forward(event, response_id=open_response.response.id, item_id=part.item_id)
        if told and self.claims is not None:
            self.claims.follow(event)  # last: it may cut the reply

    def think(self, event: ThinkingEvent) -> None:
        """Pass on thoughts; they stay in the log and are no part of the conversation."""
        open_response = self._open.get(event.response_id)
        if open_response is not None and not open_response.response.cancelled:
            open_response.think(event)
            self._context.forward(event)

    def report(self, event: m.ModelResponseReportEvent) -> None:
        """Pass on what a thinking agent tells of its reply; tools may have it do so after the response."""
        open_response = self._open.get(event.response_id)
        if open_response is not None and not open_response.response.cancelled:
            self._context.forward(event)

    def done(self, event: m.ModelResponseDoneEvent) -> Signal | None:
        """A response is over."""
        open_response = self._open.get(event.response_id)
        if open_response is None:
            self._context.forward(event)
            return None
        response = open_response.response
        if self._cut is not None and response.cancelled and not response.out_of_band:
            # Its end reports what was played of it.
            self._cut.done.append(event)
            return None
        if self.claims is not None:
            event = self.claims.as_corrected(event)
        self._ledger.finish(response)
        reason = (event.status_details or {}).get("reason")
        if reason in (LINK_LOST, CUT_OFF) and not response.cancelled:
            event = self._broken_off(open_response, event)
        self.close_streams(response)
        finished = event.status == "completed" and not response.cancelled
        if not response.out_of_band:
            for item_id in open_response.item_ids:
                if item_id in self._conversation:
                    self._context.item_done(
                        self._conversation.complete(item_id, "completed" if finished else "incomplete")
                    )
        self._context.forward(msgspec.structs.replace(event, metadata=event.metadata or response.metadata))
        self._follow_up(response)
        if finished and self.claims is not None and not (response.out_of_band or response.calls):
            self.claims.over(response.id, next(iter(open_response.item_ids), ""))
        return None if response.cancelled or response.out_of_band else Signal.RESPONSE_DONE

    def _broken_off(self, open_response: OpenResponse, event: m.ModelResponseDoneEvent) -> m.ModelResponseDoneEvent:
        """Return how a response ends whose link was lost: the user will hear what has arrived of it.

        One that has arrived whole is complete, though the model could not report that. Otherwise the rest of it is
        owed, unless it called tools: it goes on after them.
        """
        response, items = open_response.response, self._items
        if response.out_of_band:
            return event
        item_ids = [item_id for item_id in open_response.item_ids if item_id in self._conversation]
        goes_on = any(part.audio_open or part.text_open for part in open_response.parts.values())
        if item_ids and not goes_on and all(items.is_said(item_id) for item_id in item_ids):
            return msgspec.structs.replace(event, status="completed", status_details=None)
        for item_id in item_ids:
            if not self._conversation.audio_ms(item_id) and item_id not in items.written:
                items.withdraw(item_id)
            elif not items.is_said(item_id):
                # The words may be ahead of the voice.
                self._conversation.truncate(item_id, self._conversation.audio_ms(item_id))
        self._ledger.broken_off(response)
        return event

    def spoken_ms(self, response_id: str, item_id: str) -> float:
        """How much was spoken of an item; of one outside the conversation, until its response is over."""
        if item_id in self._conversation:
            return self._conversation.audio_ms(item_id)
        opened = self._open.get(response_id)
        parts = () if opened is None else opened.parts.items()
        return sum(part.beside_ms for (one, _), part in parts if one == item_id)

    # -- a lost link -----------------------------------------------------------------------------------------------

    def lost(self) -> Iterator[m.ModelResponseDoneEvent]:
        """Yield the end of each running response: all of them went with the link."""
        for open_response in [*self._open.values()]:
            if not open_response.response.done:
                details = {"type": "failed", "reason": LINK_LOST}
                response_id = open_response.response.id
                yield m.ModelResponseDoneEvent(response_id=response_id, status="failed", status_details=details)

    def lose_link(self, *, owed: bool, n_coming: int) -> None:
        """Note what is owed after a lost link (see `Ledger.lose_link`)."""
        if self._ledger.lose_link(self._runtime.now(), owed=owed, n_coming=n_coming) and n_coming:
            self._go_on_if_known()

    def continue_broken_off(self, overrides: ResponseOverrides | None) -> None:
        """Have the model continue a broken-off response, if there is one."""
        if self._ledger.restore_link():
            self._go_on_if_known()
            self.request(overrides)

    def turn_repeated(self) -> None:
        """The model, back after a lost link, has heard a turn again."""
        if self._ledger.turn_repeated():
            self.request(self._ledger.overrides)

    def say_go_on(self) -> None:
        """Tell the model that its last answer was broken off."""
        words = ContentPart(type="text", text=base.CONTINUE_ANSWER)
        self._send(base.ItemCreate(Item(id=self._runtime.new_id("item"), role="system", content=(words,))))

    def _go_on_if_known(self) -> None:
        if self._items.is_known:
            self.say_go_on()

    # -- streams ---------------------------------------------------------------------------------------------------

    def _open_audio(self, open_response: OpenResponse, event: m.ModelResponseAudioDeltaEvent) -> Signal | None:
        self._open_part(open_response, event.item_id, event.output_index, event.content_index).audio_open = True
        if open_response.response.out_of_band:
            return None
        self._items.speak(event.item_id)
        return Signal.RESPONSE_AUDIO

    def _open_part(self, open_response: OpenResponse, item_id: str, output_index: int, content_index: int) -> Part:
        is_new = item_id not in self._conversation and item_id not in open_response.item_ids
        if is_new and not open_response.response.out_of_band:
            self._context.add_item(
                Item(id=item_id, role="assistant", name=self._context.agent_name, status="in_progress")
            )
        return open_response.part(item_id, output_index, content_index)

    def _add_words(self, part: Part, event: m.ModelResponseAudioTranscriptDeltaEvent) -> None:
        part.words += event.delta
        self._conversation.add_text(event.item_id, event.delta)
        if self._items.speech is not None:
            self._items.speech.parts.append(event)

    def _complete_words(self, part: Part, event: m.ModelResponseAudioTranscriptDoneEvent) -> None:
        """Take the words that no delta has brought: behind those of the deltas, or in place of them."""
        so_far = part.words
        if not event.transcript.startswith(so_far):
            self._correct_words(part, event.transcript)
        elif len(event.transcript) > len(so_far):
            rest = event.transcript[len(so_far) :]
            self._add_words(
                part,
                m.ModelResponseAudioTranscriptDeltaEvent(
                    response_id=event.response_id, item_id=event.item_id, delta=rest
                ),
            )

    def _correct_words(self, part: Part, whole: str) -> None:
        """A delta was lost, or half a character in it: the provider's `whole` words of the part are the truth."""
        if part.words and whole.strip() not in part.words:
            self._conversation.correct_text(part.item_id, part.words, whole)
            part.words = whole

    def close_streams(self, response: Response | None) -> None:
        """Close every stream that the model left open, with its final words."""
        open_response = self._open.get(response.id) if response is not None else None
        if open_response is None:
            return
        for thought in open_response.end_thoughts():
            self._context.forward(thought)
        for ended in open_response.end_parts(self._words_of):
            if isinstance(ended, m.ModelResponseAudioDoneEvent) and ended.item_id in self._conversation:
                self._conversation.audio_complete(ended.item_id)
            self._context.forward(ended)

    def _words_of(self, item_id: str) -> str:
        return self._conversation.spoken_text(item_id) if item_id in self._conversation else ""

    # -- tools -----------------------------------------------------------------------------------------------------

    def tool_use(self, event: ToolUseEvent) -> bool:
        """The model calls a tool, or is about to; returns whether a tool starts."""
        open_response = self._open.get(event.response_id)
        if open_response is None or open_response.response.cancelled:
            return False
        return self.tool_calls.begin(open_response.response, event)

    def tool_done(self, result: ToolResultBlock) -> Signal | None:
        """A tool has returned, failed or was cancelled; after the last one the model goes on."""
        response = self.tool_calls.done(result)
        if response is None:
            return None
        self._ledger.answer(response, result.id)
        if response.cancelled and result.state is not ToolResultState.INTERRUPTED:
            self.on_late_result(result)
        return Signal.RESPONSE_DONE if self._follow_up(response) is After.END else None

    def _follow_up(self, response: Response) -> After:
        """Ask the model to continue once response and tools are done."""
        after = self._ledger.settle(response)
        if response.done and not response.unanswered:
            self._open.pop(response.id, None)
        if after is After.GO_ON:
            self.request(response.overrides)
        return after
