"""Messages as payloads of chat models: one formatter for each family, the only writers of payloads."""

from realtime.formatter.base import FormatterBase

__all__ = ["FormatterBase"]
