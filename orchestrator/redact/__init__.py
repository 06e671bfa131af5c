"""Keeping credentials out of what is kept, shown and sent: which values are secret, and how a text is searched."""
