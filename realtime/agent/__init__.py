"""Agents: the bridge between a realtime model and whoever talks with it."""

from realtime.agent.realtime import RealtimeAgent

__all__ = ["RealtimeAgent"]
