"""Names of things."""

NAMES = {1: "apple", 2: "pear", 3: "plum"}