"""The model's responses: what listeners get, what is kept, and the tools called.

Synchronous and complete: every stream that is opened on the wire is closed, whatever happens to the response. Methods
return what happened to the turn; `realtime.agent.controller` applies that. Which responses are due and which count is
in the `Ledger` (`realtime.turn.responses`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import msgspec

from realtime.agent.answers import OnAnswer, OnAsk, nothing_answers, nothing_asks
from realtime.agent.context import AgentContext
from realtime.agent.open_responses import OpenCut, OpenResponse, Part, ThinkingEvent
from realtime.agent.permissions import denial_of
from realtime.agent.provisional import ProvisionalResults
from realtime.agent.reply_items import ReplyItems
from realtime.agent.resumption import SpokenPart, renamed
from realtime.agent.tools import ToolRunner
from realtime.agent.withholding import Withholding
from realtime.errors import ClientError
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item, ResponseOverrides
from realtime.message import PermissionRule, ToolCallBlock, ToolCallState, ToolResultBlock
from realtime.model import base
from realtime.permission.accepted import same
from realtime.state.latency import RESUMES
from realtime.turn.machine import Signal
from realtime.turn.responses import After, Ledger, Response

RESPONSE_REFUSED = frozenset({"conversation_already_has_active_response", "bad_response_create"})
"""Errors that say: the requested response will not come."""

logger = logging.getLogger(__name__)

REFUSED = "the user refused"
"""Tells the model that the user refused a call; may continue with `: reason`."""
LINK_LOST = "link_lost"
"""Why a response failed that was lost with its link (`realtime.model.wire`)."""
CUT_OFF = "cut_off"
"""Why the rest of a cut reply ends before the reply does: its model was stopped."""
GO_ON = (
    "Your last answer was broken off. The user has heard it as far as it stands here. "
    "Go on exactly where it stops: do not repeat any of it, do not greet, do not mention the interruption."
)
"""The system message that precedes a request to continue a broken-off response."""

PartEvent = (
    m.ModelResponseAudioDoneEvent
    | m.ModelResponseAudioTranscriptDeltaEvent
    | m.ModelResponseAudioTranscriptDoneEvent
    | m.ModelResponseTextDeltaEvent
    | m.ModelResponseTextDoneEvent
)
ToolUseEvent = m.ModelResponseToolUseDeltaEvent | m.ModelResponseToolUseDoneEvent


@dataclass(frozen=True, slots=True)
class _Question:
    """A call that waits for the user's consent."""

    call: ToolCallBlock
    item_id: str = ""
    response_id: str = ""


