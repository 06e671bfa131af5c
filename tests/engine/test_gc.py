"""`gc` frees what nobody needs, never what would be lost, and may be killed at any step."""

import os
import sys
import time
from dataclasses import replace
from typing import Any

import anyio
import pytest

from orchestrator.domain.ids import RunId
from orchestrator.errors import RunLocked
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.retention.garbage_collection import CollectionRequest, CollectionResult, collect_garbage
from tests.running import dying_at
from tests.running.cli import environment
from tests.running.in_process import orchestrate
from tests.running.moving import Place, Source, everything
from tests.running.projects import git, refs
from worktrees.locks.file_lock import try_file_lock

pytestmark = [pytest.mark.sandbox]

DAY_S = 24 * 3600


async def gc(
    place: Place, *named: str, by_policy: bool = True, is_dry: bool = False, **limits: Any
) -> CollectionResult:
    options = replace(place.options, flags={**place.options.flags, "gc": limits})
    return await collect_garbage(options, CollectionRequest(named, by_policy, is_dry))


def state(place: Place) -> StateDirectory:
    return StateDirectory.locate_for(place.repository, place.options.flags["state"]["dir"])


def runs(place: Place) -> list[str]:
    return [run.run for run in state(place).list_runs()]


def aged(run: RunDirectory, days: float) -> RunDirectory:
    """The same run as if nothing had been recorded for so long."""
    for file in run.path.glob("journal.db*"):
        os.utime(file, (time.time() - days * DAY_S,) * 2)
    return run


def run_refs(place: Place, run: str) -> list[str]:
    return [ref for ref in refs(place.repository) if f"/{run}/" in ref]


async def late(source: Source, place: Place, days: float = 40) -> RunDirectory:
    """A run that has ended and landed everything, last written so long ago."""
    await place.take(source.late)
    return aged(place.directory(source.run), days)


async def rejected(source: Source, place: Place) -> RunDirectory:
    """An old run that has ended with a candidate that did not land."""
    return aged((await place.take(source.partial)).directory, 40)


async def test_an_old_run_that_landed_everything_goes_and_what_it_landed_stays(source: Source, place: Place) -> None:
    await late(source, place)
    landed, size = git(place.repository, "rev-parse", source.branch), len(run_refs(place, source.run))
    gone = await gc(place)
    assert (gone.runs, len(gone.refs), gone.kept) == ((source.run,), size, ())
    assert gone.freed_bytes > 0
    assert (runs(place), run_refs(place, source.run)) == ([], [])
    assert git(place.repository, "rev-parse", source.branch) == landed


async def test_a_run_goes_only_past_retention_and_only_if_that_is_asked_for(source: Source, place: Place) -> None:
    await late(source, place, days=29)
    assert (await gc(place)).runs == ()
    aged(place.directory(source.run), 31)
    assert (await gc(place, by_policy=False)).runs == ()
    assert (await gc(place, keep_days=0)).runs == ()
    assert (await gc(place, keep_days=0, keep_runs=1)).runs == ()
    assert (await gc(place, by_policy=False, runs=True)).runs == (source.run,)


async def test_receipts_for_later_runs_go_when_they_are_too_old_to_be_taken_over(source: Source, place: Place) -> None:
    await late(source, place, days=0)
    folder = state(place).path / "receipts"
    folder.mkdir(mode=0o700, exist_ok=True)
    young, old = folder / f"{'a' * 64}.receipt", folder / f"{'b' * 64}.receipt"
    for file, days in ((young, 6), (old, 8)):
        file.write_bytes(b"x")
        os.utime(file, (time.time() - days * DAY_S,) * 2)
    assert ((await gc(place, is_dry=True)).receipts, old.exists()) == (1, True)
    assert (await gc(place)).receipts == 1
    assert (young.exists(), old.exists()) == (True, False)


