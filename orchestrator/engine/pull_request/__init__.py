"""The pull request of a run: its text, the push before it, opening it, the forge's checks, merging or closing it."""
