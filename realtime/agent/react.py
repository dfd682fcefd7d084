"""`ReActAgent`: an agent that reasons with a chat model, runs tools and remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pydantic import BaseModel

from realtime.agent.base import Messages
from realtime.agent.hooks import StopReply, is_messages
from realtime.agent.long_term import RECORDING_GRACE_S, Remembering
from realtime.agent.permissions import denial_of
from realtime.agent.played import cut_to_played
from realtime.agent.react_base import ReActAgentBase
from realtime.agent.react_reply import ReActReply
from realtime.agent.reply_run import ReplyRun
from realtime.agent.structured import StructuredOutput
from realtime.agent.tasks import end_task, together
from realtime.errors import UsageError
from realtime.event import reply as r
from realtime.formatter.base import FormatterBase
from realtime.memory import InMemoryMemory, LongTermMemoryBase, MemoryBase
from realtime.message import (
    DataBlock,
    FinishedReason,
    HintBlock,
    Msg,
    SystemMsg,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    UserMsg,
    read_block,
)
from realtime.message.remembered import LongTermMemoryMode
from realtime.model.chat import compression
from realtime.model.chat.base import ChatModelBase
from realtime.model.chat.compression import COMPRESSED, Backoff, Compressor, replace_memory
from realtime.model.chat.failures import empty_answer
from realtime.model.chat.responses import responses_of
from realtime.options import PositiveInt, checked
from realtime.plan import PlanNotebook
from realtime.tool import Toolkit
from realtime.tool.background import BackgroundTask, act_for, result_hint
from realtime.tool.context import Around, Decide, ToolScope, current_scope, scope_of
from realtime.tool.registered import BASIC
from realtime.tool.response import ToolResponse
from realtime.tool.toolkit import toolkit_of

SUMMARIZE = (
    "<system-hint>This answer has used all of its steps. Say now, without tools, what you found out and what is still "
    "open.</system-hint>"
)
"""Ends the prompt for a reply that has reached `max_iters`."""
NEEDS_CONSENT = "This tool needs the user's consent, and there is no way to ask for it here."
NO_JSON_OBJECT = "The arguments are not a JSON object."
COMPRESSION_GRACE_S = 1.0
"""Seconds that a compression in the background has for its end."""
PLAN_TOOLS = "plan_related"
"""The group of a plan notebook's tools, for models that choose groups."""
STOP_REPLY = "stop_reply"
"""The key in a tool's metadata that ends the reply; its value is the reason."""
Answer = r.UserConfirmResultEvent | r.ExternalExecutionResultEvent | r.UserInterruptEvent
"""What a reply that waits goes on with."""
_NO_CALL = ToolScope()
_OWN: dict[str, Any] = {"_last_reply_id": None, "_hints": [], "_parked": None}
"""What a state of AgentScope lacks. Ours lacks it where nothing waits and nothing was said."""
_NOT_NEEDED: dict[str, Any] = {**_OWN, "long_term_memory": {}, "_remembering": {"recorded_ids": []}}
"""What a state may lack."""


