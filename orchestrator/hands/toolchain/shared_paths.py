"""Finds the git-ignored paths of the user's checkout that a workspace borrows: environments and packages.

A fresh checkout lacks them. They are only ever shown read-only, at the same path. Compiled outputs of the project's
own sources are not lent: a workspace would run what was built before a change, and the change would be judged by that.
"""

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from orchestrator.domain.paths.credentials import is_secret_path
from orchestrator.domain.paths.dependencies import is_dependency_pattern
from orchestrator.hands.toolchain.interpreters import is_virtual_environment
from worktrees.repositories.repository import GitRepository

_WILDCARDS = frozenset("*?[")
_COMPILED = (".so", ".pyd", ".dylib", ".dll", ".node")
_SITE_PACKAGES = ("lib/python*/site-packages", "lib64/python*/site-packages", "Lib/site-packages")


async def find_shared_paths(repository: GitRepository, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the ignored paths that match, relative to the repository's root, sorted.

    A pattern without `/` is matched against the last name of a path, any other (`/build`, `web/dist`) against the
    whole path.

    Raises:
        GitError: git could not list the ignored files.
    """
    return select_shared_paths(repository.root, await list_ignored(repository), patterns)


async def list_ignored(repository: GitRepository) -> list[str]:
    """Return the ignored paths of the checkout; of a directory that is ignored as a whole its own alone.

    Raises:
        GitError: git could not list them.
    """
    # started in the git directory, which mostly lies inside the checkout, git would list that directory alone
    options = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    listing = ("-C", str(repository.root), *options)
    return [name.rstrip("/") for name in (await repository.checkout_git.run_text(*listing)).split("\0") if name]


def select_shared_paths(root: Path, ignored: Iterable[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """Return those of the ignored paths that match a pattern, exist, and lead nowhere else.

    What is known for secrets by its name is only taken where a pattern without wildcards names it.
    """
    known = frozenset(ignored)
    literal = list(filter(_WILDCARDS.isdisjoint, patterns))
    chosen = set()
    for name in known:
        may_be_secret = is_secret_path(name) and not is_virtual_environment(root / name)
        accepted = literal if may_be_secret else patterns
        if is_shared_name(name, accepted) and not _is_secret(root / name) and _stays_in_checkout(root, name, known):
            chosen.add(name)
    return tuple(sorted(name for name in chosen if chosen.isdisjoint(map(str, PurePosixPath(name).parents))))


def find_confidential_files(shared: Mapping[str, Path]) -> tuple[Path, ...]:
    """Return what workspaces borrow and may not copy into a commit: single files, and what is known for secrets.

    Blocks. `shared` are names, each with the directory below which it lies. Dependencies are everybody's.
    """
    found: list[Path] = []
    for name, base in shared.items():
        if (base / name).is_file():
            found.append(base / name)
        elif not is_dependency_pattern(PurePosixPath(name).name):
            found += _find_secrets(base / name)
    return tuple(found)


def _find_secrets(folder: Path) -> Iterator[Path]:
    for parent, _, files in os.walk(folder):
        for file in files:
            path = Path(parent, file)
            if is_secret_path(path.relative_to(folder).as_posix()):
                yield path


def merge_borrowed_paths(ignored: Iterable[str], lent: Mapping[str, str], root: Path) -> dict[str, Path]:
    """Return what a workspace borrows, by name, each with the directory below which it lies.

    That is `root` for names in `ignored`. A `lent` path replaces whatever of the checkout is at, below or around its
    place.
    """
    chosen = {}
    for name in ignored:
        if not any(_overlap(name, other) for other in lent):
            chosen[name] = root
    return dict(sorted((chosen | {name: Path(base) for name, base in lent.items()}).items()))


def _overlap(name: str, other: str) -> bool:
    first, second = PurePosixPath(name), PurePosixPath(other)
    return first.is_relative_to(second) or second.is_relative_to(first)


def is_shared_name(name: str, patterns: Iterable[str]) -> bool:
    """Return True if one of the patterns of `[env] share` means a path."""
    last = PurePosixPath(name).name
    for pattern in patterns:
        subject = name if "/" in pattern.rstrip("/") else last
        if fnmatchcase(subject, pattern.strip("/")):
            return True
    return False


def _is_secret(path: Path) -> bool:
    """Return True for a file of variables (`.env`, `.env.local`); an environment may have such a name as well."""
    is_named = path.name in (".env", ".envrc") or path.name.startswith(".env.")
    return is_named and not is_virtual_environment(path)


def _stays_in_checkout(root: Path, name: str, ignored: frozenset[str]) -> bool:
    """Return True if the path exists and leads nowhere else; a link must name another ignored path of the checkout."""
    path = root / name
    checkout = root.resolve()
    if not path.exists() or path.parent.resolve() != checkout / PurePosixPath(name).parent:
        return False
    if not path.is_symlink():
        return path.is_dir() or path.is_file()
    target = path.resolve()
    if not target.is_relative_to(checkout) or _is_secret(target):
        return False
    inside = target.relative_to(checkout)
    return any(str(ancestor) in ignored for ancestor in (inside, *inside.parents))


def find_compiled_outputs(root: Path, ignored: Iterable[str], shared: Iterable[str]) -> tuple[str, ...]:
    """Return those of the ignored files that were compiled and that no workspace borrows, sorted. Blocks."""
    borrowed = frozenset(map(PurePosixPath, shared))
    found = []
    for name in ignored:
        path = PurePosixPath(name)
        is_borrowed = path in borrowed or not borrowed.isdisjoint(path.parents)
        if name.endswith(_COMPILED) and (root / name).is_file() and not is_borrowed:
            found.append(name)
    return tuple(sorted(found))


def find_installed_outputs(root: Path, shared: Mapping[str, Path], patterns: Sequence[str]) -> tuple[str, ...]:
    """Return compiled files that were installed from the checkout into environments that workspaces borrow. Blocks.

    Args:
        root: top of the checkout.
        shared: what workspaces borrow, by name, each with the directory below which it lies.
        patterns: what is to be shared all the same, as in `[env] share`.

    Returns:
        Names relative to the checkout.
    """
    found: dict[str, None] = {}
    for name, base in shared.items():
        for site in _find_site_packages(base / name) if base == root else ():
            for path in _find_installed_files(site, root):
                relative = f"{name}/{path.relative_to(base / name).as_posix()}"
                if not is_shared_name(relative, patterns):
                    found[relative] = None
    return tuple(sorted(found))


def _find_site_packages(environment: Path) -> Iterator[Path]:
    for pattern in _SITE_PACKAGES:
        yield from environment.glob(pattern)


def _find_installed_files(site: Path, root: Path) -> Iterator[Path]:
    """Yield the compiled files of packages that were installed from inside `root`, by the installer's record."""
    for origin in site.glob("*.dist-info/direct_url.json"):
        if _is_within(origin, root):
            for name in _read_record(origin.with_name("RECORD")):
                if name.endswith(_COMPILED) and ".." not in PurePosixPath(name).parts and (site / name).is_file():
                    yield site / name


def _is_within(origin: Path, root: Path) -> bool:
    try:
        parts = urlsplit(str(json.loads(origin.read_text(encoding="utf-8")).get("url", "")))
    except (OSError, ValueError, AttributeError):
        return False
    return parts.scheme == "file" and Path(unquote(parts.path)).resolve().is_relative_to(root.resolve())


def _read_record(record: Path) -> list[str]:
    try:
        with record.open(encoding="utf-8", newline="") as lines:
            return [row[0] for row in csv.reader(lines) if row]
    except (OSError, ValueError, csv.Error):
        return []
