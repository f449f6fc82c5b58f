"""Pictures by matplotlib: functions that take a model (and rows), draw on axes given or new ones, and return them."""
