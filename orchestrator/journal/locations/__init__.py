"""Runs on disk: their directories, their locks, and the space that they take."""
