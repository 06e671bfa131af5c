"""Directories whose rules hold for some paths, the nearest first. Pure."""

from collections.abc import Collection, Sequence

from orchestrator.domain.paths.globs import can_overlap


def list_rule_directories(paths: Sequence[str], directories: Collection[str]) -> tuple[str, ...]:
    """Return those of `directories` whose rules hold for one of the paths or globs, the deepest first.

    Those of the top directory, which is the empty string, hold for everything. A path stands for a file, or for a
    directory with all that lies below it.
    """
    holding = []
    for directory in directories:
        if not directory or any(holds_for(directory, path) for path in paths):
            holding.append(directory)
    return tuple(sorted(holding, key=_rank_directory))


def holds_for(directory: str, path: str) -> bool:
    """Return True if a path or glob can mean something in a directory."""
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    if _is_at_or_below(plain, directory) or _is_at_or_below(directory, plain):
        return True
    if "*" in plain or "?" in plain:  # brackets alone are more often a part of a name, such as `[slug]`
        return can_overlap(plain, directory)
    return False


def _is_at_or_below(path: str, directory: str) -> bool:
    return not directory or path == directory or path.startswith(f"{directory}/")


def _rank_directory(directory: str) -> tuple[int, str]:
    depth = directory.count("/") + bool(directory)
    return -depth, directory
