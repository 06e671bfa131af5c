"""One run: planning, attempts, verdicts, landing, recovery."""
