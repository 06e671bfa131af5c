"""What callers do with a run that exists: find it, send it commands, start its engine, notify, move it between machines, show its changes."""
