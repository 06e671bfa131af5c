"""Codebase-wide migrations by recipe."""
