"""Runs of a verifier's files on a commit, by the gate's own runner, narrowed to them where that is possible."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import VERIFIER_CHECK, CheckSpec, Receipt, ReceiptStatus, TestOutcome
from orchestrator.domain.judging.verifier_tests import VerifierFile
from orchestrator.domain.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.gate.narrowed_command import narrow_by_keyword, narrow_to_files, run_past_failures
from orchestrator.judge.gate.verifier_outcomes import (
    FileOutcomes,
    describe_ending,
    find_gate_omission,
    find_omission,
    select_file_outcomes,
    select_new_outcomes,
)
from orchestrator.judge.reports.parsed_report import EXIT_CODE_ID
from worktrees.object_store.trees import write_blob

_FILE_MODE = "100644"


class VerifierTestRunner:
    """Runs files of tests on trees that do not have them, and tells the outcomes of each.

    All files run together; a file of which that tells nothing runs alone, where the command can be narrowed to it.
    Pytest behind another command is narrowed by its own variable; if that finds nothing, all tests run.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._check = context.gate.checks[0]

    @property
    def is_narrow(self) -> bool:
        """True if the gate's command can be narrowed to files."""
        return narrow_to_files(self._check, ()) is not None

    @property
    def max_files(self) -> int:
        """The number of files that one task may have: only one where each run is one of the whole gate."""
        if self.is_narrow:
            return self._context.config.roles.verifier.max_files
        return 1

    async def create_commit(self, commit: CommitId, files: Sequence[VerifierFile]) -> tuple[CommitId, TreeId]:
        """Return the commit with these files, and its tree."""
        git, changes = self._context.repository.git, dict[str, tuple[str, str] | None]()
        for file in files:
            content = await self._context.journal.read_text(file.content)
            changes[file.path] = (_FILE_MODE, await write_blob(git, content.encode("utf-8", "surrogatepass")))
        return await self._context.commit_changes(commit, changes, "With the tests of a verifier")

    async def run_files(
        self, commit: CommitId, files: Sequence[VerifierFile], purpose: Purpose, look: int = 0
    ) -> Mapping[str, FileOutcomes]:
        """Return the outcomes of each file on a commit by its path; `look` counts the runs from 0.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        if not files:
            return {}
        receipt, found = await self._run_together(commit, files, purpose, look)
        runs = {}
        for file in files:
            outcomes = found.get(file.path, {})
            if not outcomes and len(files) > 1 and self.is_narrow:
                alone, others = await self._run_together(commit, (file,), purpose, look)
                runs[file.path] = FileOutcomes(others.get(file.path, {}), alone.key, describe_ending(alone))
            else:
                runs[file.path] = FileOutcomes(outcomes, receipt.key, describe_ending(receipt))
        return runs

    async def run_on_candidate(
        self, commit: CommitId, base: CommitId, files: Sequence[VerifierFile], purpose: Purpose, look: int = 0
    ) -> Mapping[str, FileOutcomes]:
        """Return the outcomes of each file on a candidate by its path, with what its run leaves out.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        runs = await self.run_files(commit, files, purpose, look)
        base_runs = await self.run_files(base, files, purpose.with_detail("on its base"))
        checked = {}
        for path, run in runs.items():
            omission = find_omission(base_runs[path], run)
            if not omission and not run.ending and not run.red_tests:
                omission = await self._find_gate_omission(commit, files, run, purpose)
            checked[path] = replace(run, omission=omission)
        return checked

    async def _find_gate_omission(
        self, commit: CommitId, files: Sequence[VerifierFile], run: FileOutcomes, purpose: Purpose
    ) -> str:
        """Return which tests a run with these files leaves out that the candidate's gate has; empty if it is narrow."""
        if self.is_narrow or len(self._list_checks(files)) > 1:
            return ""
        without_files = await self._collect_outcomes(commit, purpose)
        with_files = await self._context.gate.receipts.load_outcomes(self._context.state.receipts[run.receipt])
        return find_gate_omission(without_files, with_files or {})

    async def _collect_outcomes(self, commit: CommitId, purpose: Purpose) -> Mapping[str, TestOutcome]:
        """Return the outcomes of the check on a commit without files of a verifier; none if it tells its exit alone."""
        gate, tree = self._context.gate, await self._context.read_tree_id(commit)
        receipt = await gate.run_extra_check(self._check, commit, tree, purpose)
        return await gate.receipts.load_outcomes(receipt) or {}

    async def _run_together(
        self, commit: CommitId, files: Sequence[VerifierFile], purpose: Purpose, look: int
    ) -> tuple[Receipt, Mapping[str, Mapping[str, TestOutcome]]]:
        """Return the receipt of a run with these files, and the outcomes that are known to be of one of them."""
        mixed, tree = await self.create_commit(commit, files)
        checked, gate = CheckedTree(mixed, tree, purpose), self._context.gate
        for spec in self._list_checks(files):
            async with gate.receipts.get_lock(spec, tree):
                receipt = await gate.receipts.get_nth_receipt(spec, checked, look)
            if receipt.status != ReceiptStatus.COMPLETED:
                return receipt, {}
            outcomes = await gate.receipts.load_outcomes(receipt)
            found = {}
            for file in files:
                found[file.path] = select_file_outcomes(file.path, outcomes or {})
            if outcomes is None or outcomes:
                break
        if len(files) == 1 and not found[files[0].path]:
            found[files[0].path] = await self._select_rest(commit, files[0], receipt, outcomes, purpose)
        return receipt, found

    async def _select_rest(
        self,
        commit: CommitId,
        file: VerifierFile,
        receipt: Receipt,
        outcomes: Mapping[str, TestOutcome] | None,
        purpose: Purpose,
    ) -> dict[str, TestOutcome]:
        """Return what a run with one file shows of it where no id names the file: what is new, or the exit code.

        An exit code of 0 shows nothing where the same check tells outcomes of tests without the file.
        """
        gate = self._context.gate
        tree = await self._context.read_tree_id(commit)
        if outcomes is not None:
            known = await gate.collect_outcomes(commit, tree, purpose)
            return select_new_outcomes(outcomes, known or {})
        without = await gate.run_extra_check(self._check, commit, tree, purpose)
        if without.exit_code != 0 and narrow_to_files(self._check, [file.path]) is None:
            return {}
        if receipt.exit_code == 0 and await self._collect_outcomes(commit, purpose):
            return {}
        return {EXIT_CODE_ID: TestOutcome.FAILED if receipt.exit_code else TestOutcome.PASSED}

    def _list_checks(self, files: Sequence[VerifierFile]) -> Sequence[CheckSpec]:
        """Return the checks that show what the files say, the cheapest first."""
        paths = [file.path for file in files]
        narrowed = narrow_to_files(self._check, paths)
        if narrowed is not None:
            limit_s = min(narrowed.timeout_s, self._context.config.roles.verifier.tests_timeout_s)
            return (narrowed.model_copy(update={"id": VERIFIER_CHECK, "timeout_s": limit_s}),)
        whole = run_past_failures(self._check).model_copy(update={"id": VERIFIER_CHECK})
        by_keyword = narrow_by_keyword(whole, paths)
        if by_keyword is None:
            return (whole,)
        return (by_keyword, whole)
