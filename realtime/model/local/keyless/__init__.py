"""The language model that needs no key: a table of rules."""
