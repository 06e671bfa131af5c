"""The last look before a landing: what git merged passes, what takes back an earlier member's work lands nothing."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.errors import UnsafeLanding
from orchestrator.queue.composition import ComposedUnion, MergeComposer, OverlayComposer, UnitConflict
from orchestrator.queue.lander import Lander
from tests.running.landers import WHEN, QuickGate, composer_of, open_lander
from tests.running.projects import git, repository
from worktrees.git import Git
from worktrees.object_store.merge import MergeConflict, commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id, write_blob
from worktrees.repositories.repository import GitRepository

BRANCH = "orchestrate/better"
TEXT = "".join(f"line {number}\n" for number in range(40))
Files = Mapping[str, str | None]


@dataclass(frozen=True)
class Ground:
    """A repository with a base, and candidates that are made on it."""

    root: Path

    @property
    def git(self) -> Git:
        return GitRepository.open(self.root).git

    @property
    def base(self) -> str:
        return git(self.root, "rev-parse", "main")

    async def change(self, files: Files, parent: str = "") -> CommitId:
        """A commit on the base, or on another one, with these files."""
        parent = parent or self.base
        tree = await read_tree_id(self.git, parent)
        changed = await overlay_tree(self.git, tree, await self.blobs(files))
        return CommitId(await commit_tree(self.git, changed, [parent], "work", WHEN))

    async def blobs(self, files: Files) -> dict[str, tuple[str, str] | None]:
        made: dict[str, tuple[str, str] | None] = {}
        for path, text in files.items():
            made[path] = None if text is None else ("100644", await write_blob(self.git, text.encode()))
        return made

    async def merges(self, *changes: Files) -> MergeComposer:
        """A composer of candidates that change these files on the base."""
        candidates = {}
        for number, files in enumerate(changes):
            candidates[UnitId(f"task-{number}@1")] = await self.change(files)
        return composer_of(self.git, candidates)

    @asynccontextmanager
    async def lander(self, gate: QuickGate | None = None) -> AsyncIterator[Lander]:
        place = self.root.parent / "journal"
        async with open_lander(self.root, place, BRANCH, self.base, gate or QuickGate()) as (lander, _):
            yield lander

    async def land(self, composer: MergeComposer | OverlayComposer, units: Sequence[UnitId]) -> tuple[UnitId, ...]:
        async with self.lander() as lander:
            return (await lander.land_units("round", units, composer)).landed

    def show(self, path: str) -> str:
        return git(self.root, "show", f"{BRANCH}:{path}") + "\n"

    def is_landed(self) -> bool:
        return bool(git(self.root, "for-each-ref", f"refs/heads/{BRANCH}"))


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(repository(tmp_path / "repo", {"f.txt": TEXT, "a.txt": "a\n", "gone.txt": "x\n", "old.txt": TEXT}))


@dataclass(frozen=True)
class WrongBase(MergeComposer):
    """Takes a member's files as they are, as if it had been made on top of what landed before."""

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        tip = head
        for unit in units:
            tree = await read_tree_id(self.git, self.candidates[unit])
            tip = CommitId(await commit_tree(self.git, tree, [tip], self.message(unit), self.when))
        return ComposedUnion(commit=tip, tree=TreeId(tree))


def wrong(composer: MergeComposer) -> WrongBase:
    return WrongBase(composer.git, composer.candidates, composer.message, composer.when, names_candidates=False)


async def test_merges_renames_and_deletions_land(ground: Ground) -> None:
    composer = await ground.merges(
        {"f.txt": TEXT.replace("line 3\n", "3\n"), "new.txt": "n\n"},
        {"f.txt": TEXT.replace("line 30\n", "30\n"), "gone.txt": None},
        {"old.txt": None, "dir/renamed.txt": TEXT.replace("line 9\n", "9\n")},
        {"old.txt": TEXT.replace("line 33\n", "33\n")},
    )
    assert len(await ground.land(composer, tuple(composer.candidates))) == 4
    assert "\n3\n" in ground.show("f.txt")
    assert "\n30\n" in ground.show("f.txt")
    assert "\n33\n" in ground.show("dir/renamed.txt")


async def test_a_member_that_is_merged_on_a_wrong_base_takes_no_earlier_file_back(ground: Ground) -> None:
    composer = wrong(await ground.merges({"new.txt": "n\n"}, {"a.txt": "A\n"}))
    with pytest.raises(UnsafeLanding, match=r"land task-1@1, also changes what task-1@1 did not change: new\.txt"):
        await ground.land(composer, tuple(composer.candidates))
    assert not ground.is_landed()


async def test_a_member_that_is_merged_on_a_wrong_base_takes_no_earlier_line_back(ground: Ground) -> None:
    composer = wrong(
        await ground.merges(
            {"f.txt": TEXT.replace("line 3\n", "3\n")},
            {"f.txt": TEXT.replace("line 30\n", "30\n")},
        )
    )
    with pytest.raises(UnsafeLanding, match=r"did not change: f\.txt"):
        await ground.land(composer, tuple(composer.candidates))
    assert not ground.is_landed()


