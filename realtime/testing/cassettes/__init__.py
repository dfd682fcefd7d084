"""Provider cassettes: recording what passes over a provider's socket, and playing it back."""
