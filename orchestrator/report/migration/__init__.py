"""A migration: burndown, groups of files, one file in full, and its report in every format."""
