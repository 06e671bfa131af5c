"""The modal screens of the dashboard: help, command palette, dialogs, reports."""
