"""A line about each of many runs, of all repositories."""
