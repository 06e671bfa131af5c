"""`orchestrate memory`: what runs have learnt, which run changed what, and a person's word on single entries."""

import json
from pathlib import Path

import anyio
import pytest

from orchestrator.domain.event.memory import EntriesProposed, GuideChanged
from orchestrator.domain.event.run import IterationStarted, RunStarted
from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.ids import ROOT_TASK, CommitId, RunId, TreeId
from orchestrator.domain.memory.entry import EntryRetirement, GuideProposal, ProposalRefusal, RetirementCause
from orchestrator.engine.goal.planning import build_root_task
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.memory.guide_file import REPOSITORY_FILE, GuideFile
from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import git
from tests.unit.memory.test_guide_file import learn
from tests.unit.memory.test_index import NOW

ENTRY = learn("r", 0, claim="totals are cents", scope="shop/**")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose field guide has two entries."""
    place = tmp_path / "project"
    place.mkdir()
    git(place, "init", "-q")
    git(place, "commit", "-q", "--allow-empty", "-m", "first")
    guide = GuideFile(StateDirectory.locate_for(place, str(tmp_path / "state")).path)
    anyio.run(guide.write_changes, RunId("r"), GuideChanged(added=(ENTRY, learn("r", 1))), NOW)
    return place


def memory(repository: Path, *words: str) -> Finished:
    return orchestrate("memory", *words, "--state", str(repository.parent / "state"), cwd=repository)


def test_entries_are_listed_and_shown_with_their_evidence(repository: Path) -> None:
    done = memory(repository, "list")
    assert f"{ENTRY.id}  [shop/**] totals are cents (commit aaaaaaaaaaaa)" in done.out
    rows = json.loads(memory(repository, "list", "--json").out)["entries"]
    assert {row["claim"] for row in rows} == {"totals are cents", "r 1"}
    shown = json.loads(memory(repository, "show", ENTRY.id, "--json").out)["entry"]
    assert (shown["run"], shown["task"], shown["attempt"]) == ("r", "t", 1)
    assert "totals are cents" in memory(repository, "show", ENTRY.id).out


def test_a_dropped_entry_is_gone_and_stays_named_and_a_pinned_one_says_so(repository: Path) -> None:
    assert memory(repository, "drop", ENTRY.id).code == 0
    assert f"{ENTRY.id}  ended, dropped" in memory(repository, "list", "--ended").out
    again = memory(repository, "drop", ENTRY.id)
    assert again.code == 2
    assert "it has ended" in again.err
    other = learn("r", 1).id
    assert "pinned" in memory(repository, "pin", other).out
    assert "pinned" not in memory(repository, "pin", other, "--off").out


def test_an_empty_guide_says_where_entries_come_from(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    done = orchestrate("memory", "list", "--state", str(tmp_path / "s"), cwd=tmp_path)
    assert done.out == "The field guide has no entry: runs add what their judges accept.\n"


def test_the_guide_is_written_into_the_checkout_for_people_to_commit(repository: Path) -> None:
    assert memory(repository, "write").code == 0
    assert ENTRY.claim in (repository / REPOSITORY_FILE).read_text()


def test_gc_keeps_the_guide(repository: Path) -> None:
    state = str(repository.parent / "state")
    assert orchestrate("gc", "--runs", "--state", state, cwd=repository).code == 0
    assert len(json.loads(memory(repository, "list", "--json").out)["entries"]) == 2


def test_a_diff_says_what_a_run_added_ended_used_and_proposed_in_vain(repository: Path) -> None:
    directory = StateDirectory.locate_for(repository, str(repository.parent / "state")).get_run("20260501-120000-ab12")
    anyio.run(write_journal, directory.path)
    done = memory(repository, "diff")
    assert done.out.splitlines() == [
        f"+ {ENTRY.id}  [shop/**] totals are cents (commit aaaaaaaaaaaa)",
        "- g0  ended, contradicted: they are floats",
        "  g1  used",
        "  root:1:1  refused, no-evidence: x",
        "  root:1:2  refused, not-accepted: y",
    ]
    assert json.loads(memory(repository, "diff", "--run", "ab12", "--json").out)["used"] == ["g1"]


async def write_journal(place: Path) -> None:
    """A run that changed the guide, as its journal tells."""
    place.parent.mkdir(parents=True)
    base = CommitId("a" * 40)
    started = RunStarted(
        run=RunId(place.name), mode="goal", goal="g", started_at=NOW, repository="/r", base=base,
        base_tree=TreeId(base), branch="b", target="main", settings={},
    )  # fmt: skip
    ended = EntryRetirement(entry="g0", cause=RetirementCause.CONTRADICTED, at=NOW, why="they are floats")
    vain = (
        GuideProposal(id="root:1:1", claim="x", refusal=ProposalRefusal.NO_EVIDENCE),
        GuideProposal(id="root:1:2", claim="y"),
    )
    journal = Journal(place, SystemClock())
    await journal.append(
        started,
        IterationStarted(number=1),
        TaskCreated(task=ROOT_TASK, spec=build_root_task("g")),
        EntriesProposed(task=ROOT_TASK, number=1, proposals=vain, used=("g1",)),
        GuideChanged(added=(ENTRY,), retired=(ended,), used=("g1",)),
    )
    journal.close()
