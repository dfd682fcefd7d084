"""A scripted user: does a case's steps on a page, in order, and records them.

There is no polling: a condition is checked when an event comes, and at the moment for which the speaker's queue
predicts that it holds.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from realtime.client.session import Event
from realtime.testing.client.page import Page
from realtime.testing.client.sound import load
from realtime.testing.client.steps import (
    BargeIn,
    Drop,
    Leave,
    Loudspeaker,
    Network,
    Send,
    Silence,
    Speak,
    Step,
    Type,
    WaitFor,
    WaitUntilHeard,
)
from realtime.testing.errors import CaseError, ScriptFailure
from realtime.testing.record import Mark, Spoken

Outlook = bool | float | None
"""Whether a condition holds; else the loop's time of the next check, or None: after the next event."""
MOMENT_S = 1e-6
"""The shortest wait."""
SHOWN_EVENTS = 8
UNNOTICED_S = 2.0
"""Seconds after its end when speech without a turn counts as none: detectors need a fraction of that."""
_UNTOLD = ("server_audio_received", "agent_response_audio_delta", "agent_response_audio_transcript_delta")
"""Events that are too frequent to be listed."""


class User:
    """One user at a page that has joined. Files are relative to `folder`; `seed` decides added noise.

    Loads all audio at once: raises CaseError for unusable audio and for impossible steps. `spoken` and `marks` are what
    happened, in ms of the call.
    """

    def __init__(
        self, name: str, page: Page, steps: Sequence[Step], folder: str | Path | None = None, *, seed: int = 0
    ) -> None:
        self.name = name
        self.spoken: list[Spoken] = []
        self._page = page
        self._steps = tuple(steps)
        self._marks: list[Mark] = []
        self._sounds: dict[int, bytes] = {}
        for number, step in enumerate(self._steps, 1):
            _check(step, number, name, page)
            if isinstance(step, Speak | BargeIn):
                self._sounds[number] = load(
                    step if isinstance(step, Speak) else step.speech, folder, seed=seed + number
                )
        self._loop = asyncio.get_running_loop()
        self._speaks_until_s = 0.0
        self._exchange = _Exchange(page)
        self._look: Callable[[], None] | None = None
        self.on_step: Callable[[int], None] = lambda _: None
        """Called with each step's number, from 1, before the step."""
        page.on_change = self._changed

    @property
    def marks(self) -> list[Mark]:
        """The user's actions and incidents, in order of time."""
        flushed = [Mark(at_ms, self.name, "flushed", item_id) for at_ms, item_id in self._page.flushes]
        return sorted([*self._marks, *flushed], key=lambda mark: mark.ts_ms)

    async def run(self) -> None:
        """Do all steps. Raises ScriptFailure, which names the step, where one waited in vain or the call was over."""
        for number, step in enumerate(self._steps, 1):
            self.on_step(number)
            try:
                await self._do(step, number)
            except ScriptFailure as failure:
                place = f"step {number} of {self.name} ({_kind(step)})"
                raise ScriptFailure(f"{place}, at {self._page.ms():.0f} ms: {failure}{self._last_events()}") from None

    async def _do(self, step: Step, number: int) -> None:
        page = self._page
        if page.is_over and isinstance(step, Speak | BargeIn | Type | Send | Drop):
            raise ScriptFailure("the call is over")
        match step:
            case Speak():
                await self._speak(step, self._sounds[number])
            case BargeIn():
                await self._until(self._moment_of(step), step.timeout_ms, _describe(step))
                await self._speak(step.speech, self._sounds[number], barge_in=True)
            case Silence():
                await asyncio.sleep(step.ms / 1000)
            case Type():
                self._mark("typed", step.text)
                self._exchange.typed()
                page.send({"type": "client_text_append", "text": step.text})
            case WaitFor():
                await self._until(self._came(step), step.timeout_ms, _describe(step))
            case WaitUntilHeard():
                await self._until(self._is_heard, step.timeout_ms, "the answer was not heard to its end")
            case Drop():
                await self._drop(step)
            case Network():
                page.uplink.network = step
            case Loudspeaker():
                page.hear_loudspeaker(step)
            case Send():
                self._note_sent(step.event)
                page.send(step.event)
            case Leave():
                await page.leave()
                self._mark("left")

    def _note_sent(self, event: Event) -> None:
        match event.get("type"):
            case "client_text_append":
                self._exchange.typed()
            case "client_response_create":
                self._exchange.requested(beside_another=self._is_on_its_way())
            case "client_response_cancel":
                self._exchange.cancelled()

    async def _speak(self, step: Speak, pcm: bytes, *, barge_in: bool = False) -> None:
        on_its_way = self._is_on_its_way()
        begin_s, end_s = self._page.say(pcm)
        self._speaks_until_s = end_s
        self.spoken.append(Spoken(self.name, self._page.ms(begin_s), self._page.ms(end_s), step.text, barge_in))
        self._exchange.spoke(beside_another=on_its_way)
        if step.wait:
            await asyncio.sleep(end_s - self._loop.time())

    async def _drop(self, step: Drop) -> None:
        self._page.lose(noticed=step.noticed)
        self._mark("dropped")
        await asyncio.sleep(step.away_ms / 1000)
        try:
            await self._page.come_back()
        except ConnectionRefusedError as error:
            raise ScriptFailure(str(error)) from None
        self._speaks_until_s = max(self._speaks_until_s, self._loop.time())
        self._mark("returned")

    def _mark(self, what: Any, text: str = "") -> None:
        self._marks.append(Mark(self._page.ms(), self.name, what, text))

    # -- waiting ---------------------------------------------------------------------------------------------------

    async def _until(self, outlook: Callable[[], Outlook], timeout_ms: int, missing: str) -> None:
        """Wait until the condition holds.

        Raises ScriptFailure after the timeout, or when it can no longer hold; the outlook may raise it too.
        """
        held: asyncio.Future[None] = self._loop.create_future()
        again: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal again
            if again is not None:
                again.cancel()
                again = None
            if held.done():
                return
            try:
                seen = outlook()
            except ScriptFailure as failure:
                held.set_exception(failure)
                return
            if seen is True:
                held.set_result(None)
            elif isinstance(seen, float):
                # A fraction of a nanosecond is no time to wait for: the clock would not advance.
                again = self._loop.call_at(max(seen, self._loop.time() + MOMENT_S), look)
            elif self._page.is_over:
                held.set_exception(ScriptFailure(f"{missing}, and the call is over"))

        def give_up() -> None:
            if not held.done():
                held.set_exception(ScriptFailure(f"{missing} within {timeout_ms} ms"))

        patience = self._loop.call_later(timeout_ms / 1000, give_up)
        self._look = look
        try:
            look()
            await held
        finally:
            self._look = None
            patience.cancel()
            if again is not None:
                again.cancel()

    def _changed(self) -> None:
        self._exchange.read_on()
        if self._look is not None:
            self._look()

    def _came(self, step: WaitFor) -> Callable[[], Outlook]:
        at = len(self._page.received)

        def outlook() -> Outlook:
            nonlocal at
            fresh = [one.event for one in self._page.received[at:]]
            at += len(fresh)
            return any(event["type"] == step.event and _matches(step.where, event) for event in fresh) or None

        return outlook

    def _is_heard(self) -> Outlook:
        now = self._loop.time()
        if self._speaks_until_s > now:
            return self._speaks_until_s
        if self._exchange.awaits_turn:
            network = self._page.uplink.network
            certain_at = self._speaks_until_s + UNNOTICED_S + (network.delay_ms + network.jitter_ms) / 1000
            if certain_at > now:
                return certain_at
            if not self._exchange.pass_over():
                raise ScriptFailure("what was spoken began no turn, and no answer was on its way")
        if not self._exchange.is_answered():
            return None
        silent_at = self._page.ear.silent_at
        return silent_at if silent_at is not None and silent_at > now else silent_at is not None

    def _is_on_its_way(self) -> bool:
        """Whether a response is pending, or not heard to its end."""
        self._exchange.read_on()
        if not self._exchange.is_answered():
            return self._exchange.is_owed
        silent_at = self._page.ear.silent_at
        return silent_at is None or silent_at > self._loop.time()

    def _moment_of(self, step: BargeIn) -> Callable[[], Outlook]:
        if step.on_tool is not None:
            return lambda: self._exchange.has_called(step.on_tool) or None
        if step.at_word is not None:
            word = re.compile(rf"(?<!\w){re.escape(step.at_word)}(?!\w)", re.IGNORECASE)
            return lambda: self._word_heard(word)
        assert step.after_ms is not None
        after_ms = step.after_ms
        return lambda: self._heard_at(self._exchange.items(), after_ms)

    def _heard_at(self, items: Sequence[str], ms: int) -> Outlook:
        at_s = self._page.ear.heard_at(items, ms)
        return at_s if at_s is None or at_s > self._loop.time() + 1e-9 else True

    def _word_heard(self, word: re.Pattern[str]) -> Outlook:
        for item_id in self._exchange.items():
            words = self._page.ear.speech[item_id].words
            found = word.search(words.text)
            if found is None:
                continue
            low, high = 0, int(words.audio_ms) + 1
            while low < high:
                middle = (low + high) // 2
                if len(words.played_text(middle)) >= found.end():
                    high = middle
                else:
                    low = middle + 1
            return self._heard_at([item_id], low) if low <= words.audio_ms else None
        return None

    def _last_events(self) -> str:
        shown = [one for one in self._page.received if one.event["type"] not in _UNTOLD][-SHOWN_EVENTS:]
        lines = [f"\n  {one.at_ms:>8.0f} ms  {one.event['type']} {_ids(one.event)}".rstrip() for one in shown]
        return f"; the last events were{''.join(lines)}" if lines else ""


