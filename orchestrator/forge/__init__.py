"""Forges, on which pull requests are opened: GitHub, or refs of the repository itself."""
