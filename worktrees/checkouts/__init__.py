"""Pooled worktrees: registering, leasing, filling them with a tree, and cleaning them."""
