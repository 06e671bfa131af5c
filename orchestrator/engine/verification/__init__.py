"""Verification: tests that a verifier writes for tasks, run on the base and on candidates, and contested."""
