"""The dashboard: a client of a run's journal and inbox. It knows no engine, and its end ends nothing but itself."""
