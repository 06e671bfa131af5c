"""Backends that run a command behind walls (bubblewrap, or none at all), their file system layout, mounts and programs."""
