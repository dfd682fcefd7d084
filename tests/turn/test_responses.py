"""The ledger of responses: which request a response answers, what is on its way, what a lost link leaves owed."""

import pytest

from realtime.event.base import ResponseOverrides
from realtime.turn.responses import (
    ERROR_BEFORE_LOSS_S,
    FORGOTTEN_S,
    GIVEN_UP_S,
    LOST_REQUEST_S,
    UNANSWERED_S,
    After,
    Ledger,
    Passed,
    RoomLedger,
    ServiceLedger,
)


def counts(ledger: Ledger, now: float) -> bool:
    """Whether a response that begins now and is over at once counts."""
    response = ledger.begin(f"resp_{now}", now)
    ledger.finish(response)
    ledger.settle(response)
    return not response.cancelled


# -- requests ----------------------------------------------------------------------------------------------------------


def test_responses_answer_requests_in_their_order() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.cancel_all()
    ledger.request(0.2)
    assert not counts(ledger, 0.4), "the first is for the request that was given up"
    assert ledger.is_requested
    assert counts(ledger, 0.5)
    assert not ledger.is_requested


def test_a_request_that_is_never_answered_is_passed_over_once_the_model_was_asked_again() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.cancel_all()
    ledger.request(UNANSWERED_S)
    assert counts(ledger, UNANSWERED_S + 0.1)
    assert not ledger.is_requested
    ledger.request(UNANSWERED_S + 1)
    assert counts(ledger, UNANSWERED_S + 2), "it shifts no later one either"


def test_a_model_that_is_only_slow_answers_in_order() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.cancel_all()
    ledger.request(5.0)
    assert not counts(ledger, UNANSWERED_S - 1), "this is for the request that was given up, and comes late"
    assert ledger.is_requested
    assert counts(ledger, UNANSWERED_S + 4)


@pytest.mark.parametrize(("late_s", "counted"), [(UNANSWERED_S + 5.1, False), (FORGOTTEN_S, True)])
def test_a_response_that_was_passed_over_and_comes_late_costs_one_and_not_all(late_s: float, counted: bool) -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.cancel_all()
    ledger.request(5.0)
    assert counts(ledger, UNANSWERED_S + 0.1), "taken for the answer to the second"
    assert not ledger.is_requested
    assert counts(ledger, late_s) is counted, "the answer to the second, unless much later"
    ledger.request(FORGOTTEN_S + 1)
    assert counts(ledger, FORGOTTEN_S + 2)


def test_a_request_that_a_room_gives_up_is_passed_over_at_once_unless_it_is_younger() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.request(10.0)
    ledger.give_up(GIVEN_UP_S)
    ledger.cancel_all()
    ledger.request(GIVEN_UP_S)
    assert not counts(ledger, GIVEN_UP_S + 1), "the second is only slow"
    assert counts(ledger, GIVEN_UP_S + 2)
    assert not counts(ledger, GIVEN_UP_S + 3), "late, and nothing else is awaited"


def test_a_refusal_is_not_taken_for_that_of_a_request_that_was_lost() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.cancel_all()
    ledger.request(UNANSWERED_S)
    assert ledger.refuse(UNANSWERED_S + 0.1, named=True)
    assert not ledger.is_requested


def test_a_refusal_of_an_unwanted_request_leaves_the_wanted_one() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.cancel_all()
    ledger.request(1.0)
    assert not ledger.refuse(2.0, named=True)
    assert ledger.is_requested


def test_a_late_response_that_is_unwanted_stays_unwanted() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.cancel_all()
    assert not counts(ledger, 3 * UNANSWERED_S)


def test_a_late_response_counts_where_nothing_else_was_asked() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    assert counts(ledger, 2 * UNANSWERED_S)


def test_only_what_seems_lost_is_renounced_when_it_is_asked_for_anew() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.renounce_unanswered(UNANSWERED_S - 0.1)
    assert ledger.is_requested
    ledger.renounce_unanswered(UNANSWERED_S)
    assert not ledger.is_requested


def test_a_response_has_the_metadata_of_its_request_where_the_model_does_not_repeat_it() -> None:
    ledger = Ledger()
    ledger.request(0.0, ResponseOverrides(metadata={"topic": "tea"}))
    assert ledger.begin("resp_1", 1.0).metadata == {"topic": "tea"}
    ledger.request(2.0, ResponseOverrides(metadata={"topic": "tea"}))
    assert ledger.begin("resp_2", 3.0, metadata={"topic": "own"}).metadata == {"topic": "own"}


# -- what is on its way ------------------------------------------------------------------------------------------------


