"""The turn machine, walked row by row and by what people in a call would notice."""

from collections.abc import Iterable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event.config import TurnAuthority
from realtime.turn.machine import ANSWER, INTERRUPT, ONLY_FOR, SPEECH_SIGNALS, TRANSITIONS, Action, Signal, State, Turn

AUTHORITIES: tuple[TurnAuthority, ...] = get_args(TurnAuthority)
SILENCING = {Action.FLUSH, Action.DROP, Action.TRUNCATE, Action.WITHDRAW}
WITHDRAWN = (Action.FLUSH, Action.CANCEL, Action.DROP, Action.WITHDRAW)


def speaking_agent(authority: TurnAuthority, *, turn_ended_at: float = 10.0) -> Turn:
    """A turn whose user has spoken until `turn_ended_at` and whose agent is answering aloud."""
    turn = Turn(authority)
    for signal in (Signal.SPEECH_STARTED, Signal.SPEECH_STOPPED, Signal.RESPONSE_CREATED, Signal.RESPONSE_AUDIO):
        turn.receive(signal, turn_ended_at, responding=signal is not Signal.SPEECH_STARTED)
    assert turn.state is State.AGENT_SPEAKING
    return turn


def states_after(turn: Turn, signals: Iterable[Signal], *, responding: bool = False) -> list[State]:
    states = []
    for signal in signals:
        turn.receive(signal, 0.0, responding=responding)
        states.append(turn.state)
    return states


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authority", AUTHORITIES)
@pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_each_row_leads_where_it_says_under_the_authorities_it_holds_for(
    row: tuple[State, Signal], authority: TurnAuthority
) -> None:
    state, signal = row
    turn = Turn(authority, state)
    while_replying = signal not in (Signal.RESPONSE_DONE, Signal.PLAYED_OUT)
    actions = turn.receive(signal, 0.0, responding=while_replying, played_ms=1000, unplayed_ms=500 * while_replying)
    if ONLY_FOR.get(row, authority) != authority or (authority == "client" and signal in SPEECH_SIGNALS):
        assert (turn.state, actions) == (state, ())
        return
    next_state, asked = TRANSITIONS[row]
    if authority == "provider" and signal in SPEECH_SIGNALS:
        asked = tuple(action for action in asked if action in SILENCING and signal is Signal.SPEECH_STARTED)
    assert (turn.state, actions) == (next_state, asked)


@pytest.mark.parametrize("authority", AUTHORITIES)
def test_what_is_not_in_the_table_changes_nothing(authority: TurnAuthority) -> None:
    for state in State:
        for signal in Signal:
            if (state, signal) not in TRANSITIONS:
                turn = Turn(authority, state)
                assert turn.receive(signal, 0.0, responding=True, played_ms=1000, unplayed_ms=500) == ()
                assert turn.state is state


def test_every_state_can_be_reached_and_left() -> None:
    assert {state for state, _ in TRANSITIONS.values()} == set(State)
    for state in State:
        assert {end for (start, _), (end, _) in TRANSITIONS.items() if start is state} - {state}


def test_rows_for_one_authority_are_rows_of_the_table() -> None:
    assert set(ONLY_FOR) <= set(TRANSITIONS)


@pytest.mark.parametrize("state", State)
def test_what_takes_the_turn_interrupts_in_every_state(state: State) -> None:
    for signal in (Signal.SPEECH_STARTED, Signal.TEXT, Signal.CANCEL):
        if (state, signal) != (State.USER_SPEAKING, Signal.SPEECH_STARTED):
            assert TRANSITIONS[state, signal][1][: len(INTERRUPT)] == INTERRUPT


# -- one turn, by authority --------------------------------------------------------------------------------------------


def test_where_the_server_decides_the_end_of_speech_commits_and_asks_for_an_answer() -> None:
    turn = Turn("server")
    assert states_after(turn, [Signal.SPEECH_STARTED]) == [State.USER_SPEAKING]
    assert turn.receive(Signal.SPEECH_STOPPED, 2.0) == ANSWER
    assert turn.state is State.THINKING


