"""`make demo`: three organisations as real processes, once with the same columns and once with the same rows."""
