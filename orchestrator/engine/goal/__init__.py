"""The run of a goal: what is due next, planning rounds, iterations against the contract, landing."""