async def test_the_newest_runs_are_kept_by_number(source: Source, place: Place) -> None:
    await late(source, place, days=0)
    newest = (await place.take(source.partial)).directory
    gone = await gc(place, keep_days=0, keep_runs=1)
    assert (gone.runs, runs(place)) == ((source.run,), [newest.run])


async def test_a_run_with_work_that_did_not_land_is_kept_and_the_work_is_named(source: Source, place: Place) -> None:
    run = await rejected(source, place)
    gone = await gc(place)
    assert (gone.runs, runs(place)) == ((), [run.run])
    (kept,) = gone.kept
    commit = git(place.repository, "rev-parse", f"refs/orchestrate/{run.run}/tasks/bad/1")
    assert (kept.run, kept.why) == (run.run, "work of it has not landed")
    assert [(work.name, work.commit) for work in kept.work] == [("bad", commit)]


async def test_work_that_a_branch_holds_keeps_no_run(source: Source, place: Place) -> None:
    run = await rejected(source, place)
    git(place.repository, "branch", "mine", f"refs/orchestrate/{run.run}/tasks/bad/1")
    assert (await gc(place)).runs == (run.run,)
    assert git(place.repository, "show", "mine:bad.txt") == "bad"


async def test_a_run_whose_branch_is_gone_is_kept(source: Source, place: Place) -> None:
    await late(source, place)
    git(place.repository, "branch", "-D", source.branch)
    (kept,) = (await gc(place)).kept
    assert "is on no branch any more" in kept.why
    assert runs(place) == [source.run]


async def test_a_run_that_has_not_ended_is_kept_until_it_is_named(source: Source, place: Place) -> None:
    await place.take(source.early)
    aged(place.directory(source.run), 400)
    gone = await gc(place)
    assert [(kept.run, kept.why) for kept in gone.kept] == [(source.run, "it has not ended")]
    assert (await gc(place, source.run)).runs == (source.run,)


async def test_a_run_that_a_process_works_on_never_goes(source: Source, place: Place) -> None:
    run = await late(source, place)
    other = await rejected(source, place)
    before = everything(place)
    with run.hold_lock():
        with pytest.raises(RunLocked, match="is being worked on by process"):
            await gc(place, other.run, run.run)
        assert everything(place) == before
        gone = await gc(place)
        assert (gone.runs, {kept.run for kept in gone.kept}) == ((), {run.run, other.run})


async def test_two_gcs_do_not_meet(place: Place) -> None:
    await gc(place)
    held = try_file_lock(state(place).path / "gc.lock")
    assert held is not None
    with pytest.raises(RunLocked, match="another `orchestrate gc` is at work"):
        await gc(place)
    os.close(held)
    await gc(place)


async def test_a_dry_run_tells_the_same_and_changes_nothing(source: Source, place: Place) -> None:
    run = await late(source, place)
    (run.path / "search.db").write_bytes(b"x" * 10_000)
    await rejected(source, place)
    before = everything(place)
    dry = await gc(place, is_dry=True)
    assert everything(place) == before
    wet = await gc(place)
    assert (dry.runs, set(dry.refs), dry.caches, dry.kept) == (wet.runs, set(wet.refs), wet.caches, wet.kept)


async def test_caches_and_outputs_of_what_ended_long_ago_go_and_others_stay(source: Source, place: Place) -> None:
    await late(source, place)
    young = (await place.take(source.partial)).directory
    for run in (place.directory(source.run), young):
        (run.path / "search.db").write_bytes(b"x")
    for name, days in (("old", 40), ("new", 1)):
        folder = state(place).path / "logs" / name
        folder.mkdir(parents=True)
        (folder / "1.log").write_bytes(b"x" * 5000)
        os.utime(folder, (time.time() - days * DAY_S,) * 2)
    gone = await gc(place, by_policy=False)
    assert (gone.logs, gone.caches, gone.runs) == (("old",), (f"{source.run}/search.db",), ())
    assert (young.path / "search.db").exists()
    assert [folder.name for folder in (state(place).path / "logs").iterdir()] == ["new"]


