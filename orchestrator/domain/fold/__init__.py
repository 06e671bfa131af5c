"""The fold of events to the state of a run: the only place where an event changes anything."""
