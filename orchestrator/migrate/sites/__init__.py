"""Find a recipe's sites in files: by regular expression, by ast-grep, or by the recipe's own command."""
