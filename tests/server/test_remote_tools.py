"""Addresses of MCP servers on the command line."""

import sys

import pytest

from realtime.errors import UsageError
from realtime.server.remote_tools import addresses_of


def test_an_url_is_named_by_its_host_without_secrets() -> None:
    (address,) = addresses_of(["https://user:pass@mcp.example.org/mcp?key=secret"])
    assert (address.name, address.url) == ("mcp.example.org", "https://user:pass@mcp.example.org/mcp?key=secret")


@pytest.mark.parametrize(
    ("words", "name", "command"),
    [
        (f"{sys.executable} '/a b/weather.py' --city 'New York'", "weather", ["/a b/weather.py", "--city", "New York"]),
        (f"{sys.executable} -m shop_tools", "shop_tools", ["-m", "shop_tools"]),
        (f"{sys.executable} run -y @acme/orders@1.2.3 --all", "orders", ["run", "-y", "@acme/orders@1.2.3", "--all"]),
    ],
)
def test_a_command_is_quoted_as_in_a_shell_and_named_by_what_it_runs(words: str, name: str, command: list[str]) -> None:
    (address,) = addresses_of([words])
    assert (address.name, [*address.command[1:]], address.url) == (name, command, "")


def test_variables_before_a_command_are_for_it_alone() -> None:
    (address,) = addresses_of([f"API_KEY='a b' MODE= {sys.executable} weather.py"])
    assert address.environment == {"API_KEY": "a b", "MODE": ""}
    assert address.command == (sys.executable, "weather.py")


def test_each_address_has_a_name_of_its_own() -> None:
    command = f"{sys.executable} weather.py"
    addresses = addresses_of([command, command, "http://127.0.0.1:1/mcp", "http://127.0.0.1:2/mcp"])
    assert [address.name for address in addresses] == ["weather", "weather-2", "127.0.0.1", "127.0.0.1-2"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "takes the URL of an MCP server, or the command"),
        ("KEY=value", "takes the URL of an MCP server, or the command"),
        ("no-such-program --x", "there is no such program. Install it"),
        ("python 'half", "No closing quotation"),
        ("ws://127.0.0.1/mcp", "not one of ws"),
        ("file:///etc/passwd", "not one of file"),
        ("http:///mcp", "takes the http or https URL"),
    ],
)
def test_what_is_no_address_is_refused_with_what_to_do(words: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as refused:
        addresses_of([words])
    assert refused.value.code == "mcp_address"
