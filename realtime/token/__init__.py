"""Counters of tokens, for the limits of a chat model."""

from realtime.token.base import TokenCounterBase

__all__ = ["TokenCounterBase"]
