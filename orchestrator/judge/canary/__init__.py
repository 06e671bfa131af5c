"""Canary tests of the harness, run in place of a project's own to see whether outcomes can be believed."""
