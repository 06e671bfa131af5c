"""The watch that every test is under: a landing that nothing stands for is told, and so is one that git has not got."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, TrialJudged
from orchestrator.domain.event.run import CheckFinished, RunStarted
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.judging.check import ReceiptStatus
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.storage.event_store import EventStore, read_all_events
from tests.golden import DATA
from tests.running.landings import LandingWatch, landing_problems
from tests.running.projects import git, repository, tree_at
from tests.unit.journal.test_golden_journals import restore

ROOT = Path(__file__).parents[3]
OTHER = TreeId("0" * 40)


@pytest.fixture
def kept(tmp_path: Path) -> list[RecordedEvent]:
    """The events of a run that landed four times."""
    return list(read_all_events(restore(DATA / "journals" / "goal.v2.jsonl", tmp_path / "golden.db")))


def forged(place: Path, events: list[RecordedEvent], name: str = "forged.db") -> Path:
    """A journal of these events, numbered anew, that is sound in all but what it tells."""
    store = EventStore.open_writer(place / name)
    store.claim_writer()
    store.insert_events([RecordedEvent(seq, one.at, one.event) for seq, one in enumerate(events, start=1)])
    store.close()
    return place / name


def changed(events: list[RecordedEvent], kind: type[Event], **fields: Any) -> list[RecordedEvent]:
    """The events with one of their kind, the last, told otherwise."""
    at = max(number for number, one in enumerate(events) if isinstance(one.event, kind))
    other = events[at].event.model_copy(update=fields)
    return [*events[:at], RecordedEvent(events[at].seq, events[at].at, other), *events[at + 1 :]]


def test_in_a_journal_that_a_run_wrote_every_landing_was_tested(tmp_path: Path, kept: list[RecordedEvent]) -> None:
    landed = [one for one in kept if isinstance(one.event, LandingFinished)]
    assert len(landed) == 4
    assert list(landing_problems(forged(tmp_path, kept))) == []


def test_a_landing_whose_tree_nobody_tested_is_told(tmp_path: Path, kept: list[RecordedEvent]) -> None:
    problems = list(landing_problems(forged(tmp_path, changed(kept, LandingFinished, tree=OTHER))))
    assert [problem.partition(": ")[2][:21] for problem in problems] == [
        "no completed receipt ",
        "the gate was not gree",
    ]
    assert all(OTHER in problem for problem in problems)


def test_a_receipt_that_did_not_complete_stands_for_nothing(tmp_path: Path, kept: list[RecordedEvent]) -> None:
    landing = [one.event for one in kept if isinstance(one.event, LandingFinished)][-1]
    killed = [
        RecordedEvent(one.seq, one.at, one.event.model_copy(update={"receipt": _killed(one.event)}))
        if isinstance(one.event, CheckFinished) and one.event.receipt.tree == landing.tree
        else one
        for one in kept
    ]
    (problem,) = landing_problems(forged(tmp_path, killed))
    assert f"no completed receipt of {_checks(kept)} has its tree {landing.tree}" in problem


def _killed(event: CheckFinished) -> object:
    return event.receipt.model_copy(update={"status": ReceiptStatus.KILLED})


def _checks(events: list[RecordedEvent]) -> str:
    first = next(one.event for one in events if isinstance(one.event, CheckFinished))
    return first.receipt.check


@pytest.mark.parametrize("kind", [CheckFinished, TrialJudged])
def test_what_was_tested_after_it_landed_does_not_count(
    tmp_path: Path, kept: list[RecordedEvent], kind: type[Event]
) -> None:
    landing = [one.event for one in kept if isinstance(one.event, LandingFinished)][-1]
    about = [one for one in kept if isinstance(one.event, kind) and _tree(one.event) == landing.tree]
    assert about
    moved = [*(one for one in kept if one not in about), *about]
    assert any(landing.new[:12] in problem for problem in landing_problems(forged(tmp_path, moved)))


def _tree(event: Event) -> str:
    return event.receipt.tree if isinstance(event, CheckFinished) else getattr(event, "tree", "")


def test_a_run_that_landed_without_any_baseline_is_told(tmp_path: Path, kept: list[RecordedEvent]) -> None:
    without = [one for one in kept if one.event.kind != "baseline.recorded"]
    problems = list(landing_problems(forged(tmp_path, without)))
    assert len(problems) == 4
    assert all(problem.endswith("the gate had no baseline") for problem in problems)


def test_git_has_the_last_word_on_which_tree_a_commit_holds(tmp_path: Path, kept: list[RecordedEvent]) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "a\n"})
    head = CommitId(git(root, "rev-parse", "HEAD"))
    until = next(number for number, one in enumerate(kept) if isinstance(one.event, LandingFinished))
    begun = changed(changed(kept[: until + 1], RunStarted, repository=str(root)), LandingFinished, new=head)
    tree = next(one.event.tree for one in begun if isinstance(one.event, LandingFinished))
    assert list(landing_problems(forged(tmp_path, begun))) == [
        f"landing {head[:12]}: in git its tree is {tree_at(root, 'HEAD')}, not {tree}"
    ]


def test_a_run_that_travelled_is_held_against_the_clone_in_which_it_went_on(
    tmp_path: Path, kept: list[RecordedEvent]
) -> None:
    began = repository(tmp_path / "first" / "repo", {"a.txt": "a\n"})
    git(tmp_path, "clone", "-q", str(began), str(tmp_path / "second" / "repo"))
    went_on = tmp_path / "second" / "repo"
    git(went_on, "commit", "-q", "--allow-empty", "-m", "landed there")
    until = next(number for number, one in enumerate(kept) if isinstance(one.event, LandingFinished))
    landed = {"new": CommitId(git(went_on, "rev-parse", "HEAD")), "tree": TreeId(tree_at(went_on, "HEAD"))}
    told = {"repository": str(began), "branch": git(began, "branch", "--show-current")}
    events = changed(changed(kept[: until + 1], RunStarted, **told), LandingFinished, **landed)

    def in_git(at: Path) -> list[str]:
        place = StateDirectory.locate_for(at, str(at.parent / "state")).get_run(RunId("r")).path
        place.mkdir(parents=True)
        problems = list(landing_problems(forged(place, events, "journal.db")))
        shutil.rmtree(place)  # it is this test that is under the watch too
        return [one for one in problems if "in git" in one]

    assert in_git(went_on) == []
    assert in_git(began) == [f"landing {landed['new'][:12]}: in git its tree is nowhere, not {landed['tree']}"]


def test_only_what_is_new_or_went_on_is_looked_at_again(tmp_path: Path, kept: list[RecordedEvent]) -> None:
    watch = LandingWatch(tmp_path)
    place = tmp_path / "state" / "runs" / "r"
    place.mkdir(parents=True)
    bad = changed(kept, LandingFinished, tree=OTHER)
    journal = forged(place, bad, "journal.db")
    assert len(watch.problems(may_be_damaged=False)) == 2
    assert watch.problems(may_be_damaged=False) == []
    journal.unlink()
    forged(place, [*bad, kept[-1]], "journal.db")
    assert len(watch.problems(may_be_damaged=False)) == 2
    journal.write_bytes(b"x" * 9000)
    assert watch.problems(may_be_damaged=True) == []
    journal.write_bytes(b"y" * 9001)
    assert "no marker of the test announces" in watch.problems(may_be_damaged=False)[0]
    journal.unlink()


LEAVES = """
import shutil
import pytest

