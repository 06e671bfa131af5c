"""The contract: what it asks for, and what the harness sees of it, on the base and on what landed."""

from collections.abc import Iterable, Iterator

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import CheckSpec, Receipt, ReceiptStatus, ReportFormat
from orchestrator.domain.run.contract import GATE_CRITERION, GOAL_CRITERION, Contract, Criterion
from orchestrator.domain.run.purpose import Purpose
from orchestrator.domain.run.task import Exit
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.judge.verdict.contract import CriterionProof
from orchestrator.judge.verdict.decision import VerdictEvidence, list_red_reasons
from orchestrator.ports.gate import GateResult

_NOT_FOUND = frozenset({126, 127})
"""What a shell exits with when there is no such command, or it cannot be executed."""


def build_contract(goal: str, gate: str, own: Iterable[Criterion] = ()) -> Contract:
    """Return the criteria of a run: the goal itself, that nothing which worked is lost, and what its user asks for."""
    nothing_lost = "every test that passed before passes, and none is lost"
    usual = Criterion(id=GOAL_CRITERION, text=goal), Criterion(id=GATE_CRITERION, text=nothing_lost, command=gate)
    return Contract(criteria=(*usual, *own))


async def run_criteria_on_base(context: RunContext, contract: Contract) -> None:
    """Run what the criteria are checked by on the base, so that it is known what was met before anything changed.

    Raises:
        EnvironmentProblem: a command cannot be run, so nothing could ever meet its criterion.
    """
    run = context.state.run
    for criterion, spec in _iterate_command_criteria(context, contract):
        receipt = await context.gate.run_extra_check(spec, run.base, run.base_tree, Purpose("contract"))
        _require_started(criterion, receipt)
        if receipt.exit_code in _NOT_FOUND:
            raise EnvironmentProblem(
                f"the command `{spec.run}` of criterion {criterion.id} was not found on the base, or cannot be "
                f"executed (exit code {receipt.exit_code}): install it into the project's environment, bind where it "
                "lies with --read-only DIR, or, if the run is to make it, let it fail before: test -x FILE && FILE"
            )


async def collect_proofs(context: RunContext, contract: Contract, head: CommitId) -> tuple[CriterionProof, ...]:
    """Return what the harness sees of every criterion that has a command, on a commit that landed.

    Raises:
        EnvironmentProblem: a command could not be run.
    """
    tree, purpose = await context.read_tree_id(head), Purpose(f"iteration {context.state.goal.iteration}")
    proofs = [await _prove_gate(context, await context.gate.judge_tree(head, tree, purpose))]
    for criterion, spec in _iterate_command_criteria(context, contract):
        receipt = await context.gate.run_extra_check(spec, head, tree, purpose)
        _require_started(criterion, receipt)
        red = await _describe_failure(context, receipt)
        proofs.append(CriterionProof(id=criterion.id, receipt=receipt.key, red=red))
    return tuple(proofs)


def _iterate_command_criteria(context: RunContext, contract: Contract) -> Iterator[tuple[Criterion, CheckSpec]]:
    timeout_s = context.config.gate.timeout_s
    for criterion in contract.criteria:
        if criterion.command and criterion.id != GATE_CRITERION:
            exit_code = ReportFormat.EXIT_CODE
            yield criterion, CheckSpec(id=criterion.check, run=criterion.command, report=exit_code, timeout_s=timeout_s)


def _require_started(criterion: Criterion, receipt: Receipt) -> None:
    if receipt.status == ReceiptStatus.NOT_STARTED:
        raise EnvironmentProblem(f"the command `{receipt.command}` of criterion {criterion.id} could not be started")


async def _prove_gate(context: RunContext, gate: GateResult) -> CriterionProof:
    key = gate.receipts[-1]
    if gate.difference.is_green:
        return CriterionProof(id=GATE_CRITERION, receipt=key)
    excerpt = extract_failure_excerpt(await context.journal.read_text(context.state.receipts[key].output), ())
    lost = list_red_reasons(VerdictEvidence(exit=Exit.FINISHED, difference=gate.difference, excerpt=excerpt))
    return CriterionProof(id=GATE_CRITERION, receipt=key, red="\n".join(lost))


async def _describe_failure(context: RunContext, receipt: Receipt) -> str:
    """Return how a command failed and what it printed; empty if it exits 0."""
    if receipt.status == ReceiptStatus.COMPLETED and receipt.exit_code == 0:
        return ""
    how = f"exits {receipt.exit_code}" if receipt.status == ReceiptStatus.COMPLETED else f"ended {receipt.status}"
    printed = extract_failure_excerpt(await context.journal.read_text(receipt.output), ())
    return f"`{receipt.command}` {how}" + (f"; it printed:\n{printed}" if printed else "")
