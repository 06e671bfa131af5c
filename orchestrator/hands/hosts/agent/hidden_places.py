"""Places that commands on a host may not see: its key, and the store with the copies of all repositories."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from orchestrator.errors import UsageProblem
from orchestrator.hands.sandbox.backend import PACKAGE_STORES, SYSTEM_FOLDERS
from orchestrator.hands.sandbox.etc_files import list_etc_mounts


def find_visible_folder(place: Path, folders: Iterable[Path]) -> Path | None:
    """Return the first of the folders in which a place lies, links followed; None if it lies in none."""
    real = place.resolve()
    for folder in folders:
        if real.is_relative_to(folder.resolve()):
            return folder
    return None


def require_hidden_place(place: Path, option: str) -> None:
    """Refuse a place within what every sandbox of this machine shows; `option` is where it was given.

    Raises:
        UsageProblem: commands would see it.
    """
    if folder := find_visible_folder(place, _iterate_common_folders()):
        raise UsageProblem(
            f"{place} lies in {folder}, which every command on this host may read, and it is private to the host: "
            f"take another directory for {option}, such as one in your home"
        )


def _iterate_common_folders() -> Iterator[Path]:
    for name in SYSTEM_FOLDERS:
        yield Path("/", name)
    for name in list_etc_mounts():
        yield Path("/etc", name)
    yield from PACKAGE_STORES
    yield Path(sys.base_prefix)
    if environment := os.environ.get("VIRTUAL_ENV"):
        yield Path(environment)
