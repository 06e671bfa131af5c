"""The context of a run: all that its parts work with."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from orchestrator.config.live_config import LiveConfig
from orchestrator.config.model import Config
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.state import RunState
from orchestrator.engine.commits import build_commit_style
from orchestrator.engine.goal.action_order import ActionOrder, ImmediateOrder
from orchestrator.engine.goal.worker_places import WorkerPlaces
from orchestrator.engine.judging.passed_candidates import PassedCandidates
from orchestrator.journal.journal import Journal
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.locations.run_lock import RunLock
from orchestrator.judge.selection.import_graph import ImportGraphReader
from orchestrator.ports.field_guide import FieldGuide
from orchestrator.ports.forge import Forge
from orchestrator.ports.hands import Hands, Workspace
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.policy import NO_POLICY, PolicyGuard
from orchestrator.ports.roles import Roles
from orchestrator.queue.pr_branch import LandingFence, PrBranch, require_green_tip
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id
from worktrees.repositories.repository import GitRepository

if TYPE_CHECKING:
    from orchestrator.judge.gate.harness import HarnessGate
    from orchestrator.judge.mutation.runner import MutantRunner
    from orchestrator.judge.repeats.runner import RepeatRunner

HandsLender = Callable[[Sequence[Path]], AbstractAsyncContextManager[Hands]]
"""Hands like the run's own, while the block lasts, that can also read these directories of the host."""


async def report_no_worker() -> bool:
    """Return False: no model can be asked."""
    return False


@dataclass(frozen=True)
class RunContext:
    """An opened run: its journal, the repository, and the rooms around the engine.

    `roles` is None for a migration without model steps, `repeats` and `mutants` for any migration, whose changes are
    the user's own.
    `baseline_hands` are the hands of the baseline, where a migration's environment changes with it; `hands` are those
    of the new one. `on_recovered` is called when what earlier processes left open is settled, `action_order` says when
    due actions begin.
    `field_guide` is None where nothing is remembered, as in a migration.
    `model_called` is set once this process has asked a model in this run.
    `has_worker` tells whether the worker's model can be asked, as far as is known without asking it.
    """

    directory: RunDirectory
    journal: Journal
    live: LiveConfig
    lock: RunLock
    landing_fence: LandingFence
    repository: GitRepository
    hands: Hands
    gate: "HarnessGate"
    repeats: "RepeatRunner | None"
    mutants: "MutantRunner | None"
    forge: Forge
    roles: Roles | None = None
    hooks: Hooks = NO_HOOKS
    on_recovered: Callable[[], None] = lambda: None
    action_order: ActionOrder = field(default_factory=ImmediateOrder)
    worker_places: WorkerPlaces = field(default_factory=WorkerPlaces)
    passed_candidates: PassedCandidates = field(default_factory=PassedCandidates)
    import_graphs: ImportGraphReader = field(default_factory=ImportGraphReader)
    has_worker: Callable[[], Awaitable[bool]] = report_no_worker
    baseline_hands: Hands | None = None
    lend_hands: HandsLender | None = None
    field_guide: FieldGuide | None = None
    policy: PolicyGuard = NO_POLICY
    model_called: anyio.Event = field(default_factory=anyio.Event)

    @property
    def state(self) -> RunState:
        """The run as it is now."""
        return self.journal.state

    @property
    def recipe(self) -> Recipe:
        """A migration's recipe as it stands; people may revise it."""
        return self.state.migration.require_recipe()

    @property
    def config(self) -> Config:
        """The configuration as it stands now."""
        return self.live.current

    @property
    def branch(self) -> PrBranch:
        """The PR branch."""
        run = self.state.run
        style = build_commit_style(self.config.commits)
        return PrBranch(self.repository, run.branch, run.base, self.landing_fence, style)

    @property
    def commit_date(self) -> str:
        """The date of every commit that the harness makes in this run, in ISO 8601."""
        return self.state.run.started_at.isoformat(timespec="seconds")

    @property
    def command_slots(self) -> int:
        """The number of commands that the hands run at once, now."""
        return self.hands.slots

    @property
    def refs(self) -> RunRefs:
        """The refs of this run's own."""
        return RunRefs(self.state.run.run)

    @asynccontextmanager
    async def lend_workspace(self, commit: CommitId, purpose: Purpose) -> AsyncIterator[Workspace]:
        """Open a workspace at a commit, and give it back at the end."""
        workspace = await self.hands.open_workspace(commit, purpose)
        try:
            yield workspace
        finally:
            await workspace.close()

    def list_receipts(self, keys: Iterable[str]) -> list[Receipt]:
        """Return the receipts of these keys, in order."""
        return [self.state.receipts[key] for key in keys]

    async def read_branch_tip(self) -> CommitId | None:
        """Return the PR branch's tip, None while nothing has landed."""
        return await self.branch.read_tip(self.state.head)

    async def read_start_commit(self) -> CommitId:
        """Return what new work starts from: the PR branch's tip, or the base while nothing has landed.

        Raises:
            PersonNeeded: somebody moved the branch away from what has landed, or made it red.
        """
        tip = await self.read_branch_tip()
        if tip and tip != self.state.head:
            is_goal = self.state.run.mode == "goal"
            reruns = self.config.gate.reruns * is_goal  # a recipe has its own
            await require_green_tip(self.gate, self.branch, tip, reruns)
        return tip or self.state.run.base

    async def read_tree_id(self, commit: CommitId) -> TreeId:
        """Return a commit's tree."""
        return TreeId(await read_tree_id(self.repository.git, commit))

    async def commit_changes(
        self, parent: CommitId, changes: Mapping[str, tuple[str, str] | None], message: str
    ) -> tuple[CommitId, TreeId]:
        """Return a commit on top of `parent`, with its tree, in which files have another mode and blob.

        Args:
            parent: the only parent.
            changes: path → mode and blob; None deletes the file.
            message: the commit's.
        """
        git = self.repository.git
        tree = TreeId(await overlay_tree(git, await read_tree_id(git, parent), changes))
        return CommitId(await commit_tree(git, tree, [parent], message, self.commit_date)), tree
