"""Real parties: training and predicting over a transport."""
