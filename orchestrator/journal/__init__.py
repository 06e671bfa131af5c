"""The run's append-only event log, blobs beside it, and where runs lie."""
