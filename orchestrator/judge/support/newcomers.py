"""New files that the gate's run on a candidate read although nobody asked for them: settings, plugins, shadows.

Programs look for such files by themselves. A file that code names, by its name, its folder or its kind, was asked for;
so was one of a kind of which the run on the base opened all there is, as a linter does.
"""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.judge.files.changed_file import find_path_protection, is_test_path
from orchestrator.judge.files.classification import is_prose
from orchestrator.judge.source.python_syntax import find_nodes, parse_python
from orchestrator.judge.support.base_sources import (
    CODE_SUFFIXES,
    PYTHON_SUFFIXES,
    BaseSources,
    Mention,
    is_named_like_settings,
)
from orchestrator.judge.support.shipped_packages import find_roots, get_root, get_top_level_name

_DOUBTFUL = frozenset({"package.json", "pyproject.toml", "Cargo.toml", ".env"})
"""Files that may as well come with a new part of the product."""
_UNASKED = "the gate's run reads it though no code names it"
_WALKED_FILES = 3
"""Of a kind, in more than one folder: if all of them were opened, something opens whatever is of that kind."""


class Newcomer(NamedTuple):
    """A new file that nobody asked for; `reason` says what speaks against it; `is_certain` if no person has to look."""

    reason: str
    is_certain: bool = True


@dataclass(frozen=True)
class NewcomerFinder:
    """The new files of a candidate beside its base.

    `base` are the sources of the base with what its gate's run `opened`; `candidate` are those of the candidate.
    """

    base: BaseSources
    opened: Collection[str]
    candidate: BaseSources

    def find_newcomer(self, path: str) -> Newcomer | None:
        """Return what speaks against a new file that the candidate's run opened; None if it was asked for. Blocks."""
        place = PurePosixPath(path)
        if (
            is_test_path(path)
            or find_path_protection(path) is not None
            or is_prose(path)
            or place.name.startswith(".git")
        ):
            return None
        if place.suffix in PYTHON_SUFFIXES and (shadow := self._find_shadow(path)):
            return shadow
        if place.suffix in CODE_SUFFIXES:
            return self._judge_code(place)
        if self._is_asked_for(place) or self._is_walked(place):
            return None
        return Newcomer(_UNASKED, place.name not in _DOUBTFUL)

    def _judge_code(self, place: PurePosixPath) -> Newcomer | None:
        """Return what speaks against code: of code that nobody names, only what configures a program is picked up."""
        if not is_named_like_settings(place) or next(self.candidate.find_mentions(place.name), None):
            return None
        return Newcomer(_UNASKED, not self._is_walked(place))

    def _find_shadow(self, path: str) -> Newcomer | None:
        """Return a module's offence of standing where the base's code imports another one from outside the tree."""
        name = get_top_level_name(path)
        importers = list(self.base.find_importers_by_name(name))
        others = find_roots(name, self.base.paths)
        if others:
            return self._find_double(path, name, others, importers)
        for importer in importers:
            is_product = importer.path in self.opened and not is_test_path(importer.path)
            if is_product and not self._is_tried(importer):
                return Newcomer(f"it stands in place of the module that {importer} imports on the base")
        if importers:
            return Newcomer(
                f"on the base {importers[0]} imports a module of this name from elsewhere", is_certain=False
            )
        return None

    def _find_double(
        self, path: str, name: str, roots: Collection[str], importers: Sequence[Mention]
    ) -> Newcomer | None:
        """Return the offence of having the name of another top-level module that stays where it is on the base."""
        staying = find_roots(name, self.candidate.paths) & set(roots)
        if not importers or not staying or get_root(path) in staying:
            return None
        return Newcomer(
            f"it stands in place of `{min(staying)}{name}` for {importers[0]}, which imports that on the base"
        )

    def _is_tried(self, importer: Mention) -> bool:
        """Return True if an import may fail, so that there need be no other module."""
        tree = parse_python(self.base.sources[importer.path])
        for block in find_nodes(tree, ast.Try) if tree else ():
            if block.body[0].lineno <= importer.line <= (block.body[-1].end_lineno or 0):
                return True
        return False

    def _is_asked_for(self, place: PurePosixPath) -> bool:
        if next(self.candidate.find_mentions(place.name), None) or next(self._iterate_siblings(place), None):
            return True
        for folder in place.parent.parts:
            if next(self.candidate.find_mentions(folder, r"""["'/.]""", r"""["'/]"""), None):
                return True
        for mention in self.candidate.find_mentions(place.suffix or place.name, ""):
            if PurePosixPath(mention.path).parent == place.parent and mention.path != str(place):
                return True
        return False

    def _iterate_siblings(self, place: PurePosixPath) -> Iterator[str]:
        """Yield files of the base of the same kind in the same folder that its run opened."""
        for path in self.opened:
            other = PurePosixPath(path)
            is_beside = other.parent == place.parent and other.suffix == place.suffix
            if is_beside and other.suffix and str(place.parent) != ".":
                yield path

    def _is_walked(self, place: PurePosixPath) -> bool:
        """Return True if the run on the base opened every file of this kind, wherever it lies."""
        folders, count = set(), 0
        for path in self.base.paths:
            other = PurePosixPath(path)
            if other.suffix == place.suffix and other.name not in _DOUBTFUL:
                if path not in self.opened:
                    return False
                folders.add(other.parent)
                count += 1
        return count >= _WALKED_FILES and len(folders) > 1
