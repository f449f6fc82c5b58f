"""What a run will cost and disclose, before it begins."""
