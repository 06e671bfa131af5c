"""The gate: the run's checks, their baseline, and the difference of a tree to it."""

import json
from collections.abc import Mapping, Sequence

from orchestrator.domain.check import CheckSpec, Difference, Receipt, ReceiptStatus, TestOutcome
from orchestrator.domain.event.run import BaselineRecorded, Noticed
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.errors import BlobLost, EnvironmentProblem
from orchestrator.judge.checks import CheckRunner, check_name
from orchestrator.judge.difference import compare
from orchestrator.judge.moved import without_moved
from orchestrator.judge.protected import granter
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger

_INFRASTRUCTURE_TRIES = 2
"""A check that timed out or was killed says nothing about the tree until it has done so this often in a row."""


class HarnessGate:
    """A `ports.Gate` whose verdicts rest on receipts that it made itself.

    A tree with receipts of the same checks in the same environment is not tested again.
    """

    def __init__(self, runner: CheckRunner, ledger: Ledger, checks: Sequence[CheckSpec]) -> None:
        self._runner = runner
        self._ledger = ledger
        self._checks = tuple(checks)
        self._outcomes: dict[str, Mapping[str, TestOutcome]] = {}

    @property
    def commands(self) -> str:
        """What the gate runs, in words."""
        return " && ".join(spec.run for spec in self._checks)

    async def record_baseline(self, commit: CommitId, tree: TreeId) -> Sequence[Receipt]:
        """Run every check on the base, unless the ledger has the baseline of all these checks already.

        Raises:
            EnvironmentProblem: a check cannot serve as a gate: it hangs, is not found, runs no test, or is red
                without saying which tests are.
        """
        known = self._ledger.state.baseline_receipts()
        if known and all(check_name(spec) in known for spec in self._checks):
            return list(known.values())
        receipts = [await self._receipt(spec, commit, tree, "baseline", fresh=False) for spec in self._checks]
        for spec, receipt in zip(self._checks, receipts, strict=True):
            if problem := _baseline_problem(spec, receipt):
                raise EnvironmentProblem(f"{problem}\n\n{_printed(receipt.output.head)}")
        doubts = [Noticed(level="warning", text=_doubt(receipt)) for receipt in receipts if receipt.problem]
        await self._ledger.append(BaselineRecorded(receipts=tuple(receipt.key for receipt in receipts)), *doubts)
        return receipts

    async def judge(self, commit: CommitId, tree: TreeId, purpose: str, fresh: bool = False) -> GateResult:
        """The difference to the baseline; stops at the first check that is red."""
        total, keys, before = Difference(), [], self._ledger.state.test_runs
        for spec in self._checks:
            receipt = await self._receipt(spec, commit, tree, purpose, fresh)
            keys.append(receipt.key)
            total += await self._difference(spec, await self._baseline(spec), receipt)
            if not total.is_green:
                break
        return GateResult(
            tree=tree, difference=total, receipts=tuple(keys), cached=self._ledger.state.test_runs == before
        )

    async def run_extra(self, spec: CheckSpec, commit: CommitId, tree: TreeId, purpose: str) -> Receipt:
        """The receipt of a check that is not part of the gate, such as a task's own."""
        return await self._receipt(spec, commit, tree, purpose, fresh=False)

    async def _receipt(self, spec: CheckSpec, commit: CommitId, tree: TreeId, purpose: str, fresh: bool) -> Receipt:
        known = None if fresh else self._known(spec, tree)
        if known and not await self._has_outcomes(known):
            known = None
        tries = 0
        while known is None or (known.status != ReceiptStatus.COMPLETED and tries < _INFRASTRUCTURE_TRIES):
            known = await self._runner.run(spec, commit, tree, purpose)
            tries += 1
        return known

    async def _baseline(self, spec: CheckSpec) -> Receipt:
        """The check's receipt on the base; made again if a damaged journal lost what the tests did there."""
        receipt = self._ledger.state.baseline_receipts()[check_name(spec)]
        if await self._has_outcomes(receipt):
            return receipt
        run = self._ledger.state.run
        return await self._receipt(spec, run.base, run.base_tree, "the lost baseline", fresh=False)

    async def _has_outcomes(self, receipt: Receipt) -> bool:
        try:
            await self.outcomes(receipt)
        except BlobLost:
            return False
        return True

    def _known(self, spec: CheckSpec, tree: TreeId) -> Receipt | None:
        wanted = (check_name(spec), tree, self._runner.environment)
        receipts = reversed(self._ledger.state.receipts.values())
        return next((r for r in receipts if (r.check, r.tree, r.environment) == wanted), None)

    async def _difference(self, spec: CheckSpec, baseline: Receipt, receipt: Receipt) -> Difference:
        if broken_off := _broken_off(spec, receipt):
            return Difference(problems=(f"the check `{spec.id}` {broken_off}",))
        before, now = await self.outcomes(baseline), await self.outcomes(receipt)
        difference = compare(before, baseline.exit_code, now, receipt.exit_code)
        if difference.missing_tests and before and now:
            difference = without_moved(difference, before, now, granter(self._grants()))
        is_new = receipt.problem and not baseline.problem
        return difference + Difference(problems=(receipt.problem,) if is_new else ())

    def _grants(self) -> Sequence[str]:
        """What the plan lets change that is protected, for whichever of its tasks: a tree may hold the work of many."""
        return [glob for task in self._ledger.state.tasks.values() for glob in task.spec.grants]

    async def outcomes(self, receipt: Receipt) -> Mapping[str, TestOutcome] | None:
        """Test id → outcome of a receipt, None where the check tells only its exit code."""
        if receipt.tests is None:
            return None
        if receipt.tests in self._outcomes:
            return self._outcomes[receipt.tests]
        stored = json.loads(await self._ledger.read_bytes(receipt.tests))
        outcomes = {test: TestOutcome(outcome) for test, outcome in stored.items()}
        if receipt.key in self._ledger.state.baseline:
            self._outcomes[receipt.tests] = outcomes
        return outcomes


