"""Garbage collection: what `gc` removes, and which runs it has to keep."""
