"""Which connections are let in, before anything is read of them."""

import errno
import os

import pytest

from realtime.server import connections as module
from realtime.server.connections import FILES_OF_A_CALL, Connections, OpenFiles, counted_address


def test_an_address_has_so_many_connections_and_gets_one_back_when_one_closes() -> None:
    connections = Connections(2)
    assert [connections.enter(number, "10.0.0.1") for number in range(2)] == [None, None]
    refused = connections.enter(2, "10.0.0.1")
    assert refused is not None
    assert refused.status == 429
    assert connections.enter(3, "10.0.0.2") is None
    connections.leave(0)
    connections.leave(0)
    assert connections.enter(4, "10.0.0.1") is None
    assert connections.enter(5, "10.0.0.1") is not None
    assert len(connections) == 3


def test_a_connection_that_a_proxy_uses_again_counts_for_the_client_of_its_latest_request() -> None:
    connections = Connections(1)
    for _ in range(3):
        assert connections.enter("kept alive", "10.0.0.1") is None
    assert connections.enter("kept alive", "10.0.0.2") is None
    assert connections.enter("new", "10.0.0.1") is None
    connections.leave("kept alive")
    assert connections.enter("newer", "10.0.0.2") is None


def test_a_socket_with_a_high_number_says_that_the_files_run_out() -> None:
    connections = Connections(2, max_descriptor=100)
    assert connections.lacks_files(100) is None
    refused = connections.lacks_files(101)
    assert refused is not None
    assert refused.status == 503
    assert Connections(2).lacks_files(1_000_000) is None, "without a limit of files no number is too high"


def test_a_condition_is_told_at_once_and_then_once_a_minute_with_how_often_it_happened() -> None:
    connections = Connections(2)
    assert connections.notice("flood", 0.0) == 1
    assert [connections.notice("flood", second) for second in (1.0, 2.0, 59.0)] == [0, 0, 0]
    assert connections.notice("other", 2.0) == 1
    assert connections.notice("flood", 60.0) == 4


def test_a_host_and_a_line_of_ipv6_count_as_one() -> None:
    counted = {
        "10.0.0.1:4711": "10.0.0.1",
        "::ffff:10.0.0.1": "10.0.0.1",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "[2001:db8:1:2::9]:4711": "2001:db8:1:2::/64",
        "unknown": "unknown",
    }
    assert {address: counted_address(address) for address in counted} == counted


@pytest.mark.parametrize(
    ("n_open", "beginning", "lacks"),
    [
        (90, 0, False),
        (100 - FILES_OF_A_CALL, 0, False),
        (101 - FILES_OF_A_CALL, 0, True),
        (90, 2, True),
        (200, 0, True),
    ],
)
def test_a_call_needs_free_files_for_itself_and_for_those_that_begin(
    n_open: int, beginning: int, lacks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "highest_descriptor", lambda reserved: 100)
    monkeypatch.setattr(os, "listdir", lambda _: ["x"] * n_open)
    assert OpenFiles(64).lack(lambda: beginning) is lacks


@pytest.mark.parametrize(("fault", "lacks"), [(errno.EMFILE, True), (errno.ENFILE, True), (errno.ENOENT, False)])
def test_what_cannot_be_counted_is_enough_unless_no_file_is_left(
    fault: int, lacks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> list[str]:
        raise OSError(fault, "no")

    monkeypatch.setattr(module, "highest_descriptor", lambda reserved: 100)
    monkeypatch.setattr(os, "listdir", fail)
    assert OpenFiles(64).lack(lambda: 0) is lacks
    monkeypatch.setattr(module, "highest_descriptor", lambda reserved: None)
    assert OpenFiles(64).lack(lambda: 0) is False
