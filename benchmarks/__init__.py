"""Hedgerow beside its peers: every figure is a ratio from one run on one machine."""
