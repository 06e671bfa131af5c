"""Chains of units on real git, of which every step is remembered."""

from dataclasses import replace
from pathlib import Path

from orchestrator.domain.ids import CommitId
from orchestrator.queue.chain_composer import ChainComposer
from orchestrator.queue.composition import ComposedUnion
from tests.running.projects import git
from tests.running.queued import QueuedCandidate, build_project, name_unit

A, B = map(name_unit, range(2))


async def test_a_unit_whose_commit_was_replaced_is_composed_anew_for_whoever_comes_after_it(tmp_path: Path) -> None:
    project = build_project(tmp_path / "repo", [QueuedCandidate(A), QueuedCandidate(B)])
    root, base = project.branch.repository.root, project.branch.base
    chains = ChainComposer(project.composer)
    await chains.compose_union(base, [A, B])
    git(root, "checkout", "-q", "--detach", project.commits[A])
    (root / "more").write_text("a test that was added\n")
    git(root, "add", "more")
    git(root, "commit", "-q", "--amend", "--no-edit")
    amended = {**project.commits, A: CommitId(git(root, "rev-parse", "HEAD").strip())}
    again = ChainComposer(replace(project.composer, candidates=amended), chains.steps)
    union = await again.compose_union(base, [A, B])
    assert isinstance(union, ComposedUnion)
    assert git(root, "show", f"{union.commit}:more") == "a test that was added"
