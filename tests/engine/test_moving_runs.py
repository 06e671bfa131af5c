"""A run that is exported and imported elsewhere is the same run, and never harms what is there."""

import sqlite3
from pathlib import Path

import pytest

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.fold.projection import fold_events
from orchestrator.errors import PersonNeeded, RunLocked, UsageProblem
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.portable.journal_references import JournalHistory
from orchestrator.project.options import Options
from orchestrator.run_control.transfer import export_run_archive, import_run_archive
from tests.running.in_process import orchestrate
from tests.running.moving import Place, Source, everything
from tests.running.projects import calculator, git, refs

pytestmark = [pytest.mark.sandbox]


def own_refs(root: Path, run: str) -> dict[str, str]:
    return {name: oid for name, oid in refs(root).items() if f"/{run}/" in name and not name.endswith("/journal")}


@pytest.mark.extended
async def test_an_imported_run_has_the_same_events_blobs_refs_and_branch(source: Source, place: Place) -> None:
    imported = await place.take(source.late)
    there = place.directory(source.run)
    events = list(read_all_events(there.journal))
    assert imported.effect == "new"
    assert events == list(read_all_events(source.directory.journal))
    named = JournalHistory.from_journal(there.journal).references
    assert named.required_blobs and all(BlobStore(there.blobs).read_blob(sha) for sha in named.required_blobs)
    assert own_refs(place.repository, source.run) == own_refs(source.repository, source.run)
    assert git(place.repository, "rev-parse", source.branch) == git(source.repository, "rev-parse", source.branch)
    git(place.repository, "fsck", "--strict")


async def test_no_cache_travels(source: Source, place: Place) -> None:
    await place.take(source.late)
    with (
        sqlite3.connect(source.directory.journal) as here,
        sqlite3.connect(place.directory(source.run).journal) as there,
    ):
        count = "SELECT count(*) FROM projection"
        assert (here.execute(count).fetchone(), there.execute(count).fetchone()) == ((2,), (0,))
    here.close()
    there.close()


async def test_the_trees_after_every_turn_travel_although_no_ref_holds_them(source: Source, place: Place) -> None:
    await place.take(source.late)
    turns = [one.event for one in read_all_events(source.directory.journal) if one.event.kind == "turn.ended"]
    trees = {tree for event in turns if (tree := getattr(event, "tree", None))}
    assert trees
    for tree in trees:
        assert git(place.repository, "cat-file", "-t", tree) == "tree"


async def test_a_run_that_is_at_work_is_exported_as_of_one_moment(source: Source, place: Place) -> None:
    await place.take(source.early)
    state = fold_events(read_all_events(place.directory(source.run).journal))
    whole = list(read_all_events(source.directory.journal))
    assert state.ended is None and state.landings
    assert list(read_all_events(place.directory(source.run).journal)) == whole[: state.seq]
    assert git(place.repository, "rev-parse", source.branch) == state.head
    kept = own_refs(place.repository, source.run).values()
    assert {taken.commit for task in state.tasks.values() for taken in task.candidates} <= set(kept)


async def test_a_later_export_goes_on_from_an_earlier_one_and_never_the_other_way(source: Source, place: Place) -> None:
    assert (await place.take(source.early)).effect == "new"
    assert (await place.take(source.late)).effect == "continued"
    before = everything(place)
    assert (await place.take(source.late)).effect == "unchanged"
    with pytest.raises(UsageProblem, match=r"is further here, by \d+ events"):
        await place.take(source.early)
    assert everything(place) == before
    assert list(read_all_events(place.directory(source.run).journal)) == list(read_all_events(source.directory.journal))


async def test_a_run_that_went_on_in_both_places_is_refused(source: Source, place: Place) -> None:
    await place.take(source.early)
    journal = Journal(place.directory(source.run).path, SystemClock())
    await journal.append(Noticed(level="info", text="I went on here"))
    journal.close()
    before = everything(place)
    with pytest.raises(UsageProblem, match="has another history here"):
        await place.take(source.late)
    assert everything(place) == before


