"""Compiled outputs of the project's own sources in the user's checkout: they belong to the checkout's version alone.

A workspace that borrowed them would run what was built before a change, and the change would be judged by that.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from orchestrator.hands.toolchain.shared_paths import is_shared_name

_COMPILED = (".so", ".pyd", ".dylib", ".dll", ".node")
_SITE_PACKAGES = ("lib/python*/site-packages", "lib64/python*/site-packages", "Lib/site-packages")


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
