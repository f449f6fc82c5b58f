"""Real processes, killed and cut off on purpose, to see that every run comes to the same model."""
