"""Begins and ends the check of what an agent says (`realtime.agent.claims`)."""

from __future__ import annotations

from realtime.agent.claims import CallDeeds, ClaimCheck
from realtime.agent.context import AgentContext
from realtime.agent.controller import Controller
from realtime.agent.settings import AgentSpec, RunSettings
from realtime.agent.withholding import Withholding
from realtime.call.participant import Host
from realtime.model.base import ChecksSentences, Connection


def check_of(spec: AgentSpec, settings: RunSettings, host: Host, deeds: CallDeeds) -> ClaimCheck | None:
    """Return what checks the agent's sentences in this call; None: they are not checked."""
    if spec.claims != "checked":
        return None
    return ClaimCheck(spec.toolkit, deeds, host, declared=lambda: settings.config.tools or ())


def begin_checking(
    context: AgentContext, controller: Controller, connection: Connection, settings: RunSettings, host: Host
) -> None:
    """Have sentences checked before they are spoken, else by their transcript.

    In a room the reply of a model that only has a transcript is not cut: the floor decides who speaks there.
    """
    if context.claims is None:
        return
    if isinstance(connection, ChecksSentences):
        connection.check_sentences(context.claims)
    elif host.own is not None:
        controller.responses.claims = Withholding(
            context.claims,
            context,
            controller.ledger,
            controller.turns.reply_items,
            controller.responses,
            lambda: settings.for_model(context.agent_name).instructions,
        )


def end_checking(controller: Controller) -> None:
    """The agent leaves the call: nothing of its is cut any more."""
    if controller.responses.claims is not None:
        controller.responses.claims.drop()