def test_where_the_provider_decides_we_only_follow() -> None:
    turn = Turn("provider")
    assert turn.receive(Signal.SPEECH_STARTED, 1.0) == ()
    assert turn.receive(Signal.SPEECH_STOPPED, 2.0) == ()
    assert turn.state is State.THINKING


def test_a_provider_that_reports_no_end_of_speech_ends_the_turn_by_answering() -> None:
    turn = Turn("provider", State.USER_SPEAKING)
    assert states_after(turn, [Signal.RESPONSE_CREATED], responding=True) == [State.THINKING]
    assert turn.receive(Signal.SPEECH_STOPPED, 1.0, responding=True) == ()
    assert turn.state is State.THINKING


@pytest.mark.parametrize("state", [State.LISTENING, State.THINKING, State.AGENT_SPEAKING])
def test_in_push_to_talk_speech_causes_nothing(state: State) -> None:
    turn = Turn("client", state)
    for signal in (Signal.SPEECH_STARTED, Signal.SPEECH_STOPPED):
        assert turn.receive(signal, 1.0, responding=True, unplayed_ms=500) == ()
        assert turn.state is state


def test_in_push_to_talk_a_commit_is_answered() -> None:
    turn = Turn("client")
    assert turn.receive(Signal.COMMIT, 1.0) == ANSWER
    assert turn.state is State.THINKING


def test_in_push_to_talk_a_commit_during_the_reply_interrupts_it() -> None:
    turn = Turn("client", State.AGENT_SPEAKING)
    assert turn.receive(Signal.COMMIT, 1.0, responding=True, played_ms=900, unplayed_ms=500) == (*INTERRUPT, *ANSWER)
    assert turn.state is State.THINKING


def test_in_push_to_talk_a_cancel_silences_the_reply_before_the_user_speaks() -> None:
    turn = Turn("client", State.AGENT_SPEAKING)
    assert turn.receive(Signal.CANCEL, 1.0, responding=True, unplayed_ms=500) == INTERRUPT
    assert turn.state is State.LISTENING
    assert turn.receive(Signal.COMMIT, 2.0) == ANSWER


@pytest.mark.parametrize("authority", ["provider", "server"])
def test_a_commit_closes_speech_early(authority: TurnAuthority) -> None:
    turn = Turn(authority, State.USER_SPEAKING)
    assert turn.receive(Signal.COMMIT, 1.0) == ANSWER
    assert turn.state is State.THINKING


@pytest.mark.parametrize("authority", ["provider", "server"])
def test_the_end_of_speech_that_was_committed_already_changes_nothing(authority: TurnAuthority) -> None:
    turn = Turn(authority, State.USER_SPEAKING)
    turn.receive(Signal.COMMIT, 1.0)
    assert turn.receive(Signal.SPEECH_STOPPED, 1.3, responding=True) == ()
    assert turn.state is State.THINKING


@pytest.mark.parametrize("authority", ["provider", "server"])
@pytest.mark.parametrize("state", [State.LISTENING, State.THINKING, State.AGENT_SPEAKING])
def test_with_a_detector_a_commit_without_speech_is_ignored(state: State, authority: TurnAuthority) -> None:
    turn = Turn(authority, state)
    assert turn.receive(Signal.COMMIT, 1.0, responding=state is not State.LISTENING, played_ms=900) == ()
    assert turn.state is state


# -- barge-in ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("authority", "actions"),
    [("server", INTERRUPT), ("provider", (Action.FLUSH, Action.DROP, Action.TRUNCATE))],
)
def test_speech_during_the_reply_silences_it(authority: TurnAuthority, actions: tuple[Action, ...]) -> None:
    turn = speaking_agent(authority, turn_ended_at=10.0)
    assert turn.receive(Signal.SPEECH_STARTED, 15.0, responding=True, played_ms=3000, unplayed_ms=500) == actions
    assert turn.state is State.USER_SPEAKING


def test_speech_silences_a_reply_that_the_model_has_finished_but_nobody_has_heard_to_its_end() -> None:
    turn = speaking_agent("server", turn_ended_at=10.0)
    turn.receive(Signal.RESPONSE_DONE, 11.0, played_ms=900, unplayed_ms=9000)
    assert turn.state is State.AGENT_SPEAKING
    assert turn.receive(Signal.SPEECH_STARTED, 12.0, played_ms=1900, unplayed_ms=8000) == INTERRUPT


