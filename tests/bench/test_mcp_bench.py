"""The measurement of MCP servers runs, and finds what it measures. No timing."""

import asyncio

import pytest

from bench.mcp import measure_mcp


@pytest.fixture
def no_leaks() -> None:
    """See `tests.conftest.no_leaks`: the embedded voice works in threads of its own, which the process keeps."""


@pytest.mark.night
def test_a_server_is_called_interrupted_lost_and_found_again() -> None:
    """In a loop of its own: limits of waits are measured, and those of tests are longer."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
    section = asyncio.run(measure_mcp(lambda line: None, calls=5, interruptions=1, ways=("stdio",)))
    ((way, *numbers),) = section.rows
    assert way == "stdio"
    assert all(float(number) >= 0 for number in numbers)
    assert [check.limit for check in section.checks] == [200.0, 6.0]
