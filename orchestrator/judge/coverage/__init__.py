"""Which lines run while a check does, measured by coverage.py in the sandbox."""
