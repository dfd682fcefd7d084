"""What a streamed chat answer is put together from."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from realtime.model.chat.calls import CallPieces

Piece = tuple[int | None, str, str, str]


def put_together(*pieces: Piece) -> list[tuple[str, str]]:
    calls = CallPieces()
    for piece in pieces:
        calls.add(*piece)
    return [(call.name, call.input) for call in calls.calls]


def test_calls_are_put_together_however_they_are_sent() -> None:
    """From number, id, name and arguments of each piece."""
    sent: dict[str, list[Piece]] = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
    put = {name: put_together(*pieces) for name, pieces in sent.items()}
    assert put == {name: [("weather", '{"city": "Oslo"}'), ("clock", "{}")] for name in sent}


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
