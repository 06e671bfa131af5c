"""Testing a candidate: the gate on its tree, the tests of its base on its code, the task's own checks."""

from orchestrator.domain.check import CANARY, CheckSpec, Difference, Receipt, ReportFormat
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.state import TaskState
from orchestrator.engine.changes import Changes, restored
from orchestrator.engine.context import RunContext
from orchestrator.engine.proving import Proof, believed, proof
from orchestrator.judge.baseline import broken_off
from orchestrator.judge.flakes import flaky_findings
from orchestrator.judge.protected import granter, held_back
from orchestrator.judge.signature import failure_excerpt
from orchestrator.judge.verdict import Evidence
from orchestrator.ports.gate import GateResult

_UNDER_THE_BASE_TESTS = Difference(
    problems=("that is how the tests of the base judge the change, without its own changes to tests",)
)


async def tested(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: Changes, evidence: Evidence
) -> Evidence:
    """The evidence with what the tests say of a candidate; the first check that is red ends it."""
    purpose = f"{state.spec.id} attempt {candidate.number}"
    gate = await context.gate.judge(candidate.commit, candidate.tree, purpose, reruns=context.config.gate.reruns)
    receipts = [context.state.receipts[key] for key in gate.receipts]
    difference = gate.difference
    if difference.is_green and (canaries := await believed(context, candidate, purpose)):
        receipts += [context.state.receipts[key] for key in canaries.receipts]
        difference += canaries.difference
    if difference.is_green and (held := await _held(context, state, candidate, changes, purpose)):
        receipts += [context.state.receipts[key] for key in held.receipts]
        difference += _beside(difference, held.difference)
    failed: list[str] = []
    if difference.is_green:
        for spec in _own(state):
            receipt = await context.gate.run_extra(spec, candidate.commit, candidate.tree, purpose)
            receipts.append(receipt)
            if receipt.exit_code != 0:
                failed.append(f"`{spec.run}` {broken_off(spec, receipt) or f'exits {receipt.exit_code}'}")
    shown = Proof()
    if difference.is_green and not failed:
        shown = await proof(context, state, candidate, changes, purpose)
        receipts += shown.receipts
    return evidence.but(
        findings=(*evidence.findings, *flaky_findings(difference), *shown.findings),
        difference=difference,
        failed_checks=tuple(failed),
        receipts=tuple(receipt.key for receipt in receipts),
        excerpt=await _excerpt(context, difference, receipts, bool(failed)),
    )


async def _held(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: Changes, purpose: str
) -> GateResult | None:
    """The gate's word on the candidate's code under the tests of its base; None if it left those alone."""
    paths = held_back(changes.files, granter(state.spec.grants))
    git, base = context.repository.git, state.attempts[-1].base
    message = "The candidate's code under the tests of its base"
    held = await restored(git, candidate.commit, base, paths, context.when, message)
    if held is None:
        return None
    purpose, reruns = f"{purpose}, tests as on its base", context.config.gate.reruns
    return await context.gate.judge(held.commit, held.tree, purpose, reruns=reruns)


def _beside(difference: Difference, held: Difference) -> Difference:
    """What the tests of the base, without the change's own to tests, say against a change that is green with them."""
    if held.is_unsettled:
        return held
    if not held.is_green:
        return held + _UNDER_THE_BASE_TESTS
    if lent := sorted(set(difference.fixed) - set(held.fixed)):
        return Difference(problems=(f"pass only together with the change's own tests: {', '.join(lent[:12])}",))
    return Difference(flaky=held.flaky)


def _own(state: TaskState) -> list[CheckSpec]:
    return [
        CheckSpec(id=f"task-{number}", run=command, report=ReportFormat.EXIT_CODE, timeout_s=600)
        for number, command in enumerate(state.spec.checks, start=1)
    ]


async def _excerpt(context: RunContext, difference: Difference, receipts: list[Receipt], failed: bool) -> str:
    if (difference.is_green and not failed) or not receipts or receipts[-1].kind == CANARY:
        return ""
    output = await context.journal.read(receipts[-1].output)
    return failure_excerpt(output, (*difference.new_failures, *difference.unsettled, *difference.missing_tests))
