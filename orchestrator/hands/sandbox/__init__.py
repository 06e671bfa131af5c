"""Backends that run a command behind walls, or behind none: their file system layout, mounts and programs."""
