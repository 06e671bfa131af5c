"""What of the user's checkout may be shown to workspaces because files of a repository ask for it."""

DEPENDENCY_PATTERNS = (".venv", "venv", "node_modules", "*.egg-info")
"""What is shared where nobody says anything else: environments and packages, and nothing built from the sources."""

_ALSO_DEPENDENCIES = (".tox", ".nox", "__pypackages__", "bower_components", "vendor")


def is_dependency_pattern(pattern: str) -> bool:
    """Return True if a pattern of `share` matches only the places where tools install dependencies.

    Only these may a repository have shared: for any other name nobody but the user knows what lies there.
    """
    return pattern.rstrip("/").rpartition("/")[2] in (*DEPENDENCY_PATTERNS, *_ALSO_DEPENDENCIES)
