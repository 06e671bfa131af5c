"""Checks, receipts, the difference to the baseline, and verdicts."""
