"""Loads the MCP SDK when a client is first used: it takes a second, and a core install has none."""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from realtime.errors import INSTALL_MCP, UsageError

_QUIET = ("mcp", "client", "httpx2")
"""Loggers of the SDK that write messages and addresses: logs carry no arguments of tools and no keys."""


def check_installed() -> None:
    """Raise UsageError where the SDK is not installed."""
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise UsageError(f"MCP clients need the package mcp, version 2: {INSTALL_MCP}", code="not_installed")


async def load() -> None:
    """Import the SDK in a thread, so that calls go on meanwhile."""
    await asyncio.get_running_loop().run_in_executor(None, _load)


def _load() -> Any:
    check_installed()
    for name in _QUIET:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
    return import_module("mcp.client.client")
