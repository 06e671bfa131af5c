"""A real migration of a real package, without a model key."""
