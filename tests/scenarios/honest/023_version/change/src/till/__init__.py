"""A till for a small shop."""

__version__ = "1.5.0"
