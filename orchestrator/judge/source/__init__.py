"""Source code read without running it: syntax, names, test functions, assertions, comments."""
