"""Paillier's cipher; `cipher` is where to begin."""