def test_a_second_start_of_the_same_speech_changes_nothing() -> None:
    turn = speaking_agent("server")
    turn.receive(Signal.SPEECH_STARTED, 15.0, responding=True, played_ms=3000, unplayed_ms=500)
    assert turn.receive(Signal.SPEECH_STARTED, 15.1) == ()
    assert turn.state is State.USER_SPEAKING


@pytest.mark.parametrize("signal", [Signal.SPEECH_STARTED, Signal.TEXT, Signal.REQUEST, Signal.CANCEL])
@pytest.mark.parametrize("state", State)
def test_with_nothing_to_interrupt_nothing_is_interrupted(state: State, signal: Signal) -> None:
    actions = Turn("server", state).receive(signal, 0.0)
    assert not set(actions) & set(INTERRUPT)


def test_after_the_reply_is_played_out_the_agent_listens() -> None:
    turn = speaking_agent("provider")
    turn.receive(Signal.RESPONSE_DONE, 11.0, played_ms=500, unplayed_ms=700)
    turn.receive(Signal.PLAYED_OUT, 12.0, played_ms=1200)
    assert turn.state is State.LISTENING
    assert turn.receive(Signal.SPEECH_STARTED, 13.0, played_ms=1200) == ()


def test_a_reply_is_over_when_it_is_done_and_heard_though_nobody_reported_the_silence() -> None:
    turn = speaking_agent("server")
    turn.receive(Signal.RESPONSE_DONE, 11.0, played_ms=500, unplayed_ms=700)
    assert turn.receive(Signal.SPEECH_STARTED, 13.0, played_ms=1200) == ()
    assert turn.state is State.USER_SPEAKING


@pytest.mark.parametrize(("responding", "unplayed_ms"), [(True, 0), (True, 500), (False, 500)])
def test_a_pause_in_the_voice_is_not_the_end_of_the_reply(responding: bool, unplayed_ms: int) -> None:
    turn = speaking_agent("server")
    turn.receive(Signal.PLAYED_OUT, 12.0, responding=responding, played_ms=900, unplayed_ms=unplayed_ms)
    assert turn.state is State.AGENT_SPEAKING
    interrupted = turn.receive(
        Signal.SPEECH_STARTED, 13.0, responding=responding, played_ms=900, unplayed_ms=unplayed_ms
    )
    assert interrupted == INTERRUPT


def test_while_tools_run_the_reply_goes_on() -> None:
    turn = Turn("server", State.THINKING)
    turn.receive(Signal.RESPONSE_DONE, 1.0, responding=True)
    assert turn.state is State.THINKING
    assert turn.receive(Signal.SPEECH_STARTED, 2.0, responding=True) == INTERRUPT


def test_the_end_of_an_interrupted_response_is_not_the_end_of_the_next_one() -> None:
    turn = speaking_agent("provider")
    turn.receive(Signal.TEXT, 12.0, responding=True, played_ms=900, unplayed_ms=500)
    turn.receive(Signal.RESPONSE_DONE, 12.1, responding=True)
    assert turn.state is State.THINKING


def test_a_silent_reply_ends_with_the_response() -> None:
    turn = Turn("server", State.THINKING)
    turn.receive(Signal.RESPONSE_DONE, 1.0)
    assert turn.state is State.LISTENING


# -- text, requests, cancel --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authority", AUTHORITIES)
def test_typed_text_is_answered_and_interrupts_the_reply(authority: TurnAuthority) -> None:
    turn = Turn(authority)
    assert turn.receive(Signal.TEXT, 1.0) == (Action.CREATE,)
    turn.receive(Signal.RESPONSE_AUDIO, 2.0, responding=True)
    interrupted = turn.receive(Signal.TEXT, 3.0, responding=True, played_ms=900, unplayed_ms=500)
    assert interrupted == (*INTERRUPT, Action.CREATE)
    assert turn.state is State.THINKING