def test_leaves_a_journal(tmp_path):
    (tmp_path / "deep" / "runs" / "r").mkdir(parents=True)
    shutil.copy({journal!r}, tmp_path / "deep" / "runs" / "r" / "journal.db")

@pytest.fixture(scope="module")
def together(tmp_path_factory):
    shutil.copy({journal!r}, tmp_path_factory.mktemp("shared") / "journal.db")

def test_uses_a_run_of_its_module(together):
    pass
"""


@pytest.mark.parametrize("is_forged", [True, False])
def test_a_test_that_leaves_a_forged_journal_fails(tmp_path: Path, kept: list[RecordedEvent], is_forged: bool) -> None:
    events = changed(kept, LandingFinished, tree=OTHER) if is_forged else kept
    inner = tmp_path / "test_inner.py"
    inner.write_text(LEAVES.format(journal=str(forged(tmp_path, events))))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "anyio", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    words += ["-c", "pyproject.toml", f"--basetemp={tmp_path / 'inner'}", "--strict-markers", str(inner)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    shutil.rmtree(tmp_path / "inner")  # what the watch over this very test would tell, too
    assert ("2 passed, 2 errors" in done.stdout) == is_forged, done.stdout
    assert done.returncode == (1 if is_forged else 0)
    if is_forged:
        assert done.stdout.count(f"no completed receipt of {_checks(kept)} has its tree {OTHER}") >= 2
