"""The division of a base's tree: what of it is support, because the gate reads it and it is no product and no test.

It rests on what the gate's run on the base opened, and on what code of the base speaks of. Nothing is support by its
name alone; where nobody could watch the run, nothing is.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.judge.files.changed_file import find_path_protection, is_test_path
from orchestrator.judge.files.classification import is_prose
from orchestrator.judge.support.base_sources import (
    CODE_SUFFIXES,
    JAVASCRIPT_SUFFIXES,
    PYTHON_SUFFIXES,
    BaseSources,
    Mention,
    is_named_like_settings,
)
from orchestrator.judge.support.shipped_packages import (
    ShippedPackages,
    find_shipped_packages,
    get_root,
    get_top_level_name,
)
from orchestrator.judge.support.test_helpers import is_test_helper

_SETTINGS = frozenset({".toml", ".ini", ".cfg", ".json", ".yml", ".yaml", ".conf", ".rc", ".properties"})
_MANIFESTS = ("package.json", "pyproject.toml", "Cargo.toml", "setup.cfg", "setup.py", "go.mod", "composer.json")
_BUILD_SCRIPTS = frozenset({"setup.py", "build.rs"})
"""Code that a build runs beside the manifest, whoever starts it."""
_VENDORED = frozenset({"_vendor", "_vendored", "third_party", "third-party"})
_VENDORED_AT_TOP = frozenset({"vendor", "vendored"})


class Support(NamedTuple):
    """The grounds for support: `reason` in words, after "because"; `is_certain` if no person has to look."""

    reason: str
    is_certain: bool = True


class _Users(NamedTuple):
    """The places that speak of a file: in tests, and in other code."""

    tests: Sequence[Mention]
    others: Sequence[Mention]


@dataclass(frozen=True)
class TreeDivision:
    """The division of one base; `opened` is what the gate's runs on it opened, None where nobody could watch."""

    base: BaseSources
    opened: Collection[str] | None = None
    _known: dict[str, Support | None] = field(default_factory=dict)

    def find_support(self, path: str) -> Support | None:
        """Return what makes a file of the base support; None for product, tests and what was not opened. Blocks."""
        if path not in self._known:
            self._known[path] = None  # of modules that import each other
            is_read = self.opened is not None and path in self.opened
            if is_read and find_path_protection(path) is None:
                self._known[path] = self._classify(path)
        return self._known[path]

    def _classify(self, path: str) -> Support | None:
        place = PurePosixPath(path)
        if self._is_vendored(place):
            return Support("the gate runs it as a library that is kept in the repository")
        if place.name in _BUILD_SCRIPTS and self._lies_beside_manifest(place):
            return Support("the gate's build runs it")
        if place.suffix in PYTHON_SUFFIXES | JAVASCRIPT_SUFFIXES:
            return self._classify_module(place)
        if place.suffix in CODE_SUFFIXES or place.name in _MANIFESTS:
            return None
        return self._classify_data(place)

    def _is_vendored(self, place: PurePosixPath) -> bool:
        folders = place.parent.parts
        if not (_VENDORED.intersection(folders) or _VENDORED_AT_TOP.intersection(folders[:1])):
            return False
        return not self._split(self.base.find_importers(str(place))).tests

    def _classify_module(self, place: PurePosixPath) -> Support | None:
        path = str(place)
        users = self._split(self.base.find_importers(path))
        if not users.tests and not users.others:
            return self._classify_unnamed(place)
        product = [user for user in users.others if not self._is_helper(user.path)]
        if product:
            return self._classify_library(path, product)
        who = users.tests[0] if users.tests else users.others[0]
        if not self._helps_tests(place, users):
            return self._classify_unshipped(place, who)
        if self._is_in_product(path):
            return Support(f"only tests import it ({who}), though it lies among the product", is_certain=False)
        return Support(f"only tests import it ({who}), and it asserts or runs tests itself")

    def _classify_unshipped(self, place: PurePosixPath, who: Mention) -> Support | None:
        """Return support for what tests alone use and nobody ships; it is sure beside a helper in the same package."""
        name = get_top_level_name(str(place))
        if self._shipped is None or place.suffix not in PYTHON_SUFFIXES or name in self._shipped.names:
            return None
        reason = f"only tests import it ({who}), and the project's metadata does not ship it"
        for path, source in self.base.sources.items():
            is_beside = path != str(place) and path.endswith(".py") and get_top_level_name(path) == name
            if is_beside and not is_test_path(path):
                users = self._split(self.base.find_importers(path)).tests
                importers = [self.base.sources.get(user.path, b"") for user in users]
                if users and is_test_helper(source, importers, is_python=True):
                    return Support(reason)
        return Support(reason, is_certain=False)

    def _is_helper(self, path: str) -> bool:
        """Return True if a module that imports another one is itself support, or may be."""
        return self.find_support(path) is not None

    def _helps_tests(self, place: PurePosixPath, users: _Users) -> bool:
        source = self.base.sources.get(str(place), b"")
        importers = [self.base.sources.get(user.path, b"") for user in (*users.tests, *users.others)]
        return is_test_helper(source, importers, is_python=place.suffix in PYTHON_SUFFIXES)

    def _classify_library(self, path: str, users: Sequence[Mention]) -> Support | None:
        """Return support for a package that shipped code imports and the metadata does not ship."""
        shipped = self._shipped
        if shipped is None or not path.endswith(".py") or get_top_level_name(path) in shipped.names:
            return None
        for user in users:
            if get_top_level_name(user.path) in shipped.names:
                reason = f"{user} imports it, and the project's metadata does not ship it"
                return Support(reason, is_certain=shipped.is_listed)
        return None

    def _is_in_product(self, path: str) -> bool:
        """Return True if a module lies in a package that is shipped, or beside other code where nobody can tell."""
        if self._shipped is not None and path.endswith(".py"):
            return get_top_level_name(path) in self._shipped.names
        depth = 2 if get_root(path) else 1
        parts = PurePosixPath(path).parts
        if len(parts) == depth:
            return depth > 1
        unit = "/".join(parts[:depth])
        for other in self.base.sources:
            place = PurePosixPath(other)
            is_beside = other != path and other.startswith(f"{unit}/") and place.suffix in CODE_SUFFIXES
            if is_beside and place.stem != "__init__" and not is_test_path(other) and not self._is_helper(other):
                return True
        return False

    @cached_property
    def _shipped(self) -> ShippedPackages | None:
        return find_shipped_packages(self.base.sources, self.base.paths)

    def _classify_data(self, place: PurePosixPath) -> Support | None:
        users = self._split(self._find_users(place))
        is_certain = not is_prose(str(place))
        if not users.tests:
            return None if users.others else self._classify_unnamed(place)
        who = users.tests[0]
        is_certain = is_certain and any(map(self._is_surely_of_tests, users.tests))
        if users.others:
            return Support(f"tests read it ({who}), and so does other code ({users.others[0]})", is_certain=False)
        if self._may_be_read_by_product(place):
            return Support(f"tests read it ({who}), though it lies among the product", is_certain=False)
        return Support(f"tests read it ({who})", is_certain)

    def _find_users(self, place: PurePosixPath) -> Sequence[Mention]:
        """Return who names a file, or else the nearest folder that it lies in; packages of code are none for data."""
        if users := list(self.base.find_mentions(place.name)):
            return users
        for folder in (place.parent, *place.parent.parents):
            if not folder.name or self.base.is_package_of_product(str(folder)):
                return ()
            if users := list(self.base.find_mentions(folder.name, r"""["'/.]""", r"""["'/]""")):
                return users
        return ()

    def _may_be_read_by_product(self, place: PurePosixPath) -> bool:
        """Return True if it lies beside or below product code that reads files of this kind by whatever name."""
        folders = [place.parent, *place.parent.parents[:-1]]
        holding = [folder for folder in folders if self.base.is_package_of_product(str(folder))]
        if not holding:
            return False
        for mention in self._split(self.base.find_mentions(place.suffix or place.name, "")).others:
            if PurePosixPath(mention.path).parent in holding:
                return True
        return False

    def _classify_unnamed(self, place: PurePosixPath) -> Support | None:
        """Return support for settings that no code names, and that the gate's programs find by themselves."""
        is_code = place.suffix in CODE_SUFFIXES
        is_settings = place.suffix in _SETTINGS or place.name.startswith(".") or is_named_like_settings(place)
        is_found_by_place = place.parts[0].startswith(".") or self._lies_beside_manifest(place)
        if not is_settings or not is_found_by_place or place.name.startswith(".git"):
            return None
        if not is_code and any(self.base.find_mentions(f"*{place.suffix}", "", r"[\"']")):
            return None
        if list(self.base.find_mentions(place.name)):
            return None
        is_certain = not place.name.startswith(".env")  # of the product as likely as of its tests
        return Support("the gate's programs read it though no code names it", is_certain)

    def _lies_beside_manifest(self, place: PurePosixPath) -> bool:
        folder = str(place.parent)
        if folder == ".":
            return True
        return any(f"{folder}/{name}" in self.base.paths for name in _MANIFESTS)

    def _split(self, mentions: Iterable[Mention]) -> _Users:
        """Divide who speaks of a file; code that the gate's run did not open cannot have read anything in it."""
        opened = self.opened or ()
        tests, others = [], []
        for mention in mentions:
            if is_test_path(mention.path) or self._is_helper(mention.path):
                tests.append(mention)
            elif mention.path in opened and mention.path not in _MANIFESTS:
                others.append(mention)
        return _Users(tests, others)

    def _is_surely_of_tests(self, user: Mention) -> bool:
        found = self.find_support(user.path)
        return is_test_path(user.path) or (found is not None and found.is_certain)
