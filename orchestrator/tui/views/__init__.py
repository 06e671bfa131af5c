"""What the dashboard's tabs show: one module a view."""
