"""Finding a checkout and its git directories without running git, whose own search obeys what it finds."""

from dataclasses import dataclass
from pathlib import Path

from worktrees.errors import NotARepository


@dataclass(frozen=True)
class Checkout:
    """A directory with files, its git directory, and the one it shares with other checkouts. All are resolved."""

    root: Path
    git_dir: Path
    common_dir: Path


def find_checkout(path: Path) -> Checkout:
    """The checkout that `path`, a file or directory, belongs to.

    Raises:
        NotARepository: there is none, or it has no files.
    """
    if not path.exists():
        raise NotARepository(f"{path} does not exist: name a directory inside a git checkout")
    start = path.resolve()
    for place in (start, *start.parents):
        if (place / ".git").exists():
            return _checkout(place)
        if _is_git_dir(place) and place.name != ".git":
            raise NotARepository(
                f"{place} is a bare repository, which has no files to work on: "
                f"clone it (git clone {place} DIR) and name the clone"
            )
    raise NotARepository(
        f"{path} is not inside a git repository: name a directory inside a checkout, "
        f"or make it one (git init, then commit its files)"
    )


def _checkout(root: Path) -> Checkout:
    entry = root / ".git"
    git_dir = entry.resolve() if entry.is_dir() else _pointed_to(entry)
    common_dir = _common_dir(git_dir)
    if not _is_git_dir(common_dir) or not (git_dir / "HEAD").is_file():
        raise NotARepository(
            f"{entry} does not lead to a git repository (looked in {git_dir}): "
            f"if the checkout was moved, run `git worktree repair` in the repository it belongs to"
        )
    return Checkout(root, git_dir, common_dir)


def _pointed_to(entry: Path) -> Path:
    """Where a `.git` file of a linked worktree or a submodule points."""
    text = _first_line(entry)
    if not text.startswith("gitdir: "):
        raise NotARepository(f"{entry} is neither a git directory nor a pointer to one: restore or remove it")
    return (entry.parent / text.removeprefix("gitdir: ")).resolve()


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    return (git_dir / _first_line(pointer)).resolve() if pointer.is_file() else git_dir


def _first_line(file: Path) -> str:
    return file.read_bytes()[:4096].decode("utf-8", "surrogateescape").partition("\n")[0]


def _is_git_dir(place: Path) -> bool:
    return (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir()
