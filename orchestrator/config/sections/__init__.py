"""Models of single sections of the configuration that stand for themselves."""
