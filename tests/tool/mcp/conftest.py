"""How soon a server of tools starts and answers is up to the machine: tests wait for it as long as for anything."""

from inspect import unwrap

import pytest

from realtime.tool.mcp import StdIOStatefulClient
from realtime.tool.mcp.client import HttpClient
from tests.volumes import HANG_S


@pytest.fixture(autouse=True)
def patient_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that are not given another limit."""
    headers, _, silence_s = (http := unwrap(HttpClient.__init__)).__defaults__ or ()
    monkeypatch.setattr(http, "__defaults__", (headers, HANG_S, silence_s))
    monkeypatch.setitem(unwrap(StdIOStatefulClient.__init__).__kwdefaults__ or {}, "timeout", HANG_S)
