"""Run files, policies and FedTree's configurations, read and checked."""
