"""Agents: each bridges a realtime model to a call."""

from realtime.agent.realtime import RealtimeAgent
from realtime.agent.saying import SpokenWords

__all__ = ["RealtimeAgent", "SpokenWords"]
