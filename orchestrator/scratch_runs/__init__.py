"""Runs in a scratch directory that leave the user's repository alone: replays and dry runs."""
