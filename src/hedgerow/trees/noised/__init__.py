"""Trees from sums with noise: where nothing is searched for, so that a round releases one vector of clipped sums."""
