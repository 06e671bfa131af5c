"""The cost of a run, and the use of its budgets."""
