"""A run whose journal was damaged and repaired goes on, and nothing that landed lands again."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from orchestrator.errors import JournalProblem
from orchestrator.journal.damage.repair import repair_journal
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import TWO, Bench
from tests.running.projects import git

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]


def damage(journal: Path, kind: str, count: int) -> int:
    """Change the `count`-th event of a kind behind everybody's back; its seq."""
    seqs = [recorded.seq for recorded in read_all_events(journal) if recorded.event.kind == kind]
    raw = sqlite3.connect(journal)
    raw.execute("DROP TRIGGER event_is_never_changed")
    raw.execute("UPDATE event SET body = replace(body, '{', '{ ') WHERE seq = ?", (seqs[count - 1],))
    raw.commit()
    raw.close()
    return seqs[count - 1]


@pytest.mark.parametrize(
    ("kind", "count", "loses_blobs"),
    [("landing.started", 2, False), ("candidate.taken", 2, True), ("pr.opening", 1, False)],
)
async def test_a_run_goes_on_after_its_journal_was_repaired(
    bench: Bench, kind: str, count: int, loses_blobs: bool
) -> None:
    ended = await bench.run(*TWO)
    directory, branch = ended.directory, f"{ended.state.run.branch}^{{tree}}"
    landed = git(bench.repository, "rev-parse", branch)
    lost = damage(directory.journal, kind, count)
    with pytest.raises(JournalProblem, match=f"event {lost} is not what was written; `orchestrate repair`"):
        await bench.resume(*TWO)
    if loses_blobs:  # with them what each test did on the base
        shutil.rmtree(directory.blobs)
    result = repair_journal(RunDirectory(directory.path))
    assert result is not None
    assert (result.kept, result.lost) == (lost - 1, ((lost, lost),))
    again = await bench.resume(*TWO)
    assert bool(result.blobs) == loses_blobs
    assert again.exit_code == 0, again.error
    assert git(bench.repository, "rev-parse", branch) == landed
    assert "The journal was damaged" in again.state.notices[-1].text


@pytest.mark.parametrize("kind", ["contract.frozen", "iteration.started", "task.created"])
async def test_a_run_whose_journal_was_repaired_in_the_midst_of_its_beginning_begins(bench: Bench, kind: str) -> None:
    ended = await bench.run()  # a planner without a reply
    damage(ended.directory.journal, kind, 1)
    assert repair_journal(RunDirectory(ended.directory.path)) is not None
    again = await bench.resume(*TWO)
    assert (again.exit_code, again.state.goal.iteration) == (0, 1), again.error
