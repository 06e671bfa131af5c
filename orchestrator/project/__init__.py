"""The repository being worked on: options, configuration, state directory, secrets, trust in recipes."""
