"""Gathering the evidence on an attempt and recording the verdict."""

from anyio import to_thread

from orchestrator.domain.attempt import Exit
from orchestrator.domain.check import CheckSpec, Difference, Receipt, ReportFormat
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.work import CandidateTaken, LensVoted, VerdictGiven
from orchestrator.domain.ids import TaskId
from orchestrator.domain.state import TaskState
from orchestrator.domain.verdict import LensVote, VerdictKind
from orchestrator.engine.approvals import landing_question
from orchestrator.engine.changes import Changes, read_changes, restored
from orchestrator.engine.context import RunContext
from orchestrator.engine.leaks import leaks
from orchestrator.engine.points import after_verdict, standing
from orchestrator.judge.addressed import made_visible
from orchestrator.judge.examine import examine
from orchestrator.judge.protected import granter, held_back
from orchestrator.judge.rules import Finding, check_diff
from orchestrator.judge.signature import failure_excerpt
from orchestrator.judge.verdict import Evidence, decide
from orchestrator.ports.gate import GateResult
from orchestrator.ports.roles import CheckSummary, ReviewBrief, Roles
from worktrees.diff import diff_text
from worktrees.names import printable

_DIFF_CHARS = 200_000
_CUT_CHARS = 20_000
_UNDER_THE_BASE_TESTS = Difference(
    problems=("that is how the tests of the base judge the change, without its own changes to tests",)
)


async def judge_attempt(context: RunContext, roles: Roles, task: TaskId) -> None:
    """Judge the latest attempt at a task: rules, gate, its own checks, then the lens; the first red ends it."""
    state = context.state.tasks[task]
    evidence = await _evidence(context, roles, state)
    number = len(state.attempts)
    verdict = await standing(context, task, decide(evidence))
    asked = None
    if verdict.kind == VerdictKind.MERGE and state.candidate is not None:
        asked = landing_question(context, state.candidate, state.unit)
    await context.journal.append(
        *(LensVoted(task=task, number=number, vote=vote) for vote in evidence.votes),
        VerdictGiven(task=task, number=number, verdict=verdict),
        *([ApprovalRequested(approval=asked)] if asked else ()),
    )
    await after_verdict(context, task)


async def _evidence(context: RunContext, roles: Roles, state: TaskState) -> Evidence:
    end, candidate = state.ends[-1], state.candidate
    evidence = Evidence(exit=end.exit, detail=end.detail, revisions=_revisions(state))
    if end.exit != Exit.FINISHED or candidate is None:
        return evidence
    changes = await read_changes(context.repository.git, state.attempts[-1].base, candidate.commit)
    evidence = _with(evidence, findings=await _findings(context, state, candidate, changes))
    if any(finding.is_blocking for finding in evidence.findings):
        return evidence
    evidence = await _tested(context, state, candidate, changes, evidence)
    if evidence.difference is None or not evidence.difference.is_green or evidence.failed_checks:
        return evidence
    return _with(evidence, votes=(await _vote(context, roles, state, candidate, evidence),))


def _with(evidence: Evidence, **more: object) -> Evidence:
    return evidence.model_copy(update=more)


def _revisions(state: TaskState) -> int:
    """How many revisions in a row led to the latest attempt."""
    count = 0
    for attempt in reversed(state.attempts):
        if attempt.mode != "revise":
            break
        count += 1
    return count


async def _findings(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: Changes
) -> tuple[Finding, ...]:
    grown = candidate.tree != await context.tree(state.attempts[-1].base)
    changed = candidate.added + candidate.removed
    leaked = await leaks(context.repository.git, context.journal.redactor, state.attempts[-1].base, candidate.commit)
    told = tuple(map(printable, leaked))
    plain = check_diff(
        state.spec, candidate.paths, changed, candidate.dropped, grown, leaked=told, flagged=candidate.flagged
    )
    return (*plain, *await to_thread.run_sync(examine, changes.files, changes.lines, state.spec.grants))


