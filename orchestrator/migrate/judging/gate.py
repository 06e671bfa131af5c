"""The gate of a migration: rules for files, the checks, the old environment, rules for trees; the cheap ones first."""

from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Difference
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.verify import InvariantKind, Level
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.errors import BlobLost
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner, build_check_key
from orchestrator.judge.gate.flakiness import list_runs_like
from orchestrator.judge.gate.harness import HarnessGate
from orchestrator.migrate.judging import tree_rules
from orchestrator.migrate.judging.exit_code_warning import warn_of_exit_code
from orchestrator.migrate.judging.file_rules import FileRules
from orchestrator.migrate.judging.invariants import (
    TREE_KINDS,
    check_scope_invariants,
    is_scope_wide,
    list_changed_files,
    select_due_invariants,
)
from orchestrator.migrate.judging.narrowed_checks import narrow_check
from orchestrator.migrate.judging.trace_rules import find_trace_problems
from orchestrator.ports.gate import GateResult
from orchestrator.ports.hands import Hands, Workspace


@dataclass(frozen=True)
class _Tree:
    """A tree that is judged: `changes` are mode and blob of the run's files that differ from the base, by path."""

    commit: CommitId
    tree: TreeId
    purpose: Purpose
    fresh: bool
    level: Level
    changes: Mapping[str, tuple[str, str]]
    reruns: int = 0


