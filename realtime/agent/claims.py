"""No claim without a deed: sentences of an agent are checked against what the tools did in its call.

`realtime.turn.claims` says what a sentence claims. Here is what it is held against (`ClaimCheck.deeds`), and what is
said in its place. Who withholds it depends on the model: one that lets each sentence be checked before it is spoken
(`ChecksSentences`) asks `ClaimCheck.judge`; of others the transcript is followed (`realtime.agent.withholding`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from realtime.call.participant import Host
from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.event.server import CLAIM_WITHHELD, ServerCustomEvent
from realtime.message import ToolCallState, ToolResultBlock, ToolResultState
from realtime.model.base import Withheld
from realtime.tool import Toolkit
from realtime.tool.question import language_of
from realtime.tool.registered import RegisteredToolFunction
from realtime.turn.claims import Claim, ClaimKind, Claims, Deed, DeedState, DeedTool, denial_of, unbacked

ClaimsMode = Literal["off", "checked"]
HINT = (
    'You were about to tell the user: "{sentence}" The user has not heard that, because it is not true: {reason}. If '
    "the user wants it done and you know all that you need, call the tool now. Otherwise say in one short sentence "
    "what is true. Do not mention this note."
)
"""What the model reads of a sentence that was withheld."""
HINT_HEARD = (
    'You have told the user: "{sentence}" That is not true: {reason}. If the user wants it done and you know all that '
    "you need, call the tool now. Otherwise correct yourself in one short sentence. Do not mention this note."
)
"""The same of one that the user has heard."""
NO_CALL = "no call of {tools} has succeeded in this conversation, so it is not done yet"
OTHER_CALL = "no successful call of {tools} in this conversation did exactly that; what they did has other details"
"""Why it is not true."""
NOT_EXACTLY = "Not exactly that was done."
"""What is said instead of details that are not right; only English ones are read."""
_CONTEXT_ITEMS = 20
"""So many latest items tell what "all done" speaks of."""


class CallDeeds:
    """Deeds of a call that its conversation does not have: a state of its tools (`ToolContext`)."""

    def __init__(self) -> None:
        self.toolkits: list[Toolkit] = []
        """Those of thinking agents in the call."""
        self.within: list[Deed] = []
        """Calls of agents behind a tool; tools that have ended in the background."""

    def add_toolkit(self, toolkit: object) -> None:
        """Let the deeds of these tools be claims, too."""
        if isinstance(toolkit, Toolkit) and all(toolkit is not one for one in self.toolkits):
            self.toolkits.append(toolkit)

    def add(self, result: ToolResultBlock) -> None:
        """Note a result that is no item of the conversation."""
        self.within.append(Deed(result.name, _state_of(result.state), result.output_text()))


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that claims what was not done."""

    sentence: str
    claims: tuple[Claim, ...]

    @property
    def tools(self) -> list[str]:
        """The tools whose deeds it claims."""
        return [*dict.fromkeys(tool for claim in self.claims for tool in claim.tools)]


