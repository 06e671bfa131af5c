"""The gate of a migration: rules for files, the checks, the old environment, rules for trees. Cheap before dear."""

from collections.abc import AsyncIterator, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.event.notices import NoticeCode
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Difference
from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.recipe.verify import Level, VerifyCheck
from orchestrator.domain.run.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.errors import BlobLost
from orchestrator.hands.execution.log_reader import read_log_ends
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.judge.gate.check_runner import CheckRunner, build_check_key
from orchestrator.judge.gate.flakiness import list_runs_like
from orchestrator.judge.gate.harness import HarnessGate
from orchestrator.judge.gate.narrowing import never_narrow
from orchestrator.migrate.judging.file_change import FindSites, RuleViolation
from orchestrator.migrate.judging.file_rules import FileRules
from orchestrator.migrate.judging.invariants import (
    TREE_KINDS,
    check_scope_invariants,
    is_scope_wide,
    select_due_invariants,
)
from orchestrator.migrate.judging.narrow_checks import CheckNarrower
from orchestrator.migrate.judging.outcome_policy import check_policy
from orchestrator.migrate.judging.selected_tests import FindImporters, parse_selected_tests, select_tests
from orchestrator.migrate.judging.tree_rules import (
    build_command_checks,
    check_test_counts,
    commit_tests_on_base,
    reword_old_source_failures,
    run_invariant_command,
)
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.sites.finder import find_sites
from orchestrator.ports.gate import GateResult
from orchestrator.ports.hands import ShellCommand, Workspace
from orchestrator.ports.notices import record_notice_once
from worktrees.object_store.trees import list_tree