class MigrationGate:
    """A `ports.Gate` for the unions of a migration; starts nothing any more once the run drains.

    Args:
        context: the run.
        recipe: whose checks and rules.
        paths: the files of the base; without them no check is made narrow.
    """

    def __init__(self, context: RunContext, recipe: Recipe, paths: Container[str] | None = None) -> None:
        self._context = context
        self.recipe = recipe
        self.rules = FileRules(context, recipe)
        self._runner = self._build_runner(context.hands)
        self._base_runner = self._build_runner(context.baseline_hands or context.hands)
        self._narrow = None if paths is None else partial(narrow_check, recipe, paths)
        self._gates: dict[tuple[tuple[CheckSpec, ...], bool], HarnessGate] = {}

    def _build_runner(self, hands: Hands) -> CheckRunner:
        config = self._context.config
        output_bytes = config.hands.output_mb * 1024 * 1024
        return CheckRunner(hands, self._context.journal, output_bytes, has_canaries=config.gate.canaries)

    def _get_gate(self, *checks: CheckSpec, is_strict: bool = False) -> HarnessGate:
        """Return the gate of these checks.

        The same one for all who ask for them, so that nothing runs twice at a time.
        """
        if (checks, is_strict) not in self._gates:
            before = None if self._context.baseline_hands is None else self._base_runner
            made = HarnessGate(
                self._runner, self._context.journal, checks, self._narrow, baseline_runner=before, is_strict=is_strict
            )
            self._gates[checks, is_strict] = made
        return self._gates[checks, is_strict]

    async def record_baseline(self) -> None:
        """Run the checks on the base, and as often again as the recipe asks for, so that flaky ones show themselves.

        Raises:
            EnvironmentProblem: they cannot serve as a gate; says why.
        """
        run, state = self._context.state.run, self._context.state
        receipts = await self._queue_gate.record_baseline(run.base, run.base_tree)
        specs = {build_check_key(spec): spec for spec in self.recipe.build_checks()}
        for receipt in receipts:
            check = next(check for check in self.recipe.verify.check if check.id == specs[receipt.check].id)
            await warn_of_exit_code(self._context, check, receipt)
        base = CheckedTree(run.base, run.base_tree, Purpose("the baseline, again"))
        for receipt in receipts:
            for _ in range(len(list_runs_like(state, receipt)), 1 + self.recipe.verify.flaky_reruns):
                require_not_stopping(self._context)
                await self._base_runner.run_check(specs[receipt.check], base)

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        """Judge if a union may land; what is not asked of it in tests comes as problems, one for each file.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
        judged = _Tree(commit, tree, purpose, fresh, "queue", await list_changed_files(self._context, tree), reruns)
        return await self._run_stages(judged, self._queue_gate)

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        """Judge if a union shows symptoms; narrow runs can tell where nothing but the checks has a say.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
        require_not_stopping(self._context)
        if self._asks_more_than_checks:
            return await self.judge_tree(commit, tree, purpose, fresh=look > 0)
        return await self._queue_gate.probe_tree(commit, tree, purpose, symptoms, look)

    @property
    def _queue_gate(self) -> HarnessGate:
        """The checks of level queue."""
        return self._get_gate(*self.recipe.build_checks())

    def _has_due(self, kind: InvariantKind, level: Level) -> bool:
        """Return True if an invariant of this kind is looked at where files have come as far as `level`."""
        return any(rule.kind == kind for rule in select_due_invariants(self.recipe.invariant, level))

    @property
    def _asks_more_than_checks(self) -> bool:
        recipe = self.recipe
        return (
            any(self._has_due(kind, "queue") for kind in TREE_KINDS)
            or recipe.env.compat == "both"
            or recipe.verify.policy != "no-new-failures"
        )

    async def judge_shard(
        self,
        commit: CommitId,
        tree: TreeId,
        purpose: Purpose,
        changes: Mapping[str, tuple[str, str]],
        checks: Sequence[CheckSpec],
    ) -> GateResult:
        """Judge if a shard's changes alone hold on the base, by the rules of level shard and these checks.

        Args:
            commit: the base, or what landed, with the shard's changes.
            tree: its tree.
            purpose: what it is for, in receipts.
            changes: as `list_changed_files` gives them.
            checks: those of level shard.
        """
        judged = _Tree(commit, tree, purpose, False, "shard", changes)
        return await self._run_stages(judged, self._get_gate(*checks))

    async def judge_final(self, commit: CommitId, tree: TreeId) -> GateResult:
        """Judge if all that landed may be published: every check, and against the base as it was in its own world."""
        judged = _Tree(commit, tree, Purpose("the end"), False, "final", await list_changed_files(self._context, tree))
        checks = (*self.recipe.build_checks(), *self.recipe.build_checks("final"))
        return await self._run_stages(judged, self._get_gate(*checks, is_strict=True))

    async def _run_stages(self, judged: _Tree, gate: HarnessGate) -> GateResult:
        """Return the first of the stages that is red, or all of them together."""
        total = GateResult(tree=judged.tree, difference=await self._check_files(judged), receipts=(), cached=True)
        for stage in (self._run_checks, self._run_in_old_environment, self._run_commands, self._run_on_old_sources):
            if not total.difference.is_green:
                break
            require_not_stopping(self._context)
            total = _add_results(total, await stage(judged, gate))
        return total

    async def _check_files(self, judged: _Tree) -> Difference:
        blobs = {path: blob for path, (_, blob) in judged.changes.items()}
        async with self._lend_workspace(judged) as workspace:
            found = await self.rules.find_violations(blobs, judged.level, workspace)
            problems = [f"{path}: {violation.reason}" for path, violation in sorted(found.items())]
            if judged.level == "final" and any(map(is_scope_wide, self.recipe.invariant)):
                left = await self.rules.count_sites_in_scope(blobs, workspace)
                problems += check_scope_invariants(self.recipe.invariant, left)
        return Difference(problems=tuple(problems))

    def _lend_workspace(self, judged: _Tree) -> AbstractAsyncContextManager[Workspace | None]:
        """Open a workspace that holds the tree, if its rules need one."""
        if not self.rules.needs_workspace(judged.level):
            return nullcontext()
        return self._context.lend_workspace(judged.commit, Purpose(f"rules for {judged.purpose.text}"))

    async def _run_checks(self, judged: _Tree, gate: HarnessGate) -> GateResult:
        reruns = max(judged.reruns, self.recipe.verify.flaky_reruns)
        result = await gate.judge_tree(judged.commit, judged.tree, judged.purpose, judged.fresh, reruns)
        if not result.difference.is_green:
            return result
        more = await self._check_policy(gate, result) + await self._check_traces(gate, result)
        if self._has_due("tests-not-lost", judged.level):
            more += tree_rules.check_test_counts(self._context.state, gate.checks, result.receipts)
        return result.model_copy(update={"difference": result.difference + more})

    async def _check_policy(self, gate: HarnessGate, result: GateResult) -> Difference:
        policy, state = self.recipe.verify.policy, self._context.state
        total = Difference()
        if policy == "no-new-failures":
            return total
        newest = {state.receipts[key].check: state.receipts[key] for key in result.receipts}
        for spec in gate.checks:
            receipt, base = newest[build_check_key(spec)], await gate.baseline.get_receipt(spec)
            try:
                before, now = await gate.receipts.load_outcomes(base), await gate.receipts.load_outcomes(receipt)
            except BlobLost:
                continue
            total += tree_rules.check_policy(policy, before, now, receipt.exit_code)
        return total

    async def _check_traces(self, gate: HarnessGate, result: GateResult) -> Difference:
        """Return what the checks did on the tree, beside their outcomes, that they do not on the base."""
        before = [await gate.baseline.get_receipt(spec) for spec in gate.checks]
        now = self._context.list_receipts(result.receipts)
        return await find_trace_problems(self._context.journal, self.recipe.judge.grants, before, now)

    async def _run_in_old_environment(self, judged: _Tree, gate: HarnessGate) -> GateResult:
        """Run the same checks in the environment of the baseline, where what lands has to be green in both."""
        if self._context.baseline_hands is None or self.recipe.env.compat != "both":
            return _build_empty_result(judged)
        old = HarnessGate(self._base_runner, self._context.journal, gate.checks)
        purpose = judged.purpose.with_detail("in the old environment")
        return await old.judge_tree(judged.commit, judged.tree, purpose, judged.fresh, self.recipe.verify.flaky_reruns)

    async def _run_commands(self, judged: _Tree, gate: HarnessGate) -> GateResult:
        total = _build_empty_result(judged)
        due = select_due_invariants(self.recipe.invariant, judged.level) if judged.changes else ()
        for number, rule in enumerate(self.recipe.invariant, start=1):
            if rule.kind != "command" or rule not in due:
                continue
            for spec in tree_rules.build_command_checks(number, rule, judged.changes):
                result = await tree_rules.run_invariant_command(gate, number, spec, judged.commit, judged.tree)
                total = _add_results(total, result)
        return total

    async def _run_on_old_sources(self, judged: _Tree, gate: HarnessGate) -> GateResult:
        """Run the changed tests on the sources as they were: where they are red, tests and sources moved together."""
        if not self._has_due("old-source-passes", judged.level):
            return _build_empty_result(judged)
        if (commit := await tree_rules.commit_tests_on_base(self._context, judged.changes)) is None:
            return _build_empty_result(judged)
        purpose = judged.purpose.with_detail("changed tests on the old sources")
        result = await gate.judge_tree(*commit, purpose, judged.fresh, self.recipe.verify.flaky_reruns)
        difference = tree_rules.reword_old_source_failures(result.difference)
        return result.model_copy(update={"tree": judged.tree, "difference": difference})


def _build_empty_result(judged: _Tree) -> GateResult:
    return GateResult(tree=judged.tree, difference=Difference(), receipts=(), cached=True)


def _add_results(one: GateResult, other: GateResult) -> GateResult:
    return GateResult(
        tree=one.tree,
        difference=one.difference + other.difference,
        receipts=(*one.receipts, *other.receipts),
        cached=one.cached and other.cached,
    )
