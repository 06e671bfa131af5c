"""What lies in a workspace beside the files of its commit, also where git ignores it."""

import os
from collections.abc import Collection
from pathlib import Path, PurePosixPath


def leftovers(root: Path, tracked: Collection[str], at_most: int = 8) -> list[str]:
    """The first of the paths that belong to no tracked file, directories included; nothing is followed. Blocks.

    What cannot be looked into counts as left over.
    """
    directories = {str(parent) for path in tracked for parent in PurePosixPath(path).parents}
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
            path = f"{place}/{entry.name}" if place else entry.name
            if entry.is_dir(follow_symlinks=False) and path in directories:
                waiting.append(path)
            elif path not in tracked and path != ".git":
                found.append(path)
    return found[:at_most]
