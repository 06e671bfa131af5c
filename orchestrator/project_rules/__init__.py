"""The rules that a project's own files give to agents: which hold for some paths, read from a run's base commit."""
