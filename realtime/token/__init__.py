"""Counters of tokens, for the limits of a chat model."""

from realtime.token.base import TokenCounterBase
from realtime.token.char import CharTokenCounter
from realtime.token.tokenizers import TokenizersCounter

__all__ = ["CharTokenCounter", "TokenCounterBase", "TokenizersCounter"]
