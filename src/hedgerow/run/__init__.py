"""Runs: from a run file or a list of tables to roles, keys and a channel. The only room that knows everybody."""
