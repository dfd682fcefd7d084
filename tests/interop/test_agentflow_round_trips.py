"""Nothing of Agentflow's messages is lost on the way through ours, in either shape."""

from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, seed, settings

from realtime.interop import dump, load
from tests.interop.agentflow_strategies import page_threads, source_threads
from tests.volumes import SEED, volume

many = settings(
    max_examples=volume(20, 5_000),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("shape", ["page", "source"])
def test_blocks_with_and_without_a_twin_come_back_as_they_were(shape: Literal["page", "source"]) -> None:
    """AFL-30: Agentflow to ours to Agentflow is equal, field by field, null and absent apart. AMB-62: both shapes."""

    @seed(SEED)
    @many
    @given(page_threads if shape == "page" else source_threads)
    def check(thread: list[dict[str, Any]]) -> None:
        problems: list[str] = []
        messages = load(thread, "agentflow", problems=problems)
        assert problems == []
        assert dump(messages, "agentflow", shape=shape) == thread

    check()


def test_what_one_shape_says_the_other_says_too() -> None:
    """AMB-62: through the package's shape and back, the page's keeps what it said."""

    @seed(SEED)
    @many
    @given(page_threads)
    def check(thread: list[dict[str, Any]]) -> None:
        there = dump(load(thread, "agentflow"), "agentflow", shape="source")
        messages = load(there, "agentflow")
        assert dump(messages, "agentflow", shape="source") == there
        assert [one.content for one in messages] == [one.content for one in load(thread, "agentflow")]

    check()
