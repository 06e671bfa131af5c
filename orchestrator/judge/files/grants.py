"""Grants: globs of what the plan lets a task change although it is protected."""

from collections.abc import Callable, Sequence

from orchestrator.domain.paths.globs import matches_glob


def build_grant_matcher(grants: Sequence[str]) -> Callable[[str], bool]:
    """Return a predicate that is true of paths which one of these globs grants."""

    def is_granted(path: str) -> bool:
        return any(matches_glob(glob, path) for glob in grants)

    return is_granted