async def test_a_run_that_somebody_works_on_is_left_alone(source: Source, place: Place) -> None:
    await place.take(source.early)
    with place.directory(source.run).hold_lock(), pytest.raises(RunLocked, match="is being worked on by process"):
        await place.take(source.late)


async def test_a_damaged_blob_is_mended_by_importing_again(source: Source, place: Place) -> None:
    await place.take(source.late)
    there = place.directory(source.run)
    sha = next(iter(JournalHistory.from_journal(there.journal).references.required_blobs))
    BlobStore(there.blobs).get_blob_path(sha).write_bytes(b"rot")
    await place.take(source.late)
    assert BlobStore(there.blobs).read_blob(sha)


async def test_a_lost_blob_is_told_and_keeps_nobody_from_moving(source: Source, place: Place, tmp_path: Path) -> None:
    await place.take(source.late)
    there = place.directory(source.run)
    sha = next(iter(JournalHistory.from_journal(there.journal).references.required_blobs))
    BlobStore(there.blobs).get_blob_path(sha).unlink()
    sent = await export_run_archive(place.options, source.run, tmp_path / "again.tar")
    assert sent.exported.manifest.missing == (sha,)
    second = Options(place.repository, {"state": {"dir": str(tmp_path / "second")}})
    assert (await import_run_archive(second, tmp_path / "again.tar", None)).manifest.missing == (sha,)


async def test_another_repository_is_refused(source: Source, tmp_path: Path) -> None:
    other = Place(calculator(tmp_path / "other"), Options(tmp_path / "other", {"state": {"dir": str(tmp_path / "s")}}))
    before = refs(other.repository)
    with pytest.raises(UsageProblem, match=r"does not have commit [0-9a-f]{40}, which the run rests on"):
        await other.take(source.late)
    await export_run_archive(source.options, source.run, tmp_path / "whole.tar", is_whole=True)
    with pytest.raises(UsageProblem, match="has no history in common"):
        await other.take(tmp_path / "whole.tar")
    assert refs(other.repository) == before
    assert StateDirectory.locate_for(other.repository, str(tmp_path / "s")).list_runs() == []


async def test_commits_that_were_never_pushed_travel_along(source: Source, tmp_path: Path) -> None:
    repo = source.repository
    pushed = git(repo, "rev-parse", "main^")
    git(repo, "branch", "pushed", pushed)
    git(repo, "update-ref", "refs/remotes/origin/main", pushed)
    try:
        git(repo, "clone", "-q", "--single-branch", "-b", "pushed", repo.as_uri(), str(tmp_path / "clone"))
        sent = await export_run_archive(source.options, source.run, tmp_path / "run.tar")
    finally:
        git(repo, "update-ref", "-d", "refs/remotes/origin/main")
        git(repo, "branch", "-D", "pushed")
    assert sent.exported.manifest.prerequisites == (pushed,)
    there = Options(tmp_path / "clone", {"state": {"dir": str(tmp_path / "state")}})
    assert (await import_run_archive(there, tmp_path / "run.tar", None)).effect == "new"
    git(tmp_path / "clone", "fsck", "--strict")


async def test_a_branch_that_is_behind_moves_forward_and_one_that_is_ahead_stays(source: Source, place: Place) -> None:
    await place.take(source.early)
    behind = git(place.repository, "rev-parse", source.branch)
    await place.take(source.late)
    landed = git(source.repository, "rev-parse", source.branch)
    assert git(place.repository, "rev-parse", source.branch) == landed != behind
    ahead = git(place.repository, "commit-tree", "-p", landed, "-m", "mine", f"{landed}^{{tree}}")
    git(place.repository, "branch", "-f", source.branch, ahead)
    await place.take(source.late)
    assert git(place.repository, "rev-parse", source.branch) == ahead


