"""Whole directories of our own: handing one to the sandbox's user, removing one that a command has had its way with."""

import os
import shutil
from pathlib import Path


def give_tree(directory: Path, owner: int | None) -> None:
    """Make `owner` own a directory that only we have filled, and everything in it; None leaves it ours."""
    if owner is None:
        return
    for folder, folders, files in os.walk(directory):
        for name in (".", *folders, *files):
            os.lchown(Path(folder) / name, owner, owner)


def new_folder(directory: Path, owner: int | None = None) -> Path:
    """Create an empty directory that only its owner may enter; returns it."""
    directory.mkdir(mode=0o700, parents=True)
    give_tree(directory, owner)
    return directory


def remove_tree(directory: Path) -> None:
    """Remove a directory, also where something in it was made unreadable; links are not followed.

    Nothing may be at work in it any more.
    """
    if not directory.is_dir():
        return
    for folder, folders, _ in os.walk(directory):
        for inner in (Path(folder) / name for name in folders):
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(directory)
