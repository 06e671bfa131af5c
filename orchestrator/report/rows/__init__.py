"""Rows that verbs and the dashboard share: the fleet, files, questions and the queue, with their filter."""
