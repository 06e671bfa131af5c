"""`orchestrate migrate` and its verbs."""
