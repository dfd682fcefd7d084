"""Requests for a response to a service that makes one at a time, before a round trip is over and after. No sockets."""

from collections import deque
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import ResponseOverrides
from realtime.event.model import (
    ModelErrorEvent,
    ModelEvent,
    ModelReconnectingEvent,
    ModelResponseCreatedEvent,
    ModelResponseDoneEvent,
)
from realtime.model._one_request import OneRequest
from realtime.model.base import ModelInput, Profile, ResponseCancel, ResponseCreate
from realtime.runtime import Runtime
from realtime.turn.responses import LOST_REQUEST_S


def ask(instructions: str) -> ResponseCreate:
    return ResponseCreate(ResponseOverrides(instructions=instructions))


def created(response_id: str) -> ModelResponseCreatedEvent:
    return ModelResponseCreatedEvent(response_id=response_id)


def done(response_id: str) -> ModelResponseDoneEvent:
    return ModelResponseDoneEvent(response_id=response_id, status="cancelled")


@dataclass
class Service:
    """The connection below: what reaches it, and a clock that is set by hand."""

    sent: list[ModelInput] = field(default_factory=list)
    now_s: float = 100.0

    @property
    def profile(self) -> Profile:
        raise NotImplementedError

    def send(self, message: ModelInput) -> None:
        self.sent.append(message)

    async def close(self) -> None:
        return

    def connection(self, told: list[ModelEvent] | None = None) -> OneRequest:
        connection = OneRequest((told if told is not None else []).append, Runtime(now=lambda: self.now_s))
        connection.below = self
        return connection


def test_a_second_request_within_the_round_trip_waits_until_the_first_answer_is_cancelled() -> None:
    service = Service()
    connection = service.connection()
    connection.send(ask("first"))
    connection.send(ask("second"))
    assert service.sent == [ask("first")]
    connection.send(ResponseCancel())
    connection.report(created("resp_1"))
    assert service.sent == [ask("first"), ResponseCancel()]
    connection.report(done("resp_1"))
    assert service.sent[2:] == [ask("second")]


def test_who_cancels_the_first_answer_as_it_begins_has_the_second_asked_for_behind_it() -> None:
    service = Service()

    def cancel_first(event: ModelEvent) -> None:
        if event == created("resp_1"):
            connection.send(ResponseCancel("resp_1"))

    connection = OneRequest(cancel_first, Runtime(now=lambda: 0.0))
    connection.below = service
    connection.send(ask("first"))
    connection.send(ask("second"))
    connection.send(ask("third"))
    connection.report(created("resp_1"))
    connection.report(done("resp_1"))
    assert service.sent == [ask("first"), ResponseCancel("resp_1"), ask("second")], "one at a time"
    connection.report(created("resp_2"))
    connection.send(ResponseCancel("resp_2"))
    connection.report(done("resp_2"))
    assert service.sent[3:] == [ask("third"), ResponseCancel("resp_2")]


def test_a_request_that_was_refused_holds_nothing_back() -> None:
    service, told = Service(), list[ModelEvent]()
    connection = service.connection(told)
    connection.send(ask("first"))
    connection.send(ResponseCancel())
    connection.send(ask("second"))
    refusal = ModelErrorEvent(error_type="invalid_request_error", code="bad_response_create", message="No.")
    connection.report(refusal)
    assert told == [refusal]
    assert service.sent == [ask("first"), ResponseCancel(), ask("second")]


def test_a_request_that_nothing_follows_is_waited_for_a_while_only() -> None:
    service = Service()
    connection = service.connection()
    connection.send(ask("first"))
    service.now_s += LOST_REQUEST_S
    connection.send(ask("second"))
    assert service.sent == [ask("first"), ask("second")]


def test_what_was_held_goes_with_the_link() -> None:
    """Whoever asked is told of the loss and asks anew, once."""
    service = Service()
    connection = service.connection()
    connection.send(ask("first"))
    connection.send(ask("second"))
    connection.report(ModelReconnectingEvent(attempt=1, retry_after_ms=1, reason="link_lost"))
    connection.send(ask("anew"))
    assert service.sent == [ask("first"), ask("anew")]


def test_a_request_beside_the_conversation_waits_for_nothing() -> None:
    service = Service()
    connection = service.connection()
    beside = ResponseCreate(ResponseOverrides(conversation="none"))
    connection.send(ask("first"))
    connection.send(beside)
    connection.report(ModelResponseCreatedEvent(response_id="resp_b", conversation="none"))
    connection.send(ask("second"))
    assert service.sent == [ask("first"), beside]


@given(st.lists(st.sampled_from(["ask", "client", "service", "finish"]), max_size=60))
def test_the_service_refuses_nothing_and_the_last_request_is_answered(steps: list[str]) -> None:
    """A user who changes their mind again and again, at any pace, before a service that refuses what is too much."""
    to_service: deque[ModelInput] = deque()
    to_client: deque[ModelEvent] = deque()
    refused: list[ModelInput] = []
    answered: list[str] = []
    running: list[str] = []
    wanted = 0
    n_asked = n_begun = 0

    class Below(Service):
        def send(self, message: ModelInput) -> None:
            to_service.append(message)

    def follow(event: ModelEvent) -> None:
        """As an agent does: answers come in the order of the requests, and only the last one is wanted."""
        nonlocal n_begun
        if isinstance(event, ModelResponseCreatedEvent):
            n_begun += 1
            if n_begun < wanted:
                connection.send(ResponseCancel(event.response_id))
        elif isinstance(event, ModelResponseDoneEvent) and event.status == "completed":
            answered.append(event.response_id)

    def serve(message: ModelInput) -> None:
        nonlocal n_asked
        if isinstance(message, ResponseCreate):
            if running:
                refused.append(message)
                return
            n_asked += 1
            running.append(f"resp_{n_asked}")
            to_client.append(created(running[0]))
        elif isinstance(message, ResponseCancel) and message.response_id in running:
            to_client.append(done(running.pop()))

    connection = OneRequest(follow, Runtime(now=lambda: 0.0))
    connection.below = Below()

    def step(what: str) -> None:
        nonlocal wanted
        if what == "ask":
            if n_begun == wanted:
                connection.send(ResponseCancel(f"resp_{n_begun}"))
            wanted += 1
            connection.send(ResponseCreate())
        elif what == "client" and to_client:
            connection.report(to_client.popleft())
        elif what == "service" and to_service:
            serve(to_service.popleft())
        elif what == "finish" and running and running[0] == f"resp_{wanted}":
            to_client.append(ModelResponseDoneEvent(response_id=running.pop()))

    for what in steps:
        step(what)
    for _ in range(4 * len(steps) + 4):
        step("service")
        step("client")
    step("finish")
    step("client")
    assert refused == []
    assert answered[-1:] == ([f"resp_{wanted}"] if wanted else [])
