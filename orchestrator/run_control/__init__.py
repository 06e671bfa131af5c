"""Work on a run that exists: find it, send it commands, start its engine, notify, move it, show its changes."""
