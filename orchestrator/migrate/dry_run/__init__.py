"""Run a migration as far as its first queue, land nothing, and report what the steps made of the files."""
