"""A run as `run --json`, `status` and its last words show it: result, contract, checks, what comes next."""
