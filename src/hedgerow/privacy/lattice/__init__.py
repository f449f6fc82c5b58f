"""Lattice encryption (BFV, exact integers); `cipher` is where to begin."""
