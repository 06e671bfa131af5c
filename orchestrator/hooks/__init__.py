"""Programs of the user that follow a run from outside: lifecycle hooks and notifications."""