async def test_a_branch_that_went_another_way_is_refused(source: Source, place: Place) -> None:
    mine = git(place.repository, "commit-tree", "-p", "main", "-m", "mine", "main^{tree}")
    git(place.repository, "branch", source.branch, mine)
    before = everything(place)
    with pytest.raises(UsageProblem, match="neither holds the other"):
        await place.take(source.late)
    assert everything(place) == before


async def test_a_branch_that_would_move_under_a_checkout_needs_a_person(source: Source, place: Place) -> None:
    await place.take(source.early)
    git(place.repository, "checkout", "-q", source.branch)
    with pytest.raises(PersonNeeded, match="is checked out in"):
        await place.take(source.late)
    git(place.repository, "checkout", "-q", "main")
    await place.take(source.late)


async def test_a_candidate_that_is_here_under_the_same_name_is_kept_beside_it(source: Source, place: Place) -> None:
    ref = f"refs/orchestrate/{source.run}/tasks/a/1"
    mine = git(place.repository, "commit-tree", "-p", "main", "-m", "mine", "main^{tree}")
    git(place.repository, "update-ref", ref, mine)
    await place.take(source.late)
    assert git(place.repository, "rev-parse", ref) == git(source.repository, "rev-parse", ref)
    kept = f"refs/orchestrate/{source.run}/before-import/tasks/a/1/{mine[:12]}"
    assert git(place.repository, "rev-parse", kept) == mine


def test_the_command_line_tells_what_came_and_whose_settings_it_has(source: Source, place: Place) -> None:
    home = place.repository.parent
    told = orchestrate("run", "import", source.early, *place.words, cwd=home)
    assert told.code == 0
    assert f"go on with it: orchestrate resume {source.run}" in told.out
    assert f'  roles.worker.model = "scripted:{source.repository.parent}/script.json"' in told.err
    again = orchestrate("run", "import", source.early, *place.words, "--json", cwd=home).json
    assert (again["how"], again["refs"], again["absent"]) == ("unchanged", [], [])
    assert not [setting for setting in again["settings"] if not setting.startswith("roles.")]


@pytest.mark.parametrize("words", [("export",), ("export", "latest"), ("import",), ("import", "x", "--ref", "y")])
def test_half_a_command_is_a_usage_error(words: tuple[str, ...], place: Place) -> None:
    told = orchestrate("run", *words, *place.words, cwd=place.repository.parent)
    assert told.code == 2
    assert f"Usage: orchestrate run {words[0]}" in told.err


async def test_a_push_of_the_runs_refs_carries_a_whole_run(source: Source, place: Place, tmp_path: Path) -> None:
    git(source.repository, "init", "-q", "--bare", str(tmp_path / "remote.git"))
    remote, all_refs = (tmp_path / "remote.git").as_uri(), "+refs/orchestrate/*:refs/orchestrate/*"
    for _ in range(2):
        sent = await export_run_archive(source.options, source.run, None)
        git(source.repository, "push", "-q", remote, all_refs)
    git(source.repository, "update-ref", "-d", sent.place)
    git(place.repository, "fetch", "-q", remote, all_refs)
    imported = await import_run_archive(place.options, None, source.run[-4:])
    assert (sent.place, imported.effect) == (f"refs/orchestrate/{source.run}/journal", "new")
    assert list(read_all_events(place.directory(source.run).journal)) == list(read_all_events(source.directory.journal))


async def test_a_ref_that_holds_no_run_is_refused(place: Place) -> None:
    with pytest.raises(UsageProblem, match=r"'7f3a' is no run that a ref holds \(there are: none\): fetch it first"):
        await import_run_archive(place.options, None, "7f3a")


async def test_a_file_is_replaced_only_if_that_is_asked_for(source: Source, tmp_path: Path) -> None:
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    with pytest.raises(UsageProblem, match="exists: name another file"):
        await export_run_archive(source.options, source.run, target)
    assert target.read_text() == "mine"
    await export_run_archive(source.options, source.run, target, may_replace=True)
    assert target.stat().st_mode & 0o777 == 0o600
