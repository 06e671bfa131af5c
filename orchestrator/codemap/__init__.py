"""A ranked map of a repository and what else tells about it: symbols, history, tests. It reads git objects only."""
