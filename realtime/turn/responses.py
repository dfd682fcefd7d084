"""The ledger of responses: requested, running, owed, cancelled or doubted, with every deadline that applies to them.

Pure: time is an argument, in monotonic seconds. `Ledger` is what one call wants of its model, `ServiceLedger` what one
provider connection is at work on, and `RoomLedger` what a room has passed on of one agent's responses.

A model answers requests in their order and names none of them, so a response that begins belongs to the request that
waits longest, also where nothing wants that one any more. A request that the model never answers would shift all later
ones, so it is passed over once it counts as lost: by its age, or because a room has given up. Its response may still
come late: then it is the one that begins when nothing else is awaited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from realtime.event.base import INITIATIVE, ResponseOverrides

UNANSWERED_S = 60.0
"""Time after which a request without a response counts as lost.

Only once another one follows it. Slow models have begun by then, at their first response too.
"""
GIVEN_UP_S = 15.0
"""Age at which a room counts an unanswered request as lost.

A younger one is slow. Rooms wait a little longer than this.
"""
FORGOTTEN_S = 2 * UNANSWERED_S
"""Age from which a new response does not answer a passed-over request."""
ERROR_BEFORE_LOSS_S = 5.0
"""An error this soon before a lost link was about the link."""
LOST_REQUEST_S = 10.0
"""A single-response provider has lost a request after this silence."""
SILENCE_S = 60.0
"""Silence that shows a lost link if the provider owes a response."""
ANSWER_S = 20.0
"""Seconds that an inactive agent of a room may hold the floor.

Inactive: its model sends nothing and none of its tools runs.
"""
REFUSED_S = 3.0
"""The same after a model error without a response."""
FAILED_S = 1.0
"""How long after a response's failure a room asks again."""
SORRY = "Sorry, I did not catch that."
"""What an agent says to a turn without words."""
UNCLEAR_S = 1.2
"""How long the words of an interrupting turn may stay unknown.

Its voice ended some 0.5 s before the turn: no silence lasts 2 s.
"""


@dataclass(slots=True)
class Request:
    """A request that the model has not begun to answer."""

    asked_at: float
    metadata: dict[str, Any] | None = None
    """What the client gave with it."""
    wanted: bool = True
    lost: bool = False
    """Passed over while another one waits. Never wanted."""

    def lose(self) -> None:
        """Pass it over."""
        self.wanted, self.lost = False, True


@dataclass(slots=True)
class Response:
    """A response from its beginning until all its tools have answered."""

    id: str
    out_of_band: bool = False
    """Outside the conversation."""
    metadata: dict[str, Any] | None = None
    """What the client gave with its request."""
    cancelled: bool = False
    """Interrupted or unwanted: nothing that still arrives of it counts."""
    done: bool = False
    calls: set[str] = field(default_factory=set)
    """Ids of its tool calls."""
    unanswered: set[str] = field(default_factory=set)
    """Those of them without a result."""
    by_client: bool = False
    """The client has answered a call."""
    continues: bool = False
    """Whether the model continues, with `overrides`, once all calls are answered."""
    overrides: ResponseOverrides | None = None


