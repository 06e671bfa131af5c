"""Rows, lines and charts that only the dashboard shows, made from a run's state without Textual."""
