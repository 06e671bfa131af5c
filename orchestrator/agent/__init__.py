"""The agent loop and its tools."""
