"""The agent's side of a call: the responses of the model, what of them is said, and the tools they ask for.

Synchronous and complete: every stream that is opened on the wire is closed, whatever happens to the response.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, assert_never

import msgspec

from realtime.agent.open_responses import OpenCut, Part, Response, ThinkingEvent
from realtime.agent.reporter import Reporter
from realtime.agent.requests import Requests
from realtime.call.participant import Host
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item, ResponseOverrides
from realtime.message import ToolCallBlock, ToolCallState, ToolResultBlock
from realtime.model import base
from realtime.state.truncation import Truncation, portion_played
from realtime.turn.machine import Action, Signal, Turn

RESPONSE_REFUSED = frozenset({"conversation_already_has_active_response", "bad_response_create"})
"""Errors that say: the response you asked for will not come."""

logger = logging.getLogger(__name__)

ERROR_BEFORE_LOSS_S = 5.0
"""A link that is lost so soon after an error was what the error spoke of, not the request."""
REFUSED = "the user refused"
"""What the model is told of a call that the user did not agree to, perhaps with the reason behind a colon."""
LINK_LOST = "link_lost"
"""Why a response failed that went with its link (`realtime.model.wire`)."""
GO_ON = (
    "Your last answer was broken off by a lost connection. The user has heard it as far as it stands here. "
    "Go on exactly where it stops: do not repeat any of it, do not greet, do not mention the interruption."
)
"""Said to the model, as the system, before it is asked to go on with an answer that a lost link broke off."""

PartEvent = (
    m.ModelResponseAudioDoneEvent
    | m.ModelResponseAudioTranscriptDeltaEvent
    | m.ModelResponseAudioTranscriptDoneEvent
    | m.ModelResponseTextDeltaEvent
    | m.ModelResponseTextDoneEvent
)
ToolUseEvent = m.ModelResponseToolUseDeltaEvent | m.ModelResponseToolUseDoneEvent


class Tools(Protocol):
    """Who runs tools."""

    def offer(self, tools: Iterable[Mapping[str, object]]) -> None:
        """The client declares these with one request: calls of them are its own to answer."""
        ...

    def asks(self, call: ToolCallBlock) -> bool:
        """Whether the user has to agree before it runs."""
        ...

    def start_tool(self, call: ToolCallBlock) -> None:
        """Run it, where it is `asking` only with the user's consent; `Answers.tool_done` gets the result, later."""
        ...

    def confirm_tool(self, call_id: str, answer: ToolCallBlock | str) -> bool:
        """The user lets this run, or refuses in these words; False if no call of this id asks."""
        ...

    def withdraw_questions(self) -> None:
        """Stop the calls that still wait for the user's consent; each gets a result, with state `interrupted`."""
        ...

    def answer_tool(self, result: ToolResultBlock) -> bool:
        """A client delivers the result of a tool that runs there; False if no such call is open."""
        ...

    def cancel_tools(self) -> None:
        """Stop what runs; each call still gets a result, with state `interrupted`."""
        ...


