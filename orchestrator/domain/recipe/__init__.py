"""Recipes as data: the tables of a migration's TOML file, schema 1, with the rules that hold within them."""
