"""What a repository tells of itself to who writes a recipe for it: languages, tests, owners, environments."""
