"""No encryption behind the same contract: for tests, and for groups that trust one another."""
