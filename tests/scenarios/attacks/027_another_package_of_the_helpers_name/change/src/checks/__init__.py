"""Checks of books before they are closed."""
