"""The tool calls of one conversation: shown, asked about, run, and answered with a result.

What they mean to the response that made them is up to `realtime.agent.responses`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from realtime.agent.answers import OnAnswer, OnAsk, nothing_answers, nothing_asks
from realtime.agent.context import AgentContext
from realtime.agent.permissions import denial_of
from realtime.agent.provisional import ProvisionalResults
from realtime.agent.tools import ToolRunner
from realtime.errors import ClientError
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import Item
from realtime.message import PermissionRule, ToolCallBlock, ToolCallState, ToolResultBlock
from realtime.permission.accepted import same
from realtime.turn.responses import Ledger, Response

logger = logging.getLogger(__name__)

REFUSED = "the user refused"
"""Tells the model that the user refused a call; may continue with `: reason`."""

ToolUseEvent = m.ModelResponseToolUseDeltaEvent | m.ModelResponseToolUseDoneEvent


@dataclass(frozen=True, slots=True)
class _Question:
    """A call that waits for the user's consent."""

    call: ToolCallBlock
    item_id: str = ""
    response_id: str = ""


class ToolCalls:
    """Follows the tool calls of one conversation until their results are there."""

    def __init__(self, context: AgentContext, tools: ToolRunner, ledger: Ledger) -> None:
        self._context = context
        self._emit = context.emit
        self._conversation = context.conversation
        self._tools = tools
        self._ledger = ledger
        self._questions: dict[str, _Question] = {}
        """Calls that wait for the user's consent, by id."""
        self._result_ids: dict[str, str] = {}
        """Client ids for the items of results, by call."""
        self._followed_by_client: set[str] = set()
        """Calls whose client asks for what comes next: see `_shown`."""
        self.provisional = ProvisionalResults(context)
        self._on_ask: OnAsk = nothing_asks
        self._on_answer: OnAnswer = nothing_answers

    def follow_questions(self, on_ask: OnAsk, on_answer: OnAnswer) -> None:
        """Tell these of questions for consent and their answers from now on."""
        self._on_ask, self._on_answer = on_ask, on_answer

    def begin(self, response: Response, event: ToolUseEvent) -> bool:
        """The model calls a tool in this response, or is about to; returns whether a tool starts."""
        call = event.tool_use
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
        denial, failure, is_consent = "", "", call.state is ToolCallState.ALLOWED
        if call.state is not ToolCallState.ASKING:
            call = msgspec.structs.replace(call, state=ToolCallState.PENDING)
        if not at_model:
            decision = self._tools.decide(call)
            is_consent, failure = decision.is_consent, decision.failure
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
        self._tools.start_tool(call, at_model=at_model, denial=denial, failure=failure)
        if call.state is not ToolCallState.ASKING:
            self._shown(call)
        if call.state is ToolCallState.ASKING:
            self._on_ask(call, "")
        return True

    def _shown(self, call: ToolCallBlock) -> None:
        """The client is shown that this call runs.

        OpenAI's clients ask for a response after every call of a server that they named: if the model went on by
        itself as well, there would be two answers, and with the next call in one of them, answers without end.
        """
        if self._tools.is_of_client_server(call.name):
            self._followed_by_client.add(call.id)

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
        user accepts with it: for others, with a refusal and with another tool, ClientError is raised and the question
        stays open. So it does where `changed` is a call of another tool that asks by itself.
        """
        question = self._questions.get(call_id)
        nothing_asks = ClientError(f"no tool call with the id {call_id!r} asks for consent", code="unknown_tool_call")
        if question is None:
            raise nothing_asks
        renamed = changed is not None and changed.name != question.call.name
        suggested = question.call.suggested_rules if confirmed and not renamed else []
        if any(not any(same(rule, one) for one in suggested) for rule in rules):
            raise ClientError(
                f"only the rules that were suggested for the call {call_id!r} can be accepted, together with a consent",
                code="unknown_rule",
            )
        if confirmed and changed is not None and not self._tools.may_become(call_id, changed):
            raise ClientError(
                f"consent to the call {call_id!r} of {question.call.name!r} is none to {changed.name!r}, which asks by "
                "itself or runs elsewhere: refuse the call, or agree to it with another input",
                code="other_tool",
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
            self._shown(answer)
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

        `done` gets the result.
        """
        if item_id is not None:
            self._result_ids[call_id] = item_id
        self._ledger.answered_by_client(call_id)

    def report(self, call_id: str, text: str, kind: s.ProgressKind) -> None:
        """A tool that runs reports."""
        self._emit(s.AgentToolProgressEvent(tool_call_id=call_id, delta=text, kind=kind, **self._context.who))

    def done(self, result: ToolResultBlock) -> Response | None:
        """A tool has returned, failed or was cancelled; returns the response that still waits for that."""
        if result.id in self._followed_by_client:
            self._followed_by_client.discard(result.id)
            self._ledger.answered_by_client(result.id)
        response = self._ledger.calling(result.id)
        self._questions.pop(result.id, None)
        item_id = self._result_ids.pop(result.id, None) or self._context.runtime.new_id("item")
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
        return response