@dataclass(slots=True)
class _Response:
    """A response of an agent. `born` is its place among the events of the page."""

    born: int
    status: str | None = None
    items: dict[str, None] = field(default_factory=dict)
    open_tools: set[str] = field(default_factory=set)
    result_at: int = -1


class _Exchange:
    """Follows who spoke last, and which events are the response to that."""

    def __init__(self, page: Page) -> None:
        self._cancels = False
        """Whether the user cancels by a button: a response that never sounded is then over too."""
        self._page = page
        self._read = 0
        self._acted_at = 0
        """The place among the events of the user's last action."""
        self._answered_from = 0
        """The place after which responses belong to it."""
        self._spoke = False
        """Whether it was speech that may or may not be a turn."""
        self._beside_another = False
        """Whether another response was pending when it began."""
        self._requested_at: int | None = None
        """Place of a request during a pending response, which may answer it."""
        self._turn_is_open = False
        self._turn_item: str | None = None
        self._responses: dict[str, _Response] = {}
        self._owner: dict[str, str] = {}
        """The response of each tool call."""
        self._called: list[tuple[int, str]] = []

    def typed(self) -> None:
        """Note that the user types: a whole turn, which needs no confirmation by the server."""
        self._act()
        self._answered_from = self._read

    def requested(self, *, beside_another: bool) -> None:
        """Note that the user requests a response.

        The server uses a pending one that was not heard yet; otherwise it interrupts that and makes another.
        """
        if beside_another and not (self._spoke or self._turn_is_open):
            self._act()
            self._requested_at = self._read
        else:
            self.typed()

    def spoke(self, *, beside_another: bool) -> None:
        """Note that the user begins to speak. It is a turn once the server says so."""
        self._act()
        self._spoke, self._beside_another = True, beside_another

    def cancelled(self) -> None:
        """Note that the user cancels the response by a button."""
        self._cancels, self._requested_at = True, None

    def _act(self) -> None:
        self.read_on()
        self._acted_at = self._read
        self._spoke, self._requested_at = False, None

    @property
    def awaits_turn(self) -> bool:
        """Whether the user spoke, and no turn has begun."""
        return self._spoke and not self._turn_is_open

    @property
    def is_owed(self) -> bool:
        """Whether an expected response is missing."""
        if self.awaits_turn:
            return self._beside_another
        return self._turn_is_open or self._answered_from > 0 or bool(self._responses)

    def pass_over(self) -> bool:
        """Treat the speech as no turn; return whether a response is still to be awaited."""
        self._spoke = False
        return self._beside_another or any(one.born >= self._acted_at for one in self._responses.values())

    def is_answered(self) -> bool:
        """Whether the response is complete."""
        answers = self._answers()
        if not answers or any(one.status is None or one.open_tools for one in answers):
            return False
        if max(one.result_at for one in answers) > max(one.born for one in answers):
            # The model has the tools' results, and will continue.
            return False
        return self._cancels or any(one.status != "cancelled" or one.items for one in answers)

    def items(self) -> list[str]:
        """The spoken items of the response, in order."""
        return [item_id for one in self._answers() for item_id in one.items]

    def has_called(self, tool: str | None) -> bool:
        """Whether the tool was called since the user's last action."""
        return any(at >= self._acted_at and name == tool for at, name in self._called)

    def read_on(self) -> None:
        """Read the new events."""
        received = self._page.received
        while self._read < len(received):
            self._take(received[self._read].event)
            self._read += 1

    def _answers(self) -> list[_Response]:
        if self._turn_is_open or self._spoke:
            return []
        return [one for one in self._responses.values() if one.born >= self._answered_from]

    def _take(self, event: Event) -> None:
        match event["type"]:
            case "agent_response_audio_delta":
                response = self._responses.get(event["response_id"])
                if response is not None:
                    response.items[event["item_id"]] = None
            case "agent_input_started":
                self._turn_is_open = True
            case "agent_input_done":
                self._turn_over(event["item_id"])
            case "agent_input_committed" if self._turn_is_open or event["item_id"] != self._turn_item:
                self._turn_over(event["item_id"])
            case "agent_input_cleared":
                self._turn_is_open = False
            case "server_audio_flush":
                self._answer_anew()
            case "agent_response_created":
                if any(one.open_tools for one in self._answers()):
                    self._answer_anew()
                self._responses[event["response_id"]] = _Response(self._read)
            case "agent_response_done":
                response = self._responses.get(event["response_id"])
                if response is not None:
                    response.status = event.get("status") or "completed"
                    if response.status == "cancelled":
                        self._answer_anew()
            case "agent_response_tool_use_done":
                call_id, name = event["tool_use"]["id"], event["tool_use"]["name"]
                self._called.append((self._read, name))
                response = self._responses.get(event["response_id"])
                if response is not None:
                    self._owner[call_id] = event["response_id"]
                    response.open_tools.add(call_id)
            case "agent_response_tool_result":
                owner = self._responses.get(self._owner.get(event["tool_result"]["id"], ""))
                if owner is not None:
                    owner.open_tools.discard(event["tool_result"]["id"])
                    owner.result_at = self._read

    def _answer_anew(self) -> None:
        """Discard the response that was pending when the user requested one."""
        if self._requested_at is not None:
            self._answered_from, self._requested_at = self._requested_at, None

    def _turn_over(self, item_id: str) -> None:
        self._turn_is_open = self._spoke = False
        self._turn_item = item_id
        self._answered_from = self._read + 1


