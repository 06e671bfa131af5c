"""Behaviour that outcomes do not tell: calls made again outside tests, and comparisons that say yes to too much."""
