"""A worktree's content as a commit, and the gate that each changed file passes first."""