def _baseline_problem(spec: CheckSpec, receipt: Receipt) -> str:
    """Why the receipt of the base cannot be compared with, in the words of somebody who has to mend it."""
    what = f"the gate command `{spec.run}`"
    if broken_off := _broken_off(spec, receipt):
        return f"on the base, before anything changed, {what} {broken_off}{_MENDED_BY.get(receipt.status, '')}"
    if receipt.counts.total == 0 and receipt.exit_code == 127:  # what a shell says of a command it does not know
        return (
            f"{what} was not found in the sandbox: install it into the project's environment, or bind where it lies "
            "with --read-only DIR"
        )
    if receipt.tests is None and receipt.exit_code != 0:
        return (
            f"{what} exits {receipt.exit_code} on the base, before anything changed, and does not tell which tests "
            "are red: mend it, or let it report tests (report = junit, tap, pytest-rA or unittest)"
        )
    if receipt.tests is not None and receipt.counts.total == receipt.counts.errors:
        return (
            f"{what} ran no test on the base: nothing could ever be judged by it; commit a first test, or give a "
            "--gate that runs some"
        )
    return ""


def _broken_off(spec: CheckSpec, receipt: Receipt) -> str:
    """How a check ended without having said anything of the tree; empty if it ran to its end."""
    match receipt.status:
        case ReceiptStatus.NOT_STARTED:
            return "could not be started"
        case ReceiptStatus.TIMED_OUT:
            return f"did not end within {spec.timeout_s:g} s"
        case ReceiptStatus.OUTPUT_LIMIT:
            return "printed more than [hands] output_mb allows"
        case ReceiptStatus.KILLED:
            why = f" by a limit under [hands] ({receipt.problem.rstrip('.')})" if receipt.problem else ""
            return f"was killed after {receipt.seconds:.0f} s{why}"
    return ""


_MENDED_BY = {
    ReceiptStatus.TIMED_OUT: ": raise timeout_s",
    ReceiptStatus.OUTPUT_LIMIT: ": make it quieter or raise the limit",
}


def _doubt(receipt: Receipt) -> str:
    return f"the report of `{receipt.command}` on the base is not whole, so a loss may go unseen: {receipt.problem}"


def _printed(text: str, lines: int = 15) -> str:
    shown = "\n".join(f"  {line}" for line in text.splitlines()[-lines:])
    return f"It printed:\n{shown}" if shown.strip() else "It printed nothing."
