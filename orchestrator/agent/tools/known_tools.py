"""The names of the house's own tools: what rules of a policy can mean before any session has begun."""

WRITING_TOOLS = frozenset({"write", "edit"})
"""The tools that write the file that a call names."""
PATH_TOOLS = WRITING_TOOLS | {"read", "map", "log", "blame", "tests", "read_changes"}
"""The tools whose calls may name a path."""
KNOWN_TOOLS = PATH_TOOLS | {
    *("list", "search", "shell", "program", "recall", "search_memory", "note", "read_reports"),
    *("request_tier", "request_grant", "contest_test"),
}
"""All tools that a policy decides about. Those that only end a session are not among them."""
