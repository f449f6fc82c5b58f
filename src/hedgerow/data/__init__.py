"""A table, before anyone talks."""
