"""Survey a repository for a recipe: languages, tests, owners, environments."""