def initiative_of(metadata: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what marks a response that the agent began itself; None for an answer."""
    return {INITIATIVE: metadata[INITIATIVE]} if metadata is not None and INITIATIVE in metadata else None


class After(StrEnum):
    """What follows a response."""

    NOTHING = "nothing"
    GO_ON = "go_on"
    """All its tools have answered: the model speaks on."""
    END = "end"
    """The client asks for what comes after its tools: the reply is over for now."""


class Ledger:
    """All responses of one call."""

    def __init__(self) -> None:
        self.active: Response | None = None
        """The response of the conversation that runs and counts."""
        self.overrides: ResponseOverrides | None = None
        """Those of the latest request of this turn."""
        self.tool_auto_response = True
        """The model continues by itself after results of tools in a client."""
        self._responses: dict[str, Response] = {}
        self._waiting: list[Request] = []
        """Requests in order; unwanted ones come first."""
        self._is_owed = False
        """A response is still due after a lost link."""
        self._n_coming = 0
        """Unrequested responses due after a lost link, to turns that are replayed."""
        self._doubted_at: float | None = None
        """When an error that named no request was taken to refuse one; None where that no longer matters."""
        self._continues = False
        """The next response continues the reply: after tools or a lost link."""
        self._last_id: str | None = None
        self._reply_id: str | None = None
        """The first response of the reply, which stands for all of them."""
        self._initiative: dict[str, Any] | None = None
        """The metadata of a reply that the agent began itself: all its responses have them."""
        self._asking: frozenset[str] = frozenset()
        """Calls that wait for a spoken answer of the user: they hold up no turn, and no interruption drops them."""

    def configure(self, *, tool_auto_response: bool) -> None:
        """Set whether the model continues by itself after client tools."""
        self.tool_auto_response = tool_auto_response

    # -- questions -------------------------------------------------------------------------------------------------

    @property
    def responding(self) -> bool:
        """Whether a reply is on its way: requested, running, owed, or waiting for its tools."""
        return self.active is not None or self._is_owed or self.is_requested or self.waits_for_tools

    @property
    def is_replying(self) -> bool:
        """The same, without the calls that wait for a spoken answer."""
        return (
            self.active is not None
            or self._is_owed
            or self.is_requested
            or any(one.unanswered - self._asking and not one.cancelled for one in self._responses.values())
        )

    @property
    def is_requested(self) -> bool:
        """Whether a wanted request is unanswered, even if it counts as lost."""
        return bool(self._waiting) and self._waiting[-1].wanted

    @property
    def waits_for_tools(self) -> bool:
        """Whether a response that counts waits for results; another one follows them."""
        return any(one.unanswered and not one.cancelled for one in self._responses.values())

    def is_current(self, response_id: str, unplayed_ms: int) -> bool:
        """Whether the reply with this response is under way or still played.

        It runs, waits for its tools or for what follows them, or it is the last and not played to its end.

        The id of a reply's first response stands for the whole reply. `unplayed_ms` is how much audio is unplayed.
        """
        if response_id == self._reply_id and self._last_id is not None:
            if self._continues and self.is_requested:
                return True  # between two of its responses
            response_id = self._last_id
        if self.active is not None:
            return self.active.id == response_id
        response = self._responses.get(response_id)
        at_work = response is not None and bool(response.unanswered) and not response.cancelled
        return at_work or (response_id == self._last_id and unplayed_ms > 0)

    def runs_beside(self, response_id: str) -> bool:
        """Whether this response is outside the conversation and still runs."""
        response = self._responses.get(response_id)
        return response is not None and response.out_of_band and not response.done

    def is_cancelled(self, response_id: str) -> bool:
        """Whether this response, which runs or has just begun, does not count."""
        response = self._responses.get(response_id)
        return response is not None and response.cancelled

    def knows_call(self, call_id: str) -> bool:
        """Whether an unfinished response has a tool call of this id."""
        return any(call_id in one.calls for one in self._responses.values())

    # -- requests --------------------------------------------------------------------------------------------------

    def request(self, now: float, overrides: ResponseOverrides | None = None) -> None:
        """Note that the model is asked for a response."""
        self._waiting.append(Request(now, overrides.metadata if overrides is not None else None))
        self._doubted_at = None
        self.overrides = overrides

    def renounce_unanswered(self, now: float) -> None:
        """Stop wanting the requests that the model seems to have lost."""
        for request in self._waiting:
            request.wanted = request.wanted and now - request.asked_at < UNANSWERED_S

    def give_up(self, now: float) -> None:
        """A room stops waiting: pass over the requests that are not merely slow."""
        for request in self._waiting:
            if now - request.asked_at >= GIVEN_UP_S:
                request.lose()

    def refuse(self, now: float, *, named: bool) -> bool:
        """The model reports an error; `named` if it says that it refuses a request.

        An error that names none refuses the awaited request while nothing runs. A false alarm does no harm: a response
        that comes all the same belongs to that request, and the request is repeated if the error was the last word of
        a link. True: no reply is on its way any more.
        """
        if named and self._settle_unwanted(now) is not None:
            return False
        if not self.is_requested or not (named or self.active is None):
            return False
        self._settle_wanted()
        if self.responding:
            return False
        self._doubted_at = None if named else now
        return True

    def new_turn(self) -> None:
        """What the model says from now on replies to something new."""
        self.overrides = None
        self._is_owed, self._n_coming = False, 0
        self._continues = False
        self._doubted_at = None

    # -- responses -------------------------------------------------------------------------------------------------

    def begin(
        self, response_id: str, now: float, *, out_of_band: bool = False, metadata: dict[str, Any] | None = None
    ) -> Response:
        """A response begins. It is `cancelled` if nothing wants it."""
        response = self._responses[response_id] = Response(response_id, out_of_band, metadata)
        if out_of_band:
            return response
        request = self._settle_unwanted(now)
        response.cancelled = request is not None or (self._n_coming > 0 and not self._is_owed)
        # Of several turns, of which one is still to be answered, a model may make one: its first response counts.
        self._n_coming = 0 if self._is_owed else max(0, self._n_coming - 1)
        self._is_owed = False
        self._doubted_at = None
        if not response.cancelled:
            request = self._settle_wanted()
            self.active, self._last_id = response, response_id
        if metadata is None and request is not None:
            response.metadata = request.metadata  # not every model repeats it
        if not response.cancelled:
            if self._continues:
                response.metadata = response.metadata or self._initiative
            else:
                self._reply_id = response_id
                self._initiative = initiative_of(response.metadata)
            self._continues = False
        return response

    def continue_reply(self) -> None:
        """The next response belongs to the reply that there is: it corrects it."""
        self._continues = True

    def resume(self, response_id: str, metadata: dict[str, Any]) -> Response:
        """The rest of a cut reply begins, unrequested."""
        self.active = self._responses[response_id] = Response(response_id, metadata=metadata)
        self._last_id = self._reply_id = response_id
        return self.active

    def cancel(self, response_id: str) -> bool:
        """Nothing of this response counts. False where that is known, or the id is not."""
        response = self._responses.get(response_id)
        if response is None or response.cancelled:
            return False
        response.cancelled = True
        if self.active is response:
            self.active = None
        return True

    def cancel_all(self) -> None:
        """Drop everything of the conversation that is requested, running or owed."""
        for response in self._responses.values():
            waits = response.done and bool(response.unanswered & self._asking)
            response.cancelled = response.cancelled or not (response.out_of_band or waits)
        for request in self._waiting:
            request.wanted = False
        self.active = None
        self._is_owed = False
        self._doubted_at = None

    def finish(self, response: Response) -> None:
        """The model has ended this response."""
        response.done = True

    def settle(self, response: Response) -> After:
        """Decide what follows a response whose tools have answered."""
        if not response.done:
            return After.NOTHING
        if self.active is response:
            self.active = None
        if response.unanswered:
            return After.NOTHING
        self._responses.pop(response.id, None)
        if not response.calls or response.cancelled:
            return After.NOTHING
        if self.tool_auto_response or response.continues or not response.by_client:
            self._continues, self._initiative = True, initiative_of(response.metadata)
            return After.GO_ON
        return After.NOTHING if self.responding else After.END

    # -- tools -----------------------------------------------------------------------------------------------------

    def ask_aloud(self, call_ids: Iterable[str]) -> None:
        """From now on these calls wait for a spoken answer, no others."""
        self._asking = frozenset(call_ids)

    def call(self, response: Response, call_id: str) -> None:
        """The response asks for a tool."""
        response.calls.add(call_id)
        response.unanswered.add(call_id)

    def calling(self, call_id: str) -> Response | None:
        """Return the response that waits for the result of this call."""
        return next((one for one in self._responses.values() if call_id in one.unanswered), None)

    def answer(self, response: Response, call_id: str) -> None:
        """The call has a result."""
        response.unanswered.discard(call_id)

    def answered_by_client(self, call_id: str) -> None:
        """The client has delivered the result of this call."""
        for response in self._responses.values():
            response.by_client = response.by_client or call_id in response.unanswered

    def continue_after_tools(self, overrides: ResponseOverrides | None) -> Response | None:
        """Let the next response follow the one that waits for client tools.

        Returns that one; None where the model goes on by itself, or no such response waits.
        """
        if self.tool_auto_response:
            return None
        for response in self._responses.values():
            if (response.unanswered or response.by_client) and not response.cancelled:
                response.continues, response.overrides = True, overrides
                return response
        return None

    # -- a lost link -----------------------------------------------------------------------------------------------

    def broken_off(self, response: Response) -> None:
        """The link was lost within this response: the rest is owed, unless it called tools and goes on after them."""
        self._is_owed = self._is_owed or not response.calls
        self._continues = True

    def lose_link(self, now: float, *, owed: bool, n_coming: int) -> bool:
        """Every request went with the link. Returns whether a response is owed.

        `owed`: the model was about to answer by itself. `n_coming`: it hears so many turns again and will answer each.
        """
        doubted = self._doubted_at is not None and now - self._doubted_at <= ERROR_BEFORE_LOSS_S
        self._is_owed = self._is_owed or self.is_requested or ((owed or doubted) and not self.responding)
        self._doubted_at = None
        self._n_coming = n_coming
        self._waiting.clear()
        return self._is_owed

    def restore_link(self) -> bool:
        """The link is back. True: the owed response is to be requested now."""
        if not self._is_owed or self._n_coming:
            return False
        self._is_owed = False
        return True

    def turn_repeated(self) -> bool:
        """A model that answers when asked has heard a turn again. True: the owed response is to be requested now."""
        self._n_coming = max(0, self._n_coming - 1)
        return self.restore_link()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _settle_unwanted(self, now: float) -> Request | None:
        """Remove the request that an unwanted response or refusal belongs to."""
        for request in self._waiting[:-1]:
            if now - request.asked_at >= UNANSWERED_S:
                request.lose()
        self._waiting = [one for one in self._waiting if not (one.lost and now - one.asked_at >= FORGOTTEN_S)]
        place = next((place for place, one in enumerate(self._waiting) if not one.lost), 0)
        if not self._waiting or self._waiting[place].wanted:
            return None
        return self._waiting.pop(place)

    def _settle_wanted(self) -> Request | None:
        """Take out and return the awaited request, if there is one."""
        place = next((place for place, one in enumerate(self._waiting) if one.wanted), None)
        return None if place is None else self._waiting.pop(place)


class ServiceLedger:
    """What one provider connection is at work on."""

    def __init__(self) -> None:
        self._asked_at: float | None = None
        """Since when a requested response has not begun."""
        self._is_cancelling = False
        self._running: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        """The ids of the responses that run, in order."""
        return iter([*self._running])

    @property
    def is_owed(self) -> bool:
        """Whether the service has to send something: a response is requested or runs."""
        return self._asked_at is not None or bool(self._running)

    def may_request(self, now: float) -> bool:
        """Whether a service with one response at a time accepts another request.

        It does once the response before has begun and was not cancelled, or was cancelled and is done. A request that
        nothing follows for `LOST_REQUEST_S` holds back none.
        """
        return not self._is_cancelling and (self._asked_at is None or now - self._asked_at >= LOST_REQUEST_S)

    def request(self, now: float) -> None:
        """The service is asked for a response."""
        self._asked_at = now

    def begin(self, response_id: str, *, alone: bool = False) -> None:
        """A response begins; `alone` if the service makes one at a time."""
        if alone:
            self._running.clear()
        self._running[response_id] = None
        self._asked_at = None

    def cancel(self, response_id: str | None) -> None:
        """The service has to stop this response; None: the running one."""
        if response_id is None or response_id in self._running:
            self._is_cancelling = self.is_owed

    def end(self, response_id: str) -> None:
        """A response is done."""
        if response_id in self._running:
            del self._running[response_id]
            self._is_cancelling = False

    def refuse(self) -> None:
        """An error came: it may refuse the request. If not, the service refuses the next one."""
        self._asked_at, self._is_cancelling = None, False

    def clear(self) -> None:
        """The link is lost, and everything with it."""
        self.refuse()
        self._running.clear()


class Passed(StrEnum):
    """What a room has passed on of a response that ends."""

    NOTHING = "nothing"
    """The room had not asked for it, or its model was lost."""
    UP_TO_DROP = "up_to_drop"
    """The agent lost the floor before its end."""
    ALL = "all"


@dataclass(slots=True)
class _OpenInRoom:
    """A response whose end the room has not passed on."""

    solicited: bool
    """Whether the room had asked for it."""
    dropped: bool = False
    """Whether the agent lost the floor within it."""


class RoomLedger:
    """What a room has passed on of one agent's responses.

    A response stays open here until the room has passed on its end, which for a cut one is after the model's end.
    """

    def __init__(self) -> None:
        self.is_requested = False
        """Whether the agent was asked for a response that has not begun."""
        self.has_failed = False
        """Whether the last response of this turn failed at its provider."""
        self._open: dict[str, _OpenInRoom] = {}

    @property
    def is_running(self) -> bool:
        """Whether a response is open that was not dropped."""
        return any(not one.dropped for one in self._open.values())

    @property
    def is_saying(self) -> bool:
        """Whether a response of this turn is open."""
        return any(one.solicited and not one.dropped for one in self._open.values())

    def is_unsolicited(self, response_id: str | None) -> bool:
        """Whether the room had not asked for this response."""
        one = self._open.get(response_id or "")
        return one is not None and not one.solicited

    def is_dropped(self, response_id: str | None) -> bool:
        """Whether the agent lost the floor within this response."""
        one = self._open.get(response_id or "")
        return one is not None and one.dropped

    def new_turn(self) -> None:
        """The agent takes the floor."""
        self.has_failed = False

    def request(self) -> None:
        """The agent is asked for a response."""
        self.is_requested = True

    def begin(self, response_id: str, *, solicited: bool) -> None:
        """A response begins."""
        self._open[response_id] = _OpenInRoom(solicited)
        if solicited:
            self.is_requested = False

    def drop_open(self) -> None:
        """The agent loses the floor."""
        for one in self._open.values():
            one.dropped = True

    def end(self, response_id: str) -> Passed:
        """A response ends; returns what the room has passed on of it."""
        one = self._open.pop(response_id, None)
        if one is None or not one.solicited:
            return Passed.NOTHING
        return Passed.UP_TO_DROP if one.dropped else Passed.ALL

    def fail(self, *, failed: bool = True) -> None:
        """Note whether the last response failed at its provider."""
        self.has_failed = failed

    def clear(self) -> None:
        """The model was lost, and its responses with it."""
        self._open.clear()
