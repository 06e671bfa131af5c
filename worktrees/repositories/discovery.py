"""Finding a checkout and its git directories without running git, whose own search obeys what it finds.

Git obeys the settings of a repository only for its owner; so do we, by the same rule.
"""

import os
import pwd
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from worktrees.errors import NotARepository
from worktrees.git import Git, is_owner_accepted


@dataclass(frozen=True)
class Checkout:
    """A directory with files, its git directory, and the one it shares with other checkouts. All are resolved."""

    root: Path
    git_dir: Path
    common_dir: Path


def find_checkout(path: Path) -> Checkout:
    """Return the checkout that `path`, a file or directory, belongs to.

    Raises:
        NotARepository: there is none, or it has no files.
    """
    if not path.exists():
        raise NotARepository(f"{path} does not exist: name a directory inside a git checkout")
    start = path.resolve()
    for place in (start, *start.parents):
        if (place / ".git").exists():
            return _find_directories(place)
        if _is_git_dir(place) and place.name != ".git":
            raise NotARepository(
                f"{place} is a bare repository, which has no files to work on: "
                f"clone it (git clone {place} DIR) and name the clone"
            )
    raise NotARepository(
        f"{path} is not inside a git repository: name a directory inside a checkout, "
        f"or make it one (git init, then commit its files)"
    )


def _find_directories(root: Path) -> Checkout:
    entry = root / ".git"
    if entry.is_dir():
        git_dir = entry.resolve()
    else:
        git_dir = _read_pointer(entry)
    common_dir = _find_common_dir(git_dir)
    if not _is_git_dir(common_dir) or not (git_dir / "HEAD").is_file():
        raise NotARepository(
            f"{entry} does not lead to a git repository (looked in {git_dir}): "
            f"if the checkout was moved, run `git worktree repair` in the repository it belongs to"
        )
    _check_owner(root, (entry, root, git_dir))
    found = Checkout(root, git_dir, common_dir)
    if not _is_its_own(found):
        raise NotARepository(
            f"{entry} leads to {common_dir}, a repository that does not say it belongs to {root}: a checkout does not "
            "decide which other repository of yours is read. If it was moved, run `git worktree repair` in that "
            "repository; else name a checkout of that repository, or clone it"
        )
    return found


def _is_its_own(found: Checkout) -> bool:
    """Return True if the git directory belongs to the checkout: it lies in it, or names it in its turn.

    A linked worktree is named by `gitdir` beside its HEAD, a submodule by `core.worktree`. What was made by `git init
    --separate-git-dir` names nothing, but is no bare repository and not the `.git` of another checkout either.
    """
    if found.git_dir.parent == found.common_dir / "worktrees":
        back = found.git_dir / "gitdir"
        return back.is_file() and (found.git_dir / _read_first_line(back)).resolve() == found.root / ".git"
    if found.git_dir != found.common_dir:
        return False
    if found.git_dir.is_relative_to(found.root):
        return True
    named = _read_setting(found.git_dir, "core.worktree")
    if named:
        return (found.git_dir / named).resolve() == found.root
    return found.git_dir.name != ".git" and _read_setting(found.git_dir, "core.bare", "--type=bool") != "true"


def _read_setting(git_dir: Path, key: str, *options: str) -> str:
    """Return a setting of the git directory's own files; empty where there is none."""
    files = []
    for name in ("config.worktree", "config"):
        if (git_dir / name).is_file():
            files.append(str(git_dir / name))
    asked = (Git(git_dir).run_sync("config", *options, "--file", file, "--get", key, ok=(0, 1)).text for file in files)
    return next((value for value in asked if value), "")


def _read_pointer(entry: Path) -> Path:
    """Return where a `.git` file of a linked worktree or a submodule points."""
    text = _read_first_line(entry)
    if not text.startswith("gitdir: "):
        raise NotARepository(f"{entry} is neither a git directory nor a pointer to one: restore or remove it")
    return (entry.parent / text.removeprefix("gitdir: ")).resolve()


def _find_common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if pointer.is_file():
        return (git_dir / _read_first_line(pointer)).resolve()
    return git_dir


def _read_first_line(file: Path) -> str:
    return file.read_bytes()[:4096].decode("utf-8", "surrogateescape").partition("\n")[0]


def _is_git_dir(place: Path) -> bool:
    return (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir()


def _check_owner(root: Path, places: Iterable[Path]) -> None:
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