class ReActAgent(ReActAgentBase):
    """An agent that reasons with a chat model and acts with tools.

    It does both in turn, until it only speaks. `await agent(msg)` returns one message with all that was said, called
    and returned meanwhile; `reply_stream(msg)` gives it as it comes. The memory has the input, and each reply as one
    message: an interrupted one as far as it came, every tool call in it with a result. A tool whose response has
    `metadata={"stop_reply": reason}` ends the reply.

    `parallel_tool_calls`: the calls of one round run at the same time. `max_iters`: rounds of one reply; after them the
    agent answers with what it has. `enable_meta_tool`: the model may activate groups of tools. `plan_notebook`: the
    agent has its tools, in a group that the model may activate where there are such, and reads its hint before each
    round. `print_hint_msg`: hints to the model are printed as well. `compression_config`: see `CompressionConfig`.

    `long_term_memory` is for all conversations. With `long_term_memory_mode="agent_control"` the model has the tools
    `record_to_memory` and `retrieve_from_memory`; with "static_control" the agent recalls before each reply, which
    waits 50 ms for it at most, and records in the background what is said (see `finish_recording`); "both" is both.
    """

    CompressionConfig = compression.CompressionConfig
    finish_function_name = "generate_response"
    """The tool by which the model gives a structured output."""

    @checked()
    def __init__(
        self,
        name: str,
        sys_prompt: str,
        model: ChatModelBase,
        formatter: FormatterBase,
        toolkit: Toolkit | Iterable[Callable[..., Any]] | None = None,
        memory: MemoryBase | None = None,
        *,
        parallel_tool_calls: bool = False,
        max_iters: PositiveInt = 10,
        enable_meta_tool: bool = False,
        plan_notebook: PlanNotebook | None = None,
        print_hint_msg: bool = False,
        compression_config: compression.CompressionConfig | None = None,
        long_term_memory: LongTermMemoryBase | None = None,
        long_term_memory_mode: LongTermMemoryMode = "both",
    ) -> None:
        super().__init__(name)
        self._sys_prompt = sys_prompt
        self.model = model
        self.formatter = formatter
        has_tools = long_term_memory is not None and long_term_memory_mode != "static_control"
        # Tools that belong to this agent stay out of a toolkit that others share.
        is_shared = plan_notebook is None and not has_tools
        self.toolkit = toolkit_of(toolkit) if is_shared else toolkit_of(toolkit).for_call()
        self.memory = InMemoryMemory() if memory is None else memory
        self.parallel_tool_calls = parallel_tool_calls
        self.max_iters = max_iters
        self.plan_notebook = plan_notebook
        self.print_hint_msg = print_hint_msg
        self.compression_config = compression_config
        self.long_term_memory = long_term_memory
        self._remembering: Remembering | None = None
        if long_term_memory is not None:
            if long_term_memory_mode != "agent_control":
                self._remembering = Remembering(long_term_memory)
            if has_tools:
                self.toolkit.register_tool_function(long_term_memory.record_to_memory)
                self.toolkit.register_tool_function(long_term_memory.retrieve_from_memory, read_only=True)
        if enable_meta_tool:
            self.toolkit.register_tool_function(self.toolkit.reset_equipped_tools, namesake_strategy="skip")
        if plan_notebook is not None:
            plan_notebook.equip(self.toolkit, PLAN_TOOLS if enable_meta_tool else BASIC)
        self._reply: ReActReply | None = None
        self._last_reply_id: str | None = None
        self._hints: list[HintBlock] = []
        """Hints that have come since the last round of a reply began."""
        self._parked: dict[str, Any] | None = None
        """A reply that waits for the user's answer."""
        self._compression: asyncio.Task[Any] | None = None
        self._backoff = Backoff()
        self.register_state("name")
        self.register_state("_sys_prompt")
        self.register_state("_last_reply_id")
        self.register_state("_parked")
        self.register_state(
            "_hints", lambda hints: [hint.model_dump() for hint in hints], lambda dumped: [*map(read_block, dumped)]
        )

    @property
    def sys_prompt(self) -> str:
        """The system prompt."""
        return self._sys_prompt

    # -- what callers use ----------------------------------------------------------------------------------------------

    async def reply(self, msg: Messages | Answer = None, structured_model: type[BaseModel] | None = None) -> Msg:
        """Answer messages; without one, what is in the memory.

        With `structured_model`, the answer also holds an object of that class, as `structured_output` and by its fields
        in `metadata`; invalid ones are sent back to the model. It is missing where the rounds did not suffice. Raises
        what the model raises, and UsageError for hooks that fail.

        Outside of calls, a reply whose tool needs the user's consent, or runs in another program, waits: its message
        has calls that are `asking` or `submitted` and no `finished_reason`, its stream ends without REPLY_END. It goes
        on with a UserConfirmResultEvent or ExternalExecutionResultEvent as `msg`, or ends with a UserInterruptEvent;
        messages end it as well. Raises UsageError for an answer that no call waits for.
        """
        run = self._run
        if run is None or self._reply is not None:
            raise UsageError("an override of `reply` calls `super().reply(...)` once", code="agent_replying")
        structured = StructuredOutput(structured_model, self.finish_function_name) if structured_model else None
        act_for(self)
        if isinstance(msg, Answer):
            reply = self._resumed(run, msg, structured)
            reason = await self._rounds(reply, self._answered(reply, msg))
        else:
            await self._end_parked()
            reply = self._reply = ReActReply(run, self.name, structured, aloud=self.voice_call is not None)
            if self._remembering is not None:
                reply.recall = self._remembering.recall(msg, self.memory)
            await self._take_input(reply, msg)
            if reply.recall is not None:
                await reply.recall.wait()
                if self.print_hint_msg and reply.recall.message is not None:
                    await self.print(reply.recall.message, True)
            reason = await self._rounds(reply)
        if reason is None:
            run.is_parked = True
            return reply.msg
        if structured is not None and structured.value is not None:
            reply.give(structured.value)
        run.finish(reason)
        await self._remember(reply)
        return reply.msg

    async def observe(self, msg: Messages) -> None:
        """Remember messages without an answer."""
        await self.memory.add(msg)

    async def hint(self, hint: str | HintBlock, source: str | None = None) -> None:
        """Give the model a hint: a trigger, a team message, the result of a background tool.

        It enters the reply that is being given before its next round, else the next reply. `source` names its origin.
        """
        self._hints.append(hint if isinstance(hint, HintBlock) else HintBlock(hint=hint, source=source))

    def background_done(self, task: BackgroundTask, /) -> None:
        """What a tool gives in the background comes as a hint."""
        self._hints.append(result_hint(task))

    async def handle_interrupt(self, msg: Messages = None, structured_model: type[BaseModel] | None = None) -> Msg:
        """Answer after an interruption. Subclasses may say something else, such as by asking the model.

        The answer is remembered if a caller of `reply` gets it.
        """
        answer = Msg(
            self.name, "You interrupted me. What can I do for you?", "assistant", metadata={"_is_interrupted": True}
        )
        await self.print(answer, True)
        return answer

    async def truncate_last_reply(self, played_text: str) -> Msg | None:
        """Cut the last reply in the memory to what was heard.

        `played_text` is the beginning of its text, whatever the white space; "" if nothing was heard. Tool calls and
        results stay. Returns what is remembered now; None where nothing is left of the reply, or there is none. Raises
        UsageError while a reply is being given: interrupt it, and wait for its end.
        """
        return await self.truncate_reply(self._last_reply_id, played_text)

    async def truncate_reply(self, reply_id: str | None, played_text: str) -> Msg | None:
        """Cut a reply, by its id, to what was heard (see `truncate_last_reply`).

        Where it was cut before, it is what it is now said to be, also if that is more.
        """
        if self.is_replying:
            raise UsageError("a reply is being given: truncate it after its end", code="agent_replying")
        messages = await self.memory.get_memory(prepend_summary=False)
        place = next((place for place, one in enumerate(messages) if one.id == reply_id), None)
        if place is None:
            return None
        cut = cut_to_played(messages[place], played_text)
        remembered = [*messages[:place], *([cut] if cut.content else []), *messages[place + 1 :]]
        await replace_memory(self.memory, messages, remembered)
        return cut if cut.content else None

    @property
    def may_draft(self) -> bool:
        """Whether a reply may begin that is dropped: yes, unless it would compress the memory.

        Until it counts, only tools run that are `read_only`. Hooks run, and what is printed stays printed.
        """
        compressor = self._compressor()
        return compressor is None or self._compresses_in_background(compressor.config)

    async def checkpoint(self) -> Callable[[], Awaitable[None]]:
        """Return what undoes the replies that begin after this.

        It changes the memory, gives back the hints that they took, and lets the plan go on.
        """
        before = {one.id for one in await self.memory.get_memory(prepend_summary=False)}
        last_reply_id, hints, parked = self._last_reply_id, [*self._hints], self._parked
        notebook = None if self.plan_notebook is None or self.plan_notebook.is_suspended else self.plan_notebook

        async def undo() -> None:
            messages = await self.memory.get_memory(prepend_summary=False)
            await self.memory.delete([one.id for one in messages if one.id not in before])
            self._last_reply_id, self._parked = last_reply_id, parked
            self._hints = [*hints, *(hint for hint in self._hints if hint not in hints)]
            if notebook is not None:
                await notebook.resume()

        return undo

    async def finish_compression(self) -> None:
        """Wait for a compression in the background; do so before you save the state."""
        if self._compression is not None:
            await asyncio.wait({self._compression})

    async def finish_recording(self) -> None:
        """Wait until what was said is in the long-term memory; do so before the program ends."""
        if self._remembering is not None:
            await self._remembering.finish(self.memory)

    async def aclose(self) -> None:
        """End what runs in the background: tools, compression, recording. The agent can be used on.

        Its long-term memory is closed.

        Tools that it runs in the background of a voice call end with that call.
        """
        await super().aclose()
        await self.toolkit.background.stop(self)
        if self._compression is not None:
            await end_task(self._compression, COMPRESSION_GRACE_S)
        if self._remembering is not None:
            await self._remembering.finish(self.memory, RECORDING_GRACE_S)
        if self.long_term_memory is not None:
            await self.long_term_memory.aclose()

    def state_dict(self) -> dict[str, Any]:
        """See `StateModule`. Where nothing waits and nothing was said, it is a state of AgentScope."""
        return {name: one for name, one in super().state_dict().items() if (name, one) not in _OWN.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """See `StateModule`. Raises UsageError while a reply is being given, or in a call.

        A state of AgentScope, or of an agent without a long-term memory, is one as well.
        """
        if self.is_replying:
            raise UsageError("a reply is being given: load a state after its end", code="agent_replying")
        if self.voice_call is not None:
            raise UsageError(f"{self.name} is in a call: load a state before it", code="agent_in_call")
        if self._compression is not None:
            self._compression.cancel()
        super().load_state_dict({**_NOT_NEEDED, **state_dict}, strict)

    def _missing(self, state: Mapping[str, Any], path: str) -> list[str]:
        return super()._missing({**_NOT_NEEDED, **state}, path)

    # -- the rounds ----------------------------------------------------------------------------------------------------

    async def _rounds(self, reply: ReActReply, allowed: Sequence[ToolCallBlock] | None = None) -> FinishedReason | None:
        """Return why the reply ends; None where it waits for the user. It may go on with calls that were `allowed`."""
        while allowed is not None or reply.n_rounds < self.max_iters:
            if allowed is None:
                reply.n_rounds += 1
                while self._hints:
                    reply.take_hint(self._hints.pop(0))
                await self._compress(reply)
                said = await self._reasoning(reply.tool_choice)
                reply.run.check()
                blocks = reply.end_call(said.content)
                allowed = [block for block in blocks if isinstance(block, ToolCallBlock)]
            else:
                blocks = reply.open_round()
            await self._act(reply, allowed)
            allowed = None
            reply.run.check()
            if reply.waits:
                return None
            reply.end_round()
            if reply.is_complete(blocks):
                return "completed"
        reply.run.add(r.ExceedMaxItersEvent(reply_id=reply.run.reply_id, name=self.name))
        said = await self._summarizing()
        blocks = reply.end_call([block for block in said.content if not isinstance(block, ToolCallBlock)])
        if reply.structured is None and not reply.is_answer(blocks):
            raise empty_answer(f"the language model of {self.name}")
        return "exceed_max_iters"

    async def _reasoning(self, tool_choice: str | None = None) -> Msg:
        """Ask the model for the next round; return what it says and calls. Hooks may change that."""
        reply = self._current()
        schemas = self.toolkit.get_json_schemas()
        if self.from_call is not None:
            schemas = [*schemas, *self.from_call.schemas_beside(schemas)]
        if reply.structured is not None and reply.structured.value is None:
            own = reply.structured.json_schema()
            schemas = [one for one in schemas if one["function"]["name"] != self.finish_function_name] + [own]
        if self.plan_notebook is not None and (hint := await self.plan_notebook.get_current_hint()) is not None:
            reply.hints.append(hint)
        return await self._ask(reply, tools=schemas or None, tool_choice=tool_choice)

    async def _summarizing(self) -> Msg:
        """Ask the model for an answer after the last round."""
        reply = self._current()
        reply.hints.append(UserMsg("user", SUMMARIZE))
        return await self._ask(reply)

    async def _ask(self, reply: ReActReply, **options: Any) -> Msg:
        prompt = await self._prompt(reply)
        reply.begin_call(self.model.model_name, holds_ends=bool(self._hooks("post_reasoning")))
        said = Msg(self.name, None, "assistant")
        async with aclosing(responses_of(await self.model(prompt, **options))) as responses:
            async for response in responses:
                reply.run.check()
                said.content = reply.grow(response)
                await self.print(said, False)
        await self.print(said, True)
        return said

    async def _prompt(self, reply: ReActReply) -> list[dict[str, Any]]:
        remembered = reply.remembered()
        recalled = None if reply.recall is None else reply.recall.message
        hints, reply.hints = reply.hints, []
        if self.print_hint_msg:
            for hint in hints:
                await self.print(hint, True)
        return await self.formatter.format(
            [
                *self._head(),
                *await self.memory.get_memory(exclude_mark=COMPRESSED),
                *([recalled] if recalled is not None else []),
                *([remembered] if remembered.content else []),
                *hints,
            ]
        )

    def _head(self) -> list[Msg]:
        """Return what each prompt begins with."""
        instructions = "" if self.from_call is None else self.from_call.instructions
        sys_prompt = "\n\n".join(dict.fromkeys(text for text in (self.sys_prompt, instructions) if text))
        return [SystemMsg("system", sys_prompt)] if sys_prompt else []

    def _resumed(self, run: ReplyRun, answer: Answer, structured: StructuredOutput | None) -> ReActReply:
        """Return the reply that waits for this answer. Raises UsageError."""
        if self._parked is None:
            raise UsageError(f"no reply of {self.name} waits for an answer", code="not_waiting")
        msg = Msg.model_validate(self._parked["message"])
        if isinstance(answer, r.UserInterruptEvent):
            if answer.reply_id != msg.id:
                raise UsageError(f"reply {answer.reply_id} does not wait: {msg.id} does", code="not_waiting")
        else:
            try:
                msg.check_answers(answer)
            except ValueError as error:
                raise UsageError(str(error), code="not_waiting") from error
        if isinstance(answer, r.UserConfirmResultEvent):
            calls = {call.id: call for call in msg.get_content_blocks("tool_call")}
            for one in answer.confirm_results:
                if any(rule not in calls[one.tool_call.id].suggested_rules for rule in one.rules or ()):
                    raise UsageError("a rule was accepted that was not suggested for its call", code="unknown_rule")
        run.resume(msg)
        reply = self._reply = ReActReply(run, self.name, structured, aloud=self.voice_call is not None)
        reply.restore(self._parked)
        self._parked = None
        return reply

    def _answered(self, reply: ReActReply, answer: Answer) -> list[ToolCallBlock]:
        """Take the user's answer; return the calls that run now."""
        reply.run.add(answer)
        if isinstance(answer, r.UserInterruptEvent):
            raise asyncio.CancelledError
        if isinstance(answer, r.ExternalExecutionResultEvent):
            return []
        for one in answer.confirm_results:
            for rule in one.rules or ():
                self.toolkit.permissions.add_rule(rule)
        return reply.take_consent(answer.confirm_results)

    async def _end_parked(self) -> None:
        """Let a reply that waits end here: the conversation goes on without its answer."""
        parked, self._parked = self._parked, None
        if parked is not None:
            run = ReplyRun(self.id, None, (), {})
            run.resume(Msg.model_validate(parked["message"]))
            reply = ReActReply(run, self.name, None)
            reply.restore(parked)
            reply.interrupt()
            run.finish("interrupted")
            await self._remember(reply)

    def _question(self, reply: ReActReply, call: ToolCallBlock) -> ToolCallBlock | None:
        """Return the call as the user is asked about it; None where no one is asked here.

        In a call, that asks; and within another tool there is no one to ask.
        """
        is_object = reply.structured is not None and call.name == reply.structured.function_name
        if current_scope() is not None or self._is_of_call(call) or is_object or reply.has_consent(call):
            return None
        decision = self.toolkit.decide(call)
        return decision.asking(call) if decision.asks and not decision.failure else None

    def _runs_elsewhere(self, call: ToolCallBlock) -> bool:
        """Whether another program runs the call."""
        tool = self.toolkit.tools.get(call.name)
        if current_scope() is not None or tool is None or not tool.external:
            return False
        decision = self.toolkit.decide(call)
        return not (decision.denies or decision.failure)

    async def _act(self, reply: ReActReply, calls: Sequence[ToolCallBlock]) -> None:
        """Run the calls of a round; each has a result in the end, unless the user is asked about it."""
        questions = [question for call in calls if (question := self._question(reply, call)) is not None]
        if questions:
            reply.run.add(r.RequireUserConfirmEvent(reply_id=reply.run.reply_id, tool_calls=questions))
        asked = {question.id for question in questions}
        submitted = [call for call in calls if call.id not in asked and self._runs_elsewhere(call)]
        if submitted:
            reply.run.add(r.RequireExternalExecutionEvent(reply_id=reply.run.reply_id, tool_calls=submitted))
        waiting = asked | {call.id for call in submitted}
        calls = [call for call in calls if call.id not in waiting]
        if self.parallel_tool_calls and len(calls) > 1:
            await together([self._acting(call) for call in calls])
        else:
            # Tools of the call come last: their results come with the next prompt, which waits for the agent's own.
            for call in sorted(calls, key=self._is_of_call):
                await self._acting(call)
                reply.run.check()
        # A subclass may run tools without a word about them.
        reply.answer_rest(ToolResultState.SUCCESS, "")

    def _is_of_call(self, call: ToolCallBlock) -> bool:
        """Whether the voice call runs this tool, not the agent."""
        return self.from_call is not None and call.name not in self.toolkit and call.name in self.from_call

    async def _acting(self, tool_call: ToolCallBlock) -> dict[str, Any] | None:
        """Run a tool; return the structured output, if that is what it gave."""
        reply = self._current()
        reply.begin_result(tool_call)
        reason: str | None = None
        state = ToolResultState.ERROR
        async with aclosing(self._responses_of_tool(reply, tool_call)) as responses:
            async for response in responses:
                reply.grow_result(tool_call, response.content)
                state = response.state
                if state is ToolResultState.INTERRUPTED:
                    # The reader is cancelled next: there may be no later moment to say so.
                    reply.end_result(tool_call, state)
                reason = (response.metadata or {}).get(STOP_REPLY, reason)
                await self.print(reply.result_message(tool_call), response.is_last)
        reply.run.check()
        reply.end_result(tool_call, state)
        if reason is not None:
            stop = StopReply(str(reason))
            stop.source, stop.point = tool_call.name, "acting"
            raise stop
        structured = reply.structured
        return structured.value if structured and tool_call.name == structured.function_name else None

    async def _responses_of_tool(self, reply: ReActReply, call: ToolCallBlock) -> AsyncGenerator[ToolResponse, None]:
        if reply.structured is not None and call.name == reply.structured.function_name:
            if call.arguments is None:
                yield ToolResponse([TextBlock(text=NO_JSON_OBJECT)], state=ToolResultState.ERROR)
            else:
                yield self.generate_response(**call.arguments)
        elif self.from_call is not None and self._is_of_call(call):
            result = await self.from_call.run(call)
            yield ToolResponse(_blocks_of(result), state=result.state)
        else:
            scope = scope_of(call, _NO_CALL)
            decide, around = self.toolkit.decider(scope), scope.around
            decision = decide(call)
            if decision.denies:
                yield ToolResponse([TextBlock(text=denial_of(decision))], state=ToolResultState.DENIED)
            elif around is not None and around.concerns(decision):
                yield await self._run_in(around, call, decide)
            elif decision.asks and not reply.has_consent(call):
                yield ToolResponse([TextBlock(text=NEEDS_CONSENT)], state=ToolResultState.DENIED)
            else:
                async with aclosing(self.toolkit.call_tool_function(call, failure=decision.failure)) as responses:
                    async for response in responses:
                        yield response

    async def _run_in(self, around: Around, call: ToolCallBlock, decide: Decide) -> ToolResponse:
        """Run a tool within a voice call.

        That may ask the user, and change the call and its result.
        """
        metadata: dict[str, Any] | None = None

        async def run(allowed: ToolCallBlock, /, *, failure: str = "") -> ToolResultBlock:
            nonlocal metadata
            response = ToolResponse([])
            async with aclosing(self.toolkit.call_tool_function(allowed, failure=failure)) as responses:
                async for response in responses:
                    metadata = response.metadata
            return response.result_of(allowed)

        result = await around.run(call, run, decide)
        return ToolResponse(_blocks_of(result), metadata=metadata, state=result.state)

    def generate_response(self, /, **kwargs: Any) -> ToolResponse:
        """Take a structured output, the arguments of the call that gives it."""
        structured = self._current().structured
        if structured is None:
            raise UsageError("no structured output was asked for")
        wrong = structured.take(kwargs)
        state = ToolResultState.SUCCESS if wrong is None else ToolResultState.ERROR
        return ToolResponse([TextBlock(text=wrong or "The object is complete.")], state=state)

    # -- the end of a reply --------------------------------------------------------------------------------------------

    async def _settle(self, run: ReplyRun, reason: FinishedReason | None, error: str | None = None) -> None:
        reply, self._reply = self._reply, None
        if reply is not None and reason is None:
            self._parked = reply.parked()
        elif reply is None:
            # The reply ended before it began, such as in a hook.
            given = run.args[0] if run.args else run.kwargs.get("msg")
            await self.memory.add(given if is_messages(given) else None)
            await super()._settle(run, reason, error)
        else:
            reply.interrupt()
            await super()._settle(run, reason, error)
            await self._take_input(reply, reply.given)
            await self._remember(reply)
            if reply.recall is not None:
                reply.recall.end()
        if self._remembering is not None:
            self._remembering.record(self.memory, self._last_reply_id if self._is_in_call() else None)
        self._compress_in_background()

    async def _take_input(self, reply: ReActReply, msg: Messages) -> None:
        """Remember what the reply answers, once."""
        reply.given = msg
        if not reply.is_begun:
            await self.memory.add(msg)
        reply.is_begun = True

    async def _remember(self, reply: ReActReply) -> None:
        remembered = reply.remembered()
        if not reply.is_stored and remembered.content:
            self._last_reply_id = remembered.id
            await self.memory.add(remembered)
        reply.is_stored = True

    async def _after_interrupt(self, run: ReplyRun) -> Any:
        if self.plan_notebook is not None:
            await self.plan_notebook.suspend()
        answer = await super()._after_interrupt(run)
        if not run.is_heard and isinstance(answer, Msg):
            await self.memory.add(answer)
        return answer

    def _current(self) -> ReActReply:
        if self._reply is None:
            raise UsageError(f"{self.name} gives no reply now: this belongs to one", code="agent_not_replying")
        return self._reply

    # -- compression ---------------------------------------------------------------------------------------------------

    def _compressor(self) -> Compressor | None:
        config = self.compression_config
        if config is None or not config.enable:
            return None
        return Compressor(config, self.memory, self._head(), self.model, self.formatter, self._backoff)

    def _compresses_in_background(self, config: compression.CompressionConfig) -> bool:
        """Whether no reply waits for a compression: by default in voice calls."""
        if config.background is not None:
            return config.background
        return self._is_in_call()

    def _is_in_call(self) -> bool:
        """Whether a voice speaks the reply."""
        scope = current_scope()
        return self.voice_call is not None or (scope is not None and bool(scope.call_id))

    async def _compress(self, reply: ReActReply) -> None:
        """Compress before a round, unless that happens in the background."""
        compressor = self._compressor()
        if compressor is None or self._compresses_in_background(compressor.config):
            return
        if n_rounds := await compressor.compress(reply.rounds()):
            await self.memory.add(reply.summarized(n_rounds), marks=COMPRESSED)

    def _compress_in_background(self) -> None:
        compressor = self._compressor()
        if compressor is None or not self._compresses_in_background(compressor.config):
            return
        if self._compression is None or self._compression.done():
            self._compression = asyncio.get_running_loop().create_task(
                _compress_what_counts(compressor), name=f"compression of {self.name}"
            )


def _blocks_of(result: ToolResultBlock) -> list[TextBlock | DataBlock]:
    return [TextBlock(text=result.output)] if isinstance(result.output, str) else result.output


async def _compress_what_counts(compressor: Compressor) -> None:
    """Compress, unless the reply that led to this is dropped."""
    scope = current_scope()
    if scope is not None and scope.may_act is not None:
        await scope.may_act()
    await compressor.compress()
