"""What people can tell a run: the commands, why one is refused, and what each changes in the state of the run."""
