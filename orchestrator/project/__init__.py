"""The repository being worked on as its caller names it: options, resolved configuration, state directory, secrets, trust in recipes, scratch copies."""
