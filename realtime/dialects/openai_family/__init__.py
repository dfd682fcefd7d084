"""OpenAI's realtime protocol and its relatives, as clients speak it."""
