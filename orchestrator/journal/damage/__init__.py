"""Repairing a damaged journal, and salvaging events from a file that SQLite refuses."""
