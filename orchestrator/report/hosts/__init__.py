"""The hosts of a run: which are there, which were lost, and what each carries."""
