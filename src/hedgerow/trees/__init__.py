"""What would be the same with one party."""
