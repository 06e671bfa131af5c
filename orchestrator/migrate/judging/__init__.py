"""Judge what a migration changes: rules, checks by level, coverage."""
