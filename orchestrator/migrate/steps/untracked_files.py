"""What lies in a workspace beside the files of its commit, also where git ignores it."""

import os
from functools import lru_cache
from pathlib import Path, PurePosixPath


def list_untracked_files(root: Path, tracked: frozenset[str], at_most: int = 8) -> list[str]:
    """The first of the paths that belong to no tracked file, directories included; nothing is followed. Blocks.

    What cannot be looked into counts as left over.
    """
    directories = _directories(tracked)
    found: list[str] = []
    waiting = [""]
    while waiting and len(found) < at_most:
        place = waiting.pop()
        try:
            entries = sorted(os.scandir(root / place), key=lambda entry: entry.name)
        except OSError:
            found.append(place)
            continue
        for entry in entries:
            if place:
                path = f"{place}/{entry.name}"
            else:
                path = entry.name
            if entry.is_dir(follow_symlinks=False) and path in directories:
                waiting.append(path)
            elif path not in tracked and path != ".git":
                found.append(path)
    return found[:at_most]


@lru_cache(1)
def _directories(tracked: frozenset[str]) -> frozenset[str]:
    """Those that hold tracked files; of a step's many workspaces they are all the same."""
    return frozenset(str(parent) for path in tracked for parent in PurePosixPath(path).parents)
