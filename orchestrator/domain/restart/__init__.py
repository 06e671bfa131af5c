"""Restarts of a goal: the states that one can begin from, and what it leaves behind."""