def _check(step: Step, number: int, name: str, page: Page) -> None:
    """Raise CaseError for an impossible step."""
    match step:
        case Network() if not (0 <= step.loss <= 1 and step.jitter_ms >= 0 and step.delay_ms >= 0):
            problem, remedy = "loss is a share from 0 to 1, times are not negative", "Correct the numbers"
        case Loudspeaker() if step.delay_ms < 10 or step.decay_ms < 0:
            problem, remedy = "an echo is 10 ms late at least, and decays in 0 ms or more", "Correct the numbers"
        case Silence(ms=ms) | Drop(away_ms=ms) if ms < 0:
            problem, remedy = f"{ms} ms cannot be waited", "Give 0 or more"
        case Drop() if page.client == "agentscope1":
            problem, remedy = "a page of AgentScope 1.x does not come back", "Use the client realtime.v1 or json"
        case _:
            return
    raise CaseError(_kind(step), problem, remedy, place=f"step {number} of {name}")


def _kind(step: Step) -> str:
    return str(step.__struct_config__.tag)


def _describe(step: BargeIn | WaitFor) -> str:
    """Describe what did not happen."""
    if isinstance(step, WaitFor):
        fields = f" with {step.where}" if step.where else ""
        return f"no {step.event}{fields} came"
    if step.on_tool is not None:
        return f"the tool {step.on_tool!r} was not called"
    if step.at_word is not None:
        return f"the word {step.at_word!r} was not heard"
    return f"{step.after_ms} ms of the answer were not heard"


def _matches(wanted: Any, found: Any) -> bool:
    """Whether `found` matches: objects may hold more than `wanted`; all else is equal."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and _matches(wanted[key], found[key]) for key in wanted)
    return bool(wanted == found)


def _ids(event: Event) -> str:
    shown = ("item_id", "response_id", "status", "code", "reason", "n_samples")
    return " ".join(f"{key}={event[key]}" for key in shown if event.get(key) is not None)
