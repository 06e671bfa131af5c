"""Install a project's dependencies or run its setup commands once, and lend the result to all workspaces."""
