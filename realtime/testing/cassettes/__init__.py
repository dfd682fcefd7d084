"""Provider cassettes: recording the frames of a provider's socket, and replaying them."""