_LISTED = 20


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
    """A `ports.Gate` for the unions of a migration; starts nothing any more once the run drains."""

    def __init__(
        self, context: RunContext, recipe: Recipe, find: FindSites, paths: Container[str] | None = None
    ) -> None:
        self._context = context
        self._recipe = recipe
        self.rules = FileRules(context.repository.git, recipe, find)
        self._runner = self._runner_in(after=True)
        self._base_runner = self._runner_in(after=False)
        self._narrow = never_narrow if paths is None else CheckNarrower(recipe, paths)
        self._gates: dict[tuple[tuple[CheckSpec, ...], bool], HarnessGate] = {}

    def _runner_in(self, *, after: bool) -> CheckRunner:
        context = self._context
        if after or context.baseline_hands is None:
            hands = context.hands
        else:
            hands = context.baseline_hands
        return CheckRunner(hands, context.journal, context.config.hands.output_mb * 1024 * 1024)

    def _gate(self, *checks: CheckSpec, is_strict: bool = False) -> HarnessGate:
        """The checks in the new world; one gate for all who ask for the same, so that nothing runs twice at a time."""
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
        receipts = await self._context.gate.record_baseline(run.base, run.base_tree)
        specs = {}
        for spec in self._recipe.build_checks():
            specs[build_check_key(spec)] = spec
        for receipt in receipts:
            for _ in range(len(list_runs_like(state, receipt)), 1 + self._recipe.verify.flaky_reruns):
                require_not_stopping(self._context)
                await self._base_runner.run_check(
                    specs[receipt.check], run.base, run.base_tree, Purpose("the baseline, again")
                )

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        """Whether a union may land; what is not asked of it in tests comes as problems, one for each file.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
        asked = _Tree(commit, tree, purpose, fresh, "queue", await self._changes(tree), reruns)
        return await self._judged(asked, self._gate(*self._recipe.build_checks()))

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        """Whether a union shows symptoms; narrow runs can tell where nothing but the checks has a say.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
        require_not_stopping(self._context)
        if self._asks_more_than_checks:
            return await self.judge_tree(commit, tree, purpose, fresh=look > 0)
        return await self._gate(*self._recipe.build_checks()).probe_tree(commit, tree, purpose, symptoms, look)

    @property
    def _asks_more_than_checks(self) -> bool:
        recipe = self._recipe
        of_trees = any(rule.kind in TREE_KINDS for rule in select_due_invariants(recipe.invariant, "queue"))
        return of_trees or recipe.env.compat == "both" or recipe.verify.policy != "no-new-failures"

    async def judge_shard(self, commit: CommitId, tree: TreeId, name: str, importers: FindImporters) -> GateResult:
        """Whether a shard's changes alone hold on the base, by the rules and the checks of level shard.

        Args:
            commit: the base, or what landed, with the shard's changes.
            tree: its tree.
            name: the shard's.
            importers: which files import which, for the choice of tests.
        """
        changes = await self._changes(tree)
        asked = _Tree(commit, tree, Purpose(f"shard {name}"), False, "shard", changes)
        return await self._judged(asked, self._gate(*await self._selected(asked, importers)))

    async def judge_final(self, commit: CommitId, tree: TreeId) -> GateResult:
        """Whether all that landed may be published: every check, and against the base as it was in its own world."""
        asked = _Tree(commit, tree, Purpose("the end"), False, "final", await self._changes(tree))
        return await self._judged(
            asked, self._gate(*self._recipe.build_checks(), *self._recipe.build_checks("final"), is_strict=True)
        )

    async def _judged(self, asked: _Tree, gate: HarnessGate) -> GateResult:
        """The first of the stages that is red, or all of them together."""
        total = GateResult(tree=asked.tree, difference=await self._of_files(asked), receipts=(), cached=True)
        for stage in (self._of_checks, self._of_old_world, self._of_tree, self._of_old_sources):
            if not total.difference.is_green:
                break
            require_not_stopping(self._context)
            total = _together(total, await stage(asked, gate))
        return total

    async def _of_files(self, asked: _Tree) -> Difference:
        blobs = {}
        for path, (_, blob) in asked.changes.items():
            blobs[path] = blob
        records = self._context.state.files
        async with self._workspace(asked) as workspace:
            found = await self.rules.find_violations(blobs, records, asked.level, workspace)
            problems = []
            for path, broken in sorted(found.items()):
                problems.append(format_violation(path, broken))
            if asked.level == "final" and any(map(is_scope_wide, self._recipe.invariant)):
                left = await self.rules.count_sites_in_scope(blobs, records, workspace)
                problems += check_scope_invariants(self._recipe.invariant, left)
        return Difference(problems=tuple(problems))

    @asynccontextmanager
    async def _workspace(self, asked: _Tree) -> AsyncIterator[Workspace | None]:
        """A workspace that holds the tree, if its rules need one."""
        if not self.rules.needs_workspace(asked.level):
            yield None
            return
        workspace = await self._context.hands.open_workspace(asked.commit, Purpose(f"rules for {asked.purpose.text}"))
        try:
            yield workspace
        finally:
            await workspace.close()

    async def _of_checks(self, asked: _Tree, gate: HarnessGate) -> GateResult:
        reruns = max(asked.reruns, self._recipe.verify.flaky_reruns)
        result = await gate.judge_tree(asked.commit, asked.tree, asked.purpose, asked.fresh, reruns)
        if not result.difference.is_green:
            return result
        more = await self._by_policy(gate, result)
        if any(rule.kind == "tests-not-lost" for rule in select_due_invariants(self._recipe.invariant, asked.level)):
            more += check_test_counts(self._context.state, gate.checks, result.receipts)
        return result.model_copy(update={"difference": result.difference + more})

    async def _by_policy(self, gate: HarnessGate, result: GateResult) -> Difference:
        policy, state = self._recipe.verify.policy, self._context.state
        total = Difference()
        newest = {}
        for key in result.receipts:
            newest[state.receipts[key].check] = state.receipts[key]
        for spec in gate.checks if policy != "no-new-failures" else ():
            receipt, base = newest[build_check_key(spec)], await gate.get_baseline_receipt(spec)
            try:
                outcomes = []
                for one in (base, receipt):
                    outcomes.append(await gate.load_outcomes(one))
            except BlobLost:
                continue
            total += check_policy(policy, outcomes[0], outcomes[1], receipt.exit_code)
        return total

    async def _of_old_world(self, asked: _Tree, gate: HarnessGate) -> GateResult:
        """The same checks in the environment of the baseline, where what lands has to be green in both."""
        if self._context.baseline_hands is None or self._recipe.env.compat != "both":
            return _nothing(asked)
        old = HarnessGate(self._base_runner, self._context.journal, gate.checks)
        purpose = asked.purpose.with_detail("in the old environment")
        return await old.judge_tree(asked.commit, asked.tree, purpose, asked.fresh, self._recipe.verify.flaky_reruns)

    async def _of_tree(self, asked: _Tree, gate: HarnessGate) -> GateResult:
        total = _nothing(asked)
        for number, rule in enumerate(self._recipe.invariant, start=1):
            if (
                rule.kind == "command"
                and rule in select_due_invariants(self._recipe.invariant, asked.level)
                and asked.changes
            ):
                for spec in build_command_checks(number, rule, asked.changes):
                    total = _together(total, await run_invariant_command(gate, spec, asked.commit, asked.tree))
        return total

    async def _of_old_sources(self, asked: _Tree, gate: HarnessGate) -> GateResult:
        """The changed tests must be green on the sources as they were: else tests and sources moved together."""
        if not any(
            rule.kind == "old-source-passes" for rule in select_due_invariants(self._recipe.invariant, asked.level)
        ):
            return _nothing(asked)
        run, git = self._context.state.run, self._context.repository.git
        made = await commit_tests_on_base(git, run.base, run.base_tree, asked.changes, self._context.commit_date)
        if made is None:
            return _nothing(asked)
        purpose = asked.purpose.with_detail("changed tests on the old sources")
        result = await gate.judge_tree(*made, purpose, asked.fresh, self._recipe.verify.flaky_reruns)
        difference = reword_old_source_failures(result.difference)
        return result.model_copy(update={"tree": asked.tree, "difference": difference})

    async def _selected(self, asked: _Tree, importers: FindImporters) -> list[CheckSpec]:
        """The checks of level shard, with the tests that the changed files select."""
        checks = [check for check in self._recipe.verify.check if check.level == "shard"]
        files = [entry.path for entry in await list_tree(self._context.repository.git, asked.tree)] if checks else []
        specs = []
        for check in checks:
            if check.tests == "command":
                selection = parse_selected_tests(await self._asked_command(check, asked), files)
            else:
                selection = select_tests(check, asked.changes, files, importers)
            if selection.files_without_tests:
                text = f"check {check.id} runs all tests: none is known for {_listed(selection.files_without_tests)}"
                await self._notice_all_tests(check, text, selection.files_without_tests)
            report = check.report or self._recipe.verify.report
            line = selection.format_command(check)
            specs.append(CheckSpec(id=check.id, run=line, report=report, timeout_s=check.timeout_s))
        return specs

    async def _asked_command(self, check: VerifyCheck, asked: _Tree) -> str:
        """What the check's `select` prints for the changed paths; nothing if it fails, so that all tests run."""
        workspace = await self._context.hands.open_workspace(asked.commit, Purpose(f"tests for {asked.purpose.text}"))
        try:
            paths = "".join(f"{path}\n" for path in sorted(asked.changes))
            result = await run_command(
                workspace, ShellCommand(line=check.select, stdin=paths, timeout_s=check.timeout_s)
            )
            if result.is_success:
                return await to_thread.run_sync(read_log_ends, result.log)
        finally:
            await workspace.close()
        await self._notice_all_tests(check, f"check {check.id} runs all tests: its select failed")
        return ""

    async def _notice_all_tests(self, check: VerifyCheck, text: str, paths: Sequence[str] = ()) -> None:
        code = NoticeCode.NO_TEST_SELECTION
        notice = Noticed(level="info", code=code, subject=check.id, paths=tuple(paths), text=text)
        await record_notice_once(self._context.journal, notice)

    async def _changes(self, tree: TreeId) -> Mapping[str, tuple[str, str]]:
        """Mode and blob of the run's files that differ from the base in a tree, by path."""
        entries = await list_tree(self._context.repository.git, tree)
        files = self._context.state.files
        known = {}
        for entry in entries:
            if entry.path in files:
                known[entry.path] = (entry.mode, entry.oid)
        return {path: change for path, change in known.items() if change[1] != files[path].base}


