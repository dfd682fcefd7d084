"""Upstream's Agent to Agent, where ours differs: its tests use the SDK's classes of 0.3 and a client of their own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as old
from a2a.types import Message
from google.protobuf.json_format import ParseDict

from realtime.a2a.parts import plain


def settle() -> None:
    """Let `a2a.types` be the classes of 0.3, for the process of one judge."""
    sys.modules["a2a.types"] = import_module("a2a.compat.v0_3.types")


def _as_old(message: dict[str, Any]) -> old.Message:
    return conversions.to_compat_message(ParseDict(message, Message()))


class _Client:
    """Stands for the remote agent: upstream's factory makes a client for each message."""

    def __init__(self, remote: Any, factory: Any) -> None:
        self.card, self.faults, self._factory = remote.card, remote.faults, factory

    async def send(self, message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        async for answer in self._factory.create(card=self.card).send_message(_as_old(message)):
            yield {"message": plain(answer)} if isinstance(answer, old.Message) else {"task": plain(answer[0])}


def agent(ours: type[Any]) -> type[Any]:
    """Return an agent that takes upstream's private factory of clients."""

    class A2AAgent(ours):  # type: ignore[misc]
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "_a2a_client_factory":
                name, value = "_remote", _Client(self._remote, value)
            super().__setattr__(name, value)

    return A2AAgent


def formatter(ours: type[Any]) -> type[Any]:
    """Return a formatter that writes a message of 0.3."""

    class A2AChatFormatter(ours):  # type: ignore[misc]
        async def format(self, msgs: Any, **kwargs: Any) -> Any:
            return _as_old(self.format_json(msgs))

    return A2AChatFormatter


def resolver(ours: type[Any]) -> type[Any]:
    """Return a resolver that gives a card of 0.3."""

    class FileAgentCardResolver(ours):  # type: ignore[misc]
        async def get_agent_card(self) -> Any:
            card = (await super().get_agent_card()).model_dump()
            kept = {name: value for name, value in card.items() if name != "interfaces"}
            kept["skills"] = [{name: value for name, value in one.items() if value} for one in card["skills"]]
            return old.AgentCard.model_validate(kept)

    return FileAgentCardResolver


ADAPTERS = {"A2AAgent": agent, "A2AChatFormatter": formatter, "FileAgentCardResolver": resolver}
"""What makes upstream's class of ours, by name."""
