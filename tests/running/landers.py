"""Landers on real git with a real journal, and gates that judge at once, for what is about landing alone."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio

from orchestrator.domain.event.run import BaselineRecorded, CheckFinished, CheckStarted, RunStarted
from orchestrator.domain.ids import CommitId, RunId, TreeId, UnitId, build_effect_key
from orchestrator.domain.judging.check import Difference, Receipt, ReceiptStatus
from orchestrator.domain.purpose import Purpose
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.ports.gate import GateResult
from orchestrator.queue.composition import MergeComposer
from orchestrator.queue.lander import Lander
from orchestrator.queue.parallel_round import ParallelLander
from orchestrator.queue.pr_branch import LandingFence, PrBranch
from orchestrator.queue.trial_pool import TrialPool
from worktrees.git import Git
from worktrees.object_store.trees import read_tree_id, write_blob
from worktrees.ref_store.refs import set_ref
from worktrees.repositories.repository import GitRepository

RUN = RunId("run-1")
WHEN = "2026-01-01T00:00:00+00:00"
Judge = Callable[[CommitId, TreeId], Difference]


def _find_nothing(_commit: CommitId, _tree: TreeId) -> Difference:
    return Difference()


class QuickGate:
    """A gate port that answers at once, by a function of the commit and its tree; green without one.

    It leaves a receipt of each tree in the journal that it is given.
    """

    def __init__(self, judge: Judge = _find_nothing) -> None:
        self._judge = judge
        self.journal: Journal | None = None

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        difference, key = self._judge(commit, tree), build_effect_key(f"check/{tree}", 0)
        if self.journal and key not in self.journal.state.receipts:
            await self.journal.append(*_write_receipt(key, tree, difference))
        return GateResult(tree=tree, difference=difference, receipts=(key,))

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        return await self.judge_tree(commit, tree, purpose)


def _write_receipt(key: str, tree: TreeId, difference: Difference) -> tuple[CheckStarted, CheckFinished]:
    receipt = Receipt(
        key=key,
        check="quick",
        command="true",
        tree=tree,
        environment="",
        status=ReceiptStatus.COMPLETED,
        exit_code=int(not difference.is_green),
        seconds=0.0,
    )
    return CheckStarted(key=key, check="quick", tree=tree, purpose="quick"), CheckFinished(key=key, receipt=receipt)


@asynccontextmanager
async def open_lander(
    root: Path, journal_at: Path, branch: str, base: str, gate: QuickGate, name: str = "one"
) -> AsyncIterator[tuple[Lander, Journal]]:
    """A lander of one union at a time, with a journal and a fence of its own; the journal goes on if there is one."""
    async with open_branch(root, journal_at, branch, base, gate, name) as (pr_branch, journal):
        yield Lander(journal, gate, pr_branch), journal


@asynccontextmanager
async def open_parallel_lander(
    root: Path, journal_at: Path, branch: str, base: str, gate: QuickGate, name: str = "one"
) -> AsyncIterator[tuple[ParallelLander, Journal]]:
    """A lander as a goal has it, with a pool of trials, a journal and a fence of its own."""
    opened = open_branch(root, journal_at, branch, base, gate, name)
    async with opened as (pr_branch, journal), anyio.create_task_group() as tasks:
        pool = TrialPool(tasks)
        yield ParallelLander(journal, gate, pr_branch, pool), journal
        pool.end_all_trials()


@asynccontextmanager
async def open_branch(
    root: Path, journal_at: Path, branch: str, base: str, gate: QuickGate, name: str
) -> AsyncIterator[tuple[PrBranch, Journal]]:
    """A branch under a fence of its own, with a journal; that is begun, or goes on if there is one."""
    repository = GitRepository.open(root)
    journal = Journal(journal_at, SystemClock())
    try:
        if journal.state.started is None:
            started = await _begin(repository, branch, base)
            key = build_effect_key(f"check/{started.base_tree}", 0)
            receipt = _write_receipt(key, started.base_tree, Difference())
            await journal.append(started, *receipt, BaselineRecorded(receipts=(key,)))
        gate.journal = journal
        fence = await _raise_fence(repository.git, name, journal.epoch)
        yield PrBranch(repository, branch, CommitId(base), fence), journal
    finally:
        journal.close()


async def _begin(repository: GitRepository, branch: str, base: str) -> RunStarted:
    return RunStarted(
        run=RUN,
        mode="goal",
        goal="many files",
        started_at=datetime.fromisoformat(WHEN).astimezone(UTC),
        repository=str(repository.root),
        base=CommitId(base),
        base_tree=TreeId(await read_tree_id(repository.git, base)),
        branch=branch,
        target="main",
        settings={},
    )


async def _raise_fence(git: Git, name: str, epoch: int) -> LandingFence:
    ref = f"refs/orchestrate/{RUN}/fence-{name}"
    fence = LandingFence(ref, await write_blob(git, f"{name} {epoch}\n".encode()))
    await set_ref(git, ref, fence.object)
    return fence


def composer_of(git: Git, candidates: Mapping[UnitId, CommitId]) -> MergeComposer:
    """The composer of a goal's round: one commit a task, with the trailers of its run and its unit."""
    return MergeComposer(git, candidates, message_of, WHEN, names_candidates=False)


def message_of(unit: UnitId) -> str:
    return f"Work of {unit}\n\nOrchestrate-Run: {RUN}\nOrchestrate-Task: {unit}\n"
