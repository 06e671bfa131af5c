"""The `orchestrate` command: one module a verb, no logic."""
