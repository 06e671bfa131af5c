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
_CACHES_FOLDER = "caches"
CACHES = (".cache", ".vite", ".vite-temp", ".vitest")
"""The places in `node_modules` where tools keep what they can make again; each workspace finds them empty."""


@dataclass(frozen=True)
class PackageFront:
    """A front that stands in place of the borrowed directory `name`, which lies below `base` on this host.

    `folder` holds the links, `hidden` is the directory in it below which packages and caches are mounted.
    """

    name: str
    base: Path
    folder: Path
    hidden: str

    def build_mounts(self, checkout: Path, caches: Path, owner: int | None) -> tuple[Mount, ...]:
        """Return the mounts for one workspace; its caches are made in `caches`, a directory of its own. Blocks."""
        own = caches / self.folder.name
        if not own.exists():
            create_private_folder(own, owner)
            for cache in CACHES:
                create_private_folder(own / cache, owner)
        place = checkout / self.name
        return (
            build_read_only_mount(self.folder, place),
            build_read_only_mount(self.base / self.name, place / self.hidden / PACKAGES),
            build_writable_mount(own, place / self.hidden / _CACHES_FOLDER),
        )


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
    folder.parent.mkdir(exist_ok=True)
    for inner in (".", hidden, store, f"{hidden}/{_CACHES_FOLDER}"):
        _create_folder(folder / inner)
    for cache in CACHES:
        (folder / cache).symlink_to(f"{hidden}/{_CACHES_FOLDER}/{cache}")
    root = source.resolve()
    for entry in _list_entries(source):
        if entry.name in CACHES:
            continue
        if entry.name.startswith("@") and not entry.is_symlink() and entry.is_dir():
            _create_folder(folder / entry.name)
            for member in _list_entries(source / entry.name):
                place = folder / entry.name / member.name
                place.symlink_to(_find_link_target(member, f"../{store}/{entry.name}", root))
        else:
            (folder / entry.name).symlink_to(_find_link_target(entry, store, root))
    return PackageFront(name, base, folder, hidden)


def _create_folder(folder: Path) -> None:
    """Create a directory that everybody may read, whatever mask this process has."""
    folder.mkdir()
    folder.chmod(0o755)


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
