"""One response of the embedded model: from the language model's words to sentences, audio and events."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import assert_never

import msgspec

from realtime.audio.pcm import bytes_of, ms_of
from realtime.errors import ProviderError, RealtimeError
from realtime.event import model as m
from realtime.event.base import AudioFormat, ContentPart, Item, Modality, ResponseOverrides, ResponseStatus
from realtime.event.meaning import Report
from realtime.event.reply import HintBlockEvent
from realtime.message import ToolCallBlock, ToolCallState, ToolResultBlock
from realtime.model.base import OnEvent, SentenceJudge, Settings, Withheld
from realtime.model.chat.failures import foreign_failure
from realtime.model.local.history import ReadHistory, add_item, add_result
from realtime.model.local.language_model import (
    Prompt,
    Reply,
    ReplyReport,
    ReplyText,
    ReplyThought,
    ReplyToolCall,
    ReplyToolRun,
    ReplyUsage,
)
from realtime.model.local.passages import Passage, PassageSplitter
from realtime.model.local.prompt import prompt_of
from realtime.model.local.recognizer import Transcript
from realtime.model.local.speculation import Speculation
from realtime.model.local.voice import SAMPLE_RATE_HZ, Voice
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation

logger = logging.getLogger(__name__)

# The length of one audio event, which bounds its size on the wire.
_DELTA_BYTES = bytes_of(200, SAMPLE_RATE_HZ)
_BYTES_PER_MS = bytes_of(1, SAMPLE_RATE_HZ)
# Synthesis is a hundred times faster than speech; audio further ahead than this would only fill buffers.
_AHEAD_S = 20.0
# Behind a withheld sentence a call may come; not behind so much more text.
_DROPPED_CHARS = 400

UNSPEAKABLE = (
    "the embedded voice reads English, and can say nothing of this answer: "
    "have the language model answer in English words, or ask for text alone (`output_modalities`)"
)


class Response:
    """A running response. Call `announce`, then run `run` as a task; `cancel` ends it at any moment.

    `voice` is None for a written response. With `to_speech` it responds to a spoken turn; if no word was recognised, it
    says what `unclear` returns. With `say` it speaks these words, not the language model's. In every case it closes
    each stream that it opens and emits `model_response_done` once. `language_model` is the name of that, for errors.
    `judge` decides which of its sentences are spoken.
    """

    def __init__(
        self,
        *,
        response_id: str,
        settings: Settings,
        overrides: ResponseOverrides,
        to_speech: bool,
        say: str = "",
        unclear: Callable[[], str] = lambda: "",
        voice: Voice | None,
        speculation: Speculation,
        conversation: Conversation,
        history: ReadHistory,
        on_event: OnEvent,
        runtime: Runtime,
        language_model: str,
        judge: SentenceJudge | None = None,
    ) -> None:
        self.id = response_id
        self._language_model = language_model
        self.done = False
        self.called_tools = False
        """Whether another response follows once the tools have returned."""
        self._cancelled = False
        self.task: asyncio.Task[None] | None = None
        self._settings = settings
        self._overrides = overrides
        self._to_speech = to_speech
        self._say = say
        self._unclear = unclear
        self._voice = voice
        self._judge = judge
        self._said = ""
        """What was spoken, and is being spoken, of all its items."""
        self._speculation = speculation
        self._conversation = conversation
        self._history = history
        self._on_event = on_event
        self._runtime = runtime
        self._format = AudioFormat.pcm16(SAMPLE_RATE_HZ)
        self._modalities: tuple[Modality, ...] = ("text",) if voice is None else ("audio",)
        self._item_id: str | None = None
        self._text = ""
        self._thought_id = ""
        self._thoughts: list[str] = []
        """The pieces of the current thought."""
        self._outputs = 0
        self._spoken_bytes = 0
        self._first_audio_s: float | None = None
        self._first_text_s: float | None = None
        """When the language model's first text was there."""
        self._usage: ReplyUsage | None = None

    def announce(self) -> None:
        """Emit that the response begins."""
        self._on_event(
            m.ModelResponseCreatedEvent(
                response_id=self.id,
                output_modalities=self._modalities,
                conversation=self._overrides.conversation,
                metadata=self._overrides.metadata,
            )
        )

    async def run(self, heard: Sequence[asyncio.Future[Transcript]]) -> None:
        """Produce the response once all of `heard` is recognised; a failure ends this response alone."""
        try:
            if heard:
                await asyncio.wait(heard)
            await self._say_all()
            if self._voice is not None and self._said and not (self._spoken_bytes or self.called_tools or self.done):
                raise ProviderError(UNSPEAKABLE, code="unspeakable_answer")
        except RealtimeError as error:
            self._fail(error.code, error.message, retryable=error.retryable)
        except Exception:
            logger.exception("response %s failed", self.id)
            self._fail("internal", "the embedded model failed to answer")
        else:
            self._finish("completed")

    def cancel(self, reason: str) -> None:
        """End the response at once. Idempotent."""
        self._cancelled = self._cancelled or not self.done
        self._finish("cancelled", reason)
        if self.task is not None:
            self.task.cancel()

    @property
    def played_by_s(self) -> float:
        """Seconds until the audio so far ends, if it plays at once; 0 without audio."""
        if self._first_audio_s is None or self._cancelled:
            return 0.0
        return self._first_audio_s + ms_of(self._spoken_bytes, SAMPLE_RATE_HZ) / 1000

    @property
    def _in_conversation(self) -> bool:
        return self._overrides.conversation == "auto"

    async def _say_all(self) -> None:
        if self._say:
            await self._say_words(self._say)
            return
        given = self._overrides.input
        history = self._history() if given is None else [*given]
        prompt = self._prompt_of(history, to_speech=self._to_speech)
        if prompt is None and (words := self._unclear()):
            await self._say_words(words)
        while prompt is not None:
            withheld = await self._say_reply(prompt)
            prompt = None if withheld is None else await self._corrected(withheld, given)

    async def _say_words(self, words: str) -> None:
        """Say words that are not the language model's."""
        if self._voice is None:
            self._write(ReplyText(words))
        else:
            await self._speak([Passage(words, words)])

    def _prompt_of(self, history: Sequence[Item], *, to_speech: bool) -> Prompt | None:
        wall_s = self._runtime.wall_now()
        return prompt_of(self._settings, self._overrides, history, wall_s=wall_s, to_speech=to_speech)

    async def _say_reply(self, prompt: Prompt) -> Withheld | None:
        """Say what the language model answers; return what has to follow instead of a sentence that was withheld.

        What comes behind that sentence is dropped, but for a call: then the deed may follow its claim.
        """
        passages = PassageSplitter()
        withheld: Withheld | None = None
        calls, n_dropped = False, 0
        async with aclosing(self._replies(prompt)) as replies:
            async for reply in replies:
                if not isinstance(reply, ReplyThought | ReplyReport):
                    self._close_thought()
                match reply:
                    case ReplyToolCall():
                        await self._speak_judged(passages.finish(), withheld)
                        withheld, calls = None, True
                        call_id = reply.id or self._runtime.new_id("call")
                        self._call_tool(ToolCallBlock(id=call_id, name=reply.name, input=reply.arguments))
                    case ReplyToolRun(call=call, result=result, on_taken=on_taken):
                        await self._speak_judged(passages.finish(), withheld)
                        withheld, calls = None, True
                        if call.state is ToolCallState.PENDING:
                            call = msgspec.structs.replace(call, state=ToolCallState.SUBMITTED)
                        self._call_tool(call)
                        on_taken(self._report)
                        result.add_done_callback(self._tool_ended)
                    case ReplyReport(report=HintBlockEvent() as report):
                        withheld = await self._speak_judged(passages.finish(), withheld)
                        self._close_item("completed")
                        self._report(report)
                    case ReplyReport(report=report):
                        self._report(report)
                    case ReplyUsage():
                        self._usage = reply
                    case ReplyThought(text=text):
                        self._think(text)
                    case ReplyText() if self._voice is None:
                        self._write(reply)
                    case ReplyText(text=text):
                        if self._first_text_s is None:
                            self._first_text_s = self._runtime.now()
                        withheld = await self._speak_judged(passages.push(text), withheld)
                        n_dropped += len(text) if withheld is not None else 0
                        if n_dropped > _DROPPED_CHARS:
                            return None if calls else withheld
                    case _:
                        assert_never(reply)
        withheld = await self._speak_judged(passages.finish(), withheld)
        if calls:
            return None  # another response follows their results
        if withheld is None and self._judge is not None and not self.done:
            return self._judge.end(response_id=self.id, item_id=self._item_id or "")
        return withheld

    async def _corrected(self, withheld: Withheld, given: Sequence[Item] | None) -> Prompt | None:
        """Say what follows a withheld sentence, or return the prompt for it."""
        if self.done or not withheld.hint:
            if withheld.words and not self.done:
                await self._speak([Passage(withheld.words, withheld.words)])
            return None
        self._close_item("completed")
        hint = Item(
            id=self._runtime.new_id("item"), role="system", content=(ContentPart(type="text", text=withheld.hint),)
        )
        history = [*(self._history() if given is None else given), hint]
        return self._prompt_of(history, to_speech=False)

    async def _speak_judged(self, passages: Sequence[Passage], withheld: Withheld | None) -> Withheld | None:
        """Speak the passages up to one that may not be said; return what follows that one."""
        for passage in passages:
            if withheld is None and self._judge is not None and not self.done:
                item_id = self._item_id or ""
                withheld = self._judge.judge(passage.text, self._said, response_id=self.id, item_id=item_id)
            if withheld is not None:
                return withheld
            await self._speak([passage])
        return withheld

    async def _replies(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """Yield what the language model says. What it raises that is not ours becomes a ProviderError."""
        async with aclosing(self._speculation.respond(prompt)) as replies:
            while True:
                try:
                    reply = await anext(replies, None)
                except RealtimeError:
                    raise
                except Exception as error:
                    # The place, not the message: that may quote what was said.
                    place = "".join(traceback.format_tb(error.__traceback__))
                    logger.warning("the language model of response %s: %s\n%s", self.id, type(error).__name__, place)
                    raise foreign_failure(self._language_model, error) from None
                if reply is None:
                    return
                yield reply

    def _think(self, text: str) -> None:
        text = text if self._thoughts else text.lstrip()
        if self.done or not text:
            return
        if not self._thoughts:
            self._thought_id = self._runtime.new_id("item")
        self._thoughts.append(text)
        self._on_event(
            m.ModelResponseThinkingDeltaEvent(
                response_id=self.id, item_id=self._thought_id, output_index=self._outputs, delta=text
            )
        )

    def _close_thought(self) -> None:
        thoughts, self._thoughts = self._thoughts, []
        if thoughts:
            self._on_event(
                m.ModelResponseThinkingDoneEvent(
                    response_id=self.id,
                    item_id=self._thought_id,
                    output_index=self._outputs,
                    thinking="".join(thoughts),
                )
            )

    def _report(self, report: Report) -> None:
        self._on_event(m.ModelResponseReportEvent(response_id=self.id, report=report))

    def _write(self, reply: ReplyText) -> None:
        item_id = self._open("text")
        self._text += reply.text
        if item_id in self._conversation:
            self._conversation.set_text(item_id, self._text)
        self._on_event(
            m.ModelResponseTextDeltaEvent(
                response_id=self.id, item_id=item_id, output_index=self._outputs, delta=reply.text
            )
        )

    async def _speak(self, passages: Sequence[Passage]) -> None:
        """Emit each passage as soon as it is synthesised: its words, then its audio."""
        for passage in passages if self._voice is not None else ():
            assert self._voice is not None
            written_s = self._runtime.now()
            pcm = await self._speculation.synthesize(self._voice, passage.aloud)
            item_id = self._open("audio")
            words = f"{self._space_before(passage)}{passage.text}"
            ready_ms = None if self._text else self._ready_ms(written_s)
            self._text += words
            self._said += words
            self._keep_spoken(item_id, words, len(pcm) / _BYTES_PER_MS)
            self._on_event(
                m.ModelResponseAudioTranscriptDeltaEvent(
                    response_id=self.id,
                    item_id=item_id,
                    output_index=self._outputs,
                    delta=words,
                    ready_ms=ready_ms,
                )
            )
            for delta in _pieces(pcm):
                if self.done:
                    return
                self._on_event(
                    m.ModelResponseAudioDeltaEvent(
                        response_id=self.id,
                        item_id=item_id,
                        output_index=self._outputs,
                        delta=delta,
                        format=self._format,
                    )
                )
            await self._keep_pace(len(pcm))

    def _ready_ms(self, first_sentence_s: float) -> dict[str, int] | None:
        """Return how long the first words have waited for their sound.

        None for words that no language model wrote.
        """
        if self._first_text_s is None:
            return None
        now_s = self._runtime.now()
        moments = {"first_token": self._first_text_s, "first_sentence": first_sentence_s}
        return {name: round((now_s - at_s) * 1000) for name, at_s in moments.items()}

    def _keep_spoken(self, item_id: str, words: str, audio_ms: float) -> None:
        """Add the passage to its item, if the conversation has it."""
        if item_id in self._conversation:
            self._conversation.add_text(item_id, words)
            self._conversation.add_audio(item_id, audio_ms)
            self._conversation.set_transcript(item_id, self._text)

    def _space_before(self, passage: Passage) -> str:
        """Return the separator before the passage; code begins on its own line."""
        if not self._text:
            return ""
        return " " if passage.text == passage.aloud and not self._text.endswith("`") else "\n"

    async def _keep_pace(self, spoken_bytes: int) -> None:
        now_s = self._runtime.now()
        if self._first_audio_s is None:
            self._first_audio_s = now_s
        self._spoken_bytes += spoken_bytes
        ahead_s = self._first_audio_s + ms_of(self._spoken_bytes, SAMPLE_RATE_HZ) / 1000 - now_s
        if ahead_s > _AHEAD_S:
            await asyncio.sleep(ahead_s - _AHEAD_S)

    def _call_tool(self, call: ToolCallBlock) -> None:
        """Emit a tool call; one that the language model runs itself is `submitted`, or `asking` for consent first."""
        self._close_item("completed")
        self.called_tools = True
        item_id, output_index = self._runtime.new_id("item"), self._outputs
        self._outputs += 1
        if self._in_conversation:
            add_item(self._conversation, Item(id=item_id, type="tool_call", tool_call=call))
        self._on_event(
            m.ModelResponseToolUseDeltaEvent(
                response_id=self.id, item_id=item_id, output_index=output_index, tool_use=call, delta=call.input
            )
        )
        self._on_event(
            m.ModelResponseToolUseDoneEvent(
                response_id=self.id, item_id=item_id, output_index=output_index, tool_use=call
            )
        )

    def _tool_ended(self, done: asyncio.Future[ToolResultBlock]) -> None:
        """Report the result of a tool that the language model ran itself."""
        if done.cancelled():
            return
        item = Item(id=self._runtime.new_id("item"), type="tool_result", tool_result=done.result())
        if self._in_conversation:
            add_result(self._conversation, item)
        self._on_event(m.ModelItemDoneEvent(item=item))

    def _open(self, kind: Modality) -> str:
        """Return the id of the current item; the first words create it."""
        if self._item_id is None:
            self._item_id = self._runtime.new_id("item")
            if self._in_conversation:
                part = ContentPart(type=kind)
                item = Item(id=self._item_id, role="assistant", status="in_progress", content=(part,))
                add_item(self._conversation, item)
        return self._item_id

    def _close_item(self, status: ResponseStatus) -> None:
        self._close_thought()
        if self._item_id is None:
            return
        item_id, output_index, text = self._item_id, self._outputs, self._text
        self._item_id, self._text = None, ""
        self._outputs += 1
        if item_id in self._conversation:
            if self._voice is not None:
                self._conversation.audio_complete(item_id)
            self._conversation.complete(item_id, "completed" if status == "completed" else "incomplete")
        if self._voice is None:
            self._on_event(
                m.ModelResponseTextDoneEvent(response_id=self.id, item_id=item_id, output_index=output_index, text=text)
            )
            return
        self._on_event(m.ModelResponseAudioDoneEvent(response_id=self.id, item_id=item_id, output_index=output_index))
        self._on_event(
            m.ModelResponseAudioTranscriptDoneEvent(
                response_id=self.id, item_id=item_id, output_index=output_index, transcript=text
            )
        )

    def _fail(self, code: str, message: str, *, retryable: bool = False) -> None:
        if not self.done:
            self._on_event(
                m.ModelErrorEvent(error_type="provider_error", code=code, message=message, retryable=retryable)
            )
        self._finish("failed", code)

    def _finish(self, status: ResponseStatus, reason: str | None = None) -> None:
        if self.done:
            return
        self.done = True
        self._close_item(status)
        self._on_event(
            m.ModelResponseDoneEvent(
                response_id=self.id,
                input_tokens=self._usage.input_tokens if self._usage is not None else 0,
                output_tokens=self._usage.output_tokens if self._usage is not None else 0,
                usage_detail=self._usage.detail if self._usage is not None else None,
                status=status,
                status_details=None if reason is None else {"reason": reason},
                output_modalities=self._modalities,
                conversation=self._overrides.conversation,
                metadata=self._overrides.metadata,
            )
        )


def _pieces(pcm: bytes) -> Iterator[bytes]:
    for start in range(0, len(pcm), _DELTA_BYTES):
        yield pcm[start : start + _DELTA_BYTES]
