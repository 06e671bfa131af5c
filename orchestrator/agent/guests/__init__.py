"""Agents of other makers that work in the place of a worker: guests. What they say is never evidence."""
