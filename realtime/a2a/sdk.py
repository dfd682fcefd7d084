"""Loads the SDK of Agent to Agent on first use: that takes a second, and a core install has none."""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module, metadata
from types import SimpleNamespace

from realtime.errors import UsageError

INSTALL_A2A = "pip install -e '.[a2a]' in the folder of this project, or pip install 'a2a-sdk>=1.3,<2'"
"""The command that installs what remote agents need."""
_QUIET = ("a2a", "httpx")
"""Loggers of the SDK that write cards, messages and addresses."""


def check_installed() -> None:
    """Raise UsageError where version 1 of the SDK is not installed."""
    try:
        version = metadata.version("a2a-sdk")
    except metadata.PackageNotFoundError:
        version = ""
    if not version.startswith("1."):
        found = f", and version {version} is here" if version else ""
        raise UsageError(
            f"remote agents need the package a2a-sdk, version 1{found}: {INSTALL_A2A}", code="not_installed"
        )


async def load() -> SimpleNamespace:
    """Import the SDK in a thread, so that calls go on meanwhile; return what is used of it."""
    return await asyncio.get_running_loop().run_in_executor(None, _load)


def _load() -> SimpleNamespace:
    check_installed()
    for name in _QUIET:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
    types, client, errors = map(import_module, ("a2a.types", "a2a.client", "a2a.utils.errors"))
    return SimpleNamespace(
        types=types,
        ClientConfig=client.ClientConfig,
        ClientFactory=client.ClientFactory,
        parse=import_module("google.protobuf.json_format").ParseDict,
        errors=errors,
        httpx=import_module("httpx"),
    )
