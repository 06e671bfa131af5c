"""Refuse repositories of other users, by the rule of git itself: safe.directory in `git help config`."""

import os
from collections.abc import Iterable
from pathlib import Path

from worktrees.errors import NotARepository
from worktrees.git import Git


def require_trusted_owner(root: Path, places: Iterable[Path]) -> None:
    """Make sure that all places of the checkout at `root` belong to this user, or that git was told to trust it.

    Root started by sudo also trusts what belongs to whoever started it.

    Raises:
        NotARepository: a place belongs to somebody else.
    """
    owners = _trusted_owners()
    foreign = next((place for place in places if place.lstat().st_uid not in owners), None)
    if foreign is None or _is_declared_safe(root):
        return
    raise NotARepository(
        f"{foreign} belongs to another user (uid {foreign.lstat().st_uid}), whose settings git would obey. "
        f"If you trust that user: git config --global --add safe.directory {root}"
    )


def _trusted_owners() -> frozenset[int]:
    user, sudo = os.geteuid(), os.environ.get("SUDO_UID", "")
    return frozenset({user, int(sudo)} if user == 0 and sudo.isdecimal() else {user})


def _is_declared_safe(root: Path) -> bool:
    """Read the user's and the system's settings; those of the repository do not count."""
    listing = Git(Path("/"), is_user=True).run_sync("config", "--null", "--get-all", "safe.directory", ok=(0, 1)).text
    declared: list[str] = []
    for value in listing.split("\0")[:-1]:
        declared = [*declared, value] if value else []  # an empty value takes back all before it
    return any(_covers(value, root) for value in declared)


def _covers(value: str, root: Path) -> bool:
    place = str(Path(value).expanduser())
    if place.endswith("/*"):
        return root.is_relative_to(place[:-1])
    return value == "*" or Path(place) == root
