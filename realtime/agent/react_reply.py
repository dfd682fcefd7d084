"""What one reply of a ReActAgent has said and done so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from realtime.agent.long_term import Recall
from realtime.agent.model_call import BlockIds, ModelCall, ToolResult
from realtime.agent.reply_run import NO_RESULT, ReplyRun
from realtime.agent.structured import ASK_FOR_TEXT, StructuredOutput
from realtime.message import (
    Block,
    ConfirmResult,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultState,
    UserMsg,
)
from realtime.model.chat.answer import has_words, without_blanks
from realtime.model.chat.base import ChatResponse
from realtime.model.chat.failures import ASK_AGAIN

WAITING = (ToolCallState.ASKING, ToolCallState.SUBMITTED)
REFUSED = "the user refused"
"""The result of a call that the user has refused."""


class ReActReply:
    """The rounds of one reply: its model calls, tool calls and results, as events of `run`.

    `structured`: the object that the reply has to give. `aloud`: a voice speaks it. `tool_choice` and `hints` are for
    the next model call; hints are in its prompt alone.
    """

    def __init__(self, run: ReplyRun, name: str, structured: StructuredOutput | None, *, aloud: bool = False) -> None:
        self.run = run
        self._aloud = aloud
        self.msg = run.start(name)
        self.structured = structured
        self.tool_choice: str | None = "required" if structured else None
        self.hints: list[Msg] = []
        self.given: Msg | list[Msg] | None = None
        """What the reply answers."""
        self.recall: Recall | None = None
        """What the long-term memory has about it, where the agent asks that."""
        self.is_begun = False
        """Whether `given` is remembered."""
        self.is_stored = False
        """Whether the reply is remembered."""
        self._ids = BlockIds()
        self._call: ModelCall | None = None
        self._results: dict[str, ToolResult] = {}
        """Results that have not ended, by the id of their call."""
        self._is_text_due = False
        """Whether the object is there and its text is not."""
        self._round_ends = [0]
        """The number of blocks at the end of each round; the first number is what the summary holds."""
        self._consents: dict[str, ToolCallBlock] = {}
        """The calls that the user has consented to, by id."""
        self.n_rounds = 0
        """How often the model was asked."""

    # -- waiting for the user ------------------------------------------------------------------------------------------

    def parked(self) -> dict[str, Any]:
        """Return what it needs to go on later, as JSON builtins."""
        return {
            "message": self.msg.model_dump(),
            "round_ends": [*self._round_ends],
            "n_rounds": self.n_rounds,
            "is_text_due": self._is_text_due,
            "tool_choice": self.tool_choice,
            "object": None if self.structured is None else self.structured.value,
        }

    def restore(self, parked: Mapping[str, Any]) -> None:
        """Go on where `parked` was; the run has its message."""
        self.is_begun = True
        for block in self.msg.content:
            self._ids.claim(block)
        self._round_ends, self.n_rounds = [*parked["round_ends"]], parked["n_rounds"]
        self._is_text_due, self.tool_choice = parked["is_text_due"], parked["tool_choice"]
        if self.structured is not None:
            self.structured.value = parked["object"]

    @property
    def waits(self) -> bool:
        """Whether a call waits for the user's consent, or for another program."""
        return any(call.state in WAITING for call in self.msg.get_content_blocks("tool_call"))

    def take_consent(self, answers: Sequence[ConfirmResult]) -> list[ToolCallBlock]:
        """Take the user's answers to calls; return the calls that run now."""
        for answer in answers:
            call = self.msg.growing_content.get("tool_call", answer.tool_call.id)
            if isinstance(call, ToolCallBlock) and answer.confirmed:
                self._consents[call.id] = call
            elif isinstance(call, ToolCallBlock):
                self.begin_result(call)
                self.end_result(call, ToolResultState.DENIED, REFUSED)
        return [*self._consents.values()]

    def has_consent(self, call: ToolCallBlock) -> bool:
        """Whether the user has consented to this very call."""
        allowed = self._consents.get(call.id)
        return allowed is not None and (allowed.name, allowed.input) == (call.name, call.input)

    # -- the model -----------------------------------------------------------------------------------------------------

    def begin_call(self, model_name: str, *, holds_ends: bool) -> None:
        """Begin a model call. `holds_ends`: see `ModelCall`."""
        self._call = ModelCall(self.run.reply_id, self._ids, holds_ends=holds_ends)
        self.run.add(self._call.start(model_name))

    def grow(self, response: ChatResponse) -> list[Block]:
        """Add what a response of the model says beyond the one before; return its blocks."""
        assert self._call is not None
        self.run.add(*self._call.grow(response.content, response.usage))
        return self._call.content

    def end_call(self, content: Sequence[Block]) -> list[Block]:
        """Add the rest of the model call, as hooks left it; return its blocks."""
        call, self._call = self._call, None
        if call is None:
            # A subclass that asks no model.
            blocks = [self._ids.claim(block) for block in content]
            self.run.add_blocks(blocks)
            return blocks
        blocks, events = call.close(content)
        self.run.add(*events)
        return blocks

    # -- tools ---------------------------------------------------------------------------------------------------------

    def begin_result(self, call: ToolCallBlock) -> None:
        """Begin the result of a tool call."""
        result = self._results[call.id] = ToolResult(self.run.reply_id, call)
        self.run.add(result.start())

    def grow_result(self, call: ToolCallBlock, content: Sequence[TextBlock | DataBlock]) -> None:
        """Add what a tool gave beyond what it gave before."""
        if (result := self._results.get(call.id)) is not None:
            self.run.add(*result.grow(content))

    def end_result(self, call: ToolCallBlock, state: ToolResultState, note: str = "") -> None:
        """End a result, if it has not ended; a `note` is added to its text."""
        if (result := self._results.pop(call.id, None)) is not None:
            self.run.add(*result.end(state, note))

    def answer_rest(self, state: ToolResultState, note: str) -> None:
        """Give each call without a whole result one; after a success, those that wait go on waiting."""
        for call in self.msg.get_content_blocks("tool_call"):
            if state is ToolResultState.SUCCESS and call.state in WAITING:
                continue
            if self.msg.growing_content.get("tool_result", call.id) is None:
                self.begin_result(call)
            self.end_result(call, state, note)

    def result_message(self, call: ToolCallBlock) -> Msg:
        """Return the result of a call so far, for printing."""
        result = self.msg.growing_content.get("tool_result", call.id)
        return Msg(self.msg.name, result, "assistant", id=f"{self.msg.id}_{call.id}")

    # -- the whole -----------------------------------------------------------------------------------------------------

    def take_hint(self, hint: HintBlock) -> None:
        """Put a hint into the reply."""
        self.run.add_blocks([self._ids.claim(hint)])

    def end_round(self) -> None:
        """Note that a round is over."""
        self._round_ends.append(len(self.msg.content))

    def open_round(self) -> list[Block]:
        """Return the blocks since the last round."""
        return self.msg.content[self._round_ends[-1] :]

    def rounds(self) -> list[Msg]:
        """Return the rounds outside the summary, each as a message."""
        content = self.msg.content
        return [
            Msg(self.msg.name, content[begin:end], "assistant", id=f"{self.msg.id}_{begin}")
            for begin, end in zip(self._round_ends, self._round_ends[1:], strict=False)
            if end > begin
        ]

    def summarized(self, n_rounds: int) -> Msg:
        """Return the first rounds, which the summary holds now.

        They are no longer part of what is remembered of the reply.
        """
        rounds = self.rounds()[:n_rounds]
        n_blocks = sum(len(msg.content) for msg in rounds)
        begin = self._round_ends[0]
        self._round_ends = [end for end in self._round_ends if end >= begin + n_blocks]
        content = self.msg.content[begin : begin + n_blocks]
        return Msg(self.msg.name, content, "assistant", id=f"{self.msg.id}_{begin}", created_at=self.msg.created_at)

    def remembered(self) -> Msg:
        """Return the message without the rounds that the summary holds."""
        msg = self.msg.copy()
        if begin := self._round_ends[0]:
            msg.content = msg.content[begin:]
        return msg

    def give(self, value: dict[str, Any]) -> None:
        """Keep the object that the caller asked for; the end of the reply tells it."""
        self.run.structured_output = value
        self.run.metadata.update(value)

    def interrupt(self) -> None:
        """Bring what is open to an end."""
        call, self._call = self._call, None
        if call is not None:
            self.run.add(*call.abort())
        self.answer_rest(ToolResultState.INTERRUPTED, NO_RESULT)

    def is_complete(self, blocks: Sequence[Block]) -> bool:
        """Return whether the reply is complete after a round of these blocks; if not, prepare the next one."""
        has_calls = any(isinstance(block, ToolCallBlock) for block in blocks)
        is_answered = self.is_answer(blocks)
        if self.structured is None or self._is_text_due:
            if not (has_calls or is_answered):
                self.hints.append(UserMsg("user", ASK_AGAIN))
            return is_answered and not has_calls
        if self.structured.value is None:
            if not has_calls:
                self.hints.append(UserMsg("user", self.structured.reminder))
            return False
        if any(isinstance(block, TextBlock) for block in blocks):
            return True
        self._is_text_due = True
        self.tool_choice = "none"
        self.hints.append(UserMsg("user", ASK_FOR_TEXT))
        return False

    def is_answer(self, blocks: Sequence[Block]) -> bool:
        """Return whether there is text or data among the blocks: thoughts and blanks are no answer.

        Nor is, to a voice, text without words.
        """
        is_text = has_words if self._aloud else without_blanks
        return any(
            isinstance(block, DataBlock) or (isinstance(block, TextBlock) and is_text(block.text)) for block in blocks
        )
