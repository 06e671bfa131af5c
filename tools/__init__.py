"""Tools for those who work on Orchestrate; no part of the product."""
