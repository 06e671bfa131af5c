"""Orchestrate: one large goal for one git repository, carried to a reviewed pull request."""

__version__ = "0.1.0"
