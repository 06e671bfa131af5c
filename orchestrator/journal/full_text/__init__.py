"""Full-text search over a run's events."""
