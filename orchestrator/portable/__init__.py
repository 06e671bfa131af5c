"""Runs that travel: one archive, or one ref, with a run's journal, blobs and git objects."""
