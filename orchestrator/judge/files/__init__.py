"""Changed files, and what a path is to the judge: protected, test, lock file, generated, document."""
