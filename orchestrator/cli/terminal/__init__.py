"""Colours on terminals, and a pager for output that is longer than the screen."""
