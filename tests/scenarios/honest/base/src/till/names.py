"""Names of things."""

NAMES = {1: "apple", 2: "pear"}