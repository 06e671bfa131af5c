"""Judging over runs: verdicts, their causes, and the accuracy of lenses."""
