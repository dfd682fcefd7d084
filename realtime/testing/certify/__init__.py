"""Ten turns that test a provider against this project's expectations: `realtime certify`."""
