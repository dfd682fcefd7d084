"""Exchanges with a client of Gemini Live, turn by turn: the lines of `gemini_exchanges.jsonl`."""

from tests.dialects.exchanges import differing
from tests.dialects.gemini_call import Call


def test_each_exchange_goes_as_written() -> None:
    assert differing("gemini_exchanges.jsonl", lambda setup: Call(**setup)) == {}


def test_only_a_mistake_of_the_client_ends_its_session() -> None:
    assert not Call().dialect.is_over
