"""The gate of one shard's changes alone: the rules, and the checks of level shard with the tests that were selected."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.verify import VerifyCheck
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.judge.selection.selected_tests import FindImporters, SelectedTests, parse_selected_tests, select_tests
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.judging.invariants import list_changed_files
from orchestrator.ports.gate import GateResult
from orchestrator.ports.hands import ShellCommand
from orchestrator.ports.ledger import record_notice_once
from worktrees.object_store.trees import list_tree

_LISTED = 20


class ShardGate:
    """A `ports.Gate` that asks of unions of one shard's files what is asked at level shard.

    Args:
        context: the run.
        gate: judges trees by the recipe.
        shard: the name of the shard.
        importers: finds the files that import some, for the choice of tests.
    """

    def __init__(self, context: RunContext, gate: MigrationGate, shard: str, importers: FindImporters) -> None:
        self._context = context
        self._gate = gate
        self._shard = shard
        self._importers = importers

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, _purpose: Purpose, _fresh: bool = False, _reruns: int = 0
    ) -> GateResult:
        """Judge a union by the checks of level shard."""
        changes = await list_changed_files(self._context, tree)
        purpose = Purpose(f"shard {self._shard}")
        checks = await self._select_checks(commit, tree, changes)
        return await self._gate.judge_shard(commit, tree, purpose, changes, checks)

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, _symptoms: Sequence[str], _look: int = 0
    ) -> GateResult:
        """Judge the union: these checks are narrow already."""
        return await self.judge_tree(commit, tree, purpose)

    async def _select_checks(
        self, commit: CommitId, tree: TreeId, changes: Mapping[str, tuple[str, str]]
    ) -> list[CheckSpec]:
        """Return the checks of level shard, with the tests that the changed files select."""
        verify = self._gate.recipe.verify
        checks = [check for check in verify.check if check.level == "shard"]
        if not checks:
            return []
        files = [entry.path for entry in await list_tree(self._context.repository.git, tree)]
        specs = []
        for check in checks:
            if check.tests == "command":
                selection = await self._ask_command(check, commit, changes, files)
            else:
                selection = select_tests(check, changes, files, self._importers)
            if lonely := selection.files_without_tests:
                await self._tell_all_tests(check, f"none is known for {join_limited(lonely, _LISTED)}", lonely)
            line, report = selection.format_command(check), check.report or verify.report
            specs.append(CheckSpec(id=check.id, run=line, report=report, timeout_s=check.timeout_s))
        return specs

    async def _ask_command(
        self, check: VerifyCheck, commit: CommitId, changes: Mapping[str, object], files: Sequence[str]
    ) -> SelectedTests:
        """Return the tests that the check's `select` prints for the changed paths; all tests if it fails."""
        paths = "".join(f"{path}\n" for path in sorted(changes))
        command = ShellCommand(line=check.select, stdin=paths, timeout_s=check.timeout_s)
        async with self._context.lend_workspace(commit, Purpose(f"tests for shard {self._shard}")) as workspace:
            result, printed = await run_and_read(workspace, command)
        if result.is_success:
            return parse_selected_tests(printed, files)
        await self._tell_all_tests(check, "its select failed")
        return parse_selected_tests("", files)

    async def _tell_all_tests(self, check: VerifyCheck, reason: str, paths: tuple[str, ...] = ()) -> None:
        text, code = f"check {check.id} runs all tests: {reason}", NoticeCode.ALL_TESTS
        notice = Noticed(level="info", text=text, code=code, subject=check.id, paths=paths)
        await record_notice_once(self._context.journal, notice)
