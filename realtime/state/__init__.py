"""The state of a call: its event log and its conversation."""
