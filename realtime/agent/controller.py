"""The controller of a call: client events and model events in, model inputs and server events out.

It hands what belongs to turns to `TurnTaking`. Everything here is synchronous and runs to its end, so nothing
interleaves; time, ids and both outlets are arguments. Calls go one way: the controller calls `TurnTaking`, both call
`Responses`, `UserTurns` and `ClientItems`, which return what happened and never call back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import assert_never

import msgspec

from realtime.agent.context import AgentContext
from realtime.agent.input import AudioInput, Detector, LongAppendPiece
from realtime.agent.overlap import Recognise
from realtime.agent.responses import RESPONSE_REFUSED
from realtime.agent.tools import ToolRunner
from realtime.agent.turn_taking import TurnTaking
from realtime.errors import ClientError, RealtimeError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, AudioFormat, Item, ResponseOverrides
from realtime.event.config import InterruptionMode, SessionConfig, TurnAuthority
from realtime.message import PermissionRule, ToolCallBlock, ToolResultBlock
from realtime.message.remembered import without_quotes
from realtime.model import base
from realtime.model.voices import voice_here
from realtime.state.latency import RESUMES
from realtime.state.restore import Owed
from realtime.turn.machine import Signal, State

logger = logging.getLogger(__name__)

EMPTY_COMMIT_MS = 100.0
"""Less audio than this is no turn (OpenAI refuses such a commit): the commit is ignored."""
EMPTY_COMMIT = "input_audio_buffer_commit_empty"
"""The error of a commit that the model ignored: no words will come of it."""


class Controller:
    """One agent's part in one call. Create it once the model's profile is known; it never waits."""

    def __init__(
        self,
        context: AgentContext,
        tools: ToolRunner,
        *,
        authority: TurnAuthority,
        detector: Detector | None,
        recognise: Recognise | None,
        echo_found: Callable[[], None] = lambda: None,
    ) -> None:
        """`echo_found` is called once: the microphone surely hears the replies."""
        self._context = context
        self._runtime = context.runtime
        self._ears = context.ears
        self._emit = context.emit
        self._profile = context.profile
        self._send = context.send
        self._tools = tools
        context.conversation.set_alignment(self._profile.aligns_transcript)
        self._client_format: AudioFormat | None = None
        self._client_hz = DEFAULT_INPUT_RATE_HZ
        self._text_auto_response = True
        self.turns = turns = TurnTaking(
            context,
            tools,
            authority=authority,
            detector=detector,
            recognise=recognise,
            echo_found=echo_found,
        )
        self.turn, self.ledger, self.responses = turns.turn, turns.ledger, turns.responses
        self.user_turns, self.interruptions, self.resumption = turns.user_turns, turns.interruptions, turns.resumption
        self._items, self._reply_items = turns.items, turns.reply_items
        self.on_plan_edit: Callable[[c.ClientPlanEditEvent], None] = _has_no_plan
        """Changes the plan of the agent as its user does by hand."""

    @property
    def input(self) -> AudioInput:
        """The audio of the client."""
        return self.turns.input

    @property
    def link_lost(self) -> bool:
        """Whether the link to the model is lost and not restored."""
        return self.turns.link_lost

    def configure(self, config: SessionConfig, authority: TurnAuthority, interruption: InterruptionMode) -> None:
        """Apply the settings of the call."""
        self._tools.set_client_tools(config.tools or ())
        self._text_auto_response = config.text_auto_response is not False
        self.ledger.configure(tool_auto_response=config.tool_auto_response is not False)
        self.user_turns.user_name = config.user_name
        self.turns.configure(config, authority, interruption)

    def end_responses(self) -> None:
        """The model is gone for good: running responses end as they stand, and none is owed."""
        self.turns.lose_responses(owed=False, n_coming=0)

    def give_up(self) -> None:
        """Stop waiting for what the model was asked for (see `Ledger.give_up`)."""
        self.ledger.give_up(self._runtime.now())

    def end(self, reason: str) -> None:
        """Report that the agent leaves the call, with the user's last words."""
        self.resumption.forget()
        self.user_turns.settle_words()
        self._emit(s.AgentEndedEvent(reason=reason, **self._context.who))

    def tell_error(self, error: RealtimeError) -> None:
        """Report an error as an `agent_error`."""
        self._emit(s.error_event(error, **self._context.who))

    # -- from the client -------------------------------------------------------------------------------------------

    def on_client(self, event: c.ClientEvent) -> None:
        """Do what the client asks. Raises ClientError for what cannot be done, with nothing changed."""
        match event:
            case c.ClientAudioAppendEvent():
                self._hear(event)
            case c.ClientAudioCommitEvent():
                self.turns.take_floor("commit")
                if self.input.uncommitted_ms >= EMPTY_COMMIT_MS:
                    self.turns.commit(event.event_id)
                else:
                    logger.debug("an empty commit was ignored")
            case c.ClientAudioClearEvent():
                self.turns.clear_audio()
            case c.ClientTextAppendEvent():
                self._read(event)
            case c.ClientResponseCreateEvent():
                self._respond(event)
            case c.ClientResponseCancelEvent():
                self._cancel(event.response_id)
            case c.ClientToolResultEvent(confirmed=bool(confirmed)):
                words = ToolResultBlock(id=event.id, name=event.name, output=event.output).output_text()
                rules = event.rules or ()
                self.confirm(event.id, confirmed, words=words, changed=event.tool_call, rules=rules)
            case c.ClientToolResultEvent():
                self._answer_tool(event)
            case c.ClientItemCreateEvent() | c.ClientItemDeleteEvent():
                self._items.take(event)
            case c.ClientItemRetrieveEvent() | c.ClientImageAppendEvent():
                self._items.take(event)
            case c.ClientItemTruncateEvent():
                self._items.check_answer(event.item_id)
                self._reply_items.cut(event.item_id, event.audio_end_ms)
            case c.ClientPlanEditEvent():
                self.on_plan_edit(event)
            case (
                c.ClientSessionCreateEvent()
                | c.ClientSessionUpdateEvent()
                | c.ClientSessionResumeEvent()
                | c.ClientSessionEndEvent()
                | c.ClientPlaybackAckEvent()
            ):
                raise ClientError(f"{event.type} is for the call, not for the agent", code="unexpected_event")
            case _:
                assert_never(event)

    def _hear(self, event: c.ClientAudioAppendEvent) -> None:
        if event.format is not self._client_format and event.format != self._client_format:
            try:
                self._client_hz = event.format.rate_hz(DEFAULT_INPUT_RATE_HZ)
            except ValueError as error:
                raise ClientError(str(error), code="unsupported_audio_format") from error
            self._items.refuse(base.AudioAppend(b""))
            self._client_format = event.format
        self.turns.hear(event.audio, self._client_hz, event.offset, follows=type(event) is LongAppendPiece)

    def _read(self, event: c.ClientTextAppendEvent) -> None:
        """Take a typed turn: the reply stops, the text becomes an item, and the model responds."""
        # Checked before the turn machine hears of it: what is refused changes nothing.
        item = self._items.typed(event.text)
        if self._text_auto_response and self.turns.answers.takes_typed(event.text):
            self._items.put(item)
            self.turns.answers.typed(item.id, event.text)
        elif self._text_auto_response:
            self.turns.signal(Signal.TEXT, typed=item)
        else:
            self._items.put(item)

    def _respond(self, event: c.ClientResponseCreateEvent) -> None:
        overrides = event.response
        if overrides is not None and overrides.voice is not None:
            overrides = msgspec.structs.replace(overrides, voice=voice_here(overrides.voice, self._profile))
        if overrides is not None and overrides.tools:
            self._tools.offer(overrides.tools)
        if overrides is not None and overrides.conversation == "none":
            self._items.ask(base.ResponseCreate(overrides))
            return
        before = self.ledger.continue_after_tools(overrides)
        if before is None:
            self.speak(overrides)
        elif not before.by_client:
            # The client has answered none of its calls and will not.
            self._tools.cancel_tools()

    def speak(self, overrides: ResponseOverrides | None, *, say: str = "") -> None:
        """Ask for a response now; with `say`, for these words."""
        self.ledger.renounce_unanswered(self._runtime.now())
        self.turns.signal(Signal.REQUEST, overrides=overrides, say=say)

    def go_on(self, owed: Owed) -> None:
        """Go on with a broken-off answer, from the last heard word."""
        overrides = None
        if owed.item_id is None and not self._text_auto_response:
            return  # its client says when the agent answers
        if owed.item_id is not None:
            self.responses.say_go_on()
            if self._profile.supports_response_overrides:
                overrides = ResponseOverrides(metadata={RESUMES: owed.item_id})
        self.speak(overrides)

    def lose_floor(self) -> None:
        """Stop the response; a tool that its user has not tied to it goes on."""
        self._tools.withdraw()
        self._tools.interrupt_tools()
        self.turns.signal(Signal.CANCEL)

    def _cancel(self, response_id: str | None) -> None:
        if response_id is None or self.ledger.is_current(response_id, self._ears.unplayed_ms()):
            self._tools.cancel_tools()
            if self.turn.state is State.THINKING and not self.ledger.responding:
                # The model may be about to respond by itself, and may still stop what it has not reported.
                self._send(base.ResponseCancel())
            self.turns.signal(Signal.CANCEL)
        elif self.ledger.runs_beside(response_id):
            self._send(base.ResponseCancel(response_id))

    def _answer_tool(self, event: c.ClientToolResultEvent) -> None:
        if not self._tools.answer_tool(self._items.result(event, self.responses.tool_calls.is_taken)):
            raise ClientError(f"no open tool call has the id {event.id!r}", code="unknown_tool_call")
        self.responses.tool_calls.answered_by_client(event.id, event.item_id)

    def confirm(
        self,
        call_id: str,
        confirmed: bool,
        *,
        words: str = "",
        changed: ToolCallBlock | None,
        rules: Sequence[PermissionRule],
    ) -> None:
        """A card answers (see `Responses.confirm`). Raises ClientError, also where only a voice may consent."""

        def later() -> None:
            try:
                self.confirm(call_id, confirmed, words=words, changed=changed, rules=rules)
            except ClientError as error:
                self.tell_error(error)

        if self.turns.answers.by_hand(call_id, confirmed, changed, later):
            self.responses.tool_calls.confirm(call_id, confirmed, words=words, changed=changed, rules=rules)

    def is_settled(self, item_id: str) -> bool:
        """Whether an item's words are those that were heard: see `ReplyItems.is_settled`."""
        return self._reply_items.is_settled(item_id)

    def tool_done(self, result: ToolResultBlock) -> None:
        """A tool has returned, failed or was cancelled."""
        self.turns.apply(self.responses.tool_done(result))

    # -- from the model --------------------------------------------------------------------------------------------

    def on_model(self, event: m.ModelEvent) -> None:
        """Follow what the model does."""
        match event:
            case m.ModelResponseAudioDeltaEvent():
                if (signal := self.responses.speak(event)) is not None:
                    self.turns.signal(signal)
            case (
                m.ModelResponseAudioTranscriptDeltaEvent()
                | m.ModelResponseAudioTranscriptDoneEvent()
                | m.ModelResponseAudioDoneEvent()
                | m.ModelResponseTextDeltaEvent()
                | m.ModelResponseTextDoneEvent()
            ):
                self.responses.part(event)
            case m.ModelResponseThinkingDeltaEvent() | m.ModelResponseThinkingDoneEvent():
                self.responses.think(event)
            case m.ModelResponseReportEvent():
                self.responses.report(event)
            case (
                m.ModelInputStartedEvent()
                | m.ModelInputDoneEvent()
                | m.ModelInputCommittedEvent()
                | m.ModelInputTranscriptionDeltaEvent()
                | m.ModelInputTranscriptionDoneEvent()
                | m.ModelInputTranscriptionFailedEvent()
            ):
                self.turns.on_input(event)
            case m.ModelResponseCreatedEvent():
                self.turns.apply(self.responses.created(event))
            case m.ModelResponseDoneEvent():
                self.turns.apply(self.responses.done(event))
            case m.ModelResponseToolUseDeltaEvent() | m.ModelResponseToolUseDoneEvent():
                if self.responses.tool_use(event):
                    self.turn.tool_called()
            case m.ModelItemDeletedEvent():
                if event.item_id in self.turns.forgotten:
                    self.turns.forgotten.discard(event.item_id)
                else:
                    self._context.delete_item(event.item_id)
            case m.ModelReconnectingEvent():
                self.turns.lose_link()
                self._context.forward(event)
            case m.ModelReconnectedEvent():
                self.turns.link_restored()
                self._context.forward(event)
                self.responses.continue_broken_off(self.ledger.overrides)
            case m.ModelErrorEvent():
                if event.code == EMPTY_COMMIT and (label := self.user_turns.commit_refused()):
                    event = msgspec.structs.replace(event, client_event_id=label)
                self._context.forward(event)
                if self.ledger.refuse(self._runtime.now(), named=event.code in RESPONSE_REFUSED):
                    self.turns.signal(Signal.RESPONSE_DONE)
            case m.ModelSessionUpdatedEvent():
                self._context.forward(_without_recalled(event))
            case m.ModelInputClearedEvent():
                self.turns.cleared(event)
            case m.ModelItemDoneEvent(item=Item(tool_result=ToolResultBlock() as result)):
                # Of a tool that the model runs itself; nothing waits for what it repeats of others.
                self._tools.answer_tool(result)
            case (
                m.ModelItemAddedEvent()
                | m.ModelItemDoneEvent()
                | m.ModelItemTruncatedEvent()
                | m.ModelItemRetrievedEvent()
                | m.ModelSessionCreatedEvent()
                | m.ModelSessionEndedEvent()
            ):
                # Items are reported from our own conversation, which knows what was played: the user's with their
                # commit or text, replies with their first content. The session is the agent's.
                pass
            case _:
                assert_never(event)


def _has_no_plan(event: c.ClientPlanEditEvent) -> None:
    raise ClientError("this agent makes no plans", code="no_plan")


def _without_recalled(event: m.ModelSessionUpdatedEvent) -> m.ModelSessionUpdatedEvent:
    """Return the settings without what is remembered of the user.

    The log of a call is kept, and would hold it when it is forgotten.
    """
    told = event.settings.get("instructions")
    if not isinstance(told, str) or (bare := without_quotes(told)) == told:
        return event
    return msgspec.structs.replace(event, settings={**event.settings, "instructions": bare})
