"""`orchestrate ci` and its verbs."""
