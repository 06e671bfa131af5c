"""The parts of what workspaces borrow that a build may write to: copies, and caches of each workspace's own."""
