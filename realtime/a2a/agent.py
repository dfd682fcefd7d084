"""`A2AAgent`: a remote agent as one of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from realtime.a2a.answer import ASKS, Answer, Piece, Progress, Words, context_of
from realtime.a2a.card import AgentCard, read_card
from realtime.a2a.formatter import A2AChatFormatter
from realtime.a2a.remote import Exchange, Remote
from realtime.a2a.sdk import check_installed
from realtime.agent.base import AgentBase, Messages
from realtime.agent.reply_run import ReplyRun
from realtime.agent.tasks import end_task
from realtime.errors import BadOption, ProviderError, UsageError
from realtime.event import reply as r
from realtime.message import Block, Msg
from realtime.model.local.chat_messages import LISTENING
from realtime.options import checked, usable_headers
from realtime.runtime import unique_id

TIMEOUT_S = 600.0
"""Seconds for an answer, unless the agent says otherwise."""
CLOSE_S = 2.0
"""Seconds for cancellations under way when the agent is closed."""
PROGRESS = "a2a_progress"
"""Names the CustomEvent with what a remote agent says while it works."""
MAX_FAULTS = 20
"""Sentences about unreadable parts that an answer carries."""


class A2AAgent(AgentBase):
    """A remote agent, used like any other: Agent to Agent, 1.0 or 0.3.

    `agent_card`: what a resolver gave, a card of the SDK, a mapping. `client_config`: a `ClientConfig` of the SDK; with
    an `httpx_client` of its own, that one decides what may be reached. `headers` go to the addresses of the card, such
    as an `Authorization`. A card that was fetched leads to public addresses, to its own host and to `allowed_hosts`,
    each as `HOST[:PORT]`; one of the program's own leads anywhere. `timeout_s`: seconds for an answer. `verify`: the
    `ssl.SSLContext` that says whose certificates are trusted.

    The words come as the remote agent gives them. It keeps the conversation by its context id, which is sent with each
    message. A task that asks for input ends the reply with its question, and the next message answers it. Cancelling or
    interrupting a reply cancels the remote task. Its tool calls are data and never run here; its thinking is thinking.
    Messages that are observed are sent with the next reply. Experimental: the protocol is young.

    Raises BadCard for a card that leads nowhere, UsageError where the SDK is not installed.
    """

    @checked(above_0=("timeout_s",))
    def __init__(
        self,
        agent_card: Any,
        client_config: Any = None,
        *,
        name: str | None = None,
        headers: Mapping[str, str] | None = None,
        allowed_hosts: Iterable[str] = (),
        timeout_s: float = TIMEOUT_S,
        verify: Any = True,
    ) -> None:
        check_installed()
        card = read_card(agent_card, "agent_card")
        super().__init__(name or card.name)
        self.timeout_s = timeout_s
        self.context_id = ""
        """The conversation as the remote agent knows it; "" before its first answer."""
        self.task_id = ""
        """The task that waits for the user; "" where none does."""
        self._observed_msgs: list[Msg] = []
        """Messages that are not sent yet."""
        self._remote = Remote(
            card,
            headers=usable_headers(headers or {}, "headers"),
            allowed_hosts=allowed_hosts,
            timeout_s=timeout_s,
            client_config=client_config,
            verify=verify,
        )
        self._endings: set[asyncio.Task[None]] = set()
        self.register_state("context_id")
        self.register_state("task_id")
        self.register_state(
            "_observed_msgs",
            lambda msgs: [msg.model_dump() for msg in msgs],
            lambda dumped: [Msg.model_validate(one) for one in dumped],
        )

    @property
    def agent_card(self) -> AgentCard:
        """The card, as it was read."""
        return self._remote.card

    async def reply(self, msg: Messages = None, structured_model: Any = None) -> Msg:
        """Send what was observed and these messages as one; return the answer.

        Its `metadata["a2a"]` has the ids, the task's state, and a sentence for each thing that could not be read. What
        was not delivered is sent with the next reply. Raises ProviderError where the remote agent fails, is lost or
        takes longer than `timeout_s`; BadOption for a `structured_model`, which the protocol does not have.
        """
        if structured_model is not None:
            raise BadOption("a remote agent gives no structured output: leave out `structured_model`")
        run = self._run
        if run is None:
            raise UsageError("an override of `reply` calls `super().reply(...)`", code="agent_replying")
        self._keep(msg)
        sent = [*self._observed_msgs]
        formatter = A2AChatFormatter(context_id=self.context_id, task_id=self.task_id)
        message = formatter.format_json(sent)
        if not message["parts"]:
            message["parts"] = [{"text": LISTENING}]
        answer = Answer(context_id=self.context_id)
        self._remote.faults.clear()
        exchange = Exchange(self._remote, message, partial(self._delivered, sent))
        told, speech = run.start(self.name), _Speech(run)
        try:
            async with asyncio.timeout(self.timeout_s), aclosing(exchange.events()) as events:
                async for event in events:
                    for piece in answer.take(event):
                        self._tell(piece, speech)
                        await self.print(told, False)
        except TimeoutError:
            raise ProviderError(
                f"{self.name} did not answer within {self.timeout_s:g} s", code="a2a_timeout", retryable=True
            ) from None
        finally:
            speech.end()
            self._remember(answer, run)
            self._end(exchange)
        _check(answer, self.name)
        run.add_blocks(answer.rest())
        await self.print(told, True)
        return told

    async def observe(self, msg: Messages) -> None:
        """Keep messages for the next reply, which sends them."""
        self._keep(msg)

    async def handle_interrupt(self, *_: Any, **__: Any) -> Msg:
        """Answer after an interruption. The remote task is being cancelled."""
        answer = Msg(
            self.name, "You interrupted me. What can I do for you?", "assistant", metadata={"_is_interrupted": True}
        )
        await self.print(answer, True)
        return answer

    async def aclose(self) -> None:
        """Wait for cancellations under way, and close the connections. The agent can be used on."""
        if self._endings:
            await asyncio.wait({*self._endings}, timeout=CLOSE_S)
        for ending in [*self._endings]:
            await end_task(ending, CLOSE_S)
        await self._remote.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _keep(self, msg: Messages) -> None:
        given = msg if isinstance(msg, list) else [msg]
        known = {one.id for one in self._observed_msgs}
        # One that is asked again after a failure is not sent twice.
        self._observed_msgs += [one for one in given if one is not None and one.id not in known]

    def _delivered(self, sent: list[Msg], first: Mapping[str, Any]) -> None:
        ids = {msg.id for msg in sent}
        self._observed_msgs = [msg for msg in self._observed_msgs if msg.id not in ids]
        self.context_id = context_of(first) or self.context_id

    def _tell(self, piece: Piece, speech: _Speech) -> None:
        match piece:
            case Words(text=text, goes_on=goes_on):
                speech.say(text, goes_on=goes_on)
            case Progress(text=text, state=state):
                self.emit_custom(PROGRESS, {"text": text, "state": state})
            case block:
                speech.show(block)

    def _remember(self, answer: Answer, run: ReplyRun) -> None:
        self.context_id = answer.context_id or self.context_id
        self.task_id = answer.task_id if answer.state in ASKS else ""
        faults = [*self._remote.faults, *answer.faults]
        run.metadata["a2a"] = {
            "context_id": answer.context_id,
            "task_id": answer.task_id,
            "state": answer.state,
            **({"faults": faults[:MAX_FAULTS]} if faults else {}),
        }

    def _end(self, exchange: Exchange) -> None:
        """Let the exchange end, and the remote task if that still runs."""
        ending = asyncio.get_running_loop().create_task(exchange.abandon(), name=f"end of a task of {self.name}")
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)


class _Speech:
    """The words of one reply, in blocks that begin and end."""

    def __init__(self, run: ReplyRun) -> None:
        self._run = run
        self._block_id = ""
        """The block that is open."""

    def say(self, text: str, *, goes_on: bool) -> None:
        """Say something, in a block of its own unless it `goes_on`."""
        if not (goes_on and self._block_id):
            self.end()
            self._block_id = unique_id()
            self._run.add(r.TextBlockStartEvent(reply_id=self._run.reply_id, block_id=self._block_id))
        self._run.add(r.TextBlockDeltaEvent(reply_id=self._run.reply_id, block_id=self._block_id, delta=text))

    def show(self, block: Block) -> None:
        """Add a whole block."""
        self.end()
        self._run.add_blocks([block])

    def end(self) -> None:
        """End the block that is open, if one is."""
        block_id, self._block_id = self._block_id, ""
        if block_id:
            self._run.add(r.TextBlockEndEvent(reply_id=self._run.reply_id, block_id=block_id))


def _check(answer: Answer, name: str) -> None:
    """Raise ProviderError for an answer that is none."""
    reason = " ".join(answer.reason.split())[:200]
    match answer.state:
        case "failed":
            raise ProviderError(f"{name} failed{f': {reason}' if reason else ''}", code="a2a_failed")
        case "canceled" if not answer.has_words:
            raise ProviderError(f"{name} gave up the task", code="a2a_canceled")
        case "rejected" if not answer.has_words:
            raise ProviderError(f"{name} refuses the task", code="a2a_rejected")
        case "auth-required" if not answer.has_words:
            raise ProviderError(f"{name} needs a sign-in that is given elsewhere", code="a2a_auth_required")
        case _ if not (answer.is_over or answer.has_words):
            raise ProviderError(f"{name} gave no answer", code="a2a_no_answer")
