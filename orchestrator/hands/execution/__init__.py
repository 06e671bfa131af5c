"""Run one command to its end: calls by id, processes, output, logs, and what reaps orphans after a kill."""
