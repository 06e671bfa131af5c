"""Costs of calls and their bounds: usage, prices, limits, and the accounts of one run."""
