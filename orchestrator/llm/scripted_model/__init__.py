"""A model that plays a script file, for dry runs, demos and tests."""