def test_what_goes_on_after_the_tools_of_a_greeting_belongs_to_it_and_no_answer_does() -> None:
    """A question that the agent asks meanwhile is no part of the answer whose tool it is about."""
    ledger = Ledger()
    for key, told in (("greeting_1", {"initiative": "greeting_1"}), (None, None)):
        ledger.new_turn()
        ledger.request(0.0, ResponseOverrides(metadata={"initiative": key, "topic": "x"} if key else None))
        first = ledger.begin(f"resp_{key}", 0.1)
        ledger.call(first, "call_1")
        ledger.finish(first)
        ledger.settle(first)
        ledger.request(0.2, ResponseOverrides(metadata={"initiative": "confirm_1"}))
        question = ledger.begin(f"question_{key}", 0.3)
        assert question.metadata == {"initiative": "confirm_1"}
        ledger.finish(question)
        ledger.settle(question)
        ledger.answer(first, "call_1")
        assert ledger.settle(first) is After.GO_ON
        ledger.request(0.4)
        second = ledger.begin(f"after_{key}", 0.5)
        assert second.metadata == told
        ledger.broken_off(second)
        assert ledger.begin(f"rest_{key}", 0.6).metadata == told


def test_a_response_is_on_its_way_from_its_request_to_its_end() -> None:
    ledger = Ledger()
    assert not ledger.responding
    ledger.request(0.0)
    assert ledger.responding
    response = ledger.begin("resp_1", 1.0)
    assert ledger.responding
    ledger.finish(response)
    assert ledger.settle(response) is After.NOTHING
    assert not ledger.responding


def test_a_response_outside_the_conversation_is_not_the_reply() -> None:
    ledger = Ledger()
    ledger.begin("resp_1", 0.0, out_of_band=True)
    assert not ledger.responding
    assert ledger.runs_beside("resp_1")
    ledger.cancel_all()
    assert not ledger.is_cancelled("resp_1")


def test_the_model_goes_on_once_the_response_is_over_and_all_its_tools_have_answered() -> None:
    ledger = Ledger()
    response = ledger.begin("resp_1", 0.0)
    ledger.call(response, "call_1")
    ledger.call(response, "call_2")
    ledger.finish(response)
    assert ledger.settle(response) is After.NOTHING
    assert ledger.responding, "it waits for its tools"
    ledger.answer(response, "call_1")
    assert ledger.settle(response) is After.NOTHING
    ledger.answer(response, "call_2")
    assert ledger.settle(response) is After.GO_ON
    ledger.request(1.0)
    assert ledger.is_current("resp_1", 0), "the first response stands for the reply"


def test_nothing_follows_the_tools_of_an_interrupted_response() -> None:
    ledger = Ledger()
    response = ledger.begin("resp_1", 0.0)
    ledger.call(response, "call_1")
    ledger.cancel_all()
    ledger.finish(response)
    ledger.answer(response, "call_1")
    assert ledger.settle(response) is After.NOTHING
    assert not ledger.responding


def test_a_client_that_goes_on_by_itself_decides_what_follows_its_tools() -> None:
    ledger = Ledger()
    ledger.configure(tool_auto_response=False)
    response = ledger.begin("resp_1", 0.0)
    ledger.call(response, "call_1")
    ledger.finish(response)
    ledger.answered_by_client("call_1")
    assert ledger.calling("call_1") is response
    ledger.answer(response, "call_1")
    assert ledger.settle(response) is After.END
    assert ledger.continue_after_tools(None) is None, "it is settled"


def test_a_request_of_the_client_waits_until_all_its_tools_have_answered() -> None:
    ledger = Ledger()
    ledger.configure(tool_auto_response=False)
    response = ledger.begin("resp_1", 0.0)
    ledger.call(response, "call_1")
    ledger.finish(response)
    ledger.answered_by_client("call_1")
    assert ledger.continue_after_tools(ResponseOverrides(instructions="Short.")) is response
    ledger.answer(response, "call_1")
    assert ledger.settle(response) is After.GO_ON
    assert response.overrides == ResponseOverrides(instructions="Short.")


def test_the_last_response_is_current_until_it_was_played() -> None:
    ledger = Ledger()
    assert counts(ledger, 0.0)
    assert ledger.is_current("resp_0.0", unplayed_ms=10)
    assert not ledger.is_current("resp_0.0", unplayed_ms=0)


# -- a lost link -------------------------------------------------------------------------------------------------------


def test_a_request_that_went_with_the_link_is_repeated_when_the_link_is_back() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    assert ledger.lose_link(1.0, owed=False, n_coming=0)
    assert ledger.responding
    assert ledger.restore_link()
    assert not ledger.restore_link(), "once"


def test_a_request_that_went_with_the_link_and_is_cancelled_is_not_repeated() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    assert ledger.lose_link(1.0, owed=False, n_coming=0)
    ledger.cancel_all()
    assert not ledger.responding
    assert not ledger.restore_link()


