"""The names under which an engine stores in its journal what it derives for readers."""

STATUS_PROJECTION = "status"
"""The status of the run, as `status --json` prints it."""
SUMMARY_PROJECTION = "summary"
"""The run in short, for lists of many runs."""
