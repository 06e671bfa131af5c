"""Locks between processes, and lock files of git that dead processes left."""
