"""Code mode: a program of an agent's, and the typed module of tools that it imports, as both run in the sandbox."""
