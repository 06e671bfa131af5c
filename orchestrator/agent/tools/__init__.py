"""The tools that roles put together: five for a worker, read-only ones for a planner."""
