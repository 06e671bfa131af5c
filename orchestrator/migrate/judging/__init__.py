"""What has to hold of what a migration changes: rules, checks by level, environments, coverage."""
