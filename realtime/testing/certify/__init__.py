"""Ten turns with a provider that say whether it does what this project expects of it: `realtime certify`."""