@pytest.mark.parametrize(("lost_after_s", "owed"), [(ERROR_BEFORE_LOSS_S, True), (ERROR_BEFORE_LOSS_S + 0.1, False)])
def test_an_error_right_before_the_link_is_lost_refused_nothing(lost_after_s: float, owed: bool) -> None:
    ledger = Ledger()
    ledger.request(0.0)
    assert ledger.refuse(1.0, named=False)
    assert ledger.lose_link(1.0 + lost_after_s, owed=False, n_coming=0) is owed


def test_of_the_turns_that_a_model_hears_again_only_the_last_is_to_be_answered() -> None:
    ledger = Ledger()
    ledger.lose_link(0.0, owed=False, n_coming=2)
    assert [counts(ledger, now) for now in (1.0, 2.0, 3.0)] == [False, False, True]


def test_the_rest_of_a_response_that_broke_off_is_owed_unless_it_called_tools() -> None:
    for calls, owed in (((), True), (("call_1",), False)):
        ledger = Ledger()
        response = ledger.begin("resp_1", 0.0)
        for call_id in calls:
            ledger.call(response, call_id)
            ledger.answer(response, call_id)
        ledger.finish(response)
        ledger.broken_off(response)
        ledger.settle(response)
        assert ledger.lose_link(1.0, owed=False, n_coming=0) is owed


# -- one connection of a provider --------------------------------------------------------------------------------------


def test_a_service_owes_a_response_from_the_request_to_its_end() -> None:
    service = ServiceLedger()
    service.request(0.0)
    assert service.is_owed
    service.begin("resp_1")
    service.begin("resp_2")
    service.end("resp_1")
    assert (service.is_owed, [*service]) == (True, ["resp_2"])
    service.end("resp_2")
    assert not service.is_owed


def test_a_service_takes_the_next_request_once_the_cancelled_response_is_done() -> None:
    service = ServiceLedger()
    service.request(0.0)
    assert not service.may_request(LOST_REQUEST_S - 1)
    assert service.may_request(LOST_REQUEST_S), "the request is lost"
    service.cancel(None)
    service.begin("resp_1", alone=True)
    assert not service.may_request(LOST_REQUEST_S)
    service.end("resp_1")
    assert service.may_request(0.1)


def test_an_error_or_a_lost_link_ends_the_waiting() -> None:
    service = ServiceLedger()
    service.request(0.0)
    service.refuse()
    assert service.may_request(0.1)
    service.begin("resp_1")
    service.clear()
    assert not service.is_owed


# -- a room ------------------------------------------------------------------------------------------------------------


def test_a_room_passes_on_the_response_it_asked_for() -> None:
    room = RoomLedger()
    room.request()
    assert room.is_requested
    room.begin("resp_1", solicited=True)
    assert (room.is_requested, room.is_saying) == (False, True)
    assert room.end("resp_1") is Passed.ALL
    assert not room.is_saying


def test_a_room_passes_on_nothing_of_an_unsolicited_response() -> None:
    room = RoomLedger()
    room.request()
    room.begin("resp_1", solicited=False)
    assert room.is_unsolicited("resp_1")
    assert (room.is_requested, room.is_running, room.is_saying) == (True, True, False)
    assert room.end("resp_1") is Passed.NOTHING
    assert not room.is_unsolicited("resp_1")


def test_a_response_within_which_the_floor_was_lost_is_no_part_of_the_next_turn() -> None:
    room = RoomLedger()
    room.begin("resp_1", solicited=True)
    room.drop_open()
    room.begin("resp_2", solicited=True)
    assert (room.is_dropped("resp_1"), room.is_dropped("resp_2")) == (True, False)
    assert room.end("resp_1") is Passed.UP_TO_DROP
    assert room.is_saying


def test_responses_of_a_lost_model_have_no_end_in_the_room() -> None:
    room = RoomLedger()
    room.begin("resp_1", solicited=True)
    room.clear()
    assert room.end("resp_1") is Passed.NOTHING


def test_a_failure_counts_until_the_agent_takes_the_floor_again() -> None:
    room = RoomLedger()
    room.fail()
    assert room.has_failed
    room.new_turn()
    assert not room.has_failed


def test_a_correction_belongs_to_the_reply_that_it_corrects() -> None:
    ledger = Ledger()
    ledger.request(0.0)
    ledger.begin("resp_1", 0.0)
    ledger.cancel("resp_1")
    ledger.continue_reply()
    ledger.request(1.0)
    ledger.begin("resp_2", 1.5)
    assert ledger.is_current("resp_1", 0), "the first response stands for the reply"
