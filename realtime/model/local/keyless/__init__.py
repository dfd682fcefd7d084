"""The language model without a key: a table of rules."""
