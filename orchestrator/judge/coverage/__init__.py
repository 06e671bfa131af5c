"""Measuring which lines run while a check does, by coverage.py in the sandbox."""
