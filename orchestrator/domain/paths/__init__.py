"""Rules about paths, without touching a disk: globs, where credentials lie, where dependencies are installed."""
