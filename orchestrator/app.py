"""The composition root: configuration in, a wired engine out."""
