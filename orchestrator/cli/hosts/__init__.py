"""The verbs of `orchestrate hosts`."""
