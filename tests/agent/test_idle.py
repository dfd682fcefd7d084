"""What a silence leads to: a core without an event loop."""

from realtime.agent.idle import IdleStep, IdleWatch


def test_a_silent_user_is_asked_once_and_left_after_as_long_again() -> None:
    watch = IdleWatch(10.0, 0.0)
    assert watch.due_at == 10.0
    assert watch.look(9.0) is IdleStep.WAIT
    assert watch.look(10.0) is IdleStep.ASK
    watch.quiet_from(12.0)  # the question was heard to its end
    assert watch.due_at == 22.0
    assert watch.look(21.0) is IdleStep.WAIT
    assert watch.look(22.0) is IdleStep.LEAVE


def test_who_says_something_is_asked_again_later() -> None:
    watch = IdleWatch(10.0, 0.0)
    assert watch.look(10.0) is IdleStep.ASK
    watch.user_acts(15.0)
    assert watch.look(24.9) is IdleStep.WAIT
    assert watch.look(25.0) is IdleStep.ASK


def test_what_the_agent_says_begins_the_silence_anew_but_is_no_answer() -> None:
    watch = IdleWatch(10.0, 0.0)
    assert watch.look(10.0) is IdleStep.ASK
    watch.quiet_from(18.0)
    assert watch.look(20.0) is IdleStep.WAIT
    assert watch.look(28.0) is IdleStep.LEAVE


def test_a_silence_never_begins_earlier_than_it_did() -> None:
    watch = IdleWatch(10.0, 5.0)
    watch.quiet_from(1.0)
    assert watch.due_at == 15.0
