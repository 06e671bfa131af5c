"""Pure rules over a run's state: passes and steps, waves, when a migration stops, how it ended."""
