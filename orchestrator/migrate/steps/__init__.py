"""Steps of the ladder that commands and rewrites do: batches, sandboxes, the cache, what becomes of files."""
