"""Real parties, each in a process of its own: `train` and `predict` drive, `join` and `answer` serve."""