@pytest.mark.parametrize("asked_by", [Signal.TEXT, Signal.COMMIT])
def test_a_request_for_the_answer_that_is_on_its_way_does_not_double_it(asked_by: Signal) -> None:
    turn = Turn("client")
    assert Action.CREATE in turn.receive(asked_by, 1.0)
    assert turn.receive(Signal.REQUEST, 1.01, responding=True) == ()
    turn.receive(Signal.RESPONSE_AUDIO, 1.2, responding=True)
    assert turn.receive(Signal.REQUEST, 1.3, responding=True, unplayed_ms=500) == ()
    assert turn.state is State.AGENT_SPEAKING


def test_a_request_where_the_answer_was_held_back_makes_it() -> None:
    turn = Turn("client")
    turn.receive(Signal.COMMIT, 1.0)
    assert turn.receive(Signal.REQUEST, 2.0) == (Action.CREATE,)


def test_a_request_during_a_reply_that_is_heard_replaces_it() -> None:
    turn = speaking_agent("provider")
    replaced = turn.receive(Signal.REQUEST, 12.0, responding=True, played_ms=900, unplayed_ms=500)
    assert replaced == (*INTERRUPT, Action.CREATE)
    assert turn.state is State.THINKING


@pytest.mark.parametrize("authority", AUTHORITIES)
@pytest.mark.parametrize("state", [State.THINKING, State.AGENT_SPEAKING])
def test_cancel_stops_the_reply_and_listens(state: State, authority: TurnAuthority) -> None:
    turn = Turn(authority, state)
    assert turn.receive(Signal.CANCEL, 1.0, responding=True, played_ms=900, unplayed_ms=500) == INTERRUPT
    assert turn.state is State.LISTENING


def test_where_the_server_decides_an_answer_to_text_does_not_swallow_the_speech_that_goes_on() -> None:
    turn = Turn("server")
    turn.receive(Signal.SPEECH_STARTED, 1.0)
    assert turn.receive(Signal.TEXT, 2.0) == (Action.CREATE,)
    signals = [Signal.RESPONSE_CREATED, Signal.RESPONSE_AUDIO, Signal.RESPONSE_DONE]
    assert states_after(turn, signals, responding=True) == [State.USER_SPEAKING] * 3
    ended = turn.receive(Signal.SPEECH_STOPPED, 5.0, played_ms=900, unplayed_ms=500)
    assert ended == (*INTERRUPT, *ANSWER)


def test_where_the_provider_decides_an_answer_to_text_survives_the_end_of_speech() -> None:
    turn = Turn("provider")
    turn.receive(Signal.SPEECH_STARTED, 1.0)
    assert turn.receive(Signal.TEXT, 2.0) == (Action.CREATE,)
    assert turn.receive(Signal.SPEECH_STOPPED, 3.0, responding=True) == ()
    assert turn.state is State.THINKING


def test_while_the_user_speaks_a_cancel_silences_what_is_answered_and_the_user_goes_on() -> None:
    turn = Turn("server", State.USER_SPEAKING)
    assert turn.receive(Signal.CANCEL, 1.0, responding=True, unplayed_ms=500) == INTERRUPT
    assert turn.state is State.USER_SPEAKING


# -- hasty turn ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("started_at", [0.0, 10.0, 12_345.678])
@pytest.mark.parametrize(
    ("pause_s", "played_ms", "hasty"),
    [(0.8, 399, True), (0.801, 399, False), (0.8, 400, False), (0.0, 0, True), (5.0, 0, False)],
)
def test_a_turn_end_is_undone_within_800_ms_and_before_400_ms_of_the_reply_were_heard(
    started_at: float, pause_s: float, played_ms: int, hasty: bool
) -> None:
    turn = speaking_agent("server", turn_ended_at=started_at)
    actions = turn.receive(
        Signal.SPEECH_STARTED, started_at + pause_s, responding=True, played_ms=played_ms, unplayed_ms=500
    )
    assert actions == (WITHDRAWN if hasty else INTERRUPT)
    assert turn.hasty_turns == int(hasty)
    assert turn.state is State.USER_SPEAKING


