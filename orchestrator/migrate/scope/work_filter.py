"""The part of a recipe's work that is asked for this time: files by glob, owner or shard, and the sample's size."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath

from pathspec import GitIgnoreSpec

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import UsageProblem

OWNER_PREFIX, SHARD_PREFIX = "owner:", "shard:"
UNOWNED = "nobody"
"""The owner of what has none."""
_NEAR = 0.5


@dataclass(frozen=True)
class WorkFilter:
    """`only` holds globs as in .gitignore, `owner:NAME` and `shard:NAME`; empty for everything.

    `sample` is how many files go first, instead of what the recipe says; 0 for no sample.
    """

    only: tuple[str, ...] = ()
    sample: int | None = None

    @property
    def names_shards(self) -> bool:
        """True if it takes a division into shards to tell what is meant."""
        return any(wish.startswith(SHARD_PREFIX) for wish in self.only)

    def apply_sample(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the sample that is asked for."""
        if self.sample is None:
            return recipe
        changes: dict[str, object] = {"files": self.sample, "paths": ()}
        if recipe.sample.pick == "list":
            changes["pick"] = "stratified"
        return recipe.model_copy(update={"sample": recipe.sample.model_copy(update=changes)})

    def build_skips(self, files: Sequence[FileRecord], shards: Sequence[Shard] = ()) -> list[FileMoved]:
        """Return the moves that leave out what is not asked for.

        Args:
            files: those that the migration would work on.
            shards: how they would be divided, where shards are named.

        Raises:
            UsageProblem: one of the wishes means none of the files.
        """
        if not self.only:
            return []
        selected: set[str] = set()
        for wish in self.only:
            selected.update(_select_paths(wish, files, shards))
        reason, moves = f"not asked for: this run is only for {', '.join(self.only)}", []
        for file in files:
            if file.path not in selected:
                moves.append(FileMoved(path=file.path, status=FileStatus.SKIPPED, rung=file.rung, reason=reason))
        return moves


EVERYTHING = WorkFilter()


def _select_paths(wish: str, files: Sequence[FileRecord], shards: Sequence[Shard]) -> Sequence[str]:
    """Return the paths that a wish means; `wish` is what a person wrote, so its prefix says its kind."""
    paths = [file.path for file in files]
    if wish.startswith(OWNER_PREFIX):
        owned = _group_by_owner(files)
        return _find_named(wish, wish.removeprefix(OWNER_PREFIX), owned, len(files))
    if wish.startswith(SHARD_PREFIX):
        return _find_named(
            wish, wish.removeprefix(SHARD_PREFIX), {shard.name: shard.files for shard in shards}, len(files)
        )
    found = list(filter(_build_matcher(wish), paths))
    if not found:
        places = set(paths)
        for path in paths:
            places.update(map(str, PurePosixPath(path).parents))
        raise UsageProblem(_explain_nothing(wish, len(files), wish.rstrip("/*"), places - {"."}, "is it in [scope]?"))
    return found


def _group_by_owner(files: Iterable[FileRecord]) -> Mapping[str, Sequence[str]]:
    owned: dict[str, list[str]] = {}
    for file in files:
        for owner in file.owner.split() or [UNOWNED]:
            owned.setdefault(owner, []).append(file.path)
    return owned


def _find_named(wish: str, name: str, known: Mapping[str, Sequence[str]], total: int) -> Sequence[str]:
    """Return what is known under the name; an owner's @ may be left out."""
    found = known.get(name) or known.get(f"@{name}")
    if not found:
        raise UsageProblem(_explain_nothing(wish, total, name, known, f"there are {', '.join(sorted(known)[:8])}"))
    return found


def _build_matcher(glob: str) -> Callable[[str], bool]:
    try:
        return GitIgnoreSpec.from_lines([glob]).match_file
    except (ValueError, re.error) as error:
        raise UsageProblem(f"--only {glob!r} is no glob: {error}") from error


def _explain_nothing(wish: str, total: int, name: str, known: Iterable[str], otherwise: str) -> str:
    near = get_close_matches(name, sorted(known), n=3, cutoff=_NEAR)
    hint = f"did you mean {' or '.join(near)}?" if near else otherwise
    return f"--only {wish!r} means none of the {total} files that the migration would work on: {hint}"