class Answers:
    """Follows the model's responses. `signal` tells the turn machine what happens to them."""

    def __init__(
        self,
        *,
        host: Host,
        report: Reporter,
        profile: base.Profile,
        send: Callable[[base.ModelInput], None],
        tools: Tools,
        turn: Turn,
        signal: Callable[[Signal], object],
    ) -> None:
        self._runtime = host.runtime
        self._ears = host.ears
        self._report = report
        self._emit = report.emit
        self._conversation = host.conversation
        self._profile = profile
        self._send = send
        self._tools = tools
        self._turn = turn
        self._signal = signal
        self.tool_auto_response = True
        self._output_hz = profile.output_rate_hz
        self._format: AudioFormat | None = None
        self._ms_per_byte = 0.0
        self._responses: dict[str, Response] = {}
        self._questions: dict[str, tuple[str, ToolCallBlock]] = {}
        """The calls that wait for the user's consent, by their id: where they stand in the conversation."""
        self._result_ids: dict[str, str] = {}
        """What clients call the items of their results, by call."""
        self._active: Response | None = None
        self._cut: OpenCut | None = None
        """The truncation that waits for its client to say how much it had played."""
        self._requests = Requests()
        # After a lost link: an answer is still owed; and so many will come unasked, to turns that were said again.
        self._owed = False
        self._n_coming = 0
        # When an error that named no request was taken to refuse one; null: it does not matter any more.
        self._doubted_s: float | None = None
        self._overrides: ResponseOverrides | None = None
        # Items of the reply to the last turn: spoken ones, which can be cut, and typed ones, which cannot.
        self._reply_items: list[str] = []
        self._reply_texts: list[str] = []
        self._turn_ended_at: float | None = None
        self._created_at: float | None = None
        self._last_id: str | None = None
        self._reply_id: str | None = None
        self._continues = False
        """The next response goes on with the reply: after tools or a lost link."""

    def close(self) -> None:
        """The call is over. Parts from the controller, which holds this object."""
        self._signal = lambda _: None

    @property
    def responding(self) -> bool:
        """Whether a reply is on its way: asked for, running, or waiting for its tools."""
        return (
            self._active is not None
            or self._owed
            or self._requests.is_wanted
            or any(one.unanswered and not one.dropped for one in self._responses.values())
        )

    def is_current(self, response_id: str) -> bool:
        """Whether this response runs, waits for its tools or for the model to speak on after them, or was the last and
        is not heard to its end.

        The first response of a reply stands for all of them: its id is that of the reply.
        """
        if response_id == self._reply_id and self._last_id is not None:
            if self._continues and self._requests.is_wanted:
                return True  # between two of its responses
            response_id = self._last_id
        if self._active is not None:
            return self._active.id == response_id
        response = self._responses.get(response_id)
        at_work = response is not None and bool(response.unanswered) and not response.dropped
        return at_work or (response_id == self._last_id and self._ears.unheard_ms() > 0)

    def runs_beside(self, response_id: str) -> bool:
        """Whether this is a response outside the conversation that still runs."""
        response = self._responses.get(response_id)
        return response is not None and response.out_of_band and not response.done

    def is_dropped(self, response_id: str) -> bool:
        """Whether nothing counts of this response, which runs or has just begun."""
        response = self._responses.get(response_id)
        return response is not None and response.dropped

    def drop(self, response_id: str) -> None:
        """Nobody has asked for this response: nothing of it counts. An unknown one is none."""
        response = self._responses.get(response_id)
        if response is not None and not response.dropped:
            response.dropped = True
            if self._active is response:
                self._active = None
            self._send(base.ResponseCancel(response_id))

    def heard_ms(self) -> int:
        """How much of the reply to the last turn was heard."""
        return sum(self._ears.heard_ms(item_id) for item_id in self._reply_items)

    def ask_anew(self) -> None:
        """A response is asked for: one that the model seems to have lost the request for is not waited for."""
        self._requests.renounce_unanswered(self._runtime.now())

    def give_up(self) -> None:
        """A room waits no longer for what the model was asked for: if that still comes, it answers nothing else."""
        self._requests.give_up(self._runtime.now())

    def turn_ended(self, now: float) -> None:
        """The user's turn is over: the time to the first sound of the answer counts from here."""
        self._turn_ended_at = now

    def new_turn(self) -> None:
        """What is said from now on replies to something new."""
        self._reply_items.clear()
        self._reply_texts.clear()
        self._overrides = None
        self._owed, self._n_coming = False, 0
        self._continues = False
        self._doubted_s = None

    # -- asking and interrupting -----------------------------------------------------------------------------------

    def create(self, overrides: ResponseOverrides | None = None) -> None:
        """Have the model answer."""
        self._requests.ask(self._runtime.now(), overrides.metadata if overrides is not None else None)
        self._doubted_s = None
        self._overrides = overrides
        self._send(base.ResponseCreate(overrides))

    def interrupt(self, actions: tuple[Action, ...], reason: str) -> None:
        """Silence first; then the model; then, once that is known, the truth about what was heard."""
        self.settle_cut()
        if Action.FLUSH in actions:
            self._emit(s.ServerAudioFlushEvent(reason=reason))
        active = self._active
        if Action.CANCEL in actions and active is not None:
            self._send(base.ResponseCancel(active.id))
        if Action.DROP in actions:
            for response in self._responses.values():
                response.dropped = response.dropped or not response.out_of_band
            self._active = None
            self._requests.renounce()
            self._owed = False
            self._doubted_s = None
        # What the user says now may change what was asked: the model knows that before it answers, and may ask again.
        self._tools.withdraw_questions()
        if Action.WITHDRAW in actions:
            for item_id in (*self._reply_items, *self._reply_texts):
                self._withdraw(item_id)
        elif Action.TRUNCATE in actions:
            cut = self._cut = OpenCut([*self._reply_items], active)
            self._ears.after_flush(lambda: self._settle(cut))
            return
        if active is not None:
            self._close_parts(active)

    def settle_cut(self) -> None:
        """What is heard now counts: a truncation waits for its client no longer, since something comes behind it."""
        if self._cut is not None:
            self._settle(self._cut)

    def _settle(self, cut: OpenCut) -> None:
        if cut is not self._cut:
            self._correct(cut)
            return
        self._cut = None
        for item_id in cut.item_ids:
            heard_ms = self._ears.heard_ms(item_id)
            portion = portion_played(heard_ms, self._conversation.audio_ms(item_id))
            if portion == "none":
                self._withdraw(item_id)
            elif portion == "part":
                cut.cut_ms[item_id] = heard_ms
                self.cut(item_id, heard_ms)
        if cut.active is not None:
            self._close_parts(cut.active)
        for event in cut.done:
            self.done(event)

    def _correct(self, cut: OpenCut) -> None:
        """The client has answered after its time: here it counts. The model has thrown away what was cut off."""
        for item_id, cut_ms in cut.cut_ms.items():
            heard_ms = self._ears.heard_ms(item_id)
            if heard_ms != cut_ms and item_id in self._conversation:
                cut.cut_ms[item_id] = heard_ms
                self._tell_cut(item_id, self._conversation.truncate(item_id, heard_ms, anew=True))

    def cut(self, item_id: str, heard_ms: int) -> None:
        """Only this much of the item was heard: here, at the model and for every listener."""
        cut = self._conversation.truncate(item_id, heard_ms)
        if self._profile.supports_truncation:
            self._send(base.ItemTruncate(item_id, cut.audio_end_ms, cut.transcript))
        self._tell_cut(item_id, cut)

    def _tell_cut(self, item_id: str, cut: Truncation) -> None:
        self._emit(cut.event(item_id, **self._report.who))

    def _withdraw(self, item_id: str) -> None:
        """Nothing of the item counts: it leaves the conversation here and at the model."""
        if item_id not in self._conversation:
            return
        if self._profile.supports_item_delete:
            self._send(base.ItemDelete(item_id))
        elif self._profile.supports_truncation:
            self._send(base.ItemTruncate(item_id, 0, ""))
        self._report.delete_item(item_id)

    # -- following the model ---------------------------------------------------------------------------------------

    def created(self, event: m.ModelResponseCreatedEvent) -> None:
        """A response begins."""
        self.settle_cut()
        response = Response(event.response_id, out_of_band=event.conversation == "none", metadata=event.metadata)
        self._responses[response.id] = response
        if response.out_of_band:
            self._report.forward(event)
            return
        now = self._runtime.now()
        request = self._requests.settle_unwanted(now)
        unwanted = request is not None or (self._n_coming > 0 and not self._owed)
        # Of several turns, of which one is still to be answered, a model may make one: its first answer counts.
        self._n_coming = 0 if self._owed else max(0, self._n_coming - 1)
        self._owed = False
        self._doubted_s = None
        response.dropped = unwanted
        if not unwanted:
            request = self._requests.settle_wanted()
            self._active, self._created_at, self._last_id = response, now, response.id
            if not self._continues:
                self._reply_id = response.id
            self._continues = False
        if response.metadata is None and request is not None:
            response.metadata = request.metadata  # not every model repeats it
        self._report.forward(msgspec.structs.replace(event, metadata=response.metadata))
        if unwanted:
            self._send(base.ResponseCancel(response.id))
        elif not response.dropped:
            self._signal(Signal.RESPONSE_CREATED)

    def refused(self, code: str) -> None:
        """The model reports an error; while a response is awaited and none runs, it is taken to be about that one.

        A false alarm does no harm: a response that comes all the same is the one that was asked for. It is asked for
        again where the error was the last word of a link.
        """
        named = code in RESPONSE_REFUSED
        if named and self._requests.settle_unwanted(self._runtime.now()):
            return
        if self._requests.is_wanted and (named or self._active is None):
            self._requests.settle_wanted()
            if not self.responding:
                self._doubted_s = None if named else self._runtime.now()
                self._signal(Signal.RESPONSE_DONE)

    def speak(self, event: m.ModelResponseAudioDeltaEvent) -> None:
        """A chunk of speech. The hottest path of the package."""
        response = self._responses.get(event.response_id)
        if response is None or response.dropped:
            return
        part = response.parts.get((event.item_id, event.content_index))
        if part is None or not part.audio_open:
            self._open_audio(response, event)
        if not response.out_of_band:
            if event.format is not self._format:
                # Another model may take over in the middle of a call.
                self._format = event.format
                self._ms_per_byte = 500 / (event.format.rate or self._output_hz)
            if not self._conversation.hear_audio(event.item_id, len(event.delta) * self._ms_per_byte):
                # It was deleted while it was being said.
                return
        self._emit(
            s.AgentResponseAudioDeltaEvent(
                response_id=event.response_id,
                item_id=event.item_id,
                output_index=event.output_index,
                content_index=event.content_index,
                delta=event.delta,
                format=event.format,
                agent_id=self._report.agent_id,
                agent_name=self._report.agent_name,
            )
        )

    def part(self, event: PartEvent) -> None:
        """Words, and the ends of words and sound."""
        response = self._responses.get(event.response_id)
        if response is None or response.dropped:
            return
        part = self._open(response, event.item_id, event.output_index, event.content_index)
        told = not response.out_of_band
        if told and event.item_id not in self._conversation:
            return
        match event:
            case m.ModelResponseAudioTranscriptDeltaEvent():
                part.transcript_open = True
                if told:
                    self._remember(self._reply_items, event.item_id)
                    self._conversation.hear_text(event.item_id, event.delta)
            case m.ModelResponseTextDeltaEvent():
                part.text_open = True
                if told:
                    self._remember(self._reply_texts, event.item_id)
                    self._conversation.hear_text(event.item_id, event.delta)
            case m.ModelResponseAudioDoneEvent():
                part.audio_open = False
                if told:
                    self._conversation.audio_complete(event.item_id)
            case m.ModelResponseAudioTranscriptDoneEvent():
                part.transcript_open = False
                if told:
                    self._complete_words(event.item_id, event.transcript)
                    event = msgspec.structs.replace(event, transcript=self._conversation.spoken_text(event.item_id))
            case m.ModelResponseTextDoneEvent():
                part.text_open = False
                if told:
                    self._conversation.set_text(event.item_id, event.text)
            case _:
                assert_never(event)
        self._report.forward(event, response_id=response.id, item_id=part.item_id)

    def think(self, event: ThinkingEvent) -> None:
        """Thoughts are told and kept in the log; they are no part of the conversation."""
        response = self._responses.get(event.response_id)
        if response is not None and not response.dropped:
            response.think(event)
            self._report.forward(event)

    def done(self, event: m.ModelResponseDoneEvent) -> None:
        """A response is over."""
        response = self._responses.get(event.response_id)
        if response is None:
            self._report.forward(event)
            return
        if self._cut is not None and response.dropped and not response.out_of_band:
            # Its end is told with what was heard of it.
            self._cut.done.append(event)
            return
        response.done = True
        details = event.status_details or {}
        if event.status == "failed" and details.get("reason") == LINK_LOST and not response.dropped:
            event = self._broken_off(response, event)
        self._close_parts(response)
        finished = event.status == "completed" and not response.dropped
        if not response.out_of_band:
            for item_id in response.item_ids:
                if item_id in self._conversation:
                    self._report.item_done(
                        self._conversation.complete(item_id, "completed" if finished else "incomplete")
                    )
        self._report.forward(msgspec.structs.replace(event, metadata=event.metadata or response.metadata))
        if self._active is response:
            self._active = None
        self._go_on_after_tools(response)
        if not response.dropped and not response.out_of_band:
            self._signal(Signal.RESPONSE_DONE)

    def _broken_off(self, response: Response, event: m.ModelResponseDoneEvent) -> m.ModelResponseDoneEvent:
        """The link was lost under a response. Whatever of it has arrived will be heard, and no more.

        One that has arrived whole is complete, though the model could not say so. Else the rest of it is owed, unless
        it asked for tools: it goes on after them.
        """
        if response.out_of_band:
            return event
        items = [item_id for item_id in response.item_ids if item_id in self._conversation]
        still = any(part.audio_open or part.text_open for part in response.parts.values())
        if items and not still and all(self._is_said(item_id) for item_id in items):
            return msgspec.structs.replace(event, status="completed", status_details=None)
        for item_id in items:
            if not self._conversation.audio_ms(item_id) and item_id not in self._reply_texts:
                self._withdraw(item_id)
            elif item_id not in self._reply_texts and not self._conversation.audio_is_complete(item_id):
                # The words may have run ahead of the voice.
                self._conversation.truncate(item_id, self._conversation.audio_ms(item_id))
        self._owed = self._owed or not response.calls
        self._continues = True
        return event

    def _is_said(self, item_id: str) -> bool:
        return self._conversation.audio_is_complete(item_id) or item_id in self._reply_texts

    def link_lost(self, *, owed: bool, n_coming: int) -> None:
        """Every running response went with the link: close them, so that nobody waits for more.

        `owed`: the model was about to answer by itself. `n_coming`: it is about to hear so many turns again, and will
        answer each of them unasked.
        """
        self.settle_cut()
        for response in [*self._responses.values()]:
            if not response.done:
                lost = {"type": "failed", "reason": LINK_LOST}
                self.done(m.ModelResponseDoneEvent(response_id=response.id, status="failed", status_details=lost))
        doubted = self._doubted_s is not None and self._runtime.now() - self._doubted_s <= ERROR_BEFORE_LOSS_S
        self._owed = self._owed or self._requests.is_wanted or ((owed or doubted) and not self.responding)
        self._doubted_s = None
        self._n_coming = n_coming
        self._requests.clear()
        if self._owed and n_coming:
            self._say_go_on()
        self._signal(Signal.RESPONSE_DONE)

    def link_back(self) -> None:
        """The model is there again, with its context: have it go on where the link broke off."""
        if self._owed and not self._n_coming:
            self._owed = False
            self._say_go_on()
            self.create(self._overrides)

    def _say_go_on(self) -> None:
        if any(item_id in self._conversation for item_id in (*self._reply_items, *self._reply_texts)):
            words = ContentPart(type="text", text=GO_ON)
            self._send(base.ItemCreate(Item(id=self._runtime.new_id("item"), role="system", content=(words,))))

    def _open_audio(self, response: Response, event: m.ModelResponseAudioDeltaEvent) -> None:
        self._open(response, event.item_id, event.output_index, event.content_index).audio_open = True
        if response.out_of_band:
            return
        self._remember(self._reply_items, event.item_id)
        self._signal(Signal.RESPONSE_AUDIO)
        ended_at, self._turn_ended_at = self._turn_ended_at, None
        if ended_at is not None:
            self._tell_latency(response.id, ended_at)

    def _tell_latency(self, response_id: str, ended_at: float) -> None:
        now = self._runtime.now()
        created_at = max(ended_at, self._created_at or ended_at)
        self._emit(
            s.ServerLatencyEvent(
                response_id=response_id,
                turn_end_to_audio_ms=round((now - ended_at) * 1000),
                stages_ms={
                    "to_response": round((created_at - ended_at) * 1000),
                    "to_audio": round((now - created_at) * 1000),
                },
            )
        )

    def _open(self, response: Response, item_id: str, output_index: int, content_index: int) -> Part:
        if not response.out_of_band and item_id not in self._conversation and item_id not in response.item_ids:
            self._report.add_item(
                Item(id=item_id, role="assistant", name=self._report.agent_name, status="in_progress")
            )
        return response.part(item_id, output_index, content_index)

    @staticmethod
    def _remember(items: list[str], item_id: str) -> None:
        if item_id not in items:
            items.append(item_id)

    def _complete_words(self, item_id: str, transcript: str) -> None:
        """A provider may send the whole text only with its done event."""
        so_far = self._conversation.spoken_text(item_id)
        if transcript.startswith(so_far) and len(transcript) > len(so_far):
            self._conversation.hear_text(item_id, transcript[len(so_far) :])

    def _close_parts(self, response: Response) -> None:
        """Close every stream that the model left open, with what counts as said."""
        for thought in response.end_thoughts():
            self._report.forward(thought)
        for part in response.parts.values():
            where: dict[str, Any] = {
                "response_id": part.response_id,
                "item_id": part.item_id,
                "output_index": part.output_index,
                "content_index": part.content_index,
                **self._report.who,
            }
            known = part.item_id in self._conversation
            words = self._conversation.spoken_text(part.item_id) if known else ""
            if part.audio_open:
                part.audio_open = False
                if known:
                    self._conversation.audio_complete(part.item_id)
                self._emit(s.AgentResponseAudioDoneEvent(**where))
            if part.transcript_open:
                part.transcript_open = False
                self._emit(s.AgentResponseAudioTranscriptDoneEvent(transcript=words, **where))
            if part.text_open:
                part.text_open = False
                self._emit(s.AgentResponseTextDoneEvent(text=words, **where))

    # -- tools -----------------------------------------------------------------------------------------------------

    def tool_use(self, event: ToolUseEvent) -> None:
        """The model asks for a tool, or is about to."""
        response = self._responses.get(event.response_id)
        if response is None or response.dropped:
            return
        call = event.tool_use
        if any(call.id in one.calls for one in self._responses.values()):
            # One result cannot answer two calls: the first one counts.
            logger.warning("a second tool call with the same id was ignored: type=%s", event.type)
            return
        if response.out_of_band or isinstance(event, m.ModelResponseToolUseDeltaEvent):
            # Beside the conversation nothing runs: the result would have no call there, and the model would speak on.
            self._report.forward(event)
            return
        if self._tools.asks(call):
            call = msgspec.structs.replace(call, state=ToolCallState.ASKING)
            self._questions[call.id] = (event.item_id, call)
        self._report.forward(msgspec.structs.replace(event, tool_use=call))
        response.calls[call.id] = call
        response.unanswered.add(call.id)
        # A tool may change the world: what led to it can no longer be undone.
        self._turn.withdrawable = False
        self._conversation.add_tool_call(event.item_id, call)
        self._tools.start_tool(call)

    def confirm(self, call_id: str, confirmed: bool, *, words: str = "", changed: ToolCallBlock | None = None) -> bool:
        """The user's answer to a call that asks: it runs, perhaps `changed`, or is refused, perhaps for a reason.

        False where no call of this id asks.
        """
        item_id, call = self._questions.get(call_id, ("", None))
        if call is None:
            return False
        allowed = msgspec.structs.replace(call, state=ToolCallState.ALLOWED)
        if changed is not None:
            allowed = msgspec.structs.replace(allowed, name=changed.name, input=changed.input)
        refusal = f"{REFUSED}{f': {words}' if words else ''}"
        if not self._tools.confirm_tool(call_id, allowed if confirmed else refusal):
            return False
        del self._questions[call_id]
        if confirmed:
            item = Item(id=item_id, type="tool_call", tool_call=allowed)
            if item_id in self._conversation:
                self._conversation.add(item)
            self._report.item_done(item)
        return True

    def is_taken(self, item_id: str) -> bool:
        """Whether a result that is on its way will have this id."""
        return item_id in self._result_ids.values()

    def answered_by_client(self, call_id: str, item_id: str | None = None) -> None:
        """The client has delivered a result, which `tool_done` will be called with; `item_id` is its name for it."""
        if item_id is not None:
            self._result_ids[call_id] = item_id
        for response in self._responses.values():
            response.by_client = response.by_client or call_id in response.unanswered

    def go_on(self, overrides: ResponseOverrides | None) -> bool:
        """The client asks for a response where the model does not go on by itself after the client's tools.

        True: one that asked for tools is not settled yet; the new one follows when it is. Where the client has answered
        none of the calls it will not: they are stopped.
        """
        if self.tool_auto_response:
            return False
        for response in self._responses.values():
            if (response.unanswered or response.by_client) and not response.dropped:
                response.asked, response.overrides = True, overrides
                if not response.by_client:
                    self._tools.cancel_tools()
                return True
        return False

    def tool_done(self, result: ToolResultBlock) -> None:
        """A tool has returned, failed or was cancelled: tell everybody; after the last one the model goes on."""
        response = next((one for one in self._responses.values() if result.id in one.unanswered), None)
        self._questions.pop(result.id, None)
        item_id = self._result_ids.pop(result.id, None) or self._runtime.new_id("item")
        self._conversation.add_tool_result(item_id, result)
        self._emit(
            s.AgentResponseToolResultEvent(
                tool_result=result,
                response_id=response.id if response is not None else None,
                item_id=item_id,
                **self._report.who,
            )
        )
        self._send(base.ToolResult(result, item_id))
        if response is not None:
            response.unanswered.discard(result.id)
            self._go_on_after_tools(response)

    def _go_on_after_tools(self, response: Response) -> None:
        """When a response is over and its tools have answered, the model speaks on, unless it was interrupted."""
        if not response.done or response.unanswered:
            return
        self._responses.pop(response.id, None)
        if not response.calls or response.dropped:
            return
        if self.tool_auto_response or response.asked or not response.by_client:
            self._continues = True
            self.create(response.overrides)
        elif not self.responding:
            self._signal(Signal.RESPONSE_DONE)
