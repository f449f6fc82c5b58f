"""What parties agree on before a run: the plan, each owner's policy, a user's options, the cipher."""
