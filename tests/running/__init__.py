"""Running Orchestrate in tests: projects, scripts, and the command line in a process of its own."""
