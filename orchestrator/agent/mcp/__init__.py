"""Servers of the Model Context Protocol: their tools in conversations, pinned, bounded and held."""
