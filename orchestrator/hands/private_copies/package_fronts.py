"""Fronts of `node_modules`: directories of links to the packages, with writable caches of each workspace's own.

The packages themselves are mounted read-only inside the front, in a layout that pnpm uses as well, so runners resolve
them as they do there. Nothing can be mounted on a place that the user's own directory lacks, and nothing is ever made
in that one.
"""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from orchestrator.hands.files.directory_trees import create_private_folder
from orchestrator.hands.sandbox.backend import Mount, build_read_only_mount, build_writable_mount

PACKAGES = "node_modules"
CACHES = (".cache", ".vite", ".vite-temp", ".vitest")
"""The places in `node_modules` where tools keep what they can make again; each workspace finds them empty."""


@dataclass(frozen=True)
class PackageFront:
    """A front that stands in place of the borrowed directory `name`, which lies below `base` on this host.

    `folder` holds the links, `store` is the place in it where the packages are mounted.
    """

    name: str
    base: Path
    folder: Path
    store: str

    def build_mounts(self, checkout: Path, caches: Path, owner: int | None) -> tuple[Mount, ...]:
        """Return the mounts for one workspace; its caches are made in `caches`, a directory of its own. Blocks."""
        place = checkout / self.name
        mounts = [
            build_read_only_mount(self.folder, place),
            build_read_only_mount(self.base / self.name, place / self.store),
        ]
        for cache in CACHES:
            folder = caches / self.folder.name / cache
            if not folder.exists():
                create_private_folder(folder, owner)
            mounts.append(build_writable_mount(folder, place / cache))
        return tuple(mounts)


def is_package_folder(name: str) -> bool:
    """Return True if a borrowed path is a directory of packages that gets a front."""
    return PurePosixPath(name).name == PACKAGES


def create_package_front(name: str, base: Path, folder: Path) -> PackageFront:
    """Make the front of the directory of packages `name` below `base` in `folder`, which is new. Blocks.

    Raises:
        OSError: the packages cannot be listed, or the links cannot be made.
    """
    hidden, source = f".{secrets.token_hex(4)}", base / name
    store = f"{hidden}/{PACKAGES}"
    folder.mkdir(mode=0o755, parents=True)
    (folder / store).mkdir(parents=True)
    for cache in CACHES:
        (folder / cache).mkdir()
    root = source.resolve()
    for entry in _list_entries(source):
        if entry.name in CACHES:
            continue
        if entry.name.startswith("@") and not entry.is_symlink() and entry.is_dir():
            (folder / entry.name).mkdir()
            for member in _list_entries(source / entry.name):
                place = folder / entry.name / member.name
                place.symlink_to(_find_link_target(member, f"../{store}/{entry.name}", root))
        else:
            (folder / entry.name).symlink_to(_find_link_target(entry, store, root))
    return PackageFront(name, base, folder, store)


def _list_entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        yield from entries


def _find_link_target(entry: "os.DirEntry[str]", store: str, root: Path) -> str:
    """Return what the front's link to an entry says: one that leads out of the packages stays as it is.

    That is a package of the project's own in a monorepo, which the workspace has itself.
    """
    if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(root):
        return str(Path(entry.path).readlink())
    return f"{store}/{entry.name}"
