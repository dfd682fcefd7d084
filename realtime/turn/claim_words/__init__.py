"""Words by which agents claim deeds."""
