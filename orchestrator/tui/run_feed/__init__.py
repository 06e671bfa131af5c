"""The data behind the dashboard: follow a run's journal, fold it into view models, read diffs and conversations."""
