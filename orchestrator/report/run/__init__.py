"""A run in `run --json`, `status` and its summary: result, contract, checks, and the next step."""