async def test_what_landed_in_an_earlier_round_is_not_taken_back_either(ground: Ground) -> None:
    composer = await ground.merges({"new.txt": "n\n"}, {"a.txt": "A\n"})
    first, second = composer.candidates
    assert await ground.land(composer, [first]) == (first,)
    with pytest.raises(UnsafeLanding, match=r"new\.txt"):
        await ground.land(wrong(composer), [second])
    assert ground.show("new.txt") == "n\n"


async def test_files_of_which_both_sides_lines_are_kept_land(ground: Ground) -> None:
    made = await ground.merges({"f.txt": TEXT + "one\n"}, {"f.txt": TEXT + "two\n"})
    composer = replace(made, union=("f.txt",))
    assert len(await ground.land(composer, tuple(composer.candidates))) == 2
    assert ground.show("f.txt").endswith("one\ntwo\n")


@dataclass(frozen=True)
class LockMaker:
    """Makes `lock` anew where it conflicts, and `lock.sum` with it, as a package manager does."""

    ground: Ground

    async def resolve_conflict(self, tip: CommitId, unit: UnitId, conflict: MergeConflict) -> TreeId:
        blobs = await self.ground.blobs({"lock": "made anew\n", "lock.sum": "2\n"})
        return TreeId(await overlay_tree(self.ground.git, conflict.tree, blobs))


async def test_files_that_are_made_anew_land_whatever_they_hold(ground: Ground) -> None:
    made = await ground.merges({"lock": "one\n", "lock.sum": "0\n"}, {"lock": "two\n", "a.txt": "A\n"})
    composer = replace(made, resolver=LockMaker(ground))
    assert len(await ground.land(composer, tuple(composer.candidates))) == 2
    assert (ground.show("lock"), ground.show("lock.sum")) == ("made anew\n", "2\n")


async def test_a_candidate_that_has_merged_what_landed_before_lands(ground: Ground) -> None:
    first = await ground.change({"new.txt": "n\n"})
    other = await ground.change({"a.txt": "A\n"})
    tree = await overlay_tree(ground.git, await read_tree_id(ground.git, other), await ground.blobs({"new.txt": "n\n"}))
    both = CommitId(await commit_tree(ground.git, tree, [other, first], "merge", WHEN))
    composer = composer_of(ground.git, {UnitId("task-0@1"): first, UnitId("task-1@1"): both})
    assert len(await ground.land(composer, tuple(composer.candidates))) == 2
    assert ground.show("a.txt") == "A\n"


async def test_merge_commits_of_candidates_that_stand_on_each_other_land(ground: Ground) -> None:
    first = await ground.change({"f.txt": TEXT + "one\n"})
    second = await ground.change({"f.txt": TEXT + "two\n"}, first)
    candidates = {UnitId("task-0@1"): first, UnitId("task-1@1"): second}
    composer = replace(composer_of(ground.git, candidates), names_candidates=True)
    assert len(await ground.land(composer, tuple(candidates))) == 2
    assert ground.show("f.txt").endswith("two\n")


async def test_replaced_files_land_and_nothing_beside_them(ground: Ground) -> None:
    changes = {UnitId(path): blob for path, blob in (await ground.blobs({"a.txt": "A\n", "gone.txt": None})).items()}
    honest = OverlayComposer(ground.git, changes, lambda _name, _units: "files\n", WHEN)
    assert len(await ground.land(honest, tuple(changes))) == 2
    greedy = replace(honest, changes={UnitId("a.txt"): None, UnitId("f.txt"): None})
    claims = GreedyComposer(**vars(greedy))
    with pytest.raises(UnsafeLanding, match=r"f\.txt"):
        await ground.land(claims, [UnitId("a.txt")])
    assert ground.show("a.txt") == "A\n"


@dataclass(frozen=True)
class GreedyComposer(OverlayComposer):
    """Changes all its files, whichever it is asked for."""

    async def compose_landing(self, head: CommitId, units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        landing = await super().compose_landing(head, tuple(self.changes), tested)
        parts = tuple(part.model_copy(update={"units": tuple(units)}) for part in landing.parts)
        return landing.model_copy(update={"parts": parts})

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        return await super().compose_union(head, tuple(self.changes))


@dataclass(frozen=True)
class OtherTree(MergeComposer):
    """Lands another tree than the one that was tested."""

    async def compose_landing(self, head: CommitId, units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        one = await super().compose_union(head, units[:1])
        assert isinstance(one, ComposedUnion)
        return one


async def test_a_tree_that_was_not_tested_does_not_land(ground: Ground) -> None:
    made = await ground.merges({"new.txt": "n\n"}, {"a.txt": "A\n"})
    composer = OtherTree(made.git, made.candidates, made.message, made.when, names_candidates=False)
    with pytest.raises(UnsafeLanding, match="tested was"):
        await ground.land(composer, tuple(made.candidates))
    assert not ground.is_landed()
