"""The verbs that only read a run: status, logs, show, cost, diff, report."""
