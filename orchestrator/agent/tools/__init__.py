"""The tools that roles put together: a handful for a worker, read-only ones for a planner."""