def test_where_the_provider_decides_a_hasty_turn_end_is_undone_without_a_cancel() -> None:
    turn = speaking_agent("provider", turn_ended_at=10.0)
    actions = turn.receive(Signal.SPEECH_STARTED, 10.5, responding=True, played_ms=100, unplayed_ms=500)
    assert actions == (Action.FLUSH, Action.DROP, Action.WITHDRAW)


def test_a_hasty_turn_end_is_undone_before_the_reply_has_begun() -> None:
    turn = Turn("server", State.USER_SPEAKING)
    turn.receive(Signal.SPEECH_STOPPED, 10.0)
    assert turn.receive(Signal.SPEECH_STARTED, 10.3, responding=True) == WITHDRAWN
    turn = Turn("provider", State.USER_SPEAKING)
    turn.receive(Signal.SPEECH_STOPPED, 10.0)
    assert turn.receive(Signal.SPEECH_STARTED, 10.3) == (Action.WITHDRAW,)


def test_a_hasty_turn_end_is_undone_after_a_silent_or_failed_reply() -> None:
    turn = Turn("server", State.USER_SPEAKING)
    turn.receive(Signal.SPEECH_STOPPED, 10.0)
    turn.receive(Signal.RESPONSE_CREATED, 10.1, responding=True)
    turn.receive(Signal.RESPONSE_DONE, 10.2)
    assert turn.receive(Signal.SPEECH_STARTED, 10.5) == (Action.WITHDRAW,)


def test_one_turn_can_end_in_haste_more_than_once() -> None:
    turn = Turn("server", State.USER_SPEAKING)
    for ended_at in (10.0, 11.0, 12.0):
        assert turn.receive(Signal.SPEECH_STOPPED, ended_at) == ANSWER
        assert turn.receive(Signal.SPEECH_STARTED, ended_at + 0.5, responding=True) == WITHDRAWN
    assert turn.hasty_turns == 3


def test_a_reply_that_had_an_effect_on_the_world_is_cut_and_not_undone() -> None:
    turn = speaking_agent("server", turn_ended_at=10.0)
    turn.withdrawable = False
    assert turn.receive(Signal.SPEECH_STARTED, 10.5, responding=True, played_ms=100, unplayed_ms=500) == INTERRUPT
    assert turn.hasty_turns == 0


def test_a_reply_that_was_heard_whole_is_not_undone() -> None:
    turn = speaking_agent("server", turn_ended_at=10.0)
    turn.receive(Signal.RESPONSE_DONE, 10.1, played_ms=50, unplayed_ms=250)
    turn.receive(Signal.PLAYED_OUT, 10.4, played_ms=300)
    assert turn.receive(Signal.SPEECH_STARTED, 10.5, played_ms=300) == ()


@pytest.mark.parametrize("signal", [Signal.TEXT, Signal.REQUEST, Signal.CANCEL])
def test_a_turn_end_that_the_client_acted_on_was_not_hasty(signal: Signal) -> None:
    turn = Turn("server", State.USER_SPEAKING)
    turn.receive(Signal.SPEECH_STOPPED, 10.0)
    turn.receive(signal, 10.1)
    turn.receive(Signal.RESPONSE_AUDIO, 10.2, responding=True)
    assert turn.receive(Signal.SPEECH_STARTED, 10.3, responding=True, unplayed_ms=500) == INTERRUPT


def test_a_turn_end_by_commit_is_never_hasty() -> None:
    turn = Turn("server", State.USER_SPEAKING)
    turn.receive(Signal.COMMIT, 10.0)
    assert turn.receive(Signal.SPEECH_STARTED, 10.3, responding=True) == INTERRUPT
    assert turn.hasty_turns == 0


# -- whatever happens --------------------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(
        st.sampled_from(Signal),
        st.sampled_from([0.0, 0.1, 0.4, 0.8, 1.0, 5.0]),
        st.booleans(),
        st.sampled_from([0, 399, 400, 3000]),
        st.sampled_from([0, 500]),
    ),
    max_size=40,
)


