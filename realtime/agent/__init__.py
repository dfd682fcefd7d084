"""Agents: each bridges a realtime model to a call."""

from realtime.agent.realtime import RealtimeAgent

__all__ = ["RealtimeAgent"]
