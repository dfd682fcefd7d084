"""Nothing is lost between our messages and those of others, in either direction."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from realtime.interop import DIALECTS, dump, load
from realtime.message import Msg
from tests.interop.strategies import messages, threads
from tests.volumes import SEED, volume

IN_ALL = volume(160, 20_000)
"""Cases of each property, shared by what it is run for."""
SHAPES = ("page", "source")
many = settings(
    deadline=None,
    derandomize=False,
    database=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_our_messages_come_back_as_they_were(dialect: str, shape: Any) -> None:
    @seed(SEED)
    @settings(many, max_examples=IN_ALL // len(DIALECTS) // len(SHAPES))
    @given(messages())
    def check(message: Msg) -> None:
        before = message.model_dump()
        theirs = dump([message], dialect, shape=shape)
        assert message.model_dump() == before
        (read,) = load(json.dumps(theirs), dialect)
        if shape == "source" and dialect in read.metadata.get("interop", {}):
            # It remembers that it was not written as the page prints it.
            del read.metadata["interop"]
            message.metadata.pop("interop", None)
        assert read == message

    check()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_their_messages_come_back_as_they_were(dialect: str) -> None:
    @seed(SEED)
    @settings(many, max_examples=IN_ALL // len(DIALECTS))
    @given(threads())
    def check(thread: list[dict[str, Any]]) -> None:
        before = copy.deepcopy(thread)
        problems: list[str] = []
        again = dump(load(thread, dialect, problems=problems), dialect)
        assert thread == before
        lost = [one for number, one in enumerate(thread) if f"messages[{number}].role" in " ".join(problems)]
        assert again == [one for one in thread if one not in lost]

    check()
