"""Landed units are read from the commit that is moved from, whoever landed them; landings pass dead locks."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.domain.event.landing import TrialJudged
from orchestrator.domain.ids import CommitId, RunId, UnitId
from orchestrator.errors import RepositoryLocked, convert_error
from orchestrator.queue.composition import MergeComposer
from orchestrator.queue.landed_units import read_landed_units
from orchestrator.queue.pr_branch import PrBranch
from tests.running.landers import RUN, WHEN, QuickGate, composer_of, message_of, open_lander
from tests.running.projects import git, repository
from worktrees.errors import LockedRepository
from worktrees.git import Git
from worktrees.locks import git_lock_files
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id, write_blob
from worktrees.repositories.repository import GitRepository

BRANCH = "orchestrate/better"
REF = f"refs/heads/{BRANCH}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"a.txt": "a\n"})


@pytest.fixture
def plain(root: Path) -> Git:
    return GitRepository.open(root).git


@pytest.fixture
def base(root: Path) -> CommitId:
    return CommitId(git(root, "rev-parse", "main"))


@pytest.fixture
async def composer(plain: Git, base: CommitId) -> MergeComposer:
    candidates = {}
    for number in range(3):
        blob = await write_blob(plain, f"{number}\n".encode())
        tree = await overlay_tree(plain, await read_tree_id(plain, base), {f"f{number}.txt": ("100644", blob)})
        candidates[UnitId(f"task-{number}@1")] = CommitId(await commit_tree(plain, tree, [base], "work", WHEN))
    return composer_of(plain, candidates)


async def _commit(plain: Git, parents: list[str], message: str) -> CommitId:
    return CommitId(await commit_tree(plain, await read_tree_id(plain, parents[0]), parents, message, WHEN))


async def test_only_trailers_of_the_run_on_the_line_of_first_parents_count(plain: Git, base: CommitId) -> None:
    beside = await _commit(plain, [base], message_of(UnitId("beside@1")))
    first = await _commit(plain, [base], message_of(UnitId("one@1")))
    other = await _commit(plain, [first], message_of(UnitId("two@1")).replace(RUN, "other"))
    talk = await _commit(plain, [other], "talk\n\nOrchestrate-Task: three@1\n\nThat was no trailer.\n")
    tip = await _commit(plain, [talk, beside], "merged by hand\n")
    assert await read_landed_units(plain, RUN, base, tip) == {"one@1"}
    assert await read_landed_units(plain, RunId("other"), base, tip) == {"two@1"}


async def test_of_a_branch_that_goes_on_only_the_new_is_read_and_one_that_went_back_is_read_again(
    plain: Git, base: CommitId, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await _commit(plain, [base], message_of(UnitId("one@1")))
    second = await _commit(plain, [first], message_of(UnitId("two@1")))
    left = await _commit(plain, [first], message_of(UnitId("left@1")))
    calls = list[tuple[str, ...]]()
    run = Git.run

    async def run_counted(self: Git, *args: str, **more: object) -> object:
        calls.append(args)
        return await run(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", run_counted)
    assert await read_landed_units(plain, RUN, base, first) == {"one@1"}
    assert await read_landed_units(plain, RUN, base, left) == {"one@1", "left@1"}
    assert await read_landed_units(plain, RUN, base, left) == {"one@1", "left@1"}
    assert [args[-1] for args in calls] == [f"{base}..{first}", f"{first}..{left}"]
    assert await read_landed_units(plain, RUN, base, second) == {"one@1", "two@1"}
    assert await read_landed_units(plain, RUN, base, base) == frozenset()


async def test_what_a_rival_has_landed_counts_as_landed_and_stands_on_the_branch_once(
    root: Path, tmp_path: Path, base: CommitId, composer: MergeComposer
) -> None:
    units = tuple(composer.candidates)
    async with open_lander(root, tmp_path / "ada", BRANCH, base, QuickGate(), "ada") as (ada, _):
        assert (await ada.land_units("round", units[:2], composer)).landed == units[:2]
    async with open_lander(root, tmp_path / "bob", BRANCH, base, QuickGate(), "bob") as (bob, journal):
        result = await bob.land_units("round", units, composer)
        assert (set(result.landed), result.ejected) == (set(units), ())
        assert [landing.units for landing in journal.state.landings] == [units[:2], units[2:]]
        assert {trial.units for trial in journal.state.trials if isinstance(trial, TrialJudged)} == {
            units[:2],
            units[2:],
        }
    form = "--format=%(trailers:key=Orchestrate-Task,valueonly)"
    assert sorted(git(root, "log", "--first-parent", form, BRANCH).split()) == sorted(units)


async def test_a_round_whose_units_have_all_landed_moves_nothing(
    root: Path, tmp_path: Path, base: CommitId, composer: MergeComposer
) -> None:
    units = tuple(composer.candidates)
    async with open_lander(root, tmp_path / "journal", BRANCH, base, QuickGate()) as (lander, journal):
        await lander.land_units("first", units, composer)
        tip, events = git(root, "rev-parse", BRANCH), journal.state.seq
        assert (await lander.land_units("again", units, composer)).landed == units
        assert (git(root, "rev-parse", BRANCH), journal.state.seq) == (tip, events)


@pytest.fixture
def _short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_lock_files, "_GRACE_S", 0.3)
    monkeypatch.setattr(git_lock_files, "_PATIENCE_S", 1.0)


@pytest.mark.usefixtures("_short_watch")
async def test_a_lock_that_a_killed_rival_left_on_the_branch_or_the_fence_makes_no_landing_fail(
    root: Path, tmp_path: Path, base: CommitId, composer: MergeComposer
) -> None:
    units = tuple(composer.candidates)
    async with open_lander(root, tmp_path / "journal", BRANCH, base, QuickGate()) as (lander, journal):
        await lander.land_units("first", units[:1], composer)
        for ref in (REF, lander.tools.branch.landing_fence.ref):
            (root / ".git" / f"{ref}.lock").touch()
        assert (await lander.land_units("second", units[1:], composer)).landed == units[1:]
        assert journal.state.head == git(root, "rev-parse", BRANCH)
    assert list((root / ".git" / "refs").rglob("*.lock")) == []


@contextmanager
def _hold_ref(root: Path, base: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A living git that holds the lock of the branch."""
    words = ["git", "update-ref", "--stdin"]
    with subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as holder:
        assert holder.stdin is not None
        holder.stdin.write(f"start\ncreate {REF} {base}\nprepare\n".encode())
        holder.stdin.flush()
        until = time.monotonic() + 10
        while not (root / ".git" / f"{REF}.lock").exists() and time.monotonic() < until:
            time.sleep(0.01)
        yield holder
        holder.kill()


@pytest.mark.usefixtures("_short_watch")
async def test_a_lock_that_a_living_git_holds_is_left_alone_and_named(
    root: Path, tmp_path: Path, base: CommitId, composer: MergeComposer
) -> None:
    async with open_lander(root, tmp_path / "journal", BRANCH, base, QuickGate()) as (lander, journal):
        with _hold_ref(root, base) as holder:
            with pytest.raises(LockedRepository, match=f"process {holder.pid}") as caught:
                await lander.land_units("round", tuple(composer.candidates), composer)
            assert isinstance(convert_error(caught.value), RepositoryLocked)
            assert (root / ".git" / f"{REF}.lock").exists()
        assert (journal.state.landings, dict(journal.state.open_intents)) == ([], {})


async def test_a_branch_that_does_not_exist_holds_nothing(root: Path, tmp_path: Path, base: CommitId) -> None:
    async with open_lander(root, tmp_path / "journal", BRANCH, base, QuickGate()) as (lander, _):
        branch: PrBranch = lander.tools.branch
        assert await branch.read_landed_units(RUN, None) == frozenset()
