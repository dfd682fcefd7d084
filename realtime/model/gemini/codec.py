"""Gemini Live as a pure codec: frames to and from the model seam's two unions.

The service names no responses, items or speech markers. The codec makes them up: a response begins with the first
output after a turn and ends with `turnComplete`, or with the tool calls it makes (the speech after them is a response
of its own, as with other providers). A user item is the audio between two responses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import assert_never

import pybase64

from realtime.event import model as m
from realtime.event.base import AudioFormat, Item
from realtime.message import ToolResultState
from realtime.model.base import (
    Address,
    AudioAppend,
    AudioClear,
    AudioCommit,
    CloseVerdict,
    Codec,
    Frame,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    Profile,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.gemini import frames as wire
from realtime.model.gemini import shapes
from realtime.model.gemini.calls import Calls
from realtime.model.gemini.reader import Reader, read_base64
from realtime.model.gemini.settings import SessionSettings
from realtime.model.gemini.turns import Response, Resumption, status_of, unanswered
from realtime.model.gemini.untold import Untold
from realtime.model.gemini.user import User, UserTurn
from realtime.model.json_objects import json_frame

logger = logging.getLogger(__name__)


class GeminiCodec(Codec):
    """The protocol of one connection, as functions over its state.

    `resumption` is shared by all connections of a session. `leave` is called when a new connection should
    replace this one, at a moment without speech: after a notice of the service, or for new settings.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        url: str,
        api_key: str,
        new_id: Callable[[str], str],
        voice: str | None = None,
        transcribes_input: bool = True,
        resumption: Resumption | None = None,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        self._profile = profile
        self._url = url
        self._api_key = api_key
        self._new_id = new_id
        self._resumption = resumption if resumption is not None else Resumption()
        self._leave = leave
        self._mime = f"audio/pcm;rate={profile.input_rate_hz}"
        self._settings = SessionSettings(profile.model, voice=voice, transcribes_input=transcribes_input)
        self._is_open = False
        self._resumes = False
        self._going_away = False
        self._leaving = False
        self._untold = Untold()
        self._n_told = 0
        """Messages that the service has got, the setup among them."""
        self._due: list[m.ModelEvent] = []
        self._talking = False
        self._committed = False
        self._user = User(new_id, profile.input_rate_hz, self._settings)
        self._response: Response | None = None
        self._last_item_id: str | None = None
        self._asked = False
        self._wants_text: bool | None = None
        """Whether the response that is asked for shall be text; None: as the settings say."""
        self._unwanted = False
        """The response that was asked for was cancelled before it began."""
        self._interrupting = False
        # The next `turnComplete` belongs to an interrupted response that has ended here already.
        self._completes_cut = False
        self._tools_answered = False
        self._calls = Calls(new_id)
        self._fatal: CloseVerdict | None = None
        self.reader = Reader()

    @property
    def profile(self) -> Profile:
        """See `Codec.profile`."""
        return self._profile

    def address(self, settings: Settings) -> Address:
        """See `Codec.address`."""
        return Address(self._url, headers=(("x-goog-api-key", self._api_key),))

    def opening(self, settings: Settings, history: Sequence[Item]) -> list[Frame]:
        """See `Codec.opening`. Nothing may follow the setup before it is confirmed: the context comes with what is said
        first."""
        setup = self._settings.begin(settings)
        known = self._resumption
        at = next((at for at, item in enumerate(history) if item.id == known.item_id), None)
        if known.handle is not None and at is None:
            known.forget()  # its last item is gone from our conversation, or there was none yet
        if known.handle is not None and at is not None and "sessionResumption" in setup:
            self._resumes = True
            setup = setup | {"sessionResumption": {"handle": known.handle}}
            self._last_item_id = known.item_id
            history = history[at + 1 :]
        self._untold.restore(history, known.signatures)
        self._n_told = 1
        return [json_frame({"setup": setup})]

    # What we say.

    def encode(self, message: ModelInput) -> list[Frame]:
        """See `Codec.encode`."""
        if type(message) is AudioAppend:
            pcm = message.pcm
            if not pcm:
                return []
            self._user.heard_bytes += len(pcm)
            self._n_told += 1
            audio = (
                f'{{"realtimeInput":{{"audio":{{"data":"{pybase64.b64encode_as_string(pcm)}",'
                f'"mimeType":"{self._mime}"}}}}}}'
            )
            if self._untold or (self._settings.is_manual and (self._committed or not self._talking)):
                return self._counted([*self._before_audio(), audio], but=1)
            return [audio]
        return self._counted([*self._context(), *self._control(message)])

    def _counted(self, frames: list[Frame], *, but: int = 0) -> list[Frame]:
        """The frames, all `but` the last of which are counted here."""
        self._n_told += len(frames) - but
        return frames

    def _control(self, message: ModelInput) -> list[Frame]:
        match message:
            case AudioCommit():
                if self._talking and not self._committed:
                    self._committed = True
                    self._user.commit(self._due)
                return []
            case AudioClear():
                if self._talking and not self._committed:
                    self._refuse("unsupported_audio_clear", "what was sent to this model cannot be forgotten")
                return []
            case ItemCreate(item=item):
                content = shapes.write_content(item)
                if content is not None:
                    self._untold.add(content, item.id)
                return []
            case ToolResult(result=result):
                if self._calls.was_withdrawn(result.id):
                    self._tools_answered = True  # the service answers what withdrew it without a request
                    return []
                if not self._calls.answered(result.id):
                    self._untold.add(shapes.write_late_result(result))
                    return []
                self._tools_answered = True
                nobody_waits = not (self._asked or self._talking or self._user.speaking)
                if result.state is ToolResultState.INTERRUPTED and nobody_waits:
                    self._unwanted = True  # the service speaks at once, but the tool was stopped
                return [json_frame({"toolResponse": {"functionResponses": [shapes.write_response(result)]}})]
            case ResponseCreate():
                return self._ask(message)
            case ResponseCancel(response_id=response_id):
                response = self._response
                if response is not None and response.overtaken and self._talking:
                    return []  # the activity has interrupted it already
                if response is not None and response.runs and response_id in (None, response.response_id):
                    response.cut, response.runs_out = "client_cancelled", True
                    self._tell_end(response, self._due)
                elif self._asked and response_id is None:
                    self._asked, self._wants_text, self._unwanted = False, None, True
                    self._due += unanswered(self._new_id, "client_cancelled")
                # A content that is complete would end it, and ask for another response.
                return []
            case SessionUpdate(settings=settings):
                return self._update(settings)
            case ItemDelete() | ItemRetrieve() | ItemTruncate() | AudioAppend():
                return []  # the service keeps its context to itself
            case _:
                assert_never(message)

    def _context(self) -> list[Frame]:
        """Say the restored conversation, once."""
        seed, last_item_id = self._untold.take_seed()
        if not seed:
            return []
        self._last_item_id = last_item_id
        return [shapes.client_content(seed, complete=False)]

    def _before_audio(self) -> list[Frame]:
        frames = self._context()
        if not self._settings.is_manual:
            if self._response is None and not self._asked:  # it would be interrupted
                frames += self._tell()
            return frames
        images = self._untold.take_images()
        if not self._talking:
            frames += [*self._tell(), '{"realtimeInput":{"activityStart":{}}}']
            self._talking = True
            self._user.begin(self._due)
            if self._response is not None:
                self._response.overtaken = True
        elif self._committed:
            self._committed = False
            self._user.begin(self._due)
        # Inside the activity an image counts, at any turn coverage.
        return [*frames, *(json_frame({"realtimeInput": {"video": image}}) for image in images)]

    def _tell(self) -> list[Frame]:
        """Say the turns that wait, without asking for a response."""
        turns = self._untold.take_turns(self._n_told)
        return [shapes.client_content(turns, complete=False)] if turns else []

    def _ask(self, message: ResponseCreate) -> list[Frame]:
        overrides = message.overrides
        if overrides is not None and overrides.conversation == "none":
            self._refuse("unsupported_response", "this model has no responses outside the conversation")
            return []
        if overrides is not None and overrides.instructions:
            # As a turn: the session's own, with which such instructions may begin, are known.
            told = overrides.instructions.removeprefix(self._settings.current.instructions).strip()
            self._untold.add(shapes.write_text(told or overrides.instructions))
        if self._asked:
            # The service answers the last request only; each request gets an end.
            self._due += unanswered(self._new_id)
        running_out = self._response
        interrupts = running_out is not None or self._asked or self._unwanted
        self._asked, self._unwanted = True, False
        if running_out is not None and (running_out.called or (running_out.overtaken and self._talking)):
            running_out.runs_out = False  # it waits for results that do not come, or the user's activity has ended it
            self._end_cut(self._due)
        wanted = None if overrides is None else overrides.output_modalities
        self._wants_text = None if wanted is None else "audio" not in wanted
        if self._talking and (self._committed or not self._untold.has_turns):
            if not self._committed:
                self._user.commit(self._due)
            self._end_cut(self._due)
            frames = [*self._tell(), '{"realtimeInput":{"activityEnd":{}}}']
            self._talking = self._committed = False
            return frames
        if self._tools_answered and not self._untold.has_turns:
            return []  # the service continues by itself
        self._interrupting = interrupts
        turns = self._untold.take_turns(self._n_told) or [shapes.write_text(".")]
        return [shapes.client_content(turns, complete=True)]

    def _update(self, settings: Settings) -> list[Frame]:
        update = self._settings.change(settings)
        if update is None:
            self._leaving = self._resumption.tells_update = True
            self._leave_if_quiet()
            return []
        self._due.append(self._settings.event())
        return [json_frame({"contextUpdate": update})] if update else []

    def _refuse(self, code: str, message: str) -> None:
        self._due.append(m.ModelErrorEvent(error_type="client_error", code=code, message=message))

    def overdue(self) -> list[m.ModelEvent]:
        """See `Codec.overdue`."""
        events = self._take_due()
        return self.reader.halves.join(events) if self.reader.halves.met else events

    def _take_due(self) -> list[m.ModelEvent]:
        events, self._due = self._due, []
        return events

    # What the service says.

    def decode(self, frame: Frame) -> list[m.ModelEvent]:
        """See `Codec.decode`. Takes text as str or as UTF-8 bytes."""
        data = frame.encode(errors="surrogatepass") if isinstance(frame, str) else frame
        message, payload = self.reader.read(data)
        if message is None:
            return []
        events = self._read(message, payload)
        return self.reader.halves.join(events) if self.reader.halves.met else events

    def _read(self, message: wire.Message, payload: memoryview | None) -> list[m.ModelEvent]:
        events = self._take_due()
        content = message.server_content
        if message.setup_complete is not None:
            self._opened(message.setup_complete, events)
        if message.voice_activity is not None or message.voice_activity_detection_signal is not None:
            self._user.marked(message, events)
        if message.tool_call_cancellation is not None:
            self._calls.withdraw(message.tool_call_cancellation.ids or ())
            if self._response is not None and self._response.called:
                self._response.runs_out = False
                self._end_cut(events)
        if content is not None:
            self._content(content, payload, events)
        if message.tool_call is not None:
            self._called(message.tool_call.function_calls or [], events)
        if content is not None and content.turn_complete:
            self._turn_complete(content, message.usage_metadata, events)
        if message.session_resumption_update is not None:
            update = message.session_resumption_update
            if update.resumable and update.new_handle:
                told = self._untold.told_by(update.last_index) if update.last_index is not None else None
                self._resumption.handle = update.new_handle
                self._resumption.item_id = told or self._last_item_id
        if message.go_away is not None:
            self._going_away = self._leaving = True
            logger.info("provider goes away: time_left=%.16s", message.go_away.time_left)
        if message.error is not None:
            self._failed(message.error, events)
        if self._leaving:
            self._leave_if_quiet()
        return events

    def _opened(self, setup: wire.SetupComplete, events: list[m.ModelEvent]) -> None:
        self._is_open = True
        self._resumption.n_refused = 0
        events.append(m.ModelSessionCreatedEvent(session_id=setup.session_id or self._new_id("gemini")))
        if self._resumption.tells_update:
            self._resumption.tells_update = False
            events.append(self._settings.event())

    def _content(self, content: wire.ServerContent, payload: memoryview | None, events: list[m.ModelEvent]) -> None:
        if content.interrupted:
            self._interrupted(events)
        if content.input_transcription is not None:
            self._heard(content.input_transcription, events)
        if content.interim_input_transcription is not None and (guess := content.interim_input_transcription.text):
            self._speaker(events).guess(guess, events)
        if content.output_transcription is not None and content.output_transcription.text:
            response = self._begin(events)
            if response is not None:
                response.language = content.output_transcription.language_code or response.language
                response.say(content.output_transcription.text, events)
        if content.model_turn is not None:
            for part in content.model_turn.parts or ():
                response = self._begin(events)
                if response is None:
                    continue
                response.signature = part.thought_signature or response.signature
                if part.thought:
                    if part.text:
                        response.think(part.text, events)
                elif part.inline_data is not None and part.inline_data.mime_type.startswith("audio/"):
                    try:
                        response.speak(read_base64(payload or part.inline_data.data), events)
                    except ValueError:
                        self.reader.broken_frames += 1
                elif part.text:
                    response.write(part.text, events)
        if content.grounding_metadata is not None and self._response is not None:
            self._response.grounding = (self._response.grounding or {}) | content.grounding_metadata
        if content.generation_complete and self._response is not None:
            turn = self._user.turn
            if turn is self._response.user and turn is not None and turn.has_words:
                self._user.end_words(events)  # words may come after the response, if none came before
            self._response.generated(events)

    def _heard(self, said: wire.Transcription, events: list[m.ModelEvent]) -> None:
        """Words of the user. They may come late: while a response runs they belong to the turn before it."""
        if said.text:
            turn = self._speaker(events)
            turn.note_language(said.language_code)
            turn.say(said.text, events)
        if said.finished:
            self._user.end_words(events)

    def _speaker(self, events: list[m.ModelEvent]) -> UserTurn:
        if not self._settings.is_manual:
            self._end_cut(events)  # the words are of the turn that interrupted it
        return self._user.speaker(events, answered=self._response is not None)

    # The model.

    def _begin(self, events: list[m.ModelEvent]) -> Response | None:
        """The running response, begun if there is none; `None` while the rest of an interrupted one arrives."""
        response = self._response
        if response is None:
            if not self._unwanted:
                self._user.stopped(events)
            written = "audio" not in self._settings.current.output_modalities
            if self._wants_text is not None:
                written, self._wants_text = self._wants_text, None
            self._asked = self._tools_answered = self._completes_cut = False
            response = self._response = Response(
                self._new_id,
                AudioFormat.pcm16(self._profile.output_rate_hz),
                written=written,
                user=self._user.turn,
            )
            if self._unwanted:
                self._unwanted, response.cut = False, "client_cancelled"
                response.is_told = response.runs_out = True
            else:
                events.append(response.created())
        return None if response.cut else response

    def _end_cut(self, events: list[m.ModelEvent]) -> None:
        """End the interrupted response: what comes now is not part of it, though its `turnComplete` may still come."""
        if self._response is not None and self._response.cut and not self._response.runs_out:
            self._end(events, None, None)
            self._completes_cut = True

    def _end(self, events: list[m.ModelEvent], usage: wire.Usage | None, reason: str | None) -> None:
        response = self._response
        if response is None:
            return
        self._response = None
        if not response.is_told:
            self._tell_end(response, events, usage, reason)
        self._calls.break_off()
        self._untold.answered()
        self._last_item_id = response.last_item_id or self._last_item_id
        if response.signature is not None and response.last_item_id is not None and not response.cut:
            self._resumption.sign(response.last_item_id, response.signature)

    def _tell_end(
        self,
        response: Response,
        events: list[m.ModelEvent],
        usage: wire.Usage | None = None,
        reason: str | None = None,
    ) -> None:
        response.is_told = True
        status, details = status_of(reason)
        if response.cut:
            status, details = "cancelled", {"type": "cancelled", "reason": response.cut}
        elif status == "failed":
            sentence = "the model's answer failed at the provider"
            events.append(
                m.ModelErrorEvent(error_type="provider_error", code="response_failed", message=sentence, retryable=True)
            )
        response.close(events, complete=status == "completed")
        n_in, n_out = shapes.token_counts(usage)
        events.append(
            m.ModelResponseDoneEvent(
                response_id=response.response_id,
                input_tokens=n_in,
                output_tokens=n_out,
                status=status,
                status_details=details,
                output_modalities=response.modalities,
                usage_detail=shapes.usage_detail(usage),
                grounding=response.grounding,
            )
        )

    def _interrupted(self, events: list[m.ModelEvent]) -> None:
        if self._response is not None:
            self._response.cut = "client_cancelled" if self._interrupting else "turn_detected"
            self._response.runs_out = False
        elif self._asked and not self._interrupting:
            self._asked, self._completes_cut, self._wants_text = False, True, None
            events += unanswered(self._new_id)
        elif self._unwanted:
            self._unwanted, self._completes_cut = False, True
        elif self._interrupting:
            self._completes_cut = True  # the request before had no word yet: its end answers nothing
        if not self._interrupting:
            self._user.started(events)
        self._interrupting = False

    def _turn_complete(self, content: wire.ServerContent, usage: wire.Usage | None, events: list[m.ModelEvent]) -> None:
        self._interrupting = False
        final = content.interaction_status in (None, "IDLE") and not self._completes_cut
        self._completes_cut = False
        if self._response is None and self._asked and final:
            self._begin(events)  # a response without a word is one, too
        if self._response is None and final:
            self._unwanted = False
            self._user.stopped(events)  # it has nothing to say to the user
            self._user.end_words(events)
        if self._response is not None and self._response.user is self._user.turn:
            self._user.end_words(events)
        self._end(events, usage, content.turn_complete_reason)

    def _called(self, calls: list[wire.FunctionCall], events: list[m.ModelEvent]) -> None:
        if not calls:
            return
        self._end_cut(events)
        response = self._begin(events)
        if response is None:
            if self._response is not None:
                self._response.called = True
            return
        for piece in calls:
            call = self._calls.take(piece)
            if call is not None:
                response.call(call.id, call.name, call.arguments, events)
        if not self._calls.is_growing:
            self._end(events, None, None)

    # The end.

    def _failed(self, error: wire.Failure, events: list[m.ModelEvent]) -> None:
        code, sentence, retryable = wire.FAILURES.get(
            error.status or "", ("provider_error", "the provider reports an error", True)
        )
        if not retryable and code != "invalid_request":
            self._fatal = CloseVerdict(code, sentence, reconnect=False)
        events.append(m.ModelErrorEvent(error_type="provider_error", code=code, message=sentence, retryable=retryable))

    def _leave_if_quiet(self) -> None:
        if self._response is None and not (self._asked or self._talking or self._calls or self._user.speaking):
            self._leave()

    def closed(self, code: int | None, reason: str) -> CloseVerdict:
        """See `Codec.closed`. A refused handle is tried again, then the session starts without it."""
        if self._fatal is not None:
            return self._fatal
        verdict = wire.close_verdict(code, reason, was_open=self._is_open)
        if self._is_open:
            if code == 1007:
                self._resumption.forget()  # maybe the context itself is what it refuses
            if verdict.reconnect and self._going_away:
                return CloseVerdict("provider_going_away", "the provider is going away", reconnect=True)
            if verdict.reconnect and self._leaving:
                return CloseVerdict("settings_changed", "new settings need a new connection", reconnect=True)
            return verdict
        if self._resumes and code in (1007, 1008, 1011):
            self._resumption.refused(retry=code == 1011)
            return CloseVerdict("resumption_refused", "the provider did not resume the session", reconnect=True)
        return verdict