class ShardGate:
    """A `ports.Gate` that asks of unions of one shard's files what is asked at level shard."""

    def __init__(self, gate: MigrationGate, shard: str, importers: FindImporters) -> None:
        self._gate = gate
        self._shard = shard
        self._importers = importers

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, _purpose: Purpose, _fresh: bool = False, _reruns: int = 0
    ) -> GateResult:
        """The word of the checks of level shard."""
        return await self._gate.judge_shard(commit, tree, self._shard, self._importers)

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, _symptoms: Sequence[str], _look: int = 0
    ) -> GateResult:
        """The same: these checks are narrow already."""
        return await self.judge_tree(commit, tree, purpose)


def format_violation(path: str, broken: RuleViolation) -> str:
    """How a file that breaks a rule is named in a difference."""
    return f"{path}: {broken.reason}"


def _nothing(asked: _Tree) -> GateResult:
    return GateResult(tree=asked.tree, difference=Difference(), receipts=(), cached=True)


def _together(one: GateResult, other: GateResult) -> GateResult:
    return GateResult(
        tree=one.tree,
        difference=one.difference + other.difference,
        receipts=(*one.receipts, *other.receipts),
        cached=one.cached and other.cached,
    )


def _listed(paths: tuple[str, ...]) -> str:
    if len(paths) > _LISTED:
        more = f" and {len(paths) - _LISTED} more"
    else:
        more = ""
    return ", ".join(paths[:_LISTED]) + more


def build_gate(context: RunContext, recipe: Recipe, paths: Container[str]) -> MigrationGate:
    """The gate of a recipe; `paths` are the files of the base."""

    async def find_places(
        contents: Mapping[str, bytes], workspace: Workspace | None
    ) -> Mapping[str, Sequence[SitePlace]]:
        return (await find_sites(recipe.scope, contents, workspace)).places

    return MigrationGate(context, recipe, find_places, paths)
