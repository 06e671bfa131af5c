"""Run a migration: waves, passes of the ladder, recipe revisions, from inventory to pull request."""
