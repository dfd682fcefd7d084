"""Agent to Agent: remote agents as agents of ours. Names are loaded on first use, and the SDK when it is needed."""
