"""Runs of a verifier's scripts: they use a commit as its users will, outside any test run and twice over."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import SCRIPT_CHECK, CheckSpec, Receipt, ReceiptStatus, ReportFormat, TestOutcome
from orchestrator.domain.judging.verifier_tests import VerifierFile
from orchestrator.domain.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.gate.script_line import UNREADABLE_EXIT, build_script_line
from orchestrator.judge.gate.verifier_outcomes import FileOutcomes, describe_ending
from worktrees.object_store.trees import list_tree


class VerifierScriptRunner:
    """Runs scripts on trees and tells how each ended; the outcome's id is the script's name."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def run_scripts(
        self, commit: CommitId, scripts: Sequence[VerifierFile], purpose: Purpose, look: int = 0
    ) -> Mapping[str, FileOutcomes]:
        """Return the outcome of each script on a commit by its name; `look` counts the runs from 0.

        Raises:
            EnvironmentProblem: a script could not be started.
        """
        runs = {}
        for script in scripts:
            runs[script.path] = _read_outcome(script, await self._run(commit, script, purpose, look))
        return runs

    async def run_on_candidate(
        self, commit: CommitId, base: CommitId, scripts: Sequence[VerifierFile], purpose: Purpose, look: int = 0
    ) -> Mapping[str, FileOutcomes]:
        """Return the outcome of each script on a candidate by its name.

        The candidate's tests are left out for scripts that end and print on the base without tests just as with them:
        so nothing is built from tests, and code that looks for tests beside itself finds none.

        Raises:
            EnvironmentProblem: a script could not be started.
        """
        if not scripts:
            return {}
        bare_base, bare_commit = await self._remove_tests(base), await self._remove_tests(commit)
        runs = {}
        for script in scripts:
            place = commit
            if await self._is_alike(script, base, bare_base, purpose):
                place = bare_commit
            runs[script.path] = _read_outcome(script, await self._run(place, script, purpose, look))
        return runs

    async def _is_alike(self, script: VerifierFile, commit: CommitId, bare: CommitId, purpose: Purpose) -> bool:
        """Return True if a script ends and prints the same on a commit and on that commit without its tests."""
        first = await self._run(commit, script, purpose.with_detail("on its base"), 0)
        second = await self._run(bare, script, purpose.with_detail("on its base without tests"), 0)
        if (first.status, first.exit_code) != (second.status, second.exit_code):
            return False
        read_text = self._context.journal.read_text
        return await read_text(first.output) == await read_text(second.output)

    async def _remove_tests(self, commit: CommitId) -> CommitId:
        removed: dict[str, tuple[str, str] | None] = {}
        for entry in await list_tree(self._context.repository.git, commit):
            if is_test_path(entry.path):
                removed[entry.path] = None
        if not removed:
            return commit
        bare, _ = await self._context.commit_changes(commit, removed, "Without tests")
        return bare

    async def _run(self, commit: CommitId, script: VerifierFile, purpose: Purpose, look: int) -> Receipt:
        tree = await self._context.read_tree_id(commit)
        line = build_script_line(await self._context.journal.read_text(script.content))
        limit_s = self._context.config.roles.verifier.tests_timeout_s
        spec = CheckSpec(id=SCRIPT_CHECK, run=line, report=ReportFormat.EXIT_CODE, timeout_s=limit_s)
        receipts = self._context.gate.receipts
        async with receipts.get_lock(spec, tree):
            return await receipts.get_nth_receipt(spec, CheckedTree(commit, tree, purpose), look)


def _read_outcome(script: VerifierFile, receipt: Receipt) -> FileOutcomes:
    ending = describe_ending(receipt)
    if receipt.exit_code == UNREADABLE_EXIT:
        ending = "could not be read by sh"
    if ending or receipt.status != ReceiptStatus.COMPLETED:
        return FileOutcomes({}, receipt.key, ending)
    outcome = TestOutcome.FAILED if receipt.exit_code else TestOutcome.PASSED
    return FileOutcomes({script.path: outcome}, receipt.key)