class Responses:
    """Follows the model's responses."""

    def __init__(self, context: AgentContext, tools: ToolRunner, ledger: Ledger, items: ReplyItems) -> None:
        self._context = context
        self._runtime = context.runtime
        self._emit = context.emit
        self._conversation = context.conversation
        self._send = context.send
        self._tools = tools
        self._ledger = ledger
        self._items = items
        self._format: AudioFormat | None = None
        self._ms_per_byte = 0.0
        self._open: dict[str, OpenResponse] = {}
        self._questions: dict[str, _Question] = {}
        """Calls that wait for the user's consent, by id."""
        self._result_ids: dict[str, str] = {}
        """Client ids for the items of results, by call."""
        self._cut: OpenCut | None = None
        self.claims: Withholding | None = None
        self.provisional = ProvisionalResults(context)
        self._on_ask: OnAsk = nothing_asks
        self._on_answer: OnAnswer = nothing_answers

    def follow_questions(self, on_ask: OnAsk, on_answer: OnAnswer) -> None:
        """Tell these of questions for consent and their answers from now on."""
        self._on_ask, self._on_answer = on_ask, on_answer

    # -- asking and interrupting -----------------------------------------------------------------------------------

    def request(self, overrides: ResponseOverrides | None = None, *, say: str = "") -> None:
        """Ask the model for a response; with `say`, for these words.

        It learns first where the reply before was cut: that is known when clients have reported what they played.
        """
        self._ledger.request(self._runtime.now(), overrides)
        request = base.ResponseCreate(overrides, say)
        if self._cut is None:
            self._send(request)
        else:
            self._cut.requests.append(request)

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
        response = self._ledger.resume(self._runtime.new_id("response"), {RESUMES: parts[0].item_id})
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
            self._send(request)
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
                    self._add_words(event)
            case m.ModelResponseTextDeltaEvent():
                part.text_open = True
                if told:
                    self._items.write(event.item_id)
                    self._conversation.add_text(event.item_id, event.delta)
            case m.ModelResponseAudioDoneEvent():
                part.audio_open = False
                if told:
                    self._conversation.audio_complete(event.item_id)
            case m.ModelResponseAudioTranscriptDoneEvent():
                part.transcript_open = False
                if told:
                    self._complete_words(event)
                    event = msgspec.structs.replace(event, transcript=self._conversation.spoken_text(event.item_id))
            case m.ModelResponseTextDoneEvent():
                part.text_open = False
                if told:
                    self._conversation.set_text(event.item_id, event.text)
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
            self._say_go_on()

    def continue_broken_off(self, overrides: ResponseOverrides | None) -> None:
        """Have the model continue a broken-off response, if there is one."""
        if self._ledger.restore_link():
            self._say_go_on()
            self.request(overrides)

    def turn_repeated(self) -> None:
        """The model, back after a lost link, has heard a turn again."""
        if self._ledger.turn_repeated():
            self.request(self._ledger.overrides)

    def _say_go_on(self) -> None:
        if self._items.is_known:
            words = ContentPart(type="text", text=GO_ON)
            self._send(base.ItemCreate(Item(id=self._runtime.new_id("item"), role="system", content=(words,))))

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

    def _add_words(self, event: m.ModelResponseAudioTranscriptDeltaEvent) -> None:
        self._conversation.add_text(event.item_id, event.delta)
        if self._items.speech is not None:
            self._items.speech.parts.append(event)

    def _complete_words(self, event: m.ModelResponseAudioTranscriptDoneEvent) -> None:
        """Add the words that a provider sends only with its done event."""
        so_far = self._conversation.spoken_text(event.item_id)
        if event.transcript.startswith(so_far) and len(event.transcript) > len(so_far):
            self._add_words(
                m.ModelResponseAudioTranscriptDeltaEvent(
                    response_id=event.response_id, item_id=event.item_id, delta=event.transcript[len(so_far) :]
                )
            )

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
        response, call = open_response.response, event.tool_use
        if self._ledger.knows_call(call.id):
            # One result cannot answer two calls: the first one counts.
            logger.warning("a second tool call with the same id was ignored: type=%s", event.type)
            return False
        if response.out_of_band or isinstance(event, m.ModelResponseToolUseDeltaEvent):
            # Outside the conversation nothing runs: the result would lack its call, and the model would speak on.
            self._context.forward(event)
            return False
        # It runs at the model: for listeners it is a tool of the agent like any other.
        at_model = call.state is not ToolCallState.PENDING
        denial, is_consent = "", call.state is ToolCallState.ALLOWED
        if call.state is not ToolCallState.ASKING:
            call = msgspec.structs.replace(call, state=ToolCallState.PENDING)
        if not at_model:
            decision = self._tools.decide(call)
            is_consent = decision.is_consent
            if decision.denies:
                denial = denial_of(decision)
                # The client runs no call that is finished.
                is_clients = self._tools.is_clients(call.name)
                state = ToolCallState.FINISHED if is_clients else ToolCallState.PENDING
                call = msgspec.structs.replace(call, state=state)
            elif decision.asks:
                call = decision.asking(call)
        if call.state is ToolCallState.ASKING:
            self._questions[call.id] = _Question(call, event.item_id, event.response_id)
        self._context.forward(msgspec.structs.replace(event, tool_use=call))
        self._ledger.call(response, call.id)
        self._conversation.add_tool_call(event.item_id, call)
        if is_consent:
            self._tell_allowed(event.item_id, call)
        self._tools.start_tool(call, at_model=at_model, denial=denial)
        if call.state is ToolCallState.ASKING:
            self._on_ask(call, "")
        return True

    def _tell_allowed(self, item_id: str, call: ToolCallBlock) -> None:
        """Tell that a call may run as it is now: the user or a rule has agreed."""
        allowed = msgspec.structs.replace(call, state=ToolCallState.ALLOWED, suggested_rules=[])
        item = Item(id=item_id, type="tool_call", tool_call=allowed)
        if item_id in self._conversation:
            self._conversation.add(item)
        self._context.item_done(item)

    def ask_within(self, within: str, call: ToolCallBlock) -> None:
        """Ask for consent to a call of an agent behind `within`.

        Listeners see that call; it is no item of the conversation, whose model does not know it.
        """
        response = self._ledger.calling(within)
        self._questions[call.id] = _Question(call)
        self._emit(
            s.AgentResponseToolUseDoneEvent(
                response_id="" if response is None else response.id, item_id="", tool_use=call, **self._context.who
            )
        )
        self._on_ask(call, within)

    def answered_within(self, result: ToolResultBlock) -> None:
        """Such a call has its result."""
        self._questions.pop(result.id, None)
        self._emit(s.AgentResponseToolResultEvent(tool_result=result, **self._context.who))

    def confirm(
        self,
        call_id: str,
        confirmed: bool,
        *,
        words: str = "",
        changed: ToolCallBlock | None = None,
        rules: Sequence[PermissionRule] = (),
        by_rule: bool = False,
    ) -> None:
        """Run or refuse a call that asks for consent. Raises ClientError if none of this id does.

        It may run `changed`; a refusal may have a reason in `words`. `rules` are those of the suggested ones that the
        user accepts with it: for others, and with a refusal, ClientError is raised and the question stays open.
        """
        question = self._questions.get(call_id)
        nothing_asks = ClientError(f"no tool call with the id {call_id!r} asks for consent", code="unknown_tool_call")
        if question is None:
            raise nothing_asks
        suggested = question.call.suggested_rules if confirmed else []
        if any(not any(same(rule, one) for one in suggested) for rule in rules):
            raise ClientError(
                f"only the rules that were suggested for the call {call_id!r} can be accepted, together with a consent",
                code="unknown_rule",
            )
        allowed = msgspec.structs.replace(question.call, state=ToolCallState.ALLOWED, suggested_rules=[])
        if changed is not None:
            allowed = msgspec.structs.replace(allowed, name=changed.name, input=changed.input)
        refusal = f"{REFUSED}{f': {words}' if words else ''}"
        answer = self._tools.confirm_tool(call_id, allowed if confirmed else refusal)
        if answer is None:
            raise nothing_asks
        del self._questions[call_id]
        self._on_answer(call_id, confirmed, changed, by_rule)
        if isinstance(answer, ToolCallBlock):
            self._tell_allowed(question.item_id, answer)
            if self._tools.is_clients(question.call.name):
                # From now on the client may run it.
                self._emit(
                    s.AgentResponseToolUseDoneEvent(
                        response_id=question.response_id,
                        item_id=question.item_id,
                        tool_use=answer,
                        **self._context.who,
                    )
                )
            self._tools.accept(call_id, rules)

    def permissions_changed(self) -> None:
        """Rules or the mode have changed: answer the questions that are none any more."""
        for call, decision in self._tools.rechecked():
            if call.id in self._questions and decision.allows:
                self.confirm(call.id, True, by_rule=True)
            elif call.id in self._questions:
                self._tools.confirm_tool(call.id, denial_of(decision))
                del self._questions[call.id]
                self._on_answer(call.id, False, None, True)

    def is_taken(self, item_id: str) -> bool:
        """Whether a result that is on its way will have this id."""
        return item_id in self._result_ids.values()

    def answered_by_client(self, call_id: str, item_id: str | None = None) -> None:
        """Note that the client delivered a result; keep its id for the item.

        `tool_done` gets the result.
        """
        if item_id is not None:
            self._result_ids[call_id] = item_id
        self._ledger.answered_by_client(call_id)

    def tool_reports(self, call_id: str, text: str, kind: s.ProgressKind) -> None:
        """A tool that runs reports."""
        self._emit(s.AgentToolProgressEvent(tool_call_id=call_id, delta=text, kind=kind, **self._context.who))

    def tool_done(self, result: ToolResultBlock) -> Signal | None:
        """A tool has returned, failed or was cancelled; after the last one the model goes on."""
        response = self._ledger.calling(result.id)
        self._questions.pop(result.id, None)
        item_id = self._result_ids.pop(result.id, None) or self._runtime.new_id("item")
        self._conversation.add_tool_result(item_id, result)
        self._emit(
            s.AgentResponseToolResultEvent(
                tool_result=result,
                response_id=response.id if response is not None else None,
                item_id=item_id,
                **self._context.who,
            )
        )
        self.provisional.tell(result, item_id)
        if response is None:
            return None
        self._ledger.answer(response, result.id)
        return Signal.RESPONSE_DONE if self._follow_up(response) is After.END else None

    def _follow_up(self, response: Response) -> After:
        """Ask the model to continue once response and tools are done."""
        after = self._ledger.settle(response)
        if response.done and not response.unanswered:
            self._open.pop(response.id, None)
        if after is After.GO_ON:
            self.request(response.overrides)
        return after
