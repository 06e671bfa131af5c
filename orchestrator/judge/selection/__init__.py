"""Choosing the tests that a change concerns, by names and by imports."""
