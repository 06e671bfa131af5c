"""The files of a workspace that a command opened and wrote, seen from the host."""