@given(st.sampled_from(AUTHORITIES), steps)
def test_the_rules_of_the_authorities_hold_in_every_course_of_a_call(
    authority: TurnAuthority, course: list[tuple[Signal, float, bool, int, int]]
) -> None:
    turn, now, order = Turn(authority), 0.0, list(Action)
    for signal, pause_s, responding, played_ms, unplayed_ms in course:
        now += pause_s
        before, hasty_before = turn.state, turn.hasty_turns
        actions = turn.receive(signal, now, responding=responding, played_ms=played_ms, unplayed_ms=unplayed_ms)
        assert list(actions) == sorted(set(actions), key=order.index)
        assert not {Action.TRUNCATE, Action.WITHDRAW} <= set(actions)
        withdrawn = Action.WITHDRAW in actions and Action.RESUME not in actions
        assert withdrawn == (turn.hasty_turns > hasty_before)
        assert Action.COMMIT not in actions or Action.CREATE in actions
        if not responding and not unplayed_ms:
            assert not set(actions) & set(INTERRUPT)
        if Action.CREATE in actions and responding:
            assert Action.DROP in actions
        if signal in SPEECH_SIGNALS and authority == "provider":
            assert set(actions) <= SILENCING
        if signal in SPEECH_SIGNALS and authority == "client":
            assert (actions, turn.state) == ((), before)


@given(steps)
def test_where_the_server_decides_no_speech_goes_unanswered(
    course: list[tuple[Signal, float, bool, int, int]],
) -> None:
    turn, now, speaking = Turn("server"), 0.0, False
    for signal, pause_s, responding, played_ms, unplayed_ms in course:
        now += pause_s
        actions = turn.receive(signal, now, responding=responding, played_ms=played_ms, unplayed_ms=unplayed_ms)
        ends = signal in (Signal.SPEECH_STOPPED, Signal.COMMIT)
        assert (Action.COMMIT in actions) == (speaking and ends)
        taken_back = signal is Signal.CLEAR
        speaking = signal is Signal.SPEECH_STARTED or (speaking and not ends and not taken_back)
        assert (turn.state is State.USER_SPEAKING) == speaking


def test_speech_that_must_not_interrupt_leaves_the_reply_alone_and_counts_as_a_turn() -> None:
    turn = Turn("server", State.AGENT_SPEAKING, interrupts=False)
    states = []
    assert turn.receive(Signal.SPEECH_STARTED, 10.0, unplayed_ms=900, played_ms=500) == ()
    states.append(turn.state)
    assert turn.receive(Signal.SPEECH_STOPPED, 11.0, unplayed_ms=300) == ANSWER
    states.append(turn.state)
    assert states == [State.USER_SPEAKING, State.THINKING]


def test_a_turn_that_ends_while_the_model_is_at_work_gets_no_reply_of_its_own_where_it_must_not_interrupt() -> None:
    turn = Turn("server", State.USER_SPEAKING, interrupts=False)
    assert turn.receive(Signal.SPEECH_STOPPED, 11.0, responding=True, unplayed_ms=300) == (Action.COMMIT,)


def test_where_speech_must_not_interrupt_typed_text_and_a_cancel_still_do() -> None:
    for signal in (Signal.TEXT, Signal.CANCEL, Signal.REQUEST):
        turn = Turn("server", State.AGENT_SPEAKING, interrupts=False)
        assert (
            turn.receive(signal, 10.0, responding=True, played_ms=100, unplayed_ms=900)[: len(INTERRUPT)] == INTERRUPT
        )


def test_with_the_provider_speech_that_must_not_interrupt_flushes_nothing() -> None:
    turn = Turn("provider", State.AGENT_SPEAKING, interrupts=False)
    assert turn.receive(Signal.SPEECH_STARTED, 10.0, responding=True, unplayed_ms=900) == ()


def test_speech_that_asks_for_no_reply_is_committed_all_the_same() -> None:
    turn = Turn("server", State.USER_SPEAKING, creates=False)
    assert turn.receive(Signal.SPEECH_STOPPED, 11.0) == (Action.COMMIT,)
    assert turn.receive(Signal.REQUEST, 12.0) == (Action.CREATE,)
