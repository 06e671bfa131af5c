"""Run one job of a CI system: take the key, carry the run on, leave its state for the next job, publish."""
