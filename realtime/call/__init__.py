"""A call: who takes part in it, who listens, how far they have played, and the right to come back."""
