"""The parts of the user's checkout that a repository may have shown to workspaces: installed dependencies."""

DEPENDENCY_PATTERNS = (".venv", "venv", "node_modules", "*.egg-info")
"""The patterns shared by default: environments and packages, and nothing built from the sources."""

_ALSO_DEPENDENCIES = (".tox", ".nox", "__pypackages__", "bower_components", "vendor")


def is_dependency_pattern(pattern: str) -> bool:
    """Return True if a pattern of `share` matches only the places where tools install dependencies.

    Only these may a repository have shared: for any other name nobody but the user knows what lies there.
    """
    return pattern.rstrip("/").rpartition("/")[2] in (*DEPENDENCY_PATTERNS, *_ALSO_DEPENDENCIES)
