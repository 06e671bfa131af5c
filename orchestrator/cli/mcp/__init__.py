"""`orchestrate mcp`: runs as tools of a chat agent, by the Model Context Protocol."""
