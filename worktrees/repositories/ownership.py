"""Whose repository it is. Git obeys the settings of a repository only for its owner; so do we, by the same rule."""

import os
import pwd
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from worktrees.errors import NotARepository
from worktrees.git import is_owner_accepted


def check_owner(root: Path, places: Iterable[Path]) -> None:
    """Refuse the repository of checkout `root` if another user owns one of `places`, as git itself refuses it.

    Git is asked only where that is so: the user's `safe.directory` may allow it all the same.

    Raises:
        NotARepository: it belongs to another user; names the way on.
    """
    strange = next((place for place in places if not _is_own(place)), None)
    if strange is None or is_owner_accepted(root):
        return
    raise NotARepository(
        f"the repository of {root} belongs to another user ({_name_owner(strange)} owns {strange}), whose settings "
        "would be obeyed as yours: git refuses it (dubious ownership), and so does Orchestrate. If you trust them: "
        f"git config --global --add safe.directory {root}"
    )


def _is_own(place: Path) -> bool:
    try:
        owner = place.lstat().st_uid
    except OSError:
        return False
    return owner in _list_own_users()


def _list_own_users() -> set[int]:
    """Return the ids that count as the user's own: under sudo also that of whoever called it."""
    own = {os.geteuid()}
    caller = os.environ.get("SUDO_UID", "")
    if own == {0} and caller.isascii() and caller.isdecimal():
        own.add(int(caller))
    return own


def _name_owner(place: Path) -> str:
    with suppress(OSError):
        number = place.lstat().st_uid
        with suppress(KeyError):
            return pwd.getpwuid(number).pw_name
        return f"user {number}"
    return "nobody we can see"
