"""The tabs of the dashboard: one module for each view."""
