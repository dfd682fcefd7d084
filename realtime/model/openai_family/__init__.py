"""OpenAI's realtime protocol and its relatives, as models."""
