"""The changes that a run stands for: of what landed, what all reviewers accepted, and never a secret."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.memory import EntriesProposed
from orchestrator.domain.event.work import VerdictGiven
from orchestrator.domain.ids import CommitId, TaskId, TreeId
from orchestrator.domain.judging.verdict import LensVote, Verdict, VerdictKind
from orchestrator.domain.memory.entry import EntryEvidence, EvidenceKind, GuideProposal
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Attempt, Task, TaskStatus
from orchestrator.judge.files.changed_file import PathProtection, find_path_protection
from orchestrator.memory.guide_file import REPOSITORY_FILE
from orchestrator.memory.lifecycle import project_guide_changes
from orchestrator.redact.redactor import Redactor
from tests.running.role_bench import open_role_journal

LEAF = Task(id=TaskId("leaf"), parent=TaskId("root"), depth=1, kind="leaf", title="t", outcome="o")
COMMIT = CommitId("c" * 40)
SECRET = "hunter2hunter2"


async def build_state(
    place: Path, votes: Sequence[LensVote], status: TaskStatus = TaskStatus.MERGED, attempt: int = 1
) -> RunState:
    """A run whose task has landed with its first attempt, and of which attempt `attempt` proposed something."""
    journal = await open_role_journal(place, LEAF)
    journal.redactor = Redactor({"MY_TOKEN": SECRET})
    evidence = EntryEvidence(kind=EvidenceKind.OWN_CHANGE)
    proposal = GuideProposal(id="leaf:1:1", claim=f"the token is {SECRET}", evidence=evidence)
    await journal.append(EntriesProposed(task=LEAF.id, number=attempt, proposals=(proposal,)))
    state = journal.state
    journal.close()
    tried = Attempt(task=LEAF.id, number=1, mode="fresh", base=COMMIT, model="m")
    given = VerdictGiven(task=LEAF.id, number=1, verdict=Verdict(kind=VerdictKind.MERGE, votes=tuple(votes)))
    state.tasks[LEAF.id] = state.tasks[LEAF.id].model_copy(
        update={"status": status, "attempts": (tried,), "verdicts": (given,)}
    )
    unit = state.tasks[LEAF.id].unit
    state.landings.append(LandingFinished(key="k", branch="b", new=COMMIT, tree=TreeId(COMMIT), units=(unit,)))
    return state


def vote(*accepted: str) -> LensVote:
    return LensVote(lens="diff", model="m", decision="approve", accepted=accepted)


async def test_what_landed_and_all_reviewers_accepted_comes_in_with_the_commit_and_without_secrets(
    tmp_path: Path,
) -> None:
    state = await build_state(tmp_path, [vote("leaf:1:1"), vote("leaf:1:1", "other")])
    changes = project_guide_changes(state, 90)
    [added] = changes.added
    assert (added.evidence.kind, added.evidence.id) == (EvidenceKind.COMMIT, COMMIT)
    assert added.claim == "the token is [redacted:MY_TOKEN]"
    assert project_guide_changes(state, 90) == changes


@pytest.mark.parametrize(
    ("votes", "status", "attempt"),
    [
        ([], TaskStatus.MERGED, 1),
        ([vote()], TaskStatus.MERGED, 1),
        ([vote("leaf:1:1"), vote()], TaskStatus.MERGED, 1),
        ([vote("leaf:1:1")], TaskStatus.REJECTED, 1),
        ([vote("leaf:1:1")], TaskStatus.DISCARDED, 1),
        ([vote("leaf:1:1")], TaskStatus.MERGED, 2),
    ],
    ids=["no-review", "not-accepted", "one-objects", "rejected", "left-behind", "another-attempt"],
)
async def test_nothing_else_comes_in(tmp_path: Path, votes: list[LensVote], status: TaskStatus, attempt: int) -> None:
    state = await build_state(tmp_path, votes, status, attempt)
    assert project_guide_changes(state, 90).added == ()


def test_the_file_that_people_commit_is_protected_from_agents() -> None:
    assert find_path_protection(REPOSITORY_FILE) == PathProtection.CONFIGURATION
