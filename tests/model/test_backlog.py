"""What waits for a link: its bound and its order."""

from hypothesis import given
from hypothesis import strategies as st

from realtime.model._backlog import Backlog
from realtime.model.base import AudioAppend, AudioCommit, ModelInput, ResponseCancel, SessionUpdate, Settings

LIMIT_BYTES = 1_000
LIMIT_CONTROLS = 4

messages: st.SearchStrategy[ModelInput] = st.one_of(
    st.integers(1, 400).map(lambda size: AudioAppend(bytes(size))),
    st.sampled_from([AudioCommit(), ResponseCancel(), SessionUpdate(Settings())]),
)


@given(st.lists(st.one_of(messages, st.sampled_from(["pop", "clear", "forget", "restored"])), max_size=60))
def test_whatever_comes_and_goes_it_is_known_how_much_waits(steps: list[ModelInput | str]) -> None:
    backlog = Backlog(max_audio_bytes=LIMIT_BYTES, max_controls=LIMIT_CONTROLS)
    for step in steps:
        match step:
            case "pop":
                if backlog.messages:
                    backlog.pop()
            case "clear":
                backlog.clear()
            case "forget":
                backlog.forget_asked()
            case "restored":
                backlog.forget_restored([], link_was_lost=True)
            case str():
                raise AssertionError(step)
            case message:
                backlog.keep(message)
        audio = [one for one in backlog.messages if isinstance(one, AudioAppend)]
        assert backlog.audio_bytes == sum(len(one.pcm) for one in audio) <= LIMIT_BYTES
        assert backlog.overflowed == (len(backlog.messages) - len(audio) > LIMIT_CONTROLS)


def test_the_oldest_audio_goes_first_and_nothing_else_does() -> None:
    backlog = Backlog(max_audio_bytes=LIMIT_BYTES, max_controls=LIMIT_CONTROLS)
    first, second, third = (AudioAppend(bytes(400)) for _ in range(3))
    for message in (AudioCommit(), first, ResponseCancel(), second, third):
        backlog.keep(message)
    assert backlog.messages == [AudioCommit(), ResponseCancel(), second, third]
    assert backlog.dropped_audio_bytes == 400
