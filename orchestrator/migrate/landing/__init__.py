"""Landing shards, taking them back, and showing them to people in pull requests."""
