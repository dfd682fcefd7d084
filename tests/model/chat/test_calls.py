"""What a streamed chat answer is put together from."""

from hypothesis import given
from hypothesis import strategies as st

from realtime.model.chat.calls import CallPieces

Piece = tuple[int | None, str, str, str]


def put_together(*pieces: Piece) -> list[tuple[str, str]]:
    calls = CallPieces()
    for piece in pieces:
        calls.add(*piece)
    return [(call.name, call.input) for call in calls.calls]


SENT: dict[str, list[Piece]] = {
    "OpenAI: id and name once, arguments in pieces": [
        *((0, "call_a", "weather", ""), (0, "", "", '{"ci'), (0, "", "", 'ty": "Oslo"}')),
        *((1, "call_b", "clock", ""), (1, "", "", "{}")),
    ],
    "several at once, their pieces mixed": [
        *((0, "call_a", "weather", '{"ci'), (1, "call_b", "clock", "{"), (0, "", "", 'ty": "Oslo"}'), (1, "", "", "}")),
    ],
    "Ollama: whole calls, all numbered 0 (ollama/ollama#15457)": [
        *((0, "call_a", "weather", '{"city": "Oslo"}'), (0, "call_b", "clock", "{}")),
    ],
    "Ollama before 0.4.7: not numbered (ollama/ollama#7881)": [
        *((None, "call_a", "weather", '{"city": "Oslo"}'), (None, "call_b", "clock", "{}")),
    ],
    "no ids": [(0, "", "weather", '{"city": "Oslo"}'), (1, "", "clock", "{}")],
    "neither ids nor numbers that differ": [(0, "", "weather", '{"city": "Oslo"}'), (0, "", "clock", "{}")],
    "neither ids nor numbers": [
        *((None, "", "weather", '{"city": '), (None, "", "", '"Oslo"}'), (None, "", "clock", "")),
    ],
    "the id and the name in each piece": [
        *((0, "call_a", "weather", '{"city": '), (0, "call_a", "weather", '"Oslo"}')),
        *((1, "call_b", "clock", ""), (1, "call_b", "clock", "{}")),
    ],
    "the name in each piece": [
        *((0, "", "weather", '{"city": '), (0, "", "weather", '"Oslo"}'), (1, "", "clock", "")),
    ],
    "the id after the name": [
        *((0, "", "weather", ""), (0, "call_a", "", '{"city": "Oslo"}'), (1, "call_b", "clock", " \n")),
    ],
    "no arguments": [(0, "call_a", "weather", '{"city": "Oslo"}'), (1, "call_b", "clock", "null")],
    "two calls with one id, in pieces": [
        *((0, "call_a", "weather", ""), (0, "", "", '{"city": "Oslo"}')),
        *((1, "call_a", "clock", ""), (1, "", "", "{}")),
    ],
    "two calls with one id": [(0, "call_a", "weather", '{"city": "Oslo"}'), (1, "call_a", "clock", "{}")],
    "two calls with one id, not numbered": [
        *((None, "call_a", "weather", '{"city": "Oslo"}'), (None, "call_a", "clock", "{}")),
    ],
}


def test_calls_are_put_together_however_they_are_sent() -> None:
    put = {name: put_together(*pieces) for name, pieces in SENT.items()}
    assert put == {name: [("weather", '{"city": "Oslo"}'), ("clock", "{}")] for name in SENT}


def test_broken_arguments_stay_as_they_are() -> None:
    assert put_together((0, "call_a", "weather", '{"city": "Os')) == [("weather", '{"city": "Os')]


@given(st.lists(st.integers(1, 8), max_size=6), st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_any_division_of_arguments_gives_the_same(sizes: list[int], texts: list[str]) -> None:
    calls = CallPieces()
    whole = [f"[{text}]" for text in texts]
    for number, text in enumerate(whole):
        calls.add(number, f"call_{number}", "tool", "")
        at = 0
        for size in (*sizes, len(text)):
            calls.add(number, "", "", text[at : at + size])
            at += size
    assert [call.input for call in calls.calls] == whole