class ClaimCheck:
    """Checks the sentences of one agent in one call.

    `deeds` holds what the conversation of `host` does not; `declared` returns the tools of the client.
    """

    def __init__(
        self, toolkit: Toolkit, deeds: CallDeeds, host: Host, *, declared: Callable[[], Sequence[ToolDeclaration]]
    ) -> None:
        self._toolkit = toolkit
        self._deeds = deeds
        self._conversation = host.conversation
        self._emit = host.emit
        self._declared = declared
        self._known: tuple[DeedTool, ...] = ()
        self._claims = Claims(())
        self._announced: dict[str, list[Found]] = {}
        """Sentences that announce deeds, by response, until it has called."""
        self._n_corrected = 0

    def begin_turn(self) -> None:
        """The user has said something: the next reply may be corrected, too."""
        self._n_corrected = 0
        self._announced.clear()

    # -- what is checked -------------------------------------------------------------------------------------------

    def find(self, sentence: str, said: str, response_id: str) -> Found | None:
        """Return the sentence if it claims what was not done; `said` is what stands before it in its response."""
        claims = self._current.of(sentence, self._context(said))
        if not claims:
            return None
        missing = unbacked(claims, self.deeds())
        announced = tuple(claim for claim in missing if claim.kind is ClaimKind.ANNOUNCED)
        if announced:
            self._announced.setdefault(response_id, []).append(Found(sentence, announced))
        missing = tuple(claim for claim in missing if claim.kind is not ClaimKind.ANNOUNCED)
        return Found(sentence, missing) if missing else None

    def ended(self, response_id: str) -> Found | None:
        """The response is over: return what it announced without calling a tool for it."""
        deeds = self.deeds()
        for found in self._announced.pop(response_id, ()):
            if missing := unbacked(found.claims, deeds):
                return Found(found.sentence, missing)
        return None

    def deeds(self) -> list[Deed]:
        """Return what the tools did in this call."""
        items = self._conversation.items()
        results = {item.tool_result.id: item.tool_result for item in items if item.tool_result is not None}
        calls = {item.tool_call.id: item.tool_call for item in items if item.tool_call is not None}
        running = {task.call_id for task in self._toolkit.background.running.values()}
        deeds = [*self._deeds.within]
        for result in results.values():
            state = _state_of(result.state)
            if state is DeedState.RUNNING and result.id not in running:
                state = DeedState.FAILED  # it has ended since: how, is among those within
            arguments = calls[result.id].input if result.id in calls else ""
            deeds.append(Deed(result.name, state, result.output_text(), arguments))
        for call in calls.values():
            if call.id not in results:
                asks = call.state is ToolCallState.ASKING
                state = DeedState.FAILED if asks else DeedState.RUNNING
                deeds.append(Deed(call.name, state, arguments=call.input))
        return deeds

    # -- what is said instead --------------------------------------------------------------------------------------

    def judge(self, sentence: str, said: str, *, response_id: str, item_id: str) -> Withheld | None:
        """Return what becomes of a sentence that is not spoken yet; None: it may be said."""
        found = self.find(sentence, said, response_id)
        return None if found is None else self.withhold(found, response_id, item_id, heard=False)

    def end(self, *, response_id: str, item_id: str) -> Withheld | None:
        """The response is over: return how it is to be corrected; None: it is not."""
        found = self.ended(response_id)
        return None if found is None else self.withhold(found, response_id, item_id, heard=True)

    def withhold(self, found: Found, response_id: str, item_id: str, *, heard: bool) -> Withheld:
        """Tell of a withheld sentence; return what follows it: first a hint, then fixed words, then nothing."""
        self._n_corrected += 1
        words = self._denial(found) if self._n_corrected == 2 else ""
        hint = ""
        if self._n_corrected == 1:
            reason = (OTHER_CALL if self._has_done(found) else NO_CALL).format(tools=" or ".join(found.tools))
            hint = (HINT_HEARD if heard else HINT).format(sentence=found.sentence, reason=reason)
        self._emit(
            ServerCustomEvent(
                name=CLAIM_WITHHELD,
                value={
                    "item_id": item_id,
                    "response_id": response_id,
                    "sentence": found.sentence,
                    "tools": found.tools,
                    "correction": words,
                    "heard": heard,
                },
            )
        )
        return Withheld(hint, words)

    def _has_done(self, found: Found) -> bool:
        """Whether one of its tools has succeeded: then only the details are not right."""
        return any(deed.tool in found.tools and deed.state is DeedState.SUCCESS for deed in self.deeds())

    def _denial(self, found: Found) -> str:
        if self._has_done(found):
            return NOT_EXACTLY
        tools = {tool.name: tool for tool in self._known}
        return denial_of(tools[found.tools[0]], language_of(found.sentence)) if found.tools else ""

    # -- inside ----------------------------------------------------------------------------------------------------

    @property
    def _current(self) -> Claims:
        """The claims of the tools that there are now."""
        known = tuple(self._tools())
        if known != self._known:
            self._known, self._claims = known, Claims(known)
        return self._claims

    def _tools(self) -> Iterator[DeedTool]:
        seen: set[str] = set()
        for tool in _tools_of([self._toolkit, *self._deeds.toolkits]):
            if tool.name not in seen:
                seen.add(tool.name)
                yield tool
        for declared in self._declared():
            if declared.name not in seen:
                yield DeedTool(declared.name, declared.description)

    def _context(self, said: str) -> str:
        """Return what was said last: by the agent before, the user, and the agent now; "" if the user's is unknown."""
        messages = [item for item in self._conversation.items()[-_CONTEXT_ITEMS:] if _is_message(item)]
        places = [place for place, item in enumerate(messages) if item.role == "user"]
        latest = messages[max(0, places[-1] - 1) :] if places else messages
        texts = [self._conversation.spoken_text(item.id) for item in latest]
        if any(item.role == "user" and not text for item, text in zip(latest, texts, strict=True)):
            return ""
        return "\n".join([*texts, said])


def _tools_of(toolkits: Iterable[Toolkit]) -> Iterator[DeedTool]:
    """Yield the tools that change something; in place of a delegate, those of its agent."""
    for toolkit in toolkits:
        for tool in toolkit.tools.values():
            inner = getattr(tool.original_func, "toolkit", None)
            if isinstance(inner, Toolkit):
                yield from _tools_of([inner])
            elif tool.claims or not (tool.read_only or _is_of_toolkit(tool)):
                yield DeedTool(tool.name, str(tool.json_schema["function"].get("description", "")), tuple(tool.claims))


def _is_of_toolkit(tool: RegisteredToolFunction) -> bool:
    """Whether every toolkit brings it: the tools about background tools."""
    return isinstance(getattr(tool.original_func, "__self__", None), Toolkit)


def _is_message(item: Item) -> bool:
    return item.type == "message" and item.role in ("user", "assistant")


def _state_of(state: ToolResultState) -> DeedState:
    if state is ToolResultState.SUCCESS:
        return DeedState.SUCCESS
    return DeedState.RUNNING if state is ToolResultState.RUNNING else DeedState.FAILED