async def _held(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: Changes, purpose: str
) -> GateResult | None:
    """The gate's word on the candidate's code under the tests of its base; None if it left those alone."""
    paths = held_back(changes.files, granter(state.spec.grants))
    git, base = context.repository.git, state.attempts[-1].base
    held = await restored(git, candidate.commit, base, paths, context.when)
    if held is None:
        return None
    return await context.gate.judge(held.commit, held.tree, f"{purpose}, tests as on its base")


async def _tested(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: Changes, evidence: Evidence
) -> Evidence:
    purpose = f"{state.spec.id} attempt {candidate.number}"
    gate = await context.gate.judge(candidate.commit, candidate.tree, purpose)
    receipts = [context.state.receipts[key] for key in gate.receipts]
    difference = gate.difference
    if difference.is_green and (held := await _held(context, state, candidate, changes, purpose)):
        receipts += [context.state.receipts[key] for key in held.receipts]
        difference += _beside(difference, held.difference)
    failed: list[str] = []
    if difference.is_green:
        own = [await context.gate.run_extra(spec, candidate.commit, candidate.tree, purpose) for spec in _own(state)]
        failed = [f"`{receipt.command}` exits {receipt.exit_code}" for receipt in own if receipt.exit_code != 0]
        receipts += own
    return _with(
        evidence,
        difference=difference,
        failed_checks=tuple(failed),
        receipts=tuple(receipt.key for receipt in receipts),
        excerpt=await _excerpt(context, difference, receipts, bool(failed)),
    )


def _beside(difference: Difference, held: Difference) -> Difference:
    """What the tests of the base, without the change's own to tests, say against a change that is green with them."""
    if not held.is_green:
        return held + _UNDER_THE_BASE_TESTS
    if lent := sorted(set(difference.fixed) - set(held.fixed)):
        return Difference(problems=(f"pass only together with the change's own tests: {', '.join(lent[:12])}",))
    return Difference()


def _own(state: TaskState) -> list[CheckSpec]:
    return [
        CheckSpec(id=f"task-{number}", run=command, report=ReportFormat.EXIT_CODE, timeout_s=600)
        for number, command in enumerate(state.spec.checks, start=1)
    ]


async def _excerpt(context: RunContext, difference: Difference, receipts: list[Receipt], failed: bool) -> str:
    if (difference.is_green and not failed) or not receipts:
        return ""
    output = await context.journal.read(receipts[-1].output)
    return failure_excerpt(output, (*difference.new_failures, *difference.missing_tests))


async def _vote(
    context: RunContext, roles: Roles, state: TaskState, candidate: CandidateTaken, evidence: Evidence
) -> LensVote:
    base = state.attempts[-1].base
    text = made_visible(await diff_text(context.repository.git, base, candidate.commit))
    if len(text) > _DIFF_CHARS:
        shown = context.journal.redact(text[: _DIFF_CHARS + _CUT_CHARS])[:_DIFF_CHARS]  # before it could be cut in two
        text = f"{shown}\n[{len(text) - _DIFF_CHARS} more characters of diff are not shown]"
    return await roles.judge.review(
        ReviewBrief(
            task=state.spec,
            number=candidate.number,
            diff=text,
            checks=tuple(summarise(context.state.receipts[key]) for key in evidence.receipts),
            notes=tuple(finding.text for finding in evidence.findings),
        )
    )


def summarise(receipt: Receipt) -> CheckSummary:
    """A receipt in words."""
    counts = receipt.counts
    told = (
        f"{counts.passed} passed, {counts.failed} failed, {counts.errors} errors, {counts.skipped} skipped"
        if receipt.tests is not None
        else f"exit code {receipt.exit_code}"
    )
    return CheckSummary(check=receipt.command, result=f"{told} ({receipt.seconds:.1f} s)", receipt=receipt.key)