@pytest.mark.usefixtures("short_watch")
async def test_locks_of_refs_that_dead_processes_left_go_but_of_runs_at_work(source: Source, place: Place) -> None:
    run = await late(source, place, days=0)
    top = place.repository / ".git" / "refs" / "orchestrate"
    mine, other = (top / name for name in (f"{run.run}/tasks/a/1.lock", "prs/2.lock"))
    for lock in (mine, other):
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
    with run.hold_lock():
        assert (await gc(place, is_dry=True)).locks == ("refs/orchestrate/prs/2",)
        assert (await gc(place)).locks == ("refs/orchestrate/prs/2",)
    assert (await gc(place)).locks == (f"refs/orchestrate/{run.run}/tasks/a/1",)
    assert [lock.exists() for lock in (mine, other)] == [False, False]


async def test_what_an_import_left_that_was_killed_goes_after_a_day(place: Place) -> None:
    left = state(place).get_run(RunId("20200101-000000-abcd"))
    left.blobs.mkdir(parents=True)
    await gc(place)
    assert left.path.exists()
    os.utime(left.path, (time.time() - 2 * DAY_S,) * 2)
    await gc(place)
    assert not left.path.exists()


STEPS = ("_move_aside:before", "_move_aside:after", "delete_refs:after", "_remove_path:before")


@pytest.mark.parametrize("step", STEPS)
async def test_a_gc_that_is_killed_has_lost_nothing_it_should_keep_and_the_next_one_ends_it(
    source: Source, place: Place, step: str
) -> None:
    await late(source, place)
    other = await rejected(source, place)
    kept, branches = run_refs(place, other.run), git(place.repository, "branch", "--list", "-v")
    command = [
        sys.executable,
        dying_at.__file__,
        f"orchestrator.retention.garbage_collection:{step}",
        "gc",
        "--runs",
        *place.words,
    ]
    told = environment(place.repository.parent) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert (await anyio.run_process(command, env=told, check=False)).returncode == -9
    assert other.run in runs(place)
    await gc(place)
    assert runs(place) == [other.run]
    assert run_refs(place, source.run) == []
    assert run_refs(place, other.run) == kept
    assert git(place.repository, "branch", "--list", "-v") == branches
    assert list((state(place).path / "removed").iterdir()) == []


async def test_a_run_that_came_back_after_a_killed_gc_keeps_its_refs(source: Source, place: Place) -> None:
    run = await late(source, place)
    (state(place).path / "removed").mkdir()
    run.path.rename(state(place).path / "removed" / run.run)
    await place.take(source.late)
    before = run_refs(place, run.run)
    await gc(place)
    assert (runs(place), run_refs(place, run.run)) == ([run.run], before)


async def test_status_tells_what_all_runs_take_on_disk(source: Source, place: Place) -> None:
    await late(source, place)
    asked = orchestrate("status", "--json", *place.words, cwd=place.repository.parent).json["disk"]
    kinds = [asked[kind] for kind in ("journals", "blobs", "logs", "worktrees")]
    assert (asked["is_whole"], asked["total"]) == (True, sum(kinds))
    assert asked["journals"] > 0 and asked["blobs"] > 0
    told = orchestrate("status", *place.words, cwd=place.repository.parent).out
    assert "  disk, all runs: " in told


async def test_the_words_tell_how_to_see_keep_and_remove_what_is_kept(source: Source, place: Place) -> None:
    run = await rejected(source, place)
    told = orchestrate("gc", "--runs", *place.words, cwd=place.repository.parent)
    assert told.code == 0
    assert f"kept {run.run}: work of it has not landed" in told.out
    assert f"orchestrate diff {run.run} bad; keep it: git branch NAME " in told.out
    assert f"orchestrate gc --run {run.run}" in told.out
    asked = orchestrate("gc", "--runs", "--json", *place.words, cwd=place.repository.parent).json
    assert [work["name"] for work in asked["kept"][0]["work"]] == ["bad"]
